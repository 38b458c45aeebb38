"""States and symbols as numbers of base 4, so that a sum of a state's and a symbol's is unique.

For x = Σ b_j 2^(j−1) with bits b_1, b_2, …, code₁(x) = Σ b_j 4^(−j) lies in [0, 1/3), and
code₂(x) = 2 code₁(x) in [0, 2/3). code₂(q) + code₁(a) has the base-4 digits 2b_j + b'_j, each of
them of one pair of bits: it tells q and a, and is below 1.
"""

from flint import fmpq

from netwright.exact.rational import ZERO, Rational


def code_1(number: int) -> Rational:
    """code₁.

    >>> code_1(0), code_1(1), code_1(6)
    (0, 1/4, 5/64)
    """
    total = ZERO
    for place, bit in enumerate(reversed(f"{number:b}"), start=1):
        if bit == "1":
            total += fmpq(1, 4**place)
    return total


def code_2(number: int) -> Rational:
    """code₂."""
    return 2 * code_1(number)
