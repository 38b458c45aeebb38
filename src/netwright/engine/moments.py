"""The protocol of engines: a network's run, moment by moment, seen through watches.

A watch reads one block of a vector as a small integer. An engine returns the codes of all watches
for many moments at a time. `ReferenceEngine` is the definition; faster engines must equal it, so
one can take over from another at any moment: `StagedEngine` runs the definition first, then a
faster method, and rationals where that fails.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ONE, Rational
from netwright.exact.runs import BLOCKS, REPEATED, Pieces, spelled_out
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector

ZERO_BLOCK = -1
NEITHER = -2
AT_ONCE = 1 << 16
"""The greatest number of moments to ask an engine for, if it computes them one by one."""
UNLIMITED = 1 << 256
NO_PIECES = Pieces()


class UnsuitableError(Exception):
    """An engine cannot run a network, or cannot continue its run; the text says why."""


@dataclass(frozen=True)
class Watch:
    """A block of one of a network's vectors, `through` an affine map if there is one.

    Its code is the index of the 1 if the block is one-hot, `ZERO_BLOCK` if it is 0, else `NEITHER`.
    For a block of one coordinate, `sign` makes the code the number itself if it is −1, 0 or 1, and
    `numbers` looks the number up; other numbers are `NEITHER`.
    """

    vector: str
    """`y`, `z` for the last layer's z, or `z1`, `z2`, … for a layer's."""
    block: str
    sign: bool = False
    through: Affine | None = None
    numbers: Mapping[Rational, int] | None = field(default=None, hash=False)

    def code(self, vector: Vector) -> int:
        """The code of a vector.

        >>> from netwright.exact.layout import Layout
        >>> v = Vector.of(Layout.of(q=("on", "off"), x="", z=""), q="off", x=-1)
        >>> Watch("y", "q").code(v), Watch("y", "x", sign=True).code(v), Watch("y", "z").code(v)
        (1, -1, -1)
        """
        seen = vector if self.through is None else self.through(vector)
        if self.sign:
            number = seen.number(self.block)
            return int(number.p) if number in (-ONE, 0, ONE) else NEITHER
        if self.numbers is not None:
            return self.numbers.get(seen.number(self.block), NEITHER)
        places = seen.layout.places(self.block)
        content = [(k, number) for k, number in seen.entries.items() if k in places]
        if not content:
            return ZERO_BLOCK
        if len(content) != 1 or content[0][1] != ONE:
            return NEITHER
        return content[0][0] - places.start


@dataclass(frozen=True)
class IndexedCodes:
    """Codes of many moments: moment t has the codes rows[numbers[t]]."""

    numbers: NDArray[Any]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class RepeatedCodes(IndexedCodes):
    """Codes of very many moments: `numbers[k]` counts for `counts[k]` moments, one by one.

    A number may also repeat the numbers before it (see `exact.runs.REPEATED`).
    """

    counts: NDArray[Any]
    """64-bit integers, or Python's."""
    moments: int
    """The sum of all counts."""
    pieces: Pieces = NO_PIECES
    """What numbers from `exact.runs.BLOCKS` on are."""

    def is_piece(self, place: int) -> bool:
        """Whether the number at a place is that of a piece."""
        return place < len(self.numbers) and BLOCKS <= self.numbers[place] < REPEATED

    def without_pieces(self) -> "RepeatedCodes":
        """The same, with the numbers of pieces one by one."""
        if self.pieces is NO_PIECES:
            return self
        numbers, counts = self.pieces.spelled(self.numbers, self.counts)
        return RepeatedCodes(numbers, self.rows, counts, self.moments)

    def spelled_out(self) -> IndexedCodes:
        """The codes of all moments, one by one."""
        codes = self.without_pieces()
        numbers = np.array(spelled_out(codes.numbers, codes.counts), np.int64)
        return IndexedCodes(numbers, self.rows)


Codes = NDArray[np.int64] | IndexedCodes
"""What watches see, moment by moment: rows of codes, or indices of such rows."""


def moments_of(codes: Codes) -> int:
    """The number of moments that codes are of."""
    return codes.moments if isinstance(codes, RepeatedCodes) else len(codes)


def rows_of(codes: Codes) -> NDArray[np.int64]:
    """Codes as an array with a row per moment."""
    return codes.rows[codes.numbers] if isinstance(codes, IndexedCodes) else codes


class Moments(Protocol):
    """An engine: a network's run, moment by moment, as watches see it."""

    compile_seconds: float
    reason: str | None
    """Why it does not use its fastest method; None if it does."""
    most_at_once: int
    """The greatest number of moments to ask for in one call."""

    @property
    def fast(self) -> bool:
        """Whether a fast method has taken over from the definition."""

    def advance(self, count: int) -> Codes:
        """The codes of the next moments: at least one, at most `count`."""


