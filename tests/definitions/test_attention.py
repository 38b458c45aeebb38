"""Attention, Equations 4 and 5."""

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import D, vectors

from netwright.definitions.transformer import (
    Normalizer,
    attention,
    attention_weights,
    dot_product,
    hardmax,
    score_phi,
    square_plus_one,
)
from netwright.errors import NetworkError
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector

normalizers = st.sampled_from([hardmax, square_plus_one])
scores = st.lists(st.integers(-3, 3).map(fmpq), min_size=1, max_size=6)


@given(scores)
def test_hardmax_shares_among_the_maxima(x: list[Rational]) -> None:
    r = x.count(max(x))
    assert hardmax(x) == [fmpq(1, r) if value == max(x) else fmpq(0) for value in x]


@given(scores)
def test_another_normaliser_of_the_papers_form(x: list[Rational]) -> None:
    total = sum((value * value + 1 for value in x), fmpq(0))
    assert square_plus_one(x) == [(value * value + 1) / total for value in x]


@given(normalizers, scores)
def test_weights_are_a_convex_combination(rho: Normalizer, x: list[Rational]) -> None:
    weights = rho(x)
    assert sum(weights, fmpq(0)) == 1
    assert all(weight >= 0 for weight in weights)


def test_a_normaliser_needs_a_weight_somewhere() -> None:
    with pytest.raises(NetworkError, match="normaliser none: f is 0 for every score"):
        Normalizer("none", lambda _: lambda _: fmpq(0))([fmpq(1), fmpq(2)])


def test_over_nothing_attention_is_zero() -> None:
    q = Vector.of(D, x=1)
    assert attention(q, [], [], score_phi, hardmax) == Vector.zero(D)
    assert attention_weights(q, [], score_phi, square_plus_one) == []


@given(normalizers, vectors(), st.lists(st.tuples(vectors(), vectors()), max_size=5), st.data())
def test_attention_does_not_see_order(
    rho: Normalizer, q: Vector, pairs: list[tuple[Vector, Vector]], data: st.DataObject
) -> None:
    other = data.draw(st.permutations(pairs))
    results = [
        attention(q, [k for k, _ in some], [v for _, v in some], dot_product, rho)
        for some in (pairs, other)
    ]
    assert results[0] == results[1]


def test_the_score_of_theorem_3_4_prefers_products_near_zero() -> None:
    q = Vector.of(D, x=1, y=5)
    K = [Vector.of(D, x=i, y=-1) for i in range(1, 9)]
    V = [Vector.of(D, z=i) for i in range(1, 9)]
    assert attention(q, K, V, score_phi, hardmax) == Vector.of(D, z=5)
