"""Digits of rationals, found by halves, are those that are found one by one."""

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from netwright.exact.rational import Rational, digits_in_base


def one_by_one(x: Rational, base: Rational, longest: int) -> list[int] | None:
    digits: list[int] = []
    while x:
        if len(digits) == longest:
            return None
        x *= base
        digits.append(int(x.floor()))
        x -= digits[-1]
    return digits


@given(st.integers(2, 12), st.lists(st.integers(0, 11), max_size=200))
def test_digits_in_a_whole_base(base: int, digits: list[int]) -> None:
    x = fmpq(0)
    for digit in reversed(digits):
        x = (x + digit % base) / base
    wanted = [digit % base for digit in digits]
    while wanted and wanted[-1] == 0:
        wanted.pop()
    assert digits_in_base(x, fmpq(base)) == wanted


@given(st.integers(1, 400), st.integers(1, 400), st.fractions(min_value="3/2", max_value=12))
def test_in_any_base(p: int, q: int, base: object) -> None:
    x, b = fmpq(p, p + q), fmpq(base.numerator, base.denominator)  # type: ignore[attr-defined]
    assert digits_in_base(x, b) == one_by_one(x, b, int(x.q).bit_length() + 64)