class Place(Protocol):
    """A bookmark of an engine, in memory."""

    @property
    def bytes(self) -> int:
        """Its size in memory."""


class Restorable(Protocol):
    """Part of a run that can be saved to a file."""

    def snapshot(self) -> Snapshot:
        """All that the rest of the run depends on; empty where it is recomputed from the start."""

    def restore(self, state: Snapshot) -> None:
        """Continue from a snapshot; FormatError if it is damaged or of another run."""


class SeekableEngine(Moments, Protocol):
    """An engine that can return to its bookmarks."""

    moments: int
    """The number of moments done."""

    def place(self) -> Place:
        """A bookmark of the current moment."""

    def go_back(self, place: Any) -> None:
        """Return to one of its own bookmarks."""


class NetworkEngine(Moments, Restorable, Protocol):
    """An engine whose run can be saved to a file."""


class Spelled(NamedTuple):
    """A number as a stack of digits (see `digits`): τ = c + b·τ(the rest)."""

    digits: NDArray[Any]
    """Top first, as indices of pairs."""
    pairs: Sequence[tuple[int, int, int]]
    """c, b and their denominator."""
    counts: NDArray[Any] | None = None
    """How often each digit repeats; None if each is there once."""


class VectorMoments(Moments, Protocol):
    """An engine that returns its newest vectors."""

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> Spelled | None:
        """A number of what a watch looks through, as digits; None if the engine has no digits."""

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """A watched vector by name, of the newest moment or the one before."""


class DecodedLayer(Protocol):
    """What watches can see of a decoder layer."""

    @property
    def z(self) -> Vector: ...  # noqa: D102  # the paper's letter


class DecodedToken(Protocol):
    """What watches can see of a token."""

    @property
    def layers(self) -> Sequence[DecodedLayer]: ...  # noqa: D102
    @property
    def y(self) -> Vector: ...  # noqa: D102  # the paper's letter


def watched(token: DecodedToken) -> dict[str, Vector]:
    """The vectors of a token by the names that watches use."""
    layers = {f"z{n}": layer.z for n, layer in enumerate(token.layers, start=1)}
    return {**layers, "z": token.layers[-1].z, "y": token.y}


class ReferenceEngine:
    """The definition as an engine: one mapping of named vectors per moment."""

    compile_seconds = 0.0
    reason: str | None = None
    most_at_once = AT_ONCE

    def __init__(
        self,
        vectors: Iterator[Mapping[str, Vector]],
        watches: Sequence[Watch],
        *,
        fast: bool = False,
        moments: int = 0,
        newest: Mapping[str, Vector] | None = None,
        before: Mapping[str, Vector] | None = None,
    ) -> None:
        """`vectors` yields what comes after the given `moments`, the last of which had `newest`."""
        self.vectors, self.watches, self.fast, self.moments = vectors, watches, fast, moments
        self.newest: Mapping[str, Vector] = newest or {}
        self.before: Mapping[str, Vector] = before or {}

    def advance(self, count: int) -> NDArray[np.int64]:
        """The codes of the next moment; always one, as vectors are slow."""
        self.before, self.newest = self.newest, next(self.vectors)
        self.moments += 1
        codes = [watch.code(self.newest[watch.vector]) for watch in self.watches]
        return np.array([codes], dtype=np.int64)

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> None:
        """None: the definition has numbers, no digits."""

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """A vector by name, of the newest moment or the one before."""
        return (self.before if before else self.newest)[name]

    def snapshot(self) -> Snapshot:
        """The number of moments, from which all else is recomputed."""
        return {"moments": np.array([self.moments])}

    def restore(self, state: Snapshot) -> None:
        """Recompute all moments of a snapshot."""
        for _ in range(int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])):
            self.advance(1)


class Replayed(NamedTuple):
    """A bookmark to which the definition is replayed."""

    moments: int
    bytes: int = 0


class ReplayEngine(ReferenceEngine):
    """The definition, seekable: it goes back by starting over."""

    def __init__(
        self, begin: Callable[[], Iterator[Mapping[str, Vector]]], watches: Sequence[Watch]
    ) -> None:
        super().__init__(begin(), watches)
        self._begin = begin

    def place(self) -> Replayed:
        """A bookmark of the current moment."""
        return Replayed(self.moments)

    def go_back(self, place: Replayed) -> None:
        """Return to a bookmark."""
        if place.moments <= self.moments:  # an exception may have ended the iterator
            self.vectors, self.moments, self.newest = self._begin(), 0, {}
        while self.moments < place.moments:
            self.advance(1)


REFERENCE_SECONDS = 0.4
"""How long the definition may run before a faster engine takes over."""


class FasterMoments(Restorable, Protocol):
    """A faster method to compute a run, from its first moment on."""

    @property
    def moments(self) -> int:
        """The number of moments done."""

    def advance(self, count: int, /) -> Codes:
        """The codes of the next moments, at least one; UnsuitableError if there is none."""


