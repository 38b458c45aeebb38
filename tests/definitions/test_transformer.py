"""The Transformer, Equations 6 to 13, and recognizers."""

from collections.abc import Iterator, Sequence
from itertools import islice, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import D, recognizers, transformers, vectors

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Positions, Transformer, attention
from netwright.errors import InputError, NetworkError
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector

words = st.lists(vectors(), max_size=3)


@examples(60)
@given(transformers(positions=True) | transformers(), words, vectors())
def test_decoding_token_by_token_is_equation_13(
    network: Transformer, X: list[Vector], seed: Vector
) -> None:
    """y_{t+1} = TDec(TEnc(X), (y_0, …, y_t)), with the whole decoder run anew for each t."""
    external = network.encode(X)
    Y = [seed]
    for y in islice(network.outputs(X, seed), 4):
        assert y == network.decode(external, Y)
        Y.append(y)


@examples(60)
@given(transformers(), words)
def test_the_encoder_is_equations_6_to_8_written_once_more(
    network: Transformer, X: list[Vector]
) -> None:
    Z = X
    for layer in network.encoder:
        K, V = [layer.K(x) for x in Z], [layer.V(x) for x in Z]
        A = [attention(layer.Q(x), K, V, network.score, network.rho) + x for x in Z]
        Z = [layer.O(a) + a for a in A]
    assert network.encode(X) == ([network.K(z) for z in Z], [network.V(z) for z in Z])


@examples(60)
@given(transformers(), words, vectors())
def test_a_token_is_equations_9_to_11_written_once_more(
    network: Transformer, X: list[Vector], seed: Vector
) -> None:
    external = network.encode(X)
    for token in islice(network.tokens(X, seed), 1):
        y = seed
        for layer, trace in zip(network.decoder, token.layers, strict=True):
            K, V = [layer.K(y)], [layer.V(y)]
            p = attention(layer.Q(y), K, V, network.score, network.rho) + y
            a = attention(p, *external, network.score, network.rho) + p
            y = layer.O(a) + a
            assert (trace.p, trace.a, trace.z) == (p, a, y)
        assert token.y == network.F(y)


@examples(40)
@given(recognizers())
def test_a_recognizer_accepts_at_the_first_final_output(recognizer: Recognizer) -> None:
    outputs = list(islice(recognizer.outputs("ab"), 3))
    finals = [r for r, y in enumerate(outputs, start=1) if recognizer.final(y)]
    assert recognizer.accepts_at("ab", 3) == (finals[0] if finals else None)


def test_the_seed_is_never_tested() -> None:
    """y_0 would be final, but acceptance needs r ≥ 1."""

    class Zeros:
        def outputs(self, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
            return repeat(Vector.zero(D))

    recognizer = Recognizer(
        ("a",),
        {"a": Vector.zero(D)},
        Zeros(),
        Vector.of(D, x=1),
        lambda y: y.number("x") > 0,
    )
    assert recognizer.accepts_at("a", 3) is None


@examples(5)
@given(recognizers())
def test_a_strange_symbol_is_named(recognizer: Recognizer) -> None:
    with pytest.raises(InputError, match="symbol 'c' at position 2 is not in the recognizer's"):
        recognizer.accepts_at("ac", 1)


def test_positions_need_different_coordinates() -> None:
    layout = Layout.of(x="", u="", v="")
    with pytest.raises(NetworkError, match="different coordinates, two at least"):
        Positions.reciprocal(layout, ("x", "x", "u", "v"))
