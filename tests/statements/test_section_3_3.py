"""Section 3.3: positions of fixed precision lose the palindromes."""

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import D, transformers, vectors

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Positions, Transformer
from netwright.exact.layout import Layout
from netwright.exact.rounding import rounded
from netwright.exact.vector import Vector
from netwright.statements.section_3_3_fixed_precision import (
    RoundedPositions,
    first_collision,
    palindrome_and_swapped,
)

POSITIONS = Positions.reciprocal(Layout.of(a="", b="", c="", d=""), ("a", "b", "c", "d"))


@pytest.mark.parametrize(("bits", "where"), [(8, (352, 353)), (11, (2716, 2717))])
def test_where_rounded_positions_first_collide(bits: int, where: tuple[int, int]) -> None:
    """In the 8 significant bits of bfloat16, and in the 11 of float16 with any exponent."""
    assert first_collision(RoundedPositions(POSITIONS, bits)) == where


def test_float16_collides_earlier_as_its_small_numbers_have_fewer_bits() -> None:
    seen: dict[tuple[float, ...], int] = {}
    for j in range(1, 3000):
        key = tuple(float(np.float16(x)) for x in (1, j, 1 / j, 1 / (j * j)))
        if key in seen:
            break
        seen[key] = j
    assert (seen[key], j) == (2080, 2081)


def test_exact_positions_never_collide() -> None:
    assert first_collision(POSITIONS, 300) is None


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6))
def test_rounding_is_that_of_floats(x: object) -> None:
    number = fmpq(x.numerator, x.denominator)  # type: ignore[attr-defined]  # a fraction
    as_float = float(x)  # type: ignore[arg-type]  # a fraction; rounded once, to 53 bits
    found = rounded(number, 53)
    assert int(found.p) / int(found.q) == as_float
    single = rounded(rounded(number, 53), 24)
    assert np.float32(as_float) == int(single.p) / int(single.q)


@given(
    transformers(),
    vectors(),
    st.tuples(vectors(), vectors()),
    st.integers(2, 4),
)
def test_no_network_with_rounded_positions_tells_the_two_words_apart(
    network: Transformer, seed: Vector, embedding: tuple[Vector, Vector], bits: int
) -> None:
    def exact(i: int) -> Vector:
        return Vector.of(D, x=1, y=i, z=fmpq(1, i))

    pos = RoundedPositions(exact, bits)
    collision = first_collision(pos)
    assert collision is not None
    palindrome, swapped = palindrome_and_swapped(*collision, "a", "b")
    assert palindrome == palindrome[::-1]
    assert swapped != swapped[::-1]
    recognizer = Recognizer(
        ("a", "b"),
        dict(zip("ab", embedding, strict=True)),
        replace(network, pos=pos),
        seed,
        lambda y: y.number("x") > 0,
    )
    assert recognizer.first_difference(palindrome, swapped, 2) is None


def test_exact_positions_do_tell_them_apart() -> None:
    """So it is the rounding that loses them."""
    from netwright.kind.transformer.construction import to_transformer
    from netwright.machine.library import library_machine

    compiled = to_transformer(library_machine("palindrome"))
    palindrome, swapped = palindrome_and_swapped(1, 2, "a", "b")
    assert compiled.recognizer.first_difference(palindrome, swapped, 12) is not None
