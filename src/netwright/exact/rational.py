"""Rational numbers (python-flint's `fmpq`) and the paper's activations.

σ is Equation 1. φ(x) = −|x| is the nonlinearity of the score in Theorem 3.4 (eq:varphi).
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import TypeAlias

from flint import fmpq, fmpz

Rational: TypeAlias = fmpq
Number: TypeAlias = fmpq | int | Fraction
Activation: TypeAlias = Callable[[Rational], Rational]

ZERO = fmpq(0)
ONE = fmpq(1)


def rational(number: Number) -> Rational:
    """Convert a number to a rational.

    >>> rational(Fraction(1, 2)) + 1
    3/2
    """
    # The usual cases first: the check for Fraction is slow.
    if type(number) is fmpq:
        return number
    if type(number) is int:
        return fmpq(number)
    if isinstance(number, Fraction):
        return fmpq(number.numerator, number.denominator)
    return fmpq(number)


def as_float(x: Rational) -> float:
    """The float64 nearest to a number, infinite on overflow.

    >>> as_float(fmpq(1, 3))
    0.3333333333333333
    """
    try:
        return int(x.p) / int(x.q)
    except OverflowError:
        return inf if x > 0 else -inf


def sigma(x: Rational) -> Rational:
    """σ(x) = 0 for x < 0, x for 0 ≤ x ≤ 1, and 1 for x > 1 (Equation 1).

    >>> [sigma(fmpq(x, 2)) for x in (-1, 0, 1, 2, 3)]
    [0, 0, 1/2, 1, 1]
    """
    top = x.p  # over x.q > 0; comparing these is three times as fast as comparing x
    return ZERO if top < 0 else ONE if top > x.q else x


def relu(x: Rational) -> Rational:
    """max(x, 0)."""
    return ZERO if x.p < 0 else x


def phi(x: Rational) -> Rational:
    """φ(x) = −|x|, which is −relu(x) − relu(−x).

    >>> phi(fmpq(-2, 3)), phi(fmpq(2, 3))
    (-2/3, -2/3)
    """
    return x if x.p < 0 else -x


def digits_in_base(x: Rational, base: Rational) -> list[int] | None:
    """d_1, d_2, … with x = Σ d_j B^(−j) for 0 ≤ x < 1, each as large as possible; None if endless.

    A whole base allows divide and conquer, in a time almost linear in the number of digits.

    >>> digits_in_base(fmpq(5, 9), fmpq(3)), digits_in_base(fmpq(1, 2), fmpq(3))
    ([1, 2], None)
    """
    longest = int(x.q).bit_length() + 64
    if base.q == 1:
        count = _whole_after(x.q, base.p, longest)
        return None if count is None else _integer_digits((x * base.p**count).p, base.p, count)
    digits: list[int] = []
    while x:
        if len(digits) == longest:
            return None
        x *= base
        digits.append(int(x.floor()))
        x -= digits[-1]
    return digits


def _whole_after(q: fmpz, base: fmpz, longest: int) -> int | None:
    """The least n ≤ `longest` for which q divides base^n, or None."""
    if base <= 1:
        return 0 if q == 1 else None
    low, high = -1, (int(q).bit_length() - 1) // int(base).bit_length()
    while base**high % q != 0:
        if high >= longest:
            return None
        low, high = high, min(longest, 2 * high + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if base**middle % q == 0 else (middle, high)
    return high


def _integer_digits(number: fmpz, base: fmpz, count: int) -> list[int]:
    """The lowest `count` digits of an integer, the highest first."""
    if count <= 30:
        digits = []
        for _ in range(count):
            number, digit = divmod(number, base)
            digits.append(int(digit))
        return digits[::-1]
    below = count // 2
    above, rest = divmod(number, base**below)
    return [*_integer_digits(above, base, count - below), *_integer_digits(rest, base, below)]
