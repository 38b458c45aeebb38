"""Whether two objects are the same through and through: exact types, and nothing that they say.

What `==` says is up to the objects: a subclass may run otherwise than what is written of it, and an
activation may claim to equal every other. So types must be the same, not only kin; functions must
be one object; and only what Python itself has is compared by value.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

from flint import fmpq

from netwright.exact.vector import Vector
from netwright.machine.turing_machine import TuringMachine

PLAIN = (str, int, bool, type(None), fmpq)
WORDS = ("name", "description", "default_input", "input_symbols")
"""What is said about a machine, and not written with a network."""


def difference(one: Any, other: Any, place: str = "") -> str | None:
    """Where two objects differ, and how; None if they are the same.

    >>> from netwright.exact.rational import relu, sigma
    >>> difference((1, sigma), (1, relu), "parts")
    'parts[1] is relu, not sigma'
    """
    if type(one) is not type(other):
        return f"{place} is of type {type(other).__name__}, not {type(one).__name__}"
    if isinstance(one, PLAIN):
        return None if one == other else f"{place} is {str(other)[:40]}, not {str(one)[:40]}"
    if isinstance(one, FunctionType | type):
        return None if one is other else f"{place} is {other.__name__}, not {one.__name__}"
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return f"{place} has {len(other)} parts, not {len(one)}"
        pairs = [(f"{place}[{n}]", *each) for n, each in enumerate(zip(one, other, strict=True))]
    elif isinstance(one, set | frozenset):
        return None if one == other else f"{place} is {sorted(other)}, not {sorted(one)}"
    elif isinstance(one, Mapping):
        if list(one) != list(other) and set(one) != set(other):
            return f"{place} has other keys"
        pairs = [(f"{place}[{key}]", one[key], other[key]) for key in one]
    else:
        pairs = [(f"{place}.{n}", getattr(one, n), getattr(other, n)) for n in _names(one)]
        if not pairs and one is not other:
            return f"{place} is another {type(one).__name__}"
    found = (difference(a, b, name.lstrip(".")) for name, a, b in pairs)
    return next((each for each in found if each is not None), None)


def _names(one: Any) -> list[str]:
    """The parts of an object that decide what it does."""
    if isinstance(one, Vector):
        return ["layout", "entries"]
    if is_dataclass(one):
        words = WORDS if isinstance(one, TuringMachine) else ()
        return [each.name for each in fields(one) if each.name not in words]
    return [*vars(one)] if hasattr(one, "__dict__") else []
