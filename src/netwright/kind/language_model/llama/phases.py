"""Offsets as phases: a head of Llama that looks exactly d tokens back.

RoPE turns pair j of a query at position p by the angle p·w_j, and that of a key likewise, with
w_j = θ^(−j/32) for heads of 64 coordinates. As complex numbers, the score of a query q and a key k
at the offset o is Re Σ_j q_j k̄_j e^{i w_j o}. The *phase* of an offset d is e^{−i w_j d} for the
first m pairs. With weights a_j > 0 of sum 1, r_j = √(8·A·a_j), q_j = r_j e^{−i w_j d}, k_j = r_j,

    score(o) / √64 = A·Σ_j a_j cos(w_j (o − d)),

which is A for o = d. For all other offsets it is at most A·(1 − gap), where the gap is a minimum of
finitely many cosines: that of Σ_j a_j (1 − cos(w_j e)) for 1 ≤ e ≤ T + 3. So all other tokens
together have at most the weight T·e^(−A·gap), which is 4·10⁻⁹ for T = 2,048.

The weights are rounded to multiples of 2⁻²⁴ that float32 has, which changes a score by less than
A·10⁻⁶.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

THETA = 1e12
"""RoPE's base."""
SIZE = 64
"""The number of coordinates of a head; it has half as many pairs."""
PAIRS = SIZE // 2
FREQUENCIES = THETA ** (-np.arange(PAIRS) / PAIRS)
"""The angle w_j by which pair j turns from one token to the next."""
CHOICES = ((2048, 8, 0.45), (8192, 10, 0.40), (32768, 11, 0.35), (1 << 17, 13, 0.35))
"""For contexts up to a length: the number of pairs m, and the weight of the first."""
SLOW = 0.05
"""A pair is slow if it turns by less than this within a context."""


@dataclass(frozen=True)
class Phases:
    """The phases for a context of T tokens."""

    context: int

    @cached_property
    def _choice(self) -> tuple[int, float]:
        return next((m, first) for most, m, first in CHOICES if self.context <= most)

    @property
    def pairs(self) -> int:
        """The number of pairs m."""
        return self._choice[0]

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """a_j."""
        m, first = self._choice
        return np.array([first] + [(1 - first) / (m - 1)] * (m - 1))

    @property
    def sharpness(self) -> int:
        """A."""
        return 128 if self.context < 32768 else 256

    @cached_property
    def radii(self) -> list[float]:
        """r_j."""
        found: list[float] = np.sqrt(np.sqrt(SIZE) * self.sharpness * self.weights).tolist()
        return found

    @cached_property
    def gap(self) -> float:
        """The distance of every other offset from the right one.

        >>> [round(Phases(most).gap, 3) for most, _, _ in CHOICES[:2]]
        [0.211, 0.18]
        """
        offsets = np.arange(1, self.context + 4)
        cosines = np.cos(np.outer(offsets, FREQUENCIES[: self.pairs]))
        return float((1 - cosines @ self.weights).min())

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of a phase's coordinates: all real parts, then all imaginary ones."""
        return tuple(f"{part}{j}" for part in ("re", "im") for j in range(self.pairs))

    def of(self, offset: int) -> list[float]:
        """The phase of an offset: e^{−iwd}."""
        angles = offset * FREQUENCIES[: self.pairs]
        found: list[float] = np.concatenate([np.cos(angles), -np.sin(angles)]).tolist()
        return found

    @cached_property
    def slow(self) -> list[int]:
        """The slow pairs, the slowest first."""
        return [j for j in reversed(range(PAIRS)) if FREQUENCIES[j] * self.context < SLOW]


def rounded(number: float) -> float:
    """A multiple of 2^-24 that float32 has."""
    return float(np.float32(round(number * 2**24) / 2**24))
