"""Rounding is to the nearest number, ties to even, as numpy's and ml_dtypes' own types do it."""

from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.precision.types_of_numpy import TYPES

from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.rounding import rounded
from netwright.jit import compiled
from netwright.precision.float_arithmetic import FloatArithmetic, arithmetic_of
from netwright.precision.float_loops import Form, over, plus, times
from netwright.precision.formats import FORMATS, binary
from netwright.precision.rational_arithmetic import RationalArithmetic


def rational(x: Any) -> fmpq:
    return fmpq(*float(x).as_integer_ratio())


def test_the_formats_are_those_of_the_types() -> None:
    assert [(f.bits, f.lowest) for f in FORMATS.values()] == [
        (53, -1074),
        (24, -149),
        (8, -133),
        (11, -24),
    ]


@given(st.floats(-60000, 60000) | st.floats(-1e-4, 1e-4) | st.floats(-1e-38, 1e-38))
def test_a_number_is_rounded_as_the_types_round_it(x: float) -> None:
    for name, kind in TYPES.items():
        with np.errstate(under="ignore"):
            wanted = np.array(x).astype(kind)
        assert FORMATS[name].nearest(rational(x)) == rational(wanted)


@given(st.integers(1, 2**20), st.integers(-8, 3), st.sampled_from(["float16", "bfloat16"]))
def test_ties_go_to_the_even_one(n: int, e: int, name: str) -> None:
    """The middle between two neighbours, and what is a little beside it."""
    form = FORMATS[name]
    n = n % 2 ** (form.bits - 1) + 2 ** (form.bits - 1)  # with all bits
    middle = fmpq(2 * n + 1) * fmpq(2) ** e
    near = form.nearest(middle) / fmpq(2) ** (e + 1)
    assert near == (n if n % 2 == 0 else n + 1)
    assert form.nearest(middle + fmpq(1, 10**9)) == fmpq(n + 1) * fmpq(2) ** (e + 1)
    assert form.nearest(middle - fmpq(1, 10**9)) == fmpq(n) * fmpq(2) ** (e + 1)


@given(st.fractions(), st.integers(2, 200))
def test_nothing_with_so_many_bits_is_nearer(x: Fraction, bits: int) -> None:
    exact = fmpq(x.numerator, x.denominator)
    near = rounded(exact, bits)
    assert int(abs(near.p)).bit_length() - (int(near.p) & -int(near.p)).bit_length() < bits
    if exact:
        half_a_unit = abs(near) * fmpq(1, 2**bits)
        assert abs(near - exact) <= half_a_unit


def test_beyond_the_largest_number_there_is_infinity_or_a_word_of_it() -> None:
    half = FORMATS["float16"]
    assert FloatArithmetic(half).number(fmpq(65520)) == inf
    assert FloatArithmetic(half).number(fmpq(65519)) == 65504
    with pytest.raises(InputError, match="float16 has no number for 70000"):
        half.nearest(fmpq(70000))


def all_over(x: AnyArray, y: AnyArray, out: AnyArray, form: Form) -> None:
    for k in range(len(x)):
        out[k] = over(x[k], y[k], form)


def quotients(here: FloatArithmetic, x: AnyArray, y: AnyArray) -> AnyArray:
    out = np.empty(len(x))
    compiled(all_over, x, y, out, bound=(here.form,)).loop(x, y, out)
    return out


@given(st.lists(st.tuples(st.floats(), st.floats(1e-300)), min_size=1), st.integers(2, 53))
def test_python_does_the_same_as_the_machine_code(pairs: list[Any], bits: int) -> None:
    for form in (binary(bits), FORMATS["float16"]):
        here = FloatArithmetic(form)
        x, y = map(np.array, zip(*pairs, strict=True))
        for operation, found in (
            (plus, here.plus(x, y)),
            (times, here.times(x, y)),
            (over, quotients(here, x, y)),
        ):
            with np.errstate(all="ignore"):
                wanted = [operation(a, b, here.form) for a, b in zip(x, y, strict=True)]
            assert found.tobytes() == np.array(wanted).tobytes(), operation


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float64"])
def test_every_operation_is_the_types_own(name: str) -> None:
    """A hundred thousand sums, products and quotients, subnormal and infinite ones among them."""
    draw = np.random.default_rng(7)
    size = 100_000
    kind, here = TYPES[name], FloatArithmetic(FORMATS[name])
    with np.errstate(all="ignore"):
        x, y = (
            (draw.standard_normal(size) * 2.0 ** draw.integers(-22, 14, size)).astype(kind)
            for _ in range(2)
        )
        y[y == 0] = 1
        wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
        for found, wanted in (
            (here.plus(wide_x, wide_y), x + y),
            (here.times(wide_x, wide_y), x * y),
            (quotients(here, wide_x, wide_y), x / y),
        ):
            assert (found == wanted.astype(np.float64)).all()


@pytest.mark.parametrize("bits", [2, 3, 8, 11, 24, 25, 26, 27, 30, 40, 51, 52, 53])
def test_every_operation_of_p_bits_is_the_exact_one_rounded(bits: int) -> None:
    draw = np.random.default_rng(bits)
    fast, slow = FloatArithmetic(binary(bits)), RationalArithmetic(binary(bits))

    def numbers() -> list[fmpq]:
        pairs = draw.integers(1, 10**6, (400, 2)).tolist()
        return [slow.number(fmpq(p, q) * (-1) ** p) for p, q in pairs]

    x, y = numbers(), numbers()
    # Neighbours of middles: a product with 1 and half a unit more is one at every size.
    y[:50] = [slow.number(1 + fmpq(n, 2 ** max(1, bits // 2))) for n in range(50)]
    wide_x, wide_y = (np.array([fast.number(n) for n in each]) for each in (x, y))
    for operation, exact in (
        (fast.plus, [a + b for a, b in zip(x, y, strict=True)]),
        (fast.times, [a * b for a, b in zip(x, y, strict=True)]),
        (partial(quotients, fast), [a / b for a, b in zip(x, y, strict=True)]),
    ):
        found = [fast.exact(n) for n in operation(wide_x, wide_y)]
        assert found == [slow.number(n) for n in exact]


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9), st.sampled_from([8, 11, 24, 40]))
def test_a_quotient_of_any_numbers_is_the_exact_one_rounded(a: float, b: float, bits: int) -> None:
    """A temperature has more bits than the format."""
    form = binary(bits)
    here = FloatArithmetic(form)
    assert here.exact(over(a, b, here.form)) == form.nearest(rational(a) / rational(b))


def test_a_temperature_near_a_middle() -> None:
    here = FloatArithmetic(binary(24))
    tau = float.fromhex("0x1.212f755184461p+0")
    assert here.exact(over(1.0, tau, here.form)) == fmpq(14851951, 16777216)


def test_more_than_53_bits_are_for_rationals() -> None:
    assert isinstance(arithmetic_of(binary(53)), FloatArithmetic)
    assert isinstance(arithmetic_of(binary(54)), RationalArithmetic)
    with pytest.raises(InputError, match="more than Python's own 53"):
        FloatArithmetic(binary(60))
    with pytest.raises(InputError, match="8 bits is too small to add up numbers of 11 bits"):
        FloatArithmetic(binary(11), binary(8))
