"""The definitions of the open questions, written once more."""

from dataclasses import fields
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import D, feed_forward_networks, transformers, vectors

from netwright.definitions.masked_transformer import MaskedTransformer
from netwright.definitions.residual_free import Head, HeadsLayer, ResidualFree
from netwright.definitions.transformer import (
    Normalizer,
    Score,
    Transformer,
    attention,
    dot_product,
    hardmax,
    score_phi,
    square_plus_one,
)
from netwright.exact.feed_forward import FeedForward
from netwright.exact.vector import Vector


def masked_like(network: Transformer, *, masked: bool) -> MaskedTransformer:
    values = {field.name: getattr(network, field.name) for field in fields(Transformer)}
    return MaskedTransformer(**values, masked=masked)


@examples(60)
@given(transformers(), st.lists(vectors(), min_size=1, max_size=4))
def test_an_input_token_of_a_masked_encoder_sees_those_before_it(
    network: Transformer, X: list[Vector]
) -> None:
    """Token i has the keys and values that it has if the input ends there, in every layer."""
    masked = masked_like(network, masked=True)
    keys, values = masked.encode(X)
    for i in range(1, len(X) + 1):
        shorter = masked.encode(X[:i])
        assert (shorter[0][-1], shorter[1][-1]) == (keys[i - 1], values[i - 1])
    for layer in masked.encoder[:1]:
        for i, (a, z) in enumerate(masked.encode_tokens(layer, X), start=1):
            K, V = [*map(layer.K, X[:i])], [*map(layer.V, X[:i])]
            x = X[i - 1]
            assert a == attention(layer.Q(x), K, V, network.score, network.rho) + x
            assert z == layer.O(a) + a


@examples(30)
@given(transformers(), st.lists(vectors(), max_size=3), vectors())
def test_not_masked_it_is_the_papers(network: Transformer, X: list[Vector], seed: Vector) -> None:
    other = masked_like(network, masked=False)
    assert [*islice(other.outputs(X, seed), 4)] == [*islice(network.outputs(X, seed), 4)]
    if not network.encoder or len(X) < 2:
        other = masked_like(network, masked=True)
        assert [*islice(other.outputs(X, seed), 4)] == [*islice(network.outputs(X, seed), 4)]


heads = st.builds(Head, *[feed_forward_networks()] * 3)
layers = st.builds(
    HeadsLayer, st.lists(heads, min_size=1, max_size=3).map(tuple), feed_forward_networks()
)


@examples(60)
@given(
    st.lists(layers, min_size=1, max_size=2).map(tuple),
    feed_forward_networks(),
    st.sampled_from([score_phi, dot_product]),
    st.sampled_from([hardmax, square_plus_one]),
    st.lists(vectors(), max_size=3),
    vectors(),
)
def test_without_residual_connections_nothing_is_added(
    decoder: tuple[HeadsLayer, ...],
    F: FeedForward,
    score: Score,
    rho: Normalizer,
    X: list[Vector],
    seed: Vector,
) -> None:
    """a = Σ Att(Q(y_i), K(Y_i), V(Y_i)) over the heads, z = O(a), and the prompt comes first."""

    def pos(i: int) -> Vector:
        return Vector.of(D, x=1, z=i)

    network = ResidualFree(D, decoder, F, score, rho, pos)
    given_, found = [seed, *X], []
    for t, token in enumerate(islice(network.tokens(X, seed), 5), start=1):
        Y = [y + pos(i) for i, y in enumerate(given_[:t], start=1)]
        for layer in decoder:
            Z = []
            for i in range(1, t + 1):
                a = Vector.zero(D)
                for head in layer.heads:
                    K, V = [*map(head.K, Y[:i])], [*map(head.V, Y[:i])]
                    a += attention(head.Q(Y[i - 1]), K, V, score, rho)
                Z.append(layer.O(a))
            Y = Z
        assert token.y == F(Y[-1])
        found.append(token.y)
        if len(given_) == t:
            given_.append(token.y)
    assert [*islice(network.outputs(X, seed), 5)] == found
