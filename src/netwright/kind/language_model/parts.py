"""Builders of blocks: heads that look tokens up by address, and lists of hidden units."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Head, Matrix, Units

Name: TypeAlias = tuple[str, str] | str
Sum: TypeAlias = Mapping[Any, int]
"""Weights by name: block and label, or the name alone of a block of one coordinate."""


def place(name: Name) -> tuple[str, str]:
    """Block and label of a name."""
    return (name, "") if isinstance(name, str) else name


def lookup(
    stream: Layout,
    name: str,
    query: str,
    key: str,
    carried: Mapping[str, str],
    *,
    also: Sum | None = None,
    extra: tuple[Sum, str] | None = None,
) -> Head:
    """A head that finds the token whose `key` has the bits of `query`, and carries blocks over.

    The score ⟨query, key⟩ is b for that token and b − 2 at most for any other, as addresses differ
    in one bit at least. `also` adds a coordinate to every bit of the query; `extra` adds a term to
    the score: a sum of coordinates of the query, times a coordinate of the key.
    """
    slots = Layout.of({"bit": stream.labels(query), **({"extra": ""} if extra else {})})
    values = Layout.of({target: stream.labels(target) or ("",) for target in carried.values()})
    Q = Matrix(stream, slots).connect(query, "bit")
    for source, weight in (also or {}).items():
        for label in slots.labels("bit"):
            Q.put(place(source), ("bit", label), weight)
    V, O = Matrix(stream, values), Matrix(values, stream)
    for source, target in carried.items():
        V.connect(source, target)
        O.connect(target, target)
    K = Matrix(stream, slots).connect(key, "bit")
    if extra is not None:
        sources, target = extra
        for source, weight in sources.items():
            Q.put(place(source), ("extra", ""), weight)
        K.put(place(target), ("extra", ""))
    return Head(name, Q, K, V, O)


class UnitList:
    """A builder of hidden units: each adds relu(sum of inputs + bias) to its outputs."""

    def __init__(self, stream: Layout) -> None:
        self.stream = stream
        self._units: dict[str, tuple[Sum, int, Sum]] = {}

    def add(self, name: str, inputs: Sum, bias: int, outputs: Sum) -> None:
        """Add one unit."""
        self._units[name] = inputs, bias, outputs

    def done(self) -> Units:
        """The two matrices of all units."""
        names = Layout.of(unit=tuple(self._units))
        A, B = Matrix(self.stream, names), Matrix(names, self.stream)
        for name, (inputs, bias, outputs) in self._units.items():
            if bias:
                A.bias[names.index("unit", name)] = bias
            for source, weight in inputs.items():
                A.put(place(source), ("unit", name), weight)
            for target, weight in outputs.items():
                B.put(("unit", name), place(target), weight)
        return Units(A, B)
