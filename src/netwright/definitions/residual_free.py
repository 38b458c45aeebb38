"""A decoder without residual connections: Equation 12 alone, with several heads in a layer.

A departure from the paper. There is no encoder, so the input is a prompt: the first tokens of the
decoder are given, and only then does each output come back as the next token. In print a_i and z_i
of a layer (Equations 9 to 11) have the vector before added; here

    a_i = Σ_h Att(Q_h(y_i), K_h(Y_i), V_h(Y_i))     over the heads h of the layer
    z_i = O(a_i)

and nothing is added to either. Y_i = (y_1, …, y_i): attention is masked, as in Equation 9.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from netwright.definitions.transformer import (
    Map,
    Normalizer,
    Score,
    attention_weights,
    hardmax,
    score_phi,
    weighted_sum,
)
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class Head:
    """One attention of a layer."""

    Q: Map
    K: Map
    V: Map


@dataclass(frozen=True)
class HeadsLayer:
    """The heads of a layer, and the feed-forward network after them."""

    heads: tuple[Head, ...] = field(metadata=called("head"))
    O: Map


@dataclass(frozen=True)
class HeadsTrace:
    """What a layer did to one token: the weights of each head, a and z."""

    weights: tuple[list[Rational], ...]
    a: Vector
    z: Vector


@dataclass(frozen=True)
class HeadsToken:
    """What the network did to its newest token: its input, each layer, and y = F(z)."""

    input: Vector
    layers: tuple[HeadsTrace, ...]
    y: Vector


@dataclass(frozen=True)
class ResidualFree:
    """A decoder-only network without residual connections."""

    layout: Layout
    decoder: tuple[HeadsLayer, ...]
    F: Map
    score: Score = score_phi
    rho: Normalizer = hardmax
    pos: Callable[[int], Vector] | None = None

    def positioned(self, x: Vector, place: int) -> Vector:
        """x + pos(place); x itself in a network without positional encodings."""
        return x if self.pos is None else x + self.pos(place)

    def tokens(self, X: Sequence[Vector], seed: Vector) -> Iterator[HeadsToken]:
        """Token by token: the first is the seed, then X are given, then each output comes back."""
        # Keys and values of the tokens so far, by layer and head.
        seen: list[list[tuple[list[Vector], list[Vector]]]] = [
            [([], []) for _ in layer.heads] for layer in self.decoder
        ]
        y = seed
        for t in count(1):
            z = start = self.positioned(X[t - 2] if 2 <= t <= len(X) + 1 else y, t)
            layers = []
            for layer, of_heads in zip(self.decoder, seen, strict=True):
                weights, parts = [], []
                for head, (K, V) in zip(layer.heads, of_heads, strict=True):
                    K.append(head.K(z))
                    V.append(head.V(z))
                    q = head.Q(z)
                    weights.append(attention_weights(q, K, self.score, self.rho))
                    parts.append(weighted_sum(q, weights[-1], V))
                a = sum(parts[1:], parts[0])
                z = layer.O(a)
                layers.append(HeadsTrace(tuple(weights), a, z))
            y = self.F(z)
            yield HeadsToken(start, tuple(layers), y)

    def outputs(self, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
        """y_1, y_2, …."""
        return (token.y for token in self.tokens(X, seed))
