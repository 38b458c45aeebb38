"""The Transformer, Equations 4 to 13.

| here                      | paper        | meaning                                   | equation |
|---------------------------|--------------|-------------------------------------------|----------|
| `attention_weights`       | s_1, …, s_n  | ρ of the scores                           | 4        |
| `attention`               | Att(q, K, V) | the values, weighted                      | 5        |
| `encoder_layer`           | Enc(X; θ)    | a layer of the encoder                    | 6, 7     |
| `Transformer.encode`      | TEnc_L       | all encoder layers, then K and V          | 8        |
| `decoder_layer`           | Dec(…; θ)    | a layer of the decoder                    | 9 – 11   |
| `Transformer.decode`      | TDec_L       | all decoder layers, then F                | 12       |
| `Transformer.outputs`     | Trans        | y_{t+1} = TDec(TEnc(X), (y_0, …, y_t))    | 13       |
| `Positions`               | pos          | positional encoding, added to X and to Y  | sec. 3.2 |

In print the layers of Equations 8 and 12 are counted 1 ≤ ℓ ≤ L − 1, which leaves an L-layer stack
with L − 1 layers. Here a stack with L layers applies L.

A normaliser is ρ_i(x) = f(x_i) / Σ_j f(x_j). The paper asks for an f from ℚ to ℚ⁺, which leaves out
its own hardmax. So f may here depend on the set of the values {x_1, …, x_n} and may be 0, not
everywhere; all proofs that use the form go through. The attention over no keys at all is the
vector 0, so that the empty input word works.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from flint import fmpq

from netwright.errors import NetworkError
from netwright.exact.feed_forward import FeedForward
from netwright.exact.layout import Layout
from netwright.exact.places import Named, called
from netwright.exact.rational import ONE, ZERO, Rational, phi
from netwright.exact.vector import Vector, combine

Score: TypeAlias = Callable[[Vector, Vector], Rational]


def dot_product(q: Vector, k: Vector) -> Rational:
    """⟨q, k⟩: multiplicative attention."""
    return q.dot(k)


def score_phi(q: Vector, k: Vector) -> Rational:
    """φ(⟨q, k⟩) = −|⟨q, k⟩|: the score of Theorem 3.4."""
    return phi(q.dot(k))


@dataclass(frozen=True)
class Normalizer(Named):
    """ρ; `f_given` takes x_1, …, x_n to f and may use them only as a set."""

    name: str
    f_given: Callable[[Sequence[Rational]], Callable[[Rational], Rational]]

    def __call__(self, x: Sequence[Rational]) -> list[Rational]:
        """ρ(x): the weights f(x_i) / Σ_j f(x_j)."""
        if not x:
            return []
        f = self.f_given(x)
        parts = [f(value) for value in x]
        total = sum(parts, ZERO)
        if total <= 0:
            raise NetworkError(f"normaliser {self.name}: f is 0 for every score, or negative")
        return [part / total if part else ZERO for part in parts]


def _one_at_the_maximum(x: Sequence[Rational]) -> Callable[[Rational], Rational]:
    top = max(x)
    return lambda value: ONE if value == top else ZERO


hardmax = Normalizer("hardmax", _one_at_the_maximum).known()
"""1/r for each of the r maxima, 0 for all others."""
square_plus_one = Normalizer("x² + 1", lambda _: lambda value: value * value + 1)
"""A normaliser with f(x) = x² + 1, which is nowhere 0."""


def attention_weights(
    q: Vector, K: Sequence[Vector], score: Score, rho: Normalizer
) -> list[Rational]:
    """(s_1, …, s_n) = ρ(score(q, k_1), …, score(q, k_n)) (Equation 4)."""
    return rho([score(q, k) for k in K])


def attention(
    q: Vector, K: Sequence[Vector], V: Sequence[Vector], score: Score, rho: Normalizer
) -> Vector:
    """Att(q, K, V) = s_1 v_1 + ⋯ + s_n v_n (Equation 5); the vector 0 if n = 0."""
    return weighted_sum(q, attention_weights(q, K, score, rho), V)


def weighted_sum(q: Vector, weights: Sequence[Rational], V: Sequence[Vector]) -> Vector:
    """Σ s_j v_j; the vector 0 of the layout of q if there is no v_j."""
    layout = V[0].layout if V else q.layout
    return combine(layout, ((s, v) for s, v in zip(weights, V, strict=True) if s))


@dataclass(frozen=True)
class Positions:
    """pos(i) has powers of i in some coordinates of a layout, and 0 elsewhere.

    In print pos is defined on all of ℕ; it needs i ≥ 1, and positions begin there.

    >>> Positions(Layout.of(n="", e="", x=""), (("n", 1), ("e", -1)))(4)
    [n=4, e=1/4]
    """

    layout: Layout
    powers: tuple[tuple[str, int], ...]
    """The power of i in each block of one coordinate."""

    @staticmethod
    def reciprocal(layout: Layout, blocks: Sequence[str]) -> "Positions":
        """pos(i) = (1, i, 1/i, 1/i², …); Theorem 3.4 has the first four.

        >>> Positions.reciprocal(Layout.of(a="", b="", c="", d=""), ("a", "b", "c", "d"))(2)
        [a=1, b=2, c=1/2, d=1/4]
        """
        return Positions(layout, tuple(zip(blocks, (0, 1, *range(-1, -len(blocks), -1)))))  # noqa: B905

    def __post_init__(self) -> None:
        if not len(self.blocks) == len(set(self.blocks)) >= 2:
            raise NetworkError(f"pos needs different coordinates, two at least; got {self.blocks}")

    @property
    def blocks(self) -> tuple[str, ...]:
        """The names of its blocks."""
        return tuple(block for block, _ in self.powers)

    @property
    def is_reciprocal(self) -> bool:
        """Whether it is 1, i, 1/i, 1/i², …."""
        return self == Positions.reciprocal(self.layout, self.blocks)

    def __call__(self, i: int) -> Vector:
        """pos(i)."""
        return Vector.of(self.layout, {block: fmpq(i) ** power for block, power in self.powers})


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
        return [z for _, z in self.encode_tokens(layer, X)]

    def encode_tokens(self, layer: Layer, X: Sequence[Vector]) -> list[tuple[Vector, Vector]]:
        """a_i and z_i of every token of an encoder layer."""
        K, V = [layer.K(x) for x in X], [layer.V(x) for x in X]
        return [self.encode_token(layer, x, K, V) for x in X]

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
