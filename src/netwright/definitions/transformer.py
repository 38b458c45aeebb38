"""The Transformer, Equations 6 to 13.

| here                      | paper        | meaning                                   | equation |
|---------------------------|--------------|-------------------------------------------|----------|
| `encoder_layer`           | Enc(X; θ)    | a layer of the encoder                    | 6, 7     |
| `Transformer.encode`      | TEnc_L       | all encoder layers, then K and V          | 8        |
| `decoder_layer`           | Dec(…; θ)    | a layer of the decoder                    | 9 – 11   |
| `Transformer.decode`      | TDec_L       | all decoder layers, then F                | 12       |
| `Transformer.outputs`     | Trans        | y_{t+1} = TDec(TEnc(X), (y_0, …, y_t))    | 13       |
| `Transformer.pos`         | pos          | positional encoding, added to X and to Y  | sec. 3.2 |

In print the layers of Equations 8 and 12 are counted 1 ≤ ℓ ≤ L − 1, which leaves an L-layer stack
with L − 1 layers. Here a stack with L layers applies L.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from netwright.definitions.attention import (
    Normalizer,
    Score,
    attention_weights,
    hardmax,
    score_phi,
    weighted_sum,
)
from netwright.exact.feed_forward import FeedForward
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector

Map: TypeAlias = "FeedForward | Callable[[Vector], Vector]"
"""A function from ℚ^d to ℚ^d; a feed-forward network wherever weights matter."""
KeysAndValues: TypeAlias = tuple[Sequence[Vector], Sequence[Vector]]


@dataclass(frozen=True)
class Layer:
    """The parameters θ of a single-layer encoder or decoder."""

    Q: Map
    K: Map
    V: Map
    O: Map


@dataclass(frozen=True)
class LayerTrace:
    """What a decoder layer did to one token: p (Eq 9), a (Eq 10), z (Eq 11)."""

    self_weights: list[Rational]
    p: Vector
    external_weights: list[Rational]
    a: Vector
    z: Vector


@dataclass(frozen=True)
class Token:
    """What the decoder did to its newest token: its input, each layer, and y = F(z)."""

    input: Vector
    layers: tuple[LayerTrace, ...]
    y: Vector


@dataclass(frozen=True)
class Transformer:
    """A Transformer network with any number of layers and any functions in them."""

    layout: Layout
    encoder: tuple[Layer, ...]
    K: Map = field(metadata=called("encoder.K"))
    V: Map = field(metadata=called("encoder.V"))
    decoder: tuple[Layer, ...]
    F: Map
    score: Score = score_phi
    rho: Normalizer = hardmax
    pos: Callable[[int], Vector] | None = None

    def positioned(self, x: Vector, place: int) -> Vector:
        """x + pos(place); x itself in a network without positional encodings."""
        return x if self.pos is None else x + self.pos(place)

    def encoder_layer(self, layer: Layer, X: Sequence[Vector]) -> list[Vector]:
        """Enc(X): a_i = Att(Q(x_i), K(X), V(X)) + x_i, z_i = O(a_i) + a_i (Equations 6, 7)."""
        K, V = [layer.K(x) for x in X], [layer.V(x) for x in X]
        return [self.encode_token(layer, x, K, V)[1] for x in X]

    def encode_token(
        self, layer: Layer, x: Vector, K: Sequence[Vector], V: Sequence[Vector]
    ) -> tuple[Vector, Vector]:
        """a_i and z_i of one token of an encoder layer."""
        a = self.attend(layer.Q(x), K, V)[1] + x
        return a, layer.O(a) + a

    def encode(self, X: Sequence[Vector]) -> tuple[list[Vector], list[Vector]]:
        """TEnc(X) = (K(X^{L+1}), V(X^{L+1})) (Equation 8)."""
        X = [self.positioned(x, i) for i, x in enumerate(X, start=1)]
        for layer in self.encoder:
            X = self.encoder_layer(layer, X)
        return [self.K(x) for x in X], [self.V(x) for x in X]

    def decoder_layer(
        self, layer: Layer, external: KeysAndValues, Y: Sequence[Vector]
    ) -> list[Vector]:
        """Dec((K^e, V^e), Y): Equations 9, 10 and 11 for every token."""
        K, V = [layer.K(y) for y in Y], [layer.V(y) for y in Y]
        return [
            self.decode_token(layer, external, y, K[:i], V[:i]).z for i, y in enumerate(Y, start=1)
        ]

    def decode_token(
        self,
        layer: Layer,
        external: KeysAndValues,
        y: Vector,
        K: Sequence[Vector],
        V: Sequence[Vector],
    ) -> LayerTrace:
        """One token y_i of a decoder layer, with the keys and values of Y_i = (y_1, …, y_i).

        p_i = Att(Q(y_i), K(Y_i), V(Y_i)) + y_i     (Equation 9)
        a_i = Att(p_i, K^e, V^e) + p_i              (Equation 10)
        z_i = O(a_i) + a_i                          (Equation 11)
        """
        self_weights, attended = self.attend(layer.Q(y), K, V)
        p = attended + y
        external_weights, attended = self.attend(p, *external)
        a = attended + p
        z = layer.O(a) + a
        return LayerTrace(self_weights, p, external_weights, a, z)

    def decode(self, external: KeysAndValues, Y: Sequence[Vector]) -> Vector:
        """TDec((K^e, V^e), Y) = F(y_k^{L+1}) (Equation 12)."""
        Y = [self.positioned(y, i) for i, y in enumerate(Y, start=1)]
        for layer in self.decoder:
            Y = self.decoder_layer(layer, external, Y)
        return self.F(Y[-1])

    def tokens(self, X: Sequence[Vector], seed: Vector) -> Iterator[Token]:
        """Decode token by token: y_{t+1} = TDec(TEnc(X), (y_0, …, y_t)) (Equation 13).

        By Equation 9 token i attends only to the tokens up to i, so the vectors of earlier tokens
        never change: each step decodes one more token, over cached keys and values.
        """
        external = self.encode(X)
        keys: list[list[Vector]] = [[] for _ in self.decoder]
        values: list[list[Vector]] = [[] for _ in self.decoder]
        y, t = seed, 0
        while True:
            t += 1
            z = start = self.positioned(y, t)
            layers = []
            for layer, K, V in zip(self.decoder, keys, values, strict=True):
                K.append(layer.K(z))
                V.append(layer.V(z))
                layers.append(self.decode_token(layer, external, z, K, V))
                z = layers[-1].z
            y = self.F(z)
            yield Token(start, tuple(layers), y)

    def outputs(self, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
        """y_1, y_2, … (Equation 13)."""
        return (token.y for token in self.tokens(X, seed))

    def attend(
        self, q: Vector, K: Sequence[Vector], V: Sequence[Vector]
    ) -> tuple[list[Rational], Vector]:
        """Return the weights of an attention, and Att(q, K, V)."""
        weights = attention_weights(q, K, self.score, self.rho)
        return weights, weighted_sum(q, weights, V)