F = TypeVar("F", bound=FasterMoments)
NamedVectors = Mapping[str, Vector]
Vectors = Iterator[NamedVectors]


def advance_to(engine: FasterMoments, moments: int) -> None:
    """Advance until an engine has done this number of moments."""
    while engine.moments < moments:
        engine.advance(moments - engine.moments)


class StagedEngine(ABC, Generic[F]):
    """A run in stages.

    The definition does the first `reference_steps` moments, or less if it takes long, so that a
    short run waits for no compiler. Then each of `ways` is tried: it catches up from the first
    moment and runs until it raises UnsuitableError. Rationals do the rest.
    """

    most_at_once = AT_ONCE
    SHORT = 64
    """How many moments `--engine auto` does by the definition: faster than loading a compiler."""

    def __init__(
        self, watches: Sequence[Watch], reference_steps: int, *, accelerated: bool = False
    ) -> None:
        self.watches = tuple(watches)
        self.accelerated = accelerated
        """Whether many moments are done at once."""
        if accelerated:
            self.most_at_once = UNLIMITED
        self.moments = 0
        self.compile_seconds = 0.0
        self.by_definition = 0 if self.is_warm() else reference_steps
        """How many moments the definition does."""
        self._started = process_time()  # not wall-clock time: a trace may be idle for long
        self.reason: str | None = None
        """Why rationals took over; None if they did not."""
        self.faster: F | None = None
        self.vectors: ReferenceEngine | None = None
        """The definition, or the rationals; None while `faster` runs."""
        self._ways, self._why = self.ways(), ""

    @staticmethod
    @abstractmethod
    def is_warm() -> bool:
        """Whether this process has the compiled code already; must not import the compiler."""

    @abstractmethod
    def ways(self) -> Iterator[Callable[[], F]]:
        """Factories of faster methods, fastest first; a factory may raise UnsuitableError."""

    @abstractmethod
    def definition(self) -> Vectors:
        """The vectors of each moment by the definition, from the first on."""

    def rationals(self) -> ReferenceEngine:
        """An engine in exact rationals, from where `faster` is or from the first moment."""
        return ReferenceEngine(self.definition(), self.watches, fast=True)

    @property
    def fast(self) -> bool:
        """Whether a faster method, or rationals, have taken over from the definition."""
        return self.moments > self.by_definition or not self.by_definition

    def advance(self, count: int) -> Codes:
        """The codes of the next moments."""
        if self.faster is None and self.reason is None:
            late = process_time() - self._started > REFERENCE_SECONDS
            if late or self.moments >= self.by_definition:
                self.begin_faster()
        codes: Codes | None = None
        while codes is None and self.faster is not None:
            try:
                codes = self.faster.advance(count)
            except UnsuitableError as unsuitable:
                self.leave(str(unsuitable))
        if codes is None:
            if self.vectors is None:
                self.vectors = ReferenceEngine(self.definition(), self.watches)
            codes = self.vectors.advance(count)
        self.moments += moments_of(codes)
        return codes

    def begin_faster(self) -> None:
        """Switch to the next faster method and catch up; to rationals if none is left."""
        self.by_definition = min(self.by_definition, self.moments)
        for way in self._ways:
            started = perf_counter()
            try:
                self.faster = way()
                self.compile_seconds += perf_counter() - started
                advance_to(self.faster, self.moments)
                self.vectors, self.reason = None, None
                return
            except UnsuitableError as unsuitable:
                self._why = str(unsuitable)
        self.reason = self._why
        self.vectors = self.rationals()
        self.faster = None
        advance_to(self.vectors, self.moments)

    def leave(self, reason: str) -> None:
        """Switch from the current method to the next one."""
        self._why = reason
        self.begin_faster()

    def replay(self, moments: int, reason: str) -> None:
        """Recompute moments in rationals, where the faster method cannot return to a bookmark.

        It may know more digits by now, and so refuse what it did not refuse before.
        """
        self.faster, self.reason, self.moments = None, reason, moments
        self.vectors = ReferenceEngine(self.definition(), self.watches, fast=True)
        advance_to(self.vectors, moments)

    def snapshot(self) -> Snapshot:
        """The number of moments, and the faster method's snapshot while there is one."""
        kept = self.faster.snapshot() if self.faster is not None else {}
        return {"moments": np.array([self.moments]), **kept}

    def restore(self, state: Snapshot) -> None:
        """Continue from a snapshot."""
        moments = int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])
        if len(state) > 1:
            self.begin_faster()
            if self.faster is None:  # another method wrote it, one that is not requested now
                self.replay(moments, self.reason or "")
                return
            try:
                self.faster.restore(state)
                self.moments = self.faster.moments
                require_consistent(self.moments == moments, f"{moments} moments")
            except UnsuitableError as unsuitable:
                self.replay(moments, str(unsuitable))
        advance_to(self, moments)
