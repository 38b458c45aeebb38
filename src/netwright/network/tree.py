"""Traversals of a network: a tree of frozen dataclasses, with maps and vectors at its leaves.

They work for every kind, so a new network class needs no code for them: weights by name, one of
them replaced (`maps`, `replaced`), the whole network as data for files and certificates
(`to_data`), and the numbers of such data put into a network (`filled`).

As data, a dataclass is an object of its fields, a map is its layouts, weights and bias, a vector is
its coordinates that are not 0, a layout is its number in `layouts`, a function is its name, and the
given machine, wherever it occurs, is the word `given`. Numbers are rationals as text. The data does
not identify types and functions; so a network is also compared with what the construction gives,
part by part and by exact types (`difference`).
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cached_property, partial
from types import FunctionType
from typing import Any, Generic, NamedTuple, TypeVar

from flint import fmpq

from netwright.errors import FormatError, InputError
from netwright.exact.feed_forward import Affine, FeedForward, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.places import Named, Place
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import BEHAVIOUR, behaviour
from netwright.text import shortened

T = TypeVar("T")
Path = tuple[str | int, ...]
GIVEN = "given"
PLAIN = (str, int, bool, type(None), fmpq, Enum)


class Leaf(NamedTuple, Generic[T]):
    """A map of a network, or another part, with its path and names."""

    path: Path
    place: str
    """Its name without the numbers that distinguish several maps of one feed-forward network."""
    name: str
    part: T


def maps(network: Any, *, whole: bool = False) -> list[Leaf[Affine]]:
    """All maps in the order of the fields; if `whole`, sums of products are multiplied out.

    >>> from netwright.exact.feed_forward import affine_network
    >>> from netwright.definitions.transformer import Layer
    >>> nothing = affine_network(Layout.of(x=""))
    >>> [leaf.name for leaf in maps(Layer(nothing, nothing, nothing, nothing))]
    ['Q', 'K', 'V', 'O']
    """
    return list(_leaves(network, partial(_affine, whole=whole), (), "", "", Place(""), 0))


def feed_forwards(network: Any) -> dict[str, FeedForward]:
    """All feed-forward networks in a network by name: `encoder.1.Q`, …, `decoder.3.O`, `F`."""

    def found(node: Any) -> FeedForward | None:
        return node if isinstance(node, FeedForward) else None

    return {leaf.place: leaf.part for leaf in _leaves(network, found, (), "", "", Place(""), 0)}


def _leaves(
    node: Any,
    leaf: Callable[[Any], T | None],
    path: Path,
    place: str,
    name: str,
    own: Place,
    depth: int,
) -> Iterator[Leaf[T]]:
    """Walk depth first; yield each part for which `leaf` returns one, without descending."""
    if (found := leaf(node)) is not None:
        yield Leaf(path, place, name, found)
    elif isinstance(node, tuple):
        folded = depth < len(own.folded) and own.folded[depth]
        for n, each in enumerate(node):
            number = str(own.first + n)
            where = place if folded else _joined(place, number)
            called = name if folded and len(node) == 1 else _joined(name, number)
            yield from _leaves(each, leaf, (*path, n), where, called, own, depth + 1)
    elif is_dataclass(node) and not isinstance(node, Named | Layout):
        for field in fields(node):
            below = field.metadata.get("place") or Place(field.name)
            names = _joined(place, below.name), _joined(name, below.name)
            value = getattr(node, field.name)
            yield from _leaves(value, leaf, (*path, field.name), *names, below, 0)


def _affine(node: Any, *, whole: bool) -> Affine | None:
    if isinstance(node, LinearMap) and whole:
        return node.matrix
    if isinstance(node, Affine):
        return node
    return node.affine if hasattr(node, "with_affine") else None


def _joined(name: str, part: str) -> str:
    return f"{name}.{part}" if name and part else name or part


def replaced(node: Any, path: Path, part: Any) -> Any:
    """A copy of a network with another part at a path."""
    if not path:
        return node.with_affine(part) if hasattr(node, "with_affine") else part
    first, *rest = path
    if isinstance(first, int):
        changed = replaced(node[first], tuple(rest), part)
        return (*node[:first], changed, *node[first + 1 :])
    return replace(node, **{first: replaced(getattr(node, first), tuple(rest), part)})


def shapes(node: Any) -> Any:
    """The tree of a network with a shape for each map, and names for the rest.

    >>> from netwright.exact.feed_forward import affine_network
    >>> shapes(affine_network(Layout.of(x="", y="")))
    {'maps': [[2, 2]], 'activation': 'sigma'}
    """
    affine = _affine(node, whole=True)
    if affine is not None:
        return [affine.input.dimension, affine.output.dimension]
    if isinstance(node, Layout | Vector):
        return node.dimension if isinstance(node, Layout) else node.layout.dimension
    if isinstance(node, tuple):
        return [shapes(each) for each in node]
    if is_dataclass(node) and not isinstance(node, Named):
        return {field.name: shapes(getattr(node, field.name)) for field in fields(node)}
    return _Writing(None).data(node, "")


# To data, and back.


def to_data(tree: Any, given: TuringMachine | None = None) -> dict[str, Any]:
    """A whole tree as JSON data; raise InputError if something in it has no written form."""
    writing = _Writing(given)
    found = {n: writing.data(getattr(tree, n), n) for n in _fields(tree)}
    about = {} if given is None else {GIVEN: behaviour(given)}
    return {**about, **found, "layouts": writing.layouts}


def _fields(tree: Any) -> list[str]:
    """The fields of a whole network, but for the given machine."""
    return [field.name for field in fields(tree) if field.name != GIVEN]


class _Writing:
    """Serialises the parts of a tree, and numbers their layouts."""

    def __init__(self, given: TuringMachine | None) -> None:
        self.given = given
        self._numbers: dict[Layout, int] = {}

    @property
    def layouts(self) -> list[Any]:
        """All layouts so far: a block is its name if it is one coordinate, else name and labels."""
        return [
            [name if labels == ("",) else [name, list(labels)] for name, labels in layout.blocks]
            for layout in self._numbers
        ]

    def data(self, node: Any, place: str) -> Any:
        """A part as data; `place` is its place for messages."""
        if isinstance(node, Enum):
            return node.value
        if isinstance(node, fmpq):
            return str(node)
        if isinstance(node, PLAIN):
            return node
        if isinstance(node, Layout):
            return self._numbers.setdefault(node, len(self._numbers))
        if isinstance(node, Vector):
            return [[k, str(x)] for k, x in sorted(node.entries.items())]
        if isinstance(node, Affine):
            return {
                "input": self.data(node.input, place),
                "output": self.data(node.output, place),
                "weights": [[j, k, str(w)] for (j, k), w in node.weights.items()],
                "bias": self.data(node.bias, place),
            }
        if hasattr(node, "with_affine"):
            return self.data(node.affine, place)
        if isinstance(node, TuringMachine):
            same = self.given is not None and behaviour(node) == behaviour(self.given)
            return GIVEN if same else behaviour(node)
        if isinstance(node, tuple | list):
            return [self.data(each, f"{place}[{n}]") for n, each in enumerate(node)]
        if isinstance(node, frozenset):
            return sorted(node)
        if isinstance(node, Mapping):
            return [[*_key(k), self.data(x, f"{place}[{k}]")] for k, x in node.items()]
        if isinstance(node, Named):
            return node.written
        if isinstance(node, FunctionType):
            return _function(node)
        if is_dataclass(node):
            names = [field.name for field in fields(node)]
            parts = {name: self.data(getattr(node, name), f"{place}.{name}") for name in names}
            return {**parts, **_oddities(node)}
        raise InputError(f"{place} is of type {type(node).__name__}, which has no written form")


def _oddities(node: Any) -> dict[str, Any]:
    """What an object has besides its fields: a foreign class, attributes of its own."""
    odd: dict[str, Any] = {}
    kind = type(node)
    if not kind.__module__.startswith("netwright."):
        odd["class"] = f"{kind.__module__}.{kind.__qualname__}"
    names = {field.name for field in fields(node)}
    more = [
        name
        for name in getattr(node, "__dict__", {})
        if name not in names and not isinstance(getattr(kind, name, None), cached_property)
    ]
    if more:
        odd["attributes"] = sorted(more)
    return odd


def _function(function: FunctionType) -> str:
    """The name of a module's function; `another NAME` if the module's NAME is not this one."""
    module, name = function.__module__, function.__name__
    if getattr(sys.modules.get(module), name, None) is not function:
        return f"another {name}"
    return name if module.startswith("netwright.") else f"{module}.{name}"


def _key(key: object) -> Sequence[object]:
    return key if isinstance(key, tuple) else (key,)


def filled(tree: T, data: Mapping[str, Any], given: TuringMachine) -> T:
    """A copy of a tree with the numbers of its maps and vectors from the data of `to_data`.

    Raise FormatError, with the place, if anything else in the data differs from the tree.
    """
    writing = _Writing(given)
    names = _fields(tree)
    found = {name: _filled(getattr(tree, name), data[name], name, writing) for name in names}
    rest = {GIVEN: behaviour(given), "layouts": writing.layouts}
    for name, wanted in rest.items():
        _check(wanted, data[name], name)
    if unknown := data.keys() - {*names, *rest}:
        raise FormatError(f"unknown part {sorted(unknown)[0]}")
    return replace(tree, **found)  # type: ignore[type-var]  # a dataclass


def _check(wanted: object, found: object, place: str) -> None:
    if wanted != found or type(wanted) is not type(found):
        here, there = (shortened(repr(each), 60) for each in (found, wanted))
        raise FormatError(f"{place} is {here}, not {there}, as the machine and its options give it")


def _filled(node: Any, data: Any, place: str, writing: _Writing) -> Any:
    if isinstance(node, Vector):
        return Vector(node.layout, dict(_numbers(data, 1, (node.layout.dimension,), place)))
    if isinstance(node, Affine):
        for end, layout in (("input", node.input), ("output", node.output)):
            _check(writing.data(layout, place), data[end], f"{place}.{end}")
        size = node.input.dimension, node.output.dimension
        weights = dict(_numbers(data["weights"], 2, size, place))
        bias = _filled(node.bias, data["bias"], f"{place}.bias", writing)
        return Affine(node.input, node.output, weights, bias)
    if hasattr(node, "with_affine"):
        return node.with_affine(_filled(node.affine, data, place, writing))
    if isinstance(node, tuple):
        if not isinstance(data, list) or len(data) != len(node):
            raise FormatError(f"{place} is not a list of {len(node)} parts")
        return tuple(_filled(x, data[n], f"{place}[{n}]", writing) for n, x in enumerate(node))
    if isinstance(node, Mapping):
        _check([list(_key(key)) for key in node], [row[:-1] for row in data], place)
        return {
            key: _filled(x, row[-1], f"{place}[{key}]", writing)
            for (key, x), row in zip(node.items(), data, strict=True)
        }
    if is_dataclass(node) and not isinstance(node, Named | Layout | TuringMachine):
        return _filled_object(node, data, place, writing)
    _check(writing.data(node, place), data, place)
    return node


def _filled_object(node: Any, data: Any, place: str, writing: _Writing) -> Any:
    names = [field.name for field in fields(node)]
    oddities = _oddities(node)
    if "class" in data and "class" not in oddities:
        found = str(data["class"]).rpartition(".")[2][:60]
        raise FormatError(f"{place} is of type {found}, not {type(node).__name__}")
    _check(sorted([*names, *oddities]), sorted(data), place)
    for name, wanted in oddities.items():
        _check(wanted, data[name], f"{place}.{name}")
    parts = {n: _filled(getattr(node, n), data[n], f"{place}.{n}", writing) for n in names}
    return replace(node, **parts)


def _numbers(
    rows: Iterable[Sequence[Any]], indices: int, size: Sequence[int], place: str
) -> Iterator[tuple[Any, fmpq]]:
    """The entries of a vector or a matrix by index; raise FormatError for one outside."""
    for *where, text in rows:
        inside = (type(k) is int and 0 <= k < n for k, n in zip(where, size, strict=False))
        if len(where) != indices or not all(inside):
            what = "matrix" if size[1:] else "vector"
            raise FormatError(f"{place} has a number outside its {what}")
        top, _, bottom = text.partition("/")
        yield where[0] if indices == 1 else tuple(where), fmpq(int(top), int(bottom or 1))


# Sameness.


def difference(one: Any, other: Any, place: str = "") -> str | None:
    """The first place where two objects differ, and how; None if they are identical in depth.

    Objects define their own `==`: a subclass may run differently from its data, and an activation
    may claim to equal every other. So types must be the same, subclasses do not count; functions
    must be the same object; and only Python's own values are compared by `==`.

    >>> from netwright.exact.rational import relu, sigma
    >>> difference((1, sigma), (1, relu), "parts")
    'parts[1] is relu, not sigma'
    """
    found = _difference(one, other)
    return None if found is None else f"{place}{found}".removeprefix(".")


def _difference(one: Any, other: Any) -> str | None:
    """The same, with the place relative to `one`."""
    if type(one) is not type(other):
        return f" is of type {type(other).__name__}, not {type(one).__name__}"
    if isinstance(one, (*PLAIN, float)):
        return None if one == other else f" is {str(other)[:40]}, not {str(one)[:40]}"
    if isinstance(one, FunctionType | type):
        return None if one is other else f" is {other.__name__}, not {one.__name__}"
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return f" has {len(other)} parts, not {len(one)}"
        pairs: Iterable[tuple[Any, Any, Any]] = zip(range(len(one)), one, other, strict=True)
        form = "[{}]"
    elif isinstance(one, frozenset):
        return None if one == other else f" is {sorted(other)}, not {sorted(one)}"
    elif isinstance(one, Mapping):
        if one.keys() != other.keys():
            return " has different keys"
        pairs, form = ((key, one[key], other[key]) for key in one), "[{}]"
    else:
        names = _parts(one)
        if not names and one is not other:
            return f" is a different {type(one).__name__}"
        pairs, form = ((n, getattr(one, n), getattr(other, n)) for n in names), ".{}"
    for key, a, b in pairs:
        if type(a) is type(b) and type(a) in (fmpq, str) and a == b:
            continue  # most of a network
        if (found := _difference(a, b)) is not None:
            return f"{form.format(key)}{found}"
    return None


def _parts(one: Any) -> Sequence[str]:
    """The attributes of an object that determine its behaviour."""
    if isinstance(one, Vector):
        return ["layout", "entries"]
    if isinstance(one, TuringMachine):
        return BEHAVIOUR
    if is_dataclass(one):
        return [each.name for each in fields(one)]
    return [*vars(one)] if hasattr(one, "__dict__") else []
