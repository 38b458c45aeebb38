"""Section 3.3 (sec:diff), "the need of arbitrary precision": with positions of a finite range.

In print: a positional encoding with finitely many values only enlarges the alphabet, so by
Proposition 3.1 the network is not complete. That is not enough: pos(1) = 1 and pos(i) = 0 beyond
has two values, yet words of different lengths never have the same proportions then.

The claim is true all the same. By the pigeonhole principle there are i < j with pos(i) = pos(j).
Take a palindrome w longer than 2j with different symbols at i and j, and swap the two: the result
u is not a palindrome: its place i has the symbol of w's place j and the mirror place of i, past j,
has that of w's place i. But the encoder sees the same set of vectors for both, so all outputs
agree: one language, the palindromes, is missed by every such network.
"""

from collections.abc import Callable
from dataclasses import dataclass

from netwright.exact.rational import Rational
from netwright.exact.rounding import rounded
from netwright.exact.vector import Vector, pointwise


@dataclass(frozen=True)
class RoundedPositions:
    """A positional encoding with every coordinate rounded: its range is finite.

    (Up to overflow: the exponent is unbounded here, and need not be bounded.)
    """

    pos: Callable[[int], Vector]
    bits: int

    def __call__(self, i: int) -> Vector:
        """pos(i), rounded."""
        return pointwise(lambda x: rounded(x, self.bits), self.pos(i))


def first_collision(pos: Callable[[int], Vector], limit: int = 100_000) -> tuple[int, int] | None:
    """Return (i, j) for the first j for which some i < j has the same encoding, or None."""
    seen: dict[tuple[tuple[int, Rational], ...], int] = {}
    for j in range(1, limit + 1):
        key = tuple(sorted(pos(j).entries.items()))
        if key in seen:
            return seen[key], j
        seen[key] = j
    return None


def palindrome_and_swapped(i: int, j: int, a: str, b: str) -> tuple[tuple[str, ...], ...]:
    """A palindrome longer than 2j with a at i and b at j, and the same with the two swapped.

    >>> for word in palindrome_and_swapped(1, 2, "a", "b"):
    ...     print("".join(word))
    abbba
    babba
    """
    half = [b] * j
    half[i - 1] = a
    palindrome = [*half, b, *reversed(half)]
    swapped = list(palindrome)
    swapped[i - 1], swapped[j - 1] = swapped[j - 1], swapped[i - 1]
    return tuple(palindrome), tuple(swapped)
