"""A decoder's tokens with all of their vectors and attentions, any token at any time.

A network whose program runs in 64-bit integers (`tables`) has a small state: the output y, the
running sums, and for each cell its last two visits with the value of the latest. So has one that
follows pointers (`pointers.tokens`): y, and the value of each cell's latest visit. From the state
before a token, and the network's own maps over the rationals, everything that the decoder makes of
that token follows, exactly, however many tokens came before. Tokens of other networks, and the
first ones of every network, are kept as they are computed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.transformer import Transformer
from netwright.engine.attended import (
    Attention,
    EqualAttention,
    LazySequence,
    ListedAttention,
    OneWinner,
)
from netwright.engine.moments import Codes, UnsuitableError, Watch, watched
from netwright.engine.pointers.engine import has_code
from netwright.engine.pointers.tokens import PointerTokens
from netwright.engine.transformer.analysis import has_equal_scores
from netwright.engine.transformer.arrays import BEFORE, FIRST_CELL, LATEST, VALUE
from netwright.engine.transformer.attention import AttentionCache, LastVisitForm
from netwright.engine.transformer.decoder import (
    LayerVectors,
    TokenVectors,
    fast_tokens,
    program_of,
)
from netwright.engine.transformer.encoded import Encoded
from netwright.engine.transformer.program import LastVisit, Mean, Program
from netwright.errors import InputError
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.transformer.tables.engine import TableTransformer

FIRST_TOKENS = 64
"""How many tokens are kept before there is a program: less time than a compiler takes."""
LATER = 8
"""How many times as many before there are tables for pointers, whose compiler takes longer."""
MOST_KEPT = 1 << 12
"""The last token for which the definition is replayed where the state does not tell all."""


class Place(NamedTuple):
    """Where the engine stands: after how many tokens, and the integers' arrays if it has some."""

    tokens: int
    state: Mapping[str, NDArray[np.int64]] | None

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return 0 if self.state is None else sum(array.nbytes for array in self.state.values())


class Explained(NamedTuple):
    """A token: its vectors, and its attentions by name."""

    vectors: TokenVectors
    attentions: Mapping[str, Attention]


class SeekableTokens(Protocol):
    """The run that an engine is part of, whose every token can be had again."""

    lock: RLock

    def explained(self, t: int) -> Explained:
        """Token t."""

    def stand_before(self, t: int) -> None:
        """Move the engine so that token t is the next one."""


