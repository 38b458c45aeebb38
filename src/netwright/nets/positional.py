"""Positional encodings, section 3.2: functions from positions 1, 2, … to ℚ^d."""

from dataclasses import dataclass

from flint import fmpq

from netwright.errors import NetworkError
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class ReciprocalPositions:
    """pos(i) = (1, i, 1/i, 1/i²) in four coordinates of a layout, 0 elsewhere (Theorem 3.4).

    In print pos is defined on all of ℕ; it needs i ≥ 1, and positions begin there.

    >>> ReciprocalPositions(Layout.of(a="", b="", c="", d=""), ("a", "b", "c", "d"))(2)
    [a=1, b=2, c=1/2, d=1/4]
    """

    layout: Layout
    blocks: tuple[str, str, str, str]

    def __post_init__(self) -> None:
        if len(set(self.blocks)) != 4:
            raise NetworkError(f"pos needs four different coordinates; got {self.blocks}")

    def __call__(self, i: int) -> Vector:
        """pos(i)."""
        numbers = (1, i, fmpq(1, i), fmpq(1, i * i))
        return Vector.of(self.layout, dict(zip(self.blocks, numbers, strict=True)))
