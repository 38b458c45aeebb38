"""Rational numbers (python-flint's `fmpq`) and the paper's activations.

σ is Equation 1. φ(x) = −|x| is the nonlinearity of the score in Theorem 3.4 (eq:varphi).
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from flint import fmpq

Rational: TypeAlias = fmpq
Number: TypeAlias = fmpq | int | Fraction
Activation: TypeAlias = Callable[[Rational], Rational]

ZERO = fmpq(0)
ONE = fmpq(1)


def rational(number: Number) -> Rational:
    """The number as a rational.

    >>> rational(Fraction(1, 2)) + 1
    3/2
    """
    if isinstance(number, Fraction):
        return fmpq(number.numerator, number.denominator)
    return fmpq(number)


def sigma(x: Rational) -> Rational:
    """σ(x) = 0 for x < 0, x for 0 ≤ x ≤ 1, and 1 for x > 1 (Equation 1).

    >>> [sigma(fmpq(x, 2)) for x in (-1, 0, 1, 2, 3)]
    [0, 0, 1/2, 1, 1]
    """
    return ZERO if x < 0 else ONE if x > 1 else x


def relu(x: Rational) -> Rational:
    """max(x, 0)."""
    return ZERO if x < 0 else x


def phi(x: Rational) -> Rational:
    """φ(x) = −|x|, which is −relu(x) − relu(−x).

    >>> phi(fmpq(-2, 3)), phi(fmpq(2, 3))
    (-2/3, -2/3)
    """
    return x if x < 0 else -x
