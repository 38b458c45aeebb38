"""Networks without positions, run as networks that have them: the mean of a flag is a position.

Let a layer of masked attention have Q or K = 0, and a value V(b) of one flag b that the first token
alone has, with b = 1. All scores of the layer are equal, so token i gets V(b)/i: it is as if V(b)/i
had been a positional encoding, added to the token before the layer. So a network whose encoder and
first decoder layer are such layers, with one V, has the z's and the outputs of a network without
them that has the positions V(b)/i.

Its first input token, which has b, has no place then. The encoder's keys must be those with which
token i of the decoder asks for input token i + 2: with e = 1/(i+1) and input token j at ε = 1/j the
product κ(e − (1 + e) ε), times a positive number, is κ(e − ε′) for ε′ = 1/(j − 1) = ε/(1 − ε). As
ε = ε′/(1 + ε′), it is (1 + ε′) times greater. Both fall strictly as ε′ grows, and are 0 at ε′ = e,
so their absolute values are least at the same input token: that of j − 1 = i + 1, or the last one.
So the first token is left out, and the keys are κ(e − ε′). `Input` checks that a query has e = e
and one = 1 there. QED.

A network of another form is unsuitable, and is run by its definition.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from netwright.definitions.masked_transformer import MaskedTransformer
from netwright.definitions.transformer import (
    Layer,
    Positions,
    Transformer,
    hardmax,
    score_phi,
)
from netwright.engine.attended import Attention, EqualAttention
from netwright.engine.moments import ReferenceEngine, UnsuitableError, Watch
from netwright.engine.pointers.engine import PointerEngine, Tables
from netwright.engine.pointers.evaluation import shared_reduction
from netwright.engine.pointers.forms import affine_forms, feed_forward
from netwright.engine.pointers.tokens import PointerTokens
from netwright.engine.transformer.tokens import TokenEngine
from netwright.exact.feed_forward import affine_network
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class Mean(Positions):
    """1/i in one coordinate."""

    def __post_init__(self) -> None:
        """One coordinate is enough for a network whose other constants are in its tokens."""


def with_positions(network: Transformer, X: Sequence[Vector], seed: Vector) -> Transformer:
    """The network with positions and no encoder layer, for X without its first token.

    Raises UnsuitableError for a network, input or seed of another form.
    """
    if not isinstance(network, MaskedTransformer) or not network.masked or network.pos is not None:
        raise UnsuitableError("it has positions, or its encoder is not masked")
    if network.score != score_phi or network.rho != hardmax:
        raise UnsuitableError("its attention is not hard, with −|⟨q, k⟩|")
    if len(network.encoder) != 1 or not network.decoder or len(X) < 2:  # ^ alone is asked for then
        raise UnsuitableError("it has no two first layers that could be means")
    flag, place = _mean(network.encoder[0])
    first = network.decoder[0]
    if not affine_forms(network.encoder[0].O).is_zero or (flag, place) != _mean(first):
        raise UnsuitableError("its first layers are not the same mean")
    have = [x.entries.get(flag) for x in (seed, *X)]
    writes = {column for _, column in feed_forward(network.F).maps[-1].weights}
    bias = feed_forward(network.F).maps[-1].bias.entries
    later = flag in writes or flag in bias or place in writes or place in bias
    if have != [ONE, ONE, *[None] * (len(X) - 1)] or later:
        raise UnsuitableError("the flag is not that of the first token alone")
    if any(place in x.entries for x in (seed, *X)):
        raise UnsuitableError("a token has a position already")
    layout = network.layout
    e = layout.coordinates[place].block
    keys = affine_forms(network.K).rows
    ones = [row for row, there in keys.items() if row != place and there]
    if len(ones) != 1 or affine_forms(network.K).bias or {flag, place} & {*_reads(network)}:
        raise UnsuitableError("its keys have another form")
    one, (kappa,) = ones[0], [weight for _, weight in keys[ones[0]]] or (ONE,)
    wanted = {one: [(place, kappa)], place: sorted([(one, -kappa), (place, -kappa)])}
    if {row: sorted(there) for row, there in keys.items()} != wanted:
        raise UnsuitableError("its keys have another form")
    if any(x.entries.get(one) != ONE for x in X):
        raise UnsuitableError("an input token has no constant 1")
    one_block = layout.coordinates[one].block
    made = Transformer(
        layout=layout,
        encoder=(),
        K=affine_network(layout, {(one_block, e): kappa, (e, one_block): -kappa}),
        V=network.V,
        decoder=(replace(first, V=affine_network(layout)), *network.decoder[1:]),
        F=network.F,
        score=network.score,
        rho=network.rho,
        pos=Mean(layout, ((e, -1),)),
    )
    return shared_reduction(network, made)


def _mean(layer: Layer) -> tuple[int, int]:
    """The flag of which a layer takes the mean, and where it puts it."""
    Q, K, V = (affine_forms(each) for each in (layer.Q, layer.K, layer.V))
    entries = [(row, *each) for row, there in V.rows.items() for each in there]
    if not (Q.is_zero or K.is_zero) or V.bias or len(entries) != 1 or entries[0][2] != ONE:
        raise UnsuitableError("a layer is not the mean of a flag")
    return entries[0][0], entries[0][1]


def _reads(network: Transformer) -> set[int]:
    """The coordinates of the encoder's output that its values depend on."""
    return {row for row, there in affine_forms(network.V).rows.items() if there}


def _tables(
    network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
) -> Tables:
    return Tables(with_positions(network, X, seed), X[1:], seed, watches)


class MeanEngine(PointerEngine):
    """A run of a network without positions."""

    made_tables = staticmethod(_tables)

    def rationals(self) -> ReferenceEngine:
        """The definition, as its encoder is masked."""
        return ReferenceEngine(self.definition(), self.watches, fast=True)


class MeanTokens(PointerTokens):
    """The integers of such a run."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        tables = _tables(network, X, seed, watches)
        super().__init__(with_positions(network, X, seed), tables)
        self.first = network.decoder[0].V(seed)

    def looked_up(self, n: int, layer: Layer, z: Vector, t: int) -> tuple[Vector, Attention | None]:
        """As in the definition; the first layer is a mean."""
        if n:
            return super().looked_up(n, layer, z, t)
        q = layer.Q(z)
        return (ONE / t) * self.first, EqualAttention(q, t, self.network.score(q, layer.K(z)))


class MeanTrace(TokenEngine):
    """The tokens of a network without positions, with random access."""

    follows_pointers = True

    def _begin(self) -> None:
        super()._begin()
        self.reason = None

    def _made_integers(self) -> MeanTokens:
        return MeanTokens(self.network, self.X, self.seed, self.watches)
