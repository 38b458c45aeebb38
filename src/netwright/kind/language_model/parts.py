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
    instead: tuple[tuple[str, ...], str] | None = None,
) -> Head:
    """A head that finds the token whose `key` has the bits of `query`, and carries blocks over.

    The score ⟨query, key⟩ is b for that token and b − 2 at most for any other, as addresses differ
    in one bit at least. `instead` names flags of tokens that look for another flag first, if there
    is one: that adds 4b or more to its score.
    """
    bits = stream.labels(query)
    slots = Layout.of({"bit": bits, **({"instead": ""} if instead else {})})
    values = Layout.of({target: stream.labels(target) or ("",) for target in carried.values()})
    Q = Matrix(stream, slots).connect(query, "bit")
    V, O = Matrix(stream, values), Matrix(values, stream)
    for source, target in carried.items():
        V.connect(source, target)
        O.connect(target, target)
    K = Matrix(stream, slots).connect(key, "bit")
    if instead is not None:
        for flag in instead[0]:
            # A power of two, which every float has.
            Q.put((flag, ""), ("instead", ""), 1 << (4 * len(bits) - 1).bit_length())
        K.put((instead[1], ""), ("instead", ""))
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
