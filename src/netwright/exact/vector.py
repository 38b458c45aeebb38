"""Exact vectors over a layout, stored by their nonzero coordinates."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from netwright.errors import NetworkError, UnknownNameError, unknown
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Activation, Number, Rational, as_float, rational
from netwright.html import table
from netwright.text import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Part: TypeAlias = str | Number | Mapping[str, Number]
"""The content of a block: a label for its one-hot vector, a number, or numbers by label."""


class Vector:
    """An immutable element of ℚ^d whose coordinates have the names of a layout.

    >>> layout = Layout.of(q=("on", "off"), x="")
    >>> v = Vector.of(layout, q="off", x=3)
    >>> v + 2 * v
    [q[off]=3, x=9]
    >>> v["q"]
    {'off': 1}
    """

    __slots__ = ("entries", "layout")

    def __init__(self, layout: Layout, entries: Mapping[int, Rational]) -> None:
        self.layout = layout
        self.entries = {index: value for index, value in entries.items() if value}

    @staticmethod
    def of(layout: Layout, parts: Mapping[str, Part] | None = None, **more: Part) -> "Vector":
        """Build the vector with these contents of its blocks, and 0 in all others."""
        entries: dict[int, Rational] = {}
        for block, part in {**(parts or {}), **more}.items():
            if isinstance(part, str):
                entries[layout.index(block, part)] = ONE
            elif isinstance(part, Mapping):
                for label, number in part.items():
                    entries[layout.index(block, label)] = rational(number)
            else:
                entries[layout.index(block)] = rational(part)
        return Vector(layout, entries)

    @staticmethod
    def zero(layout: Layout) -> "Vector":
        """The vector 0."""
        return Vector(layout, {})

    def __getitem__(self, block: str) -> dict[str, Rational]:
        """The nonzero coordinates of a block, by label."""
        if block not in self.layout:
            names = [name for name, _ in self.layout.blocks]
            raise UnknownNameError(unknown("block", str(block), names))
        return {
            label: self.entries[index]
            for label in self.layout.labels(block)
            if (index := self.layout.index(block, label)) in self.entries
        }

    def number(self, block: str, label: str = "") -> Rational:
        """A coordinate, by block and label, or by its whole name, such as `q1[start]`."""
        return self.entries.get(self.layout.place(block, label), ZERO)

    def label(self, block: str) -> str | None:
        """The label of a one-hot block; None if the block is not one-hot."""
        found = self[block]
        return next(iter(found)) if list(found.values()) == [ONE] else None

    def __len__(self) -> int:
        """The dimension."""
        return self.layout.dimension

    def to_numpy(self) -> "NDArray[np.float64]":
        """Convert the vector to float64, with rounding."""
        import numpy as np

        found = np.zeros(len(self))
        for index, value in self.entries.items():
            found[index] = as_float(value)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    def __sub__(self, other: "Vector") -> "Vector":
        return combine(self.layout, [(ONE, self), (-ONE, other)])

    def __mul__(self, factor: Number) -> "Vector":
        return factor * self

    def _repr_html_(self) -> str:
        names = self.layout.coordinates
        rows = [(names[i], shortened(value, 60)) for i, value in sorted(self.entries.items())]
        return table(f"vector of dimension {len(self)}, nonzero entries", [], rows)

    def __add__(self, other: "Vector") -> "Vector":
        return combine(self.layout, [(ONE, self), (ONE, other)])

    def __rmul__(self, factor: Number) -> "Vector":
        return combine(self.layout, [(rational(factor), self)])

    def dot(self, other: "Vector") -> Rational:
        """The inner product ⟨self, other⟩."""
        check_layout(other, self.layout)
        small, large = self.entries, other.entries
        if len(small) > len(large):
            small, large = large, small
        total = ZERO
        for index, value in small.items():
            if index in large:
                total += value * large[index]
        return total

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.entries == other.entries and self.layout == other.layout

    def __hash__(self) -> int:
        return hash((self.layout, frozenset(self.entries)))

    def __repr__(self) -> str:
        names = self.layout.coordinates
        return "[" + ", ".join(f"{names[i]}={v}" for i, v in sorted(self.entries.items())) + "]"


def check_layout(x: Vector, layout: Layout) -> None:
    """Raise NetworkError unless the vector has the layout."""
    if x.layout is not layout and x.layout != layout:
        names = (" ".join(name for name, _ in each.blocks) for each in (layout, x.layout))
        raise NetworkError("expected a vector of blocks {}; got one of {}".format(*names))


def pointwise(f: Activation, x: Vector) -> Vector:
    """Apply f to every coordinate."""
    if f(ZERO):
        return Vector(x.layout, {i: f(x.entries.get(i, ZERO)) for i in range(x.layout.dimension)})
    return Vector(x.layout, {i: f(value) for i, value in x.entries.items()})


def hadamard(x: Vector, y: Vector) -> Vector:
    """The product x ⊙ y, coordinate by coordinate."""
    check_layout(y, x.layout)
    return Vector(x.layout, {i: v * y.entries[i] for i, v in x.entries.items() if i in y.entries})


def combine(layout: Layout, terms: Iterable[tuple[Rational, Vector]]) -> Vector:
    """The linear combination Σ factor·vector.

    >>> v = Vector.of(Layout.of(x=""), x=3)
    >>> combine(v.layout, [(rational(2), v), (rational(-1), v)])
    [x=3]
    """
    entries: dict[int, Rational] = {}
    for factor, vector in terms:
        check_layout(vector, layout)
        for index, value in vector.entries.items():
            term = value if factor is ONE else factor * value
            entries[index] = entries[index] + term if index in entries else term
    return Vector(layout, entries)
