"""Positional encodings, section 3.2: functions from positions 1, 2, … to ℚ^d."""

from dataclasses import dataclass

from flint import fmpq

from netwright.errors import NetworkError
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class ReciprocalPositions:
    """pos(i) = (1, i, 1/i, 1/i², …) in some coordinates of a layout, 0 elsewhere.

    Theorem 3.4 has the first four.
    In print pos is defined on all of ℕ; it needs i ≥ 1, and positions begin there.

    >>> ReciprocalPositions(Layout.of(a="", b="", c="", d=""), ("a", "b", "c", "d"))(2)
    [a=1, b=2, c=1/2, d=1/4]
    """

    layout: Layout
    blocks: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(self.blocks) == len(set(self.blocks)) >= 2:
            raise NetworkError(f"pos needs different coordinates, two at least; got {self.blocks}")

    def __call__(self, i: int) -> Vector:
        """pos(i)."""
        powers = range(1, len(self.blocks) - 1)
        numbers: list[fmpq] = [fmpq(1), fmpq(i), *(fmpq(1, i**e) for e in powers)]
        return Vector.of(self.layout, dict(zip(self.blocks, numbers, strict=True)))
