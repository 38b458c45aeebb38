"""What a target is: the files that it has of a network, and how they are opened again."""

import importlib.util
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from netwright.errors import InputError, unknown
from netwright.export.sources import has_source
from netwright.kind.registry import is_kind, kind_named
from netwright.network.tensors import NamedTensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTICE = "# Written by netwright. It does not need netwright to run."
DTYPES = ("float64", "float32")
AT_ONCE = 2000
"""How many outputs are checked in ways that take long or much memory."""

_numbers = count()

Step = tuple[Any, Mapping[str, Any]]
"""An output, and the tokens that each attention chose, counted from 0."""


class Opened(Protocol):
    """An export that was opened in its own runtime."""

    def outputs(self, word: Iterable[str]) -> Iterator[Step]:
        """Each output with what was attended to."""

    def pair(self, y: Any) -> tuple[str, str] | None:
        """The state and symbol that an output shows."""


class Target(ABC):
    """A kind of folder that others can use."""

    name: str
    extra: str
    """The extra of netwright that brings what it needs; "" if that is there always."""
    needs: tuple[str, ...]
    """The packages that write and run it."""
    code: str
    """The file with the code."""
    dtypes: tuple[str, ...] = DTYPES
    """The types of numbers that it has, the usual one first."""

    @property
    def runtime(self) -> tuple[str, ...]:
        """The packages in which it is checked."""
        return self.needs

    def checked_in(self) -> str:
        """What the files were run in, in words."""
        return " and ".join(self.runtime)

    def read_dtype(self, name: str | None) -> str:
        """A type of numbers, the usual one if none is named."""
        if name is not None and name not in self.dtypes:
            raise InputError(unknown(f"dtype for {self.name}", str(name), self.dtypes))
        return name or self.dtypes[0]

    def takes(self, kind: str) -> bool:
        """Whether there is code for a kind of network."""
        return has_source(self.part(kind))

    def part(self, kind: str) -> str:
        """The name of that code."""
        code = kind_named(kind).construction.code if is_kind(kind) else ""
        return f"{self.name}_{(code or kind).replace('-', '_')}"

    def check_installed(self) -> None:
        """InputError with what to do if something is missing."""
        missing = [name for name in self.needs if importlib.util.find_spec(name) is None]
        if missing:
            raise InputError(
                f"{self.name} needs {' and '.join(missing)}: pip install 'netwright[{self.extra}]'"
            )

    @abstractmethod
    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the files."""

    def open(self, folder: Path) -> Opened:
        """The network in a folder, by the code that lies there."""
        opened: Opened = module_in(folder / self.code).load()
        return opened

    @abstractmethod
    def stored(self, opened: Any, folder: Path) -> "Mapping[str, NDArray[Any]]":
        """All tensors in the files, by name."""

    def ways(
        self, opened: Opened, word: Sequence[str], exact: "NDArray[Any]"
    ) -> dict[str, Iterator[Step]]:
        """The ways in which the network is run to be checked, each with its outputs."""
        return {"step by step": opened.outputs(word)}

    def explained(self, named: NamedTensors) -> list[str]:
        """Paragraphs on how to read it."""
        return ["A weight has a row for each input and a column for each output: x·A + b."]

    @abstractmethod
    def usage(self, named: NamedTensors) -> str:
        """A few lines of Python that run it."""


def module_in(path: Path) -> Any:
    """The module in a file, whatever else has its name."""
    spec = importlib.util.spec_from_file_location(f"netwright_export_{next(_numbers)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def write_text(path: Path, text: str) -> None:
    """A file of text."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, value: Any) -> None:
    """A file with an object."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    try:
        text.encode()
    except UnicodeEncodeError:  # a name with half of a pair of surrogates
        text = json.dumps(value, indent=1)
    write_text(path, f"{text}\n")


def write_arrays(path: Path, arrays: "Mapping[str, NDArray[Any]]") -> None:
    """A safetensors file, for torch."""
    from safetensors.numpy import save

    path.write_bytes(save(dict(arrays), {"format": "pt"}))


def tensors_of(named: NamedTensors, dtype: str) -> "dict[str, NDArray[Any]]":
    """All tensors as arrays."""
    return {name: tensor.to_numpy(dtype) for name, tensor in named.tensors.items()}


def running(module: str, named: NamedTensors) -> str:
    """The lines that run a network, whose code is in a module of the folder."""
    word = word_text(named)
    return f"""\
from {module} import load  # in this folder

network = load()
for t, state, symbol in network.run({word}):
    print(t, state, symbol)
print(network.outcome({word}))
"""


def word_text(named: NamedTensors) -> str:
    """The machine's own input, as Python writes it."""
    word = named.names["default_input"]
    return repr("".join(word) if all(len(symbol) == 1 for symbol in word) else word)
