"""A decoder's tokens with all of their vectors and attentions, with random access.

A network whose program runs in 64-bit integers (`tables`) has a small state: the output y, the
running sums, and for each cell its last two visits with the value of the latest. So has one that
follows pointers (`pointers.tokens`): y, and the value of each cell's latest visit. The state before
a token and the network's own maps over the rationals determine all vectors of that token, exactly,
however many tokens came before. Tokens of other networks, and the first ones of every network, are
kept as they are computed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, islice
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from netwright.definitions.transformer import Layer, Transformer
from netwright.engine.attended import (
    Attention,
    EqualAttention,
    LazySequence,
    ListedAttention,
    OneWinner,
)
from netwright.engine.moments import (
    AT_ONCE,
    UNLIMITED,
    Codes,
    UnsuitableError,
    Watch,
    moments_of,
    watched,
)
from netwright.engine.pointers.accelerated_tokens import RunPointerTokens
from netwright.engine.pointers.engine import has_code
from netwright.engine.pointers.tokens import PointerTokens
from netwright.engine.transformer.analysis import has_equal_scores
from netwright.engine.transformer.arrays import BEFORE, FIRST_CELL, LATEST, VALUE
from netwright.engine.transformer.attention import AttentionCache, LastVisitForm
from netwright.engine.transformer.decoder import LayerVectors, TokenVectors, fast_tokens, program_of
from netwright.engine.transformer.encoded import Encoded
from netwright.engine.transformer.program import LastVisit, Program, Scales, Term
from netwright.errors import InputError
from netwright.exact.arrays import IntArray
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.transformer.tables.engine import TableTransformer

FIRST_TOKENS = 64
"""How many tokens are kept before a program is made: less time than a compiler takes."""
LATER = 8
"""A factor of `FIRST_TOKENS` before tables for pointers are made, whose compiler takes longer."""
MOST_KEPT = 1 << 12
"""The last token for which the run is repeated where the state does not determine the token."""
State = Mapping[str, IntArray]
"""The arrays of `arrays.first_state`, or of `PointerTokens.state`."""
Attend = Callable[[int, Layer, Vector, int], tuple[Vector, Attention | None]]
"""From layer number, layer, z and t: what token t attends to, and how; None for all keys."""


class Place(NamedTuple):
    """A bookmark: the number of tokens done, and the state of the integers if there is one."""

    tokens: int
    state: State | None

    @property
    def bytes(self) -> int:
        """The memory that the state takes."""
        return 0 if self.state is None else sum(array.nbytes for array in self.state.values())


class Explained(NamedTuple):
    """A token: its vectors, and its attentions by name."""

    vectors: TokenVectors
    attentions: Mapping[str, Attention]


class SeekableTokens(Protocol):
    """A run with random access to its tokens, which an engine is part of."""

    lock: RLock

    def explained(self, t: int) -> Explained:
        """Token t."""

    def stand_before(self, t: int) -> None:
        """Move the engine so that token t is the next one."""


class Visit:
    """The last visit that token t attends to in one layer, from the state before it."""

    def __init__(
        self,
        state: State,
        program: Program,
        attention: LastVisit,
        layer: int,
        t: int,
        q: Vector,
        k: Vector,
    ) -> None:
        self.form, self.layer, self.t, self.q = LastVisitForm(attention.places), layer, t, q
        self.layout = k.layout
        here, wanted = self.form.cell_of_key(k, t), self.form.cell_of_query(q, t)
        self.here, self.wanted = int(here.p), int(wanted.p)
        self.winner, self.winning_key = t, k
        self.value: Vector | None = None
        """The winner's value; None if the winner is token t itself."""
        kept, first = self._cells(state)
        place = self.wanted - first
        if wanted != here and 0 <= place < len(kept) and kept[place, LATEST]:
            self.winner = int(kept[place, LATEST])
            self.winning_key = self._key(self.winner, self.wanted)
            row, scales = kept[place, VALUE:].tolist(), program.vectors[attention.value]
            self.value = _vector(k.layout, scales, attention.terms, row)

    def _cells(self, state: State) -> tuple[IntArray, int]:
        """The rows of all cells, and the first cell."""
        return state["kept"][self.layer], int(state["clock"][FIRST_CELL])

    def _key(self, token: int, cell: int) -> Vector:
        return Vector(self.layout, self.form.key(token, cell * ONE))

    def rivals(self, state: State) -> dict[int, Vector]:
        """Candidates for the second-best score with their keys, from the state before token t.

        These are the latest visits of other cells, which floating point narrows to the nearest, and
        the visit before the winner's to its own cell (see `attention`).
        """
        kept, first = self._cells(state)
        latest, before = kept[:, LATEST], kept[:, BEFORE]
        own = self.here if self.winner == self.t else self.wanted
        cells = np.flatnonzero(latest) + first
        cells = cells[(cells != own) & (cells != self.here)]
        times = latest[cells - first]
        if self.here != own:
            cells, times = np.append(cells, self.here), np.append(times, self.t)
        found = {}
        if cells.size:
            away = (self.wanted - cells).astype(float)
            distances = self.form.distances(self.t, away, times.astype(float))
            near = distances <= distances.min() * (1 + 1e-9)
            for cell, time in zip(cells[near].tolist(), times[near].tolist(), strict=True):
                found[time] = self._key(time, cell)
        if 0 <= own - first < len(kept):
            # Token t itself is not yet among the visits.
            again = int((latest if own == self.here else before)[own - first])
            if again:
                found[again] = self._key(again, own)
        return found


