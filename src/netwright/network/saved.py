"""One exact serialiser for networks of all kinds, as safetensors files.

The file has the JSON of `Network.written`, as certificates do, but with its numbers in tensors: for
each map and vector, rows of indices with a numerator and a denominator in 64 bits. A loaded network
is what the construction makes of the machine and the options, with the numbers of the tensors; a
file in which anything else differs from that is refused. A digest detects damage.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from netwright.certificates.schema import require, writable
from netwright.errors import FormatError, NetwrightError, OutputError
from netwright.files import is_safetensors, read_file, seal, unseal
from netwright.kind.record import Construction
from netwright.kind.registry import kind_named, kind_with
from netwright.machine.written import machine_of, machine_parts
from netwright.network.network import Network
from netwright.network.tree import filled

LARGEST = 1 << 31  # bytes
_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, StopIteration, NetwrightError),
)
"""The exceptions that reading a damaged file can raise."""


def to_bytes(network: Network) -> bytes:
    """The content of the file; raise OutputError if the network cannot be written exactly."""
    if (reason := network.strange) is not None:
        raise OutputError(f"it cannot be saved: {reason}")
    try:
        require(writable, network.written, "network")
    except FormatError as error:
        raise OutputError(f"it cannot be saved: {error}") from None
    tensors: dict[str, NDArray[np.int64]] = {}
    numbers = _extract_numbers(network.written, "", tensors)
    about = {"kind": _format_of(network.kind.construction), **parts_of(network)}
    return seal({**about, "written": numbers}, tensors)


def parts_of(network: Network) -> dict[str, Any]:
    """The whole network as JSON: kind, machine, options, changes and the tree `written`."""
    options = {option.name: option for option in network.kind.options}
    return {
        "on": network.kind.name,
        "machine": machine_parts(network.machine),
        "options": {name: options[name].written(v) for name, v in network.options.items()},
        "changes": list(network.changes),
        "written": network.written,
    }


def load(path: os.PathLike[str] | str) -> Network:
    """Load a saved network: `netwright.load`; raise FormatError for any other file."""
    if not isinstance(path, str | os.PathLike):
        raise FormatError(f"expected the path of a saved network; got {path!r}")
    if not Path(path).exists():
        raise FormatError(f"{path}: there is no such file")
    if not is_safetensors(str(path), "network"):
        raise FormatError(
            f"{path} is not a network saved by netwright (load_machine reads machines)"
        )
    return from_bytes(read_file(Path(path), LARGEST, "network"), str(path))


def from_bytes(data: bytes, label: str = "file") -> Network:
    """The network in the content of a file."""
    about, tensors = unseal(data, label, "network")
    kind = str(about.get("kind"))[:60]
    wanted = kind
    with suppress(LookupError, NetwrightError):
        wanted = _format_of(kind_named(about["on"]).construction)
    if kind != wanted:
        raise FormatError(f"{label} is a {kind!r}; this netwright reads {wanted!r}")
    return _intact(about, tensors, label)


def from_parts(parts: dict[str, Any], label: str = "file") -> Network:
    """The network of `parts_of`; raise FormatError if they are not what that writes."""
    return _intact(parts, {}, label)


def _intact(about: dict[str, Any], tensors: dict[str, Any], label: str) -> Network:
    try:
        return _rebuilt(about, tensors)
    except _DAMAGE as error:
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        raise FormatError(f"{label} is not an intact netwright network: {reason}") from None


def _format_of(construction: Construction[Any]) -> str:
    return f"netwright network {construction.format}"


def _rebuilt(about: dict[str, Any], tensors: dict[str, Any]) -> Network:
    kind, _ = kind_with(about["on"], about["options"])
    machine = machine_of(about["machine"])
    options = kind.construction.read_options(about["options"])
    unused = dict(tensors)
    written = cast(dict[str, Any], _insert_numbers(about["written"], unused))
    changes = about["changes"]
    if type(changes) is not list or not all(isinstance(change, str) for change in changes):
        raise FormatError("its changes are not a list of strings")
    require(writable, changes, "changes")
    empty = Network(kind, machine, options, None, tuple(changes), loaded=True)
    network = replace(empty, compiled=filled(empty.template, written, machine))
    # Nothing in the file is redundant: no number twice, none in another form.
    if json.dumps(network.written, sort_keys=True) != json.dumps(written, sort_keys=True):
        raise FormatError("its parts contradict each other")
    if unused:
        raise FormatError(f"an unused tensor: {sorted(unused)[0][:60]}")
    kind.construction.check_loaded(written)
    return network


def _is_numbers(value: object) -> TypeGuard[list[list[Any]]]:
    """Whether a value is a list of rows, each one or two indices and a rational as text."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(row, list)
            and len(row) in (2, 3)
            and all(type(index) is int for index in row[:-1])
            and isinstance(row[-1], str)
            for row in value
        )
    )


def _extract_numbers(value: object, place: str, tensors: dict[str, NDArray[np.int64]]) -> object:
    """Move numbers from the JSON to `tensors`; leave the names of their tensors."""
    if _is_numbers(value):
        tensors[place] = _integers(value)
        return {"tensor": place}
    if isinstance(value, dict):
        return {k: _extract_numbers(item, f"{place}.{k}", tensors) for k, item in value.items()}
    if isinstance(value, list):
        return [_extract_numbers(item, f"{place}.{n}", tensors) for n, item in enumerate(value)]
    return value


def _integers(rows: list[list[Any]]) -> NDArray[np.int64]:
    numbers = []
    for *indices, text in rows:
        top, _, bottom = text.partition("/")
        numbers.append([*indices, int(top), int(bottom or 1)])
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        raise OutputError("a weight has more than 64 bits, which the file cannot hold") from None


def _insert_numbers(value: object, tensors: dict[str, Any]) -> object:
    """Undo `_extract_numbers`; remove each tensor that is used."""
    if isinstance(value, dict):
        name = value.get("tensor") if value.keys() == {"tensor"} else None
        if isinstance(name, str):
            return list(_rows(tensors.pop(name)))
        return {key: _insert_numbers(item, tensors) for key, item in value.items()}
    return [_insert_numbers(item, tensors) for item in value] if isinstance(value, list) else value


def _rows(tensor: NDArray[np.int64]) -> Iterator[list[Any]]:
    if tensor.dtype != np.int64 or tensor.ndim != 2 or tensor.shape[1] not in (3, 4):
        raise FormatError(f"a tensor of {tensor.dtype} and shape {tensor.shape}")
    for *indices, top, bottom in tensor.tolist():
        if bottom < 1:
            raise FormatError(f"a denominator {bottom}")
        yield [*indices, str(fmpq(top, bottom))]
