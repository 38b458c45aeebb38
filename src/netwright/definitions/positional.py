"""Positional encodings, section 3.2: functions from positions 1, 2, … to ℚ^d."""

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from netwright.errors import NetworkError
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class Positions:
    """pos(i) has powers of i in some coordinates of a layout, and 0 elsewhere.

    In print pos is defined on all of ℕ; it needs i ≥ 1, and positions begin there.

    >>> Positions(Layout.of(n="", e="", x=""), (("n", 1), ("e", -1)))(4)
    [n=4, e=1/4]
    """

    layout: Layout
    powers: tuple[tuple[str, int], ...]
    """The power of i in each block of one coordinate."""

    @staticmethod
    def reciprocal(layout: Layout, blocks: Sequence[str]) -> "Positions":
        """pos(i) = (1, i, 1/i, 1/i², …); Theorem 3.4 has the first four.

        >>> Positions.reciprocal(Layout.of(a="", b="", c="", d=""), ("a", "b", "c", "d"))(2)
        [a=1, b=2, c=1/2, d=1/4]
        """
        return Positions(layout, tuple(zip(blocks, (0, 1, *range(-1, -len(blocks), -1)))))  # noqa: B905

    def __post_init__(self) -> None:
        if not len(self.blocks) == len(set(self.blocks)) >= 2:
            raise NetworkError(f"pos needs different coordinates, two at least; got {self.blocks}")

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of its blocks."""
        return tuple(block for block, _ in self.powers)

    @property
    def is_reciprocal(self) -> bool:
        """Whether it is 1, i, 1/i, 1/i², …."""
        return self == Positions.reciprocal(self.layout, self.blocks)

    def __call__(self, i: int) -> Vector:
        """pos(i)."""
        return Vector.of(self.layout, {block: fmpq(i) ** power for block, power in self.powers})