class TokenEngine:
    """A decoder's run on an input that can go back, and explain the next token."""

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch],
        *,
        accelerated: bool = False,
    ) -> None:
        self.network, self.X, self.seed = network, X, seed
        self.watches, self.accelerated = tuple(watches), accelerated
        self.moments = 0
        self.compile_seconds = 0.0
        self.most_at_once = UNLIMITED if accelerated else AT_ONCE
        self.reason: str | None = None
        """Why the tokens are not computed in integers."""
        self._begin()
        later = self.follows_pointers and not has_code()
        self.kept_first = FIRST_TOKENS * (LATER if later else 1)
        self._next: Iterator[bool] = iter(())
        self._kept: list[TokenVectors] = []
        self._keys: list[list[Vector]] = [[] for _ in network.decoder]
        self._integers: TableTransformer | PointerTokens | None = None
        self._first: Place | None = None
        """The bookmark of the first token in integers."""

    def _begin(self) -> None:
        """Read the input, and make the generator of tokens that are kept."""
        network, X, seed = self.network, self.X, self.seed
        if type(network) is Transformer:
            self.encoded: Encoded | None = Encoded(network, X)
            self.external = self.encoded.cache
            self._tokens = partial(fast_tokens, network, X, seed)
        else:
            self.reason = "it is not a Transformer as defined"
            self.encoded = None
            self.external = AttentionCache(network.K, network.score, network.rho)
            for key, value in zip(*network.encode(X), strict=True):
                self.external.append(key, value)
            self._tokens = partial(_by_definition, network, X, seed)

    @property
    def follows_pointers(self) -> bool:
        """Whether tables for pointers may be made."""
        return not self.network.encoder

    @property
    def fast(self) -> bool:
        """Whether the tokens are computed in integers."""
        return self._integers is not None and self.reason is None

    def advance(self, count: int) -> Codes:
        """The watches' codes for the next tokens, at least one."""
        if (integers := self._current_integers()) is not None:
            try:
                codes = integers.advance(count)
                self.moments += moments_of(codes)
                return codes
            except UnsuitableError as unsuitable:
                self.reason = str(unsuitable)
        token = self._remembered(self.moments + 1)
        self.moments += 1
        vectors = watched(token)
        row = [watch.code(vectors[watch.vector]) for watch in self.watches]
        return np.array([row], dtype=np.int64)

    def place(self) -> Place:
        """A bookmark for `go_back`."""
        integers = self._integers
        if integers is None or integers.moments != self.moments:
            return Place(self.moments, None)
        return Place(self.moments, integers.state)

    def go_back(self, place: Place) -> None:
        """Return to a bookmark."""
        self.moments = place.tokens
        if place.state is not None and self._integers is not None:
            self._integers.put(place.state)

    def explain(self, run: "SeekableTokens") -> tuple[Explained, Codes]:
        """All vectors and attentions of the next token, and its codes; advance by one token.

        The attentions evaluate scores lazily, and may access `run` for it.
        """
        t = self.moments + 1
        found = None
        if (integers := self._current_integers()) is not None:
            try:
                found = self._from_integers(integers, t, run)
            except UnsuitableError as unsuitable:
                if t > MOST_KEPT:
                    raise InputError(
                        f"token {t:,} needs all tokens before it ({unsuitable}); such tokens are "
                        f"traced up to {MOST_KEPT:,}"
                    ) from None
        codes = self.advance(1)
        if found is None or self.reason is not None:
            return self._from_kept(t), codes
        assert integers is not None
        assert integers.y == self._given(t + 1, found.vectors.y)
        return found, codes

    def _given(self, t: int, y: Vector) -> Vector:
        """What token t is given as; y is the output before."""
        return y

    def _current_integers(self) -> "TableTransformer | PointerTokens | None":
        """The engine in integers, moved to the current token; None if there is none (yet)."""
        if self.reason is not None or self.moments < self.kept_first:
            return None
        if self._integers is None:
            self._make_integers()
        if self._integers is None:
            return None
        if self._integers.moments != self.moments:
            assert self._first is not None
            assert self._first.tokens == self.moments
            self.go_back(self._first)
        return self._integers

    def _make_integers(self) -> None:
        """Make the engine in integers, after the tokens that are kept; or set `reason`."""
        started = perf_counter()
        try:
            made = self._made_integers()
            while made.moments < self.kept_first:
                made.advance(self.kept_first - made.moments)
        except UnsuitableError as unsuitable:
            self.reason = str(unsuitable)
            return
        self.compile_seconds += perf_counter() - started
        self._first = Place(made.moments, made.state)
        self._integers = made

    def _made_integers(self) -> "TableTransformer | PointerTokens":
        if not self.network.encoder:  # it may follow pointers
            given = self.network, self.X, self.seed, self.watches
            with suppress(UnsuitableError):
                return RunPointerTokens(*given) if self.accelerated else PointerTokens.of(*given)
        from netwright.engine.transformer.tables.engine import TableTransformer

        assert self.encoded is not None
        program = program_of(self.network, self.encoded, self.seed)
        return TableTransformer(self.network, program, self.seed, self.watches)

    # Tokens that are kept.

    def _remembered(self, token: int) -> TokenVectors:
        while len(self._kept) < token:
            if next(self._next, None) is None:
                # At first; and after an exception, such as Ctrl-C, which ends the generator.
                self._next = self._keeping()
        return self._kept[token - 1]

    def _keeping(self) -> Iterator[bool]:
        """A generator that keeps one token per step; an exception in a token ends it."""
        for token in islice(self._tokens(), len(self._kept), None):
            self._kept.append(token)
            yield True

    def _from_kept(self, t: int) -> Explained:
        token, network = self._remembered(t), self.network
        found: dict[str, Attention] = {}
        for n, layer in enumerate(network.decoder):
            keys = self._keys[n]
            keys += [layer.K(each.into(n)) for each in self._kept[len(keys) : t]]
            found[f"decoder.{n + 1}.self"] = ListedAttention(
                layer.Q(token.into(n)), keys[:t], network.score, network.rho
            )
            found[f"decoder.{n + 1}.external"] = self._to_encoder(token.layers[n].p)
        return Explained(token, found)

    def _to_encoder(self, p: Vector) -> Attention:
        return ListedAttention(p, self.external.keys, self.network.score, self.network.rho)

    # Tokens from the state of the integers.

    def _from_integers(
        self, integers: "TableTransformer | PointerTokens", t: int, run: "SeekableTokens"
    ) -> Explained:
        network = self.network
        if isinstance(integers, PointerTokens):
            attend: Attend = integers.looked_up
        else:
            attend = self._attend_by(integers.program, integers.state, run)
        z = start = network.positioned(integers.y, t)
        layers, found = [], {}
        for n, layer in enumerate(network.decoder):
            attended, seen = attend(n, layer, z, t)
            if seen is None:
                keys = LazySequence(t, self._key_of(n, run))
                seen = ListedAttention(layer.Q(z), keys, network.score, network.rho)
            found[f"decoder.{n + 1}.self"] = seen
            p = attended + z
            found[f"decoder.{n + 1}.external"] = self._to_encoder(p)
            a = self.external.attend(p) + p
            z = layer.O(a) + a
            layers.append(LayerVectors(p, a, z))
        return Explained(TokenVectors(start, tuple(layers), network.F(z)), found)

    def _attend_by(self, program: Program, state: State, run: "SeekableTokens") -> "Attend":
        sums, visits = iter(state["total"].tolist()), count()

        def attend(n: int, layer: Layer, z: Vector, t: int) -> tuple[Vector, Attention | None]:
            q, k, v = layer.Q(z), layer.K(z), layer.V(z)
            attention = program.attentions[n]
            if isinstance(attention, LastVisit):
                visit = Visit(state, program, attention, next(visits), t, q, k)
                return v if visit.value is None else visit.value, self._visited(visit, n, run)
            equal = EqualAttention(q, t, self.network.score(q, k))
            if attention is None:
                zero = Vector.zero(self.network.layout)
                return zero, equal if has_equal_scores(layer) else None
            scales = program.vectors[attention.vector]
            before = _vector(self.network.layout, scales, attention.terms, sums)
            return (ONE / t) * (before + v), equal

        return attend

    def _key_of(self, n: int, run: "SeekableTokens") -> Callable[[int], Vector]:
        """A callback for the key of a token in a layer; tokens are counted from 0."""

        def key_of(place: int) -> Vector:
            return self.network.decoder[n].K(run.explained(place + 1).vectors.into(n))

        return key_of

    def _visited(self, visit: "Visit", n: int, run: "SeekableTokens") -> Attention:
        known, key_of = {visit.winner: visit.winning_key}, self._key_of(n, run)

        def score_of(token: int) -> Rational:
            return self.network.score(visit.q, known.get(token) or key_of(token - 1))

        def second() -> int | None:
            with run.lock:
                run.stand_before(visit.t)
                integers = self._current_integers()
                assert not isinstance(integers, PointerTokens)
                if integers is None:  # a later token did not fit the integers
                    self._remembered(visit.t)
                    return self._from_kept(visit.t).attentions[f"decoder.{n + 1}.self"].runner_up
                rivals = visit.rivals(integers.state)
            known.update(rivals)
            return max(rivals, key=lambda token: (score_of(token), token), default=None)

        return OneWinner(visit.q, visit.t, visit.winner, score_of, second)


def _vector(
    layout: Layout, scales: Scales, terms: Sequence[Term], numbers: Iterable[int]
) -> Vector:
    """The vector that has the numerators of some terms at their sources."""
    pairs = zip(terms, numbers, strict=False)
    return Vector(layout, {term.source: Rational(x, scales[term.source].D) for term, x in pairs})


def _by_definition(
    network: Transformer, X: Sequence[Vector], seed: Vector
) -> Iterator[TokenVectors]:
    for token in network.tokens(X, seed):
        layers = tuple(LayerVectors(layer.p, layer.a, layer.z) for layer in token.layers)
        yield TokenVectors(token.input, layers, token.y)
