"""The protocol of engines: a network's run, moment by moment, seen through watches.

A watch reads one block of a vector as a small integer. An engine gives the codes of all watches for
many moments at a time. `ReferenceEngine` is the definition; faster ones equal it on everything.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ONE, Rational
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array
from netwright.exact.vector import Vector

ZERO_BLOCK = -1
NEITHER = -2


class UnsuitableError(Exception):
    """A network, or its run from here on, is not for an engine; the text says why."""


@dataclass(frozen=True)
class Watch:
    """A block of one of a network's vectors, after a linear map if there is one.

    Its code is the place of the 1 if the block is a one-hot vector, `ZERO_BLOCK` if it is 0, and
    else `NEITHER`. With `sign`, for a block of one coordinate: the number if it is −1, 0 or 1,
    else `NEITHER`. With `numbers`, for one coordinate too: the code of the number that stands
    there, and `NEITHER` for others.
    """

    vector: str
    """`y`, `z` for the last layer's z, or `z1`, `z2`, … for a layer's."""
    block: str
    sign: bool = False
    through: Affine | None = None
    numbers: Mapping[Rational, int] | None = field(default=None, hash=False)

    def code(self, vector: Vector) -> int:
        """What the vector says.

        >>> from netwright.exact.layout import Layout
        >>> v = Vector.of(Layout.of(q=("on", "off"), x="", z=""), q="off", x=-1)
        >>> Watch("y", "q").code(v), Watch("y", "x", sign=True).code(v), Watch("y", "z").code(v)
        (1, -1, -1)
        """
        seen = vector if self.through is None else self.through(vector)
        places = seen.layout.places(self.block)
        content = [(k, number) for k, number in seen.entries.items() if k in places]
        if self.sign:
            number = seen.number(self.block)
            return int(number.p) if number in (-ONE, 0, ONE) else NEITHER
        if self.numbers is not None:
            return self.numbers.get(seen.number(self.block), NEITHER)
        if not content:
            return ZERO_BLOCK
        if len(content) != 1 or content[0][1] != ONE:
            return NEITHER
        return content[0][0] - places.start


@dataclass(frozen=True)
class IndexedCodes:
    """Codes of many moments: for each a number, and the row of codes that a number stands for."""

    numbers: NDArray[np.uint16]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)


Codes = NDArray[np.int64] | IndexedCodes
"""What watches see, moment by moment: rows of codes, or numbers for such rows."""


def rows_of(codes: Codes) -> NDArray[np.int64]:
    """Codes as rows, one for each moment."""
    return codes.rows[codes.numbers] if isinstance(codes, IndexedCodes) else codes


class Moments(Protocol):
    """A network's run, moment by moment, as watches see it: what every engine is."""

    compile_seconds: float
    reason: str | None
    """Why it does not do it in the fastest way."""

    @property
    def fast(self) -> bool:
        """Whether it left the definition behind."""

    def advance(self, count: int) -> Codes:
        """The codes of the next moments, a row each: at least one, and `count` at most."""


class Place(Protocol):
    """A bookmark of an engine, in memory."""

    @property
    def bytes(self) -> int:
        """How much memory it takes."""


class SeekableEngine(Moments, Protocol):
    """An engine that can go back to where it was."""

    moments: int
    """How many moments it has done."""

    def place(self) -> Place:
        """Where it stands."""

    def go_back(self, place: Any) -> None:
        """Stand at a place of its own again."""


class NetworkEngine(Moments, Protocol):
    """An engine whose run can be kept in a file."""

    def snapshot(self) -> Snapshot:
        """All that the moments from here on depend on."""

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot; FormatError if it is none of this network."""


class Spelled(NamedTuple):
    """A number as digits (c, b), each c + b times the number of those after it."""

    digits: NDArray[np.uint16]
    """From the first on, as numbers of pairs."""
    pairs: Sequence[tuple[int, int, int]]
    """c and b, and what they are over."""


class VectorMoments(Moments, Protocol):
    """An engine whose newest vectors can be had."""

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> Spelled | None:
        """A number of what a watch looks through, as digits; None if the engine has none."""

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """One of the vectors that are watched, now or one moment before."""


class DecodedLayer(Protocol):
    """What watches may see of a decoder layer."""

    @property
    def z(self) -> Vector: ...  # noqa: D102  # the paper's letter


class DecodedToken(Protocol):
    """What watches may see of a token."""

    @property
    def layers(self) -> Sequence[DecodedLayer]: ...  # noqa: D102
    @property
    def y(self) -> Vector: ...  # noqa: D102  # the paper's letter


def watched(token: DecodedToken) -> dict[str, Vector]:
    """The vectors of a token by the names that watches know."""
    layers = {f"z{n}": layer.z for n, layer in enumerate(token.layers, start=1)}
    return {**layers, "z": token.layers[-1].z, "y": token.y}


class ReferenceEngine:
    """The definition as an engine: one set of named vectors a moment."""

    compile_seconds = 0.0
    reason: str | None = None

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
        """`vectors` are those after some `moments`, of which the last had the `newest`."""
        self.vectors, self.watches, self.fast, self.moments = vectors, watches, fast, moments
        self.newest: Mapping[str, Vector] = newest or {}
        self.before: Mapping[str, Vector] = before or {}

    def advance(self, count: int) -> NDArray[np.int64]:
        """The codes of the next moment: one at a time, as vectors are slow."""
        self.before, self.newest = self.newest, next(self.vectors)
        self.moments += 1
        codes = [watch.code(self.newest[watch.vector]) for watch in self.watches]
        return np.array([codes], dtype=np.int64)

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> None:
        """No digits."""

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """One of the vectors."""
        return (self.before if before else self.newest)[name]

    def snapshot(self) -> Snapshot:
        """The number of moments: what they hold is computed again."""
        return {"moments": np.array([self.moments])}

    def restore(self, state: Snapshot) -> None:
        """Do again what was done."""
        for _ in range(int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])):
            self.advance(1)


class Replayed(NamedTuple):
    """A moment to which the definition is replayed."""

    moments: int
    bytes: int = 0


class ReplayEngine(ReferenceEngine):
    """The definition, which goes back by beginning again."""

    def __init__(
        self, begin: Callable[[], Iterator[Mapping[str, Vector]]], watches: Sequence[Watch]
    ) -> None:
        super().__init__(begin(), watches)
        self._begin = begin

    def place(self) -> Replayed:
        """Where it stands."""
        return Replayed(self.moments)

    def go_back(self, place: Replayed) -> None:
        """Stand at a place of its own again."""
        if place.moments <= self.moments:  # an exception may have ended the iterator
            self.vectors, self.moments, self.newest = self._begin(), 0, {}
        while self.moments < place.moments:
            self.advance(1)
