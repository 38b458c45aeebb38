"""The protocol of engines: a network's run, moment by moment, seen through watches.

A watch reads one block of a vector as a small integer. An engine returns the codes of all watches
for many moments at a time. `ReferenceEngine` is the definition; faster engines must equal it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ONE, Rational
from netwright.exact.runs import spelled_out
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array
from netwright.exact.vector import Vector

ZERO_BLOCK = -1
NEITHER = -2
AT_ONCE = 1 << 16
"""The greatest number of moments to ask an engine for, if it computes them one by one."""


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

    def spelled_out(self) -> IndexedCodes:
        """The codes of all moments, one by one."""
        numbers = np.array(spelled_out(self.numbers, self.counts), np.int64)
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
