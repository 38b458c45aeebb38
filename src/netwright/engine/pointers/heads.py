"""Decoders without residual connections, run as decoders that have them: a head is a connection.

Let head A of a layer attend to the token itself alone, with a value V_A that keeps the coordinates
S of a vector. Then it hands on the part of x in S, and a layer O(head A + head B) has the z of a
layer with one self attention, that of head B, a residual connection around it, and none around

    O′(a) = O(a in S and T),   T the coordinates that V_B may write,

if x is 0 in T, as a = x + head B then has the coordinates of both heads there (`LayerAlone`).

Head A attends to itself alone if its product is ε_i − ε_j with ε = 1/(j+1): its query is (ε_i, −1)
and its key (1, ε_j) in (one, e), which are the positions. They must come through each layer as they
are. A network of another form is unsuitable, and is run by its definition.

A prompt gives the first tokens. Tables say their pointers; if these are the prompt's, only the rest
of an output has to be replaced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from netwright.definitions.residual_free import Head, HeadsLayer, ResidualFree
from netwright.definitions.transformer import (
    Layer,
    Positions,
    Transformer,
    hardmax,
    score_phi,
)
from netwright.engine.attended import Attention, ListedAttention, OneWinner
from netwright.engine.moments import IndexedCodes, ReferenceEngine, UnsuitableError, Watch
from netwright.engine.pointers import kernel
from netwright.engine.pointers.engine import PointerEngine, Tables
from netwright.engine.pointers.evaluation import LayerAlone, Output, shared_reduction
from netwright.engine.pointers.forms import affine_forms, feed_forward, position_values
from netwright.engine.pointers.tokens import PointerTokens
from netwright.engine.transformer.decoder import LayerVectors, TokenVectors
from netwright.engine.transformer.tokens import Explained, TokenEngine
from netwright.exact.feed_forward import FeedForward, affine_network
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector

BOTH = 2
"""The heads of a layer."""


def with_residuals(network: ResidualFree, X: Sequence[Vector], seed: Vector) -> Transformer:
    """The network with residual connections; UnsuitableError if its form is another one."""
    if not isinstance(network, ResidualFree):
        raise UnsuitableError("it has residual connections")
    layout, pos = network.layout, network.pos
    if network.score != score_phi or network.rho != hardmax:
        raise UnsuitableError("its attention is not hard, with −|⟨q, k⟩|")
    if not isinstance(pos, Positions) or {power for _, power in pos.powers} != {0, -1}:
        raise UnsuitableError("its positions are not 1 and 1/i")
    places = {power: layout.index(block) for block, power in pos.powers}
    one, e = places[0], places[-1]
    written = _columns(feed_forward(network.F))
    given = {place for x in (seed, *X) for place in x.entries}
    if {one, e} & (written | given):
        raise UnsuitableError("a token has a position already")
    support, layers = written | given | {one, e}, []
    for layer in network.decoder:
        alone, support = _layer(layer, support, one, e)
        layers.append(alone)
        if len(layers) < len(network.decoder) and not all(_is_copied(layer, k) for k in (one, e)):
            raise UnsuitableError("a position does not come through a layer")
    nothing = affine_network(layout)
    made = Transformer(layout, (), nothing, nothing, tuple(layers), network.F, pos=pos)
    return shared_reduction(network, made)


def _columns(network: FeedForward) -> set[int]:
    """The coordinates where an image may be nonzero."""
    last = network.maps[-1]
    return {column for _, column in last.weights} | set(last.bias.entries)


def _layer(layer: HeadsLayer, support: set[int], one: int, e: int) -> tuple[Layer, set[int]]:
    """The layer with residual connections, and where its z may be nonzero."""
    O = feed_forward(layer.O)
    if len(layer.heads) != BOTH or len(O.maps) != BOTH:
        raise UnsuitableError("a layer has not two heads and two maps")
    itself, other = layer.heads
    kept = _kept(itself, one, e)
    values = affine_forms(other.V)
    found = values.columns
    if found & (support | kept):
        raise UnsuitableError("a head writes where another does")
    first, last = O.maps
    reads = {place: w for place, w in first.weights.items() if place[0] in kept | found}
    made = FeedForward((replace(first, weights=reads), last), O.activation)
    return LayerAlone(other.Q, other.K, other.V, made), _columns(O)


def _kept(head: Head, one: int, e: int) -> set[int]:
    """The coordinates that a head hands on, which attends to the token itself."""
    Q, K, V = (affine_forms(each) for each in (head.Q, head.K, head.V))
    asks = {e: [(one, ONE)], one: [(e, -ONE)]}
    if Q.rows != asks or K.rows != {one: [(one, ONE)], e: [(e, ONE)]} or Q.bias or K.bias:
        raise UnsuitableError("its first head does not attend to the token itself")
    if V.bias or any(there != [(row, ONE)] for row, there in V.rows.items()):
        raise UnsuitableError("its first head does not hand on what it reads")
    return set(V.rows)


def _is_copied(layer: HeadsLayer, place: int) -> bool:
    """Whether z is x in a coordinate, from [0, 1]."""
    first, last = feed_forward(layer.O).maps
    units = [(unit, w) for (unit, column), w in last.weights.items() if column == place and w]
    if place in last.bias.entries or len(units) != 1 or units[0][1] != ONE:
        return False
    unit = units[0][0]
    reads = {row: w for (row, column), w in first.weights.items() if column == unit and w}
    is_kept = place in affine_forms(layer.heads[0].V).rows
    return reads == {place: ONE} and unit not in first.bias.entries and is_kept


class PromptedTables(Tables):
    """Tables whose first outputs are replaced by a prompt."""

    def __init__(
        self, network: ResidualFree, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        super().__init__(with_residuals(network, X, seed), (), seed, watches)
        self._prompt = [*map(self._given, range(1, len(X) + 1), X)]

    @property
    def reads(self) -> int:
        """How many tokens are given."""
        return max(1, len(self._prompt))

    def _given(self, p: int, x: Vector) -> Output:
        """The output that token p is given as: its first pointer is to token p − 1, then NULL."""
        right, left = self.evaluation.pointers
        if x.entries.get(right) != ONE / p or x.entries.get(left) != ONE:
            raise UnsuitableError("a token of the prompt points elsewhere")
        return self.evaluation.seed_output(Vector(x.layout, {**x.entries, right: ONE}))

    def advance(self, count: int) -> IndexedCodes:
        """The codes of the next tokens; one alone while the prompt lasts."""
        if self.moments >= len(self._prompt):
            return super().advance(count)
        codes = super().advance(1)
        t = self.moments
        clock = self.clock.tolist()
        pointed = clock[kernel.FIRST + 1], clock[kernel.SECOND + 1]
        given = self._prompt[t - 1]
        if pointed != (t - 1, 0) or self.output.pointers != given.pointers:
            raise UnsuitableError("the network points elsewhere than its prompt")
        self.output = given
        return codes


class HeadsEngine(PointerEngine):
    """A run of a decoder without residual connections."""

    @staticmethod
    def made_tables(
        network: ResidualFree, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> Tables:
        """Tables with the prompt."""
        return PromptedTables(network, X, seed, watches)

    def rationals(self) -> ReferenceEngine:
        """The definition, whose heads and layers are of another form."""
        return ReferenceEngine(self.definition(), self.watches, fast=True)


class HeadsTokens(PointerTokens):
    """The integers of such a run."""

    def __init__(
        self, network: ResidualFree, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        tables = PromptedTables(network, X, seed, watches)
        super().__init__(with_residuals(network, X, seed), tables)


class HeadsTrace(TokenEngine):
    """The tokens of such a network, with random access; an attention for each head."""

    follows_pointers = True

    def _begin(self) -> None:
        network = cast(ResidualFree, self.network)
        self.heads = [layer.heads for layer in network.decoder]
        self._tokens = partial(_by_definition, network, self.X, self.seed)

    def _given(self, t: int, y: Vector) -> Vector:
        return self.X[t - 2] if 2 <= t <= len(self.X) + 1 else y

    def _made_integers(self) -> HeadsTokens:
        network = cast(ResidualFree, self.network)
        return HeadsTokens(network, self.X, self.seed, self.watches)

    def _from_kept(self, t: int) -> Explained:
        token, network = self._remembered(t), self.network
        found: dict[str, Attention] = {}
        for n, heads in enumerate(self.heads):
            tokens = [each.into(n) for each in self._kept[:t]]
            for h, head in enumerate(heads, start=1):
                keys = [head.K(z) for z in tokens]
                seen = ListedAttention(head.Q(tokens[-1]), keys, network.score, network.rho)
                found[f"decoder.{n + 1}.head.{h}"] = seen
        return Explained(token, found)

    def _from_integers(self, integers: "object", t: int, run: "object") -> Explained:
        assert isinstance(integers, HeadsTokens)
        network = cast(ResidualFree, self.network)
        z = start = network.positioned(integers.y, t)
        layers, found = [], dict[str, Attention]()
        for n, layer in enumerate(network.decoder):
            itself, other = layer.heads
            attended, seen = integers.looked_up(n, cast(Layer, other), z, t)
            if seen is None:
                raise UnsuitableError("an attention that needs all keys")
            found[f"decoder.{n + 1}.head.1"] = self._to_itself(itself, z, t)
            found[f"decoder.{n + 1}.head.2"] = seen
            a = itself.V(z) + attended
            z = layer.O(a)
            layers.append(LayerVectors(a, a, z))
        return Explained(TokenVectors(start, tuple(layers), network.F(z)), found)

    def _to_itself(self, head: Head, z: Vector, t: int) -> Attention:
        """The attention of the first head, whose keys differ in their positions alone."""
        q, k, pos = head.Q(z), head.K(z), cast(Positions, self.network.pos)
        place = next(pos.layout.index(block) for block, power in pos.powers if power < 0)

        def score_of(token: int) -> Rational:
            key = Vector(k.layout, {**k.entries, place: position_values(token)["e"]})
            return self.network.score(q, key)

        return OneWinner(q, t, t, score_of, lambda: t - 1 or None)


def _by_definition(
    network: ResidualFree, X: Sequence[Vector], seed: Vector
) -> Iterator[TokenVectors]:
    for token in network.tokens(X, seed):
        layers = tuple(LayerVectors(layer.a, layer.a, layer.z) for layer in token.layers)
        yield TokenVectors(token.input, layers, token.y)
