"""Exact maps: sparse and named, and equal to dense arithmetic in fractions."""

from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from netwright.errors import NetworkError
from netwright.exact.feed_forward import Affine, FeedForward, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import phi, rational, relu, sigma
from netwright.exact.vector import Vector, combine

SMALL = Layout.of(a=("p", "q"), b="")
LARGE = Layout.of(c=("r", "s", "t"), d="")
numbers = st.fractions(-3, 3, max_denominator=6)


def vectors(layout: Layout) -> st.SearchStrategy[Vector]:
    lists = st.lists(numbers, min_size=layout.dimension, max_size=layout.dimension)
    return lists.map(lambda xs: Vector(layout, {i: rational(x) for i, x in enumerate(xs)}))


def affine_maps(source: Layout, target: Layout) -> st.SearchStrategy[Affine]:
    places = st.tuples(st.integers(0, source.dimension - 1), st.integers(0, target.dimension - 1))
    weights = st.dictionaries(places, numbers.filter(bool).map(rational))
    return st.builds(Affine, st.just(source), st.just(target), weights, vectors(target))


def dense(vector: Vector) -> list[Fraction]:
    entries = (vector.entries.get(i, fmpq(0)) for i in range(vector.layout.dimension))
    return [Fraction(int(x.p), int(x.q)) for x in entries]


@given(affine_maps(SMALL, LARGE), vectors(SMALL))
def test_an_affine_map_is_a_matrix_and_a_bias(affine: Affine, x: Vector) -> None:
    result = dense(affine.bias)
    for (i, j), weight in affine.weights.items():
        result[j] += dense(x)[i] * Fraction(int(weight.p), int(weight.q))
    assert dense(affine(x)) == result


@given(affine_maps(SMALL, LARGE), affine_maps(LARGE, SMALL), vectors(SMALL))
def test_composition_is_one_map(first: Affine, second: Affine, x: Vector) -> None:
    assert first.then(second)(x) == second(first(x))


@given(affine_maps(SMALL, LARGE), affine_maps(LARGE, SMALL), vectors(SMALL))
def test_a_network_applies_its_activation_between_the_maps(
    first: Affine, second: Affine, x: Vector
) -> None:
    hidden = Vector.of(LARGE)
    for i, value in enumerate(dense(first(x))):
        hidden += Vector(LARGE, {i: rational(min(max(value, Fraction(0)), Fraction(1)))})
    assert FeedForward((first, second))(x) == second(hidden)
    assert FeedForward((first,))(x) == first(x)


@given(vectors(SMALL), vectors(SMALL), numbers)
def test_vectors_are_a_vector_space_with_a_product(x: Vector, y: Vector, c: Fraction) -> None:
    assert dense(x + y) == [a + b for a, b in zip(dense(x), dense(y), strict=True)]
    assert dense(c * x) == [c * a for a in dense(x)]
    product = sum(a * b for a, b in zip(dense(x), dense(y), strict=True))
    assert x.dot(y) == rational(Fraction(product))
    assert x + -1 * x == Vector.zero(SMALL)
    assert combine(SMALL, [(rational(c), x), (rational(1), y)]) == c * x + y


@given(numbers)
def test_activations(x: Fraction) -> None:
    assert sigma(rational(x)) == rational(min(max(x, Fraction(0)), Fraction(1)))
    assert relu(rational(x)) == rational(max(x, Fraction(0)))
    assert phi(rational(x)) == rational(-abs(x)) == -relu(rational(x)) - relu(rational(-x))


def test_weights_are_given_and_read_by_block() -> None:
    affine = Affine.of(
        SMALL, SMALL, {("a", "a"): 2, ("b", "a"): {("", "p"): fmpq(1, 3)}}, bias={"b": 7}
    )
    assert affine.between("a", "a") == {("p", "p"): 2, ("q", "q"): 2}
    assert affine.between("b", "a") == {("", "p"): fmpq(1, 3)}
    assert affine.between("b", "b") == {}
    assert affine(Vector.of(SMALL, a="q", b=3)) == Vector.of(SMALL, a={"p": 1, "q": 2}, b=7)


def test_blocks_of_different_size_have_no_identity() -> None:
    with pytest.raises(ValueError, match="longer than argument"):
        Affine.of(SMALL, LARGE, {("a", "c"): 1})


def test_vectors_of_different_layouts_do_not_meet() -> None:
    x, y = Vector.of(SMALL, b=1), Vector.of(LARGE, d=1)
    for meet in (lambda: x + y, lambda: x.dot(y), lambda: Affine.of(SMALL, SMALL)(y)):
        with pytest.raises(NetworkError, match="expected a vector of blocks a b; got one of c d"):
            meet()


def test_a_zero_weight_is_no_weight() -> None:
    zero = Affine(SMALL, SMALL, {(0, 0): fmpq(0)}, Vector.zero(SMALL))
    assert zero == Affine.of(SMALL, SMALL)


def test_every_coordinate_has_a_name() -> None:
    assert [str(name) for name in SMALL.coordinates] == ["a[p]", "a[q]", "b"]
    vector = Vector.of(SMALL, a="q", b=fmpq(1, 2))
    assert repr(vector) == "[a[q]=1, b=1/2]"
    assert vector["a"] == {"q": 1}
    assert vector.number("b") == fmpq(1, 2)
    assert vector.number("a", "p") == 0
    with pytest.raises(KeyError, match=r"no coordinate 'nowhere'; there are a\[p\], a\[q\], b"):
        vector.number("nowhere")


def test_a_product_of_no_matrices_is_refused() -> None:
    with pytest.raises(NetworkError, match="a product of no matrices"):
        LinearMap(Layout.of(x=""), Layout.of(x=""), ((),))
