"""Attention over a growing row of keys is the definition's, whatever form they have."""

from collections.abc import Callable

from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import D, vectors

from netwright.definitions.transformer import (
    attention,
    hardmax,
    score_phi,
)
from netwright.engine.transformer.attention import AttentionCache
from netwright.exact.feed_forward import affine_network
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector


def visit_key(cell: int, n: int) -> Vector:
    return Vector.of(D, x=fmpq(1, n), y=fmpq(-cell, n), z=fmpq(1, n * n))


def visit_query(cell: Rational, n: int) -> Vector:
    return Vector.of(D, x=cell / n, y=fmpq(1, n), z=fmpq(1, 3 * n * n))


KEYS_IN_THREE = affine_network(D, {("x", "x"): 1, ("y", "y"): 1, ("z", "z"): 1})


cells_of_a_walk = st.lists(st.integers(-3, 3), min_size=1, max_size=8)
"""With jumps and gaps."""
cells_asked_for = st.lists(
    st.one_of(st.integers(-5, 5).map(fmpq), st.just(fmpq(1, 2))), min_size=1, max_size=4
)


def attends_as_defined(
    cache: AttentionCache,
    key: Callable[[int, int], Vector],
    query: Callable[[Rational, int], Vector],
    cells: list[int],
    asked: list[Rational],
) -> None:
    """Hits, fresh cells, gaps inside the walk, and cells that are no integers."""
    for n, cell in enumerate(cells, start=1):
        newest = key(cell, n)
        cache.append(newest, Vector(newest.layout, {0: n * ONE}))
        for q in (query(each, n) for each in asked):
            assert cache.attend(q) == attention(q, cache.keys, cache.values, score_phi, hardmax)


@given(cells_of_a_walk, cells_asked_for)
def test_last_visits_of_any_walk_with_jumps_and_gaps(
    cells: list[int], asked: list[Rational]
) -> None:
    cache = AttentionCache(KEYS_IN_THREE, score_phi, hardmax)
    attends_as_defined(cache, visit_key, visit_query, cells, asked)


@given(st.lists(vectors(), min_size=1, max_size=5), vectors())
def test_keys_of_no_form_are_all_looked_at(keys: list[Vector], query: Vector) -> None:
    cache = AttentionCache(KEYS_IN_THREE, score_phi, hardmax)
    for n, key in enumerate(keys, start=1):
        cache.append(key, Vector.of(D, x=n))
        wanted = attention(query, cache.keys, cache.values, score_phi, hardmax)
        assert cache.attend(query) == wanted


@given(st.integers(1, 6), st.integers(-3, 9), st.sampled_from([fmpq(1), fmpq(1, 2), fmpq(2)]))
def test_keys_on_a_line(n: int, place: int, first: Rational) -> None:
    keys = affine_network(D, {("x", "x"): 1, ("y", "y"): 1})
    cache = AttentionCache(keys, score_phi, hardmax)
    for i in range(1, n + 1):
        cache.append(Vector.of(D, x=i, y=-1), Vector.of(D, z=i))
    for query in (Vector.of(D, x=first, y=place), Vector.of(D, x=first, y=fmpq(2 * place + 1, 2))):
        wanted = attention(query, cache.keys, cache.values, score_phi, hardmax)
        assert cache.attend(query) == wanted