State = Mapping[str, NDArray[np.int64]]
"""The arrays of `arrays.first_state`."""


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
        """That of the winner; None where that is token t itself."""
        kept, first = self._cells(state)
        place = self.wanted - first
        if wanted != here and 0 <= place < len(kept) and kept[place, LATEST]:
            self.winner = int(kept[place, LATEST])
            self.winning_key = self._key(self.winner, self.wanted)
            scales = program.vectors[attention.value]
            row = kept[place, VALUE:].tolist()
            self.value = Vector(
                k.layout,
                {
                    term.source: Rational(number, scales[term.source].D)
                    for term, number in zip(attention.terms, row, strict=False)
                },
            )

    def _cells(self, state: State) -> tuple[NDArray[np.int64], int]:
        """The rows of all cells, and the first cell."""
        return state["kept"][self.layer], int(state["clock"][FIRST_CELL])

    def _key(self, token: int, cell: int) -> Vector:
        return Vector(self.layout, self.form.key(token, cell * ONE))

    def rivals(self, state: State) -> dict[int, Vector]:
        """The tokens of which one comes second, with their keys, from the state before token t.

        The latest visits of other cells, of which floating point leaves the nearest, and the visit
        before the winner's to its own cell (see `attention`).
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
    ) -> None:
        self.network, self.X, self.seed = network, X, seed
        self.watches = tuple(watches)
        self.moments = 0
        self.compile_seconds = 0.0
        self.reason: str | None = None
        """Why the tokens are not in integers."""
        if type(network) is Transformer:
            self.encoded: Encoded | None = Encoded(network, X)
            self.external = self.encoded.cache
            self._tokens = partial(fast_tokens, network, X, seed)
        else:
            self.reason = "it is no Transformer as defined"
            self.encoded = None
            self.external = AttentionCache(network.K, network.score, network.rho)
            for key, value in zip(*network.encode(X), strict=True):
                self.external.append(key, value)
            self._tokens = partial(_by_definition, network, X, seed)
        later = not network.encoder and not has_code()
        self.kept_first = FIRST_TOKENS * (LATER if later else 1)
        self._next: Iterator[bool] = iter(())
        self._kept: list[TokenVectors] = []
        self._keys: list[list[Vector]] = [[] for _ in network.decoder]
        self._integers: TableTransformer | PointerTokens | None = None
        self._first: Place | None = None
        """Where the integers began."""

    @property
    def fast(self) -> bool:
        """Whether the tokens are in integers."""
        return self._integers is not None and self.reason is None

    def advance(self, count: int) -> Codes:
        """The watches' codes for the next tokens."""
        if (integers := self._standing()) is not None:
            try:
                codes = integers.advance(count)
                self.moments += len(codes)
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
        """Stand where the engine stood."""
        self.moments = place.tokens
        if place.state is not None and self._integers is not None:
            self._integers.put(place.state)

    def explain(self, run: "SeekableTokens") -> tuple[Explained, Codes]:
        """Everything about the next token, and its codes; later questions may need `run`."""
        t = self.moments + 1
        found = None
        if (integers := self._standing()) is not None:
            try:
                if isinstance(integers, PointerTokens):
                    found = self._from_pointers(integers, t, run)
                else:
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
        assert integers.y == found.vectors.y
        return found, codes

    def _standing(self) -> "TableTransformer | PointerTokens | None":
        """The integers, standing where we stand; None while, or if, there are none."""
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
        """The integers, standing behind the tokens that are kept; or the reason for none."""
        started = perf_counter()
        try:
            made = self._pointers() if not self.network.encoder else self._whole_numbers()
            while made.moments < self.kept_first:
                made.advance(self.kept_first - made.moments)
        except UnsuitableError as unsuitable:
            self.reason = str(unsuitable)
            return
        self.compile_seconds += perf_counter() - started
        self._first = Place(made.moments, made.state)
        self._integers = made

    def _whole_numbers(self) -> "TableTransformer":

        from netwright.engine.transformer.tables.engine import TableTransformer

        assert self.encoded is not None
        program = program_of(self.network, self.encoded, self.seed)
        return TableTransformer(self.network, program, self.seed, self.watches)

    def _pointers(self) -> "TableTransformer | PointerTokens":
        """A network without encoder layers may follow pointers."""
        try:
            return PointerTokens(self.network, self.X, self.seed, self.watches)
        except UnsuitableError:
            return self._whole_numbers()

    # Tokens that are kept.

    def _remembered(self, token: int) -> TokenVectors:
        while len(self._kept) < token:
            if next(self._next, None) is None:
                # At first; and after an exception, such as Ctrl-C, which ends the generator.
                self._next = self._keeping()
        return self._kept[token - 1]

    def _keeping(self) -> Iterator[bool]:
        """Keeps a token each time: all of it happens here, or an exception ends this generator."""
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
        self, integers: "TableTransformer", t: int, run: "SeekableTokens"
    ) -> Explained:
        network, program, state = self.network, integers.program, integers.state
        z = start = network.positioned(integers.y, t)
        sums = visits = 0
        layers, found = [], {}
        for n, (layer, attention) in enumerate(
            zip(network.decoder, program.attentions, strict=True)
        ):
            q, k, v = layer.Q(z), layer.K(z), layer.V(z)
            by_all = EqualAttention(q, t, network.score(q, k))
            attended = Vector.zero(network.layout)
            seen: Attention = by_all
            if isinstance(attention, Mean):
                scales = program.vectors[attention.vector]
                before = {
                    term.source: Rational(int(state["total"][sums + place]), scales[term.source].D)
                    for place, term in enumerate(attention.terms)
                }
                sums += len(attention.terms)
                attended = (ONE / t) * (Vector(network.layout, before) + v)
            elif isinstance(attention, LastVisit):
                visit = Visit(state, program, attention, visits, t, q, k)
                visits += 1
                attended = v if visit.value is None else visit.value
                seen = self._visited(visit, n, run)
            elif not has_equal_scores(layer):
                key_of = self._key_of(n, run)
                seen = ListedAttention(q, LazySequence(t, key_of), network.score, network.rho)
            found[f"decoder.{n + 1}.self"] = seen
            p = attended + z
            found[f"decoder.{n + 1}.external"] = self._to_encoder(p)
            a = self.external.attend(p) + p
            z = layer.O(a) + a
            layers.append(LayerVectors(p, a, z))
        return Explained(TokenVectors(start, tuple(layers), network.F(z)), found)

    def _from_pointers(self, pointers: PointerTokens, t: int, run: "SeekableTokens") -> Explained:
        network = self.network
        z = start = network.positioned(pointers.y, t)
        layers, found = [], {}
        for n, layer in enumerate(network.decoder):
            attended, seen = pointers.looked_up(n, layer, z, t)
            keys = LazySequence(t, self._key_of(n, run))
            listed = ListedAttention(layer.Q(z), keys, network.score, network.rho)
            found[f"decoder.{n + 1}.self"] = seen or listed
            p = attended + z
            found[f"decoder.{n + 1}.external"] = self._to_encoder(p)
            a = self.external.attend(p) + p
            z = layer.O(a) + a
            layers.append(LayerVectors(p, a, z))
        return Explained(TokenVectors(start, tuple(layers), network.F(z)), found)

    def _key_of(self, n: int, run: "SeekableTokens") -> Callable[[int], Vector]:
        """The key of a token in a layer, from the vectors of that token; tokens counted from 0."""

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
                integers = self._standing()
                assert not isinstance(integers, PointerTokens)
                if integers is None:  # a later token was none for the integers
                    self._remembered(visit.t)
                    return self._from_kept(visit.t).attentions[f"decoder.{n + 1}.self"].runner_up
                rivals = visit.rivals(integers.state)
            known.update(rivals)
            return max(rivals, key=lambda token: (score_of(token), token), default=None)

        return OneWinner(visit.q, visit.t, visit.winner, score_of, second)


def _by_definition(
    network: Transformer, X: Sequence[Vector], seed: Vector
) -> Iterator[TokenVectors]:
    for token in network.tokens(X, seed):
        layers = tuple(LayerVectors(layer.p, layer.a, layer.z) for layer in token.layers)
        yield TokenVectors(token.input, layers, token.y)
