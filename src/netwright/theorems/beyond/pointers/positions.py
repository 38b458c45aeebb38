"""Positional encodings by name: each power of the position in a block of its own."""

from dataclasses import dataclass

from flint import fmpq

from netwright.exact.layout import Layout
from netwright.exact.vector import Vector

POWERS = {"one": 0, "n": 1, "e": -1, "e2": -2}


@dataclass(frozen=True)
class Positions:
    """pos(i) has i to the power of each block's name: one 1, n i, e 1/i, e2 1/i².

    >>> Positions(Layout.of(n="", e=""), ("n", "e"))(4)
    [n=4, e=1/4]
    """

    layout: Layout
    blocks: tuple[str, ...]

    def __call__(self, i: int) -> Vector:
        """pos(i)."""
        return Vector.of(self.layout, {name: fmpq(i) ** POWERS[name] for name in self.blocks})
