"""automata-lib's DTM in Python: calls `DTM(…)` in a `.py` file, and DTM objects.

A file is parsed and never run, so the arguments of a call must be literals. Of several calls,
FILE:NAME is the one that is assigned to NAME.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from netwright.errors import FormatError
from netwright.machine.formats import automata_lib
from netwright.machine.formats.draft import Source
from netwright.machine.turing_machine import TuringMachine

NAME = "automata-lib-python"
KEYS = (*automata_lib.KEYS, "input_symbols")
MOST = 10**18
"""What a number that names a state or symbol is below."""


def recognises(text: str) -> bool:
    """Whether the text has a call of DTM with transitions."""
    return "DTM(" in text and "transitions" in text and not text.lstrip().startswith("{")


def read(text: str, source: Source) -> TuringMachine:
    r"""Read the machine of the only call, or of the one that the part of the source names.

    >>> call = "DTM(states={'a', 'b'}, input_symbols={'0'}, tape_symbols={'0', '.'},"
    >>> call += "blank_symbol='.', initial_state='a', final_states={'b'},"
    >>> read(call + "transitions={'a': {'0': ('b', '.', 'N')}})", Source()).states
    ('a', 'b')
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise FormatError(f"{source.label}: not Python: {error}") from None
    names = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_dtm(node)]
    if not calls:
        raise FormatError(f"{source.label}: no call of DTM(…)")
    found: dict[str, Any] = {}
    for call in calls:
        name = names.get(id(call), f"line {call.lineno}")
        if name in found:
            raise FormatError(f"{source.label}: line {call.lineno}: a second machine {name!r}")
        found[name] = _arguments(call, source)
    if len(found) == 1 and source.part in ("", *found):
        return automata_lib.from_data(next(iter(found.values())), Source(source.label))
    return automata_lib.from_data(found, source)


def from_object(machine: Any) -> TuringMachine:
    """The machine that a DTM object of automata-lib is."""
    data = {key: _plain(getattr(machine, key)) for key in KEYS}
    return automata_lib.from_data(data, Source(type(machine).__name__))


def is_dtm(value: object) -> bool:
    """Whether a value is a DTM object; automata-lib need not be installed."""
    return all(hasattr(value, key) for key in KEYS)


def _plain(value: Any) -> Any:
    """Mappings as dictionaries, other collections as lists; sets in the order of their names."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


def _is_dtm(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func
    return name == "DTM" or (isinstance(name, ast.Name) and name.id == "DTM")


def _arguments(call: ast.Call, source: Source) -> dict[str, Any]:
    found = {}
    for keyword in call.keywords:
        try:
            found[str(keyword.arg)] = _literal(keyword.value)
        except (ValueError, TypeError, RecursionError):
            raise FormatError(
                f"{source.label}: line {keyword.value.lineno}: {keyword.arg} is not a literal; a "
                "file is read and never run"
            ) from None
    if call.args:
        raise FormatError(f"{source.label}: line {call.lineno}: DTM takes its arguments by name")
    return found


def _literal(node: ast.expr) -> Any:
    """A literal; sets as lists, in the order in which they are written. ValueError for others."""
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        return [_literal(each) for each in node.elts]
    if isinstance(node, ast.Dict):
        return _dictionary(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "set":
        return [each for argument in node.args for each in _literal(argument)]
    found = ast.literal_eval(node)
    if not isinstance(found, str | int | None) or (isinstance(found, int) and abs(found) >= MOST):
        raise ValueError
    return found


def _dictionary(node: ast.Dict) -> dict[str, Any]:
    """A dictionary by names; ValueError for `**others`, a second key, or another type of key."""
    keys = [None if key is None else _literal(key) for key in node.keys]
    names = [str(key) for key in keys if isinstance(key, str | int)]
    if len(names) < len(keys) or len({*names}) < len(names):
        raise ValueError
    return {name: _literal(value) for name, value in zip(names, node.values, strict=True)}
