"""Reading a network off its vectors, moment by moment, as small integers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netwright.errors import FormatError
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector

ZERO_BLOCK = -1
NEITHER = -2


@dataclass(frozen=True)
class Watch:
    """A block of one of a network's vectors, after a linear map if there is one.

    Its code is the place of the 1 if the block is a one-hot vector, `ZERO_BLOCK` if it is 0, and
    else `NEITHER`. With `sign`, for a block of one coordinate: the number if it is −1, 0 or 1,
    else `NEITHER`.
    """

    vector: str
    block: str
    sign: bool = False
    through: Affine | None = None

    def code(self, vector: Vector) -> int:
        """What the vector says.

        >>> from netwright.exact.layout import Layout
        >>> v = Vector.of(Layout.of(q=("on", "off"), x="", z=""), q="off", x=-1)
        >>> Watch("y", "q").code(v), Watch("y", "x", sign=True).code(v), Watch("y", "z").code(v)
        (1, -1, -1)
        """
        seen = vector if self.through is None else self.through(vector)
        content = seen[self.block]
        if self.sign:
            number = seen.number(self.block)
            return int(number.p) if number in (-ONE, 0, ONE) else NEITHER
        if not content:
            return ZERO_BLOCK
        if len(content) != 1 or set(content.values()) != {ONE}:
            return NEITHER
        return seen.layout.labels(self.block).index(next(iter(content)))


State: TypeAlias = Mapping[str, NDArray[np.int64]]
"""A run at a moment, as named arrays."""


def checked_array(
    state: State, name: str, shape: tuple[int | None, ...], least: int, most: int
) -> NDArray[np.int64]:
    """An array of a state, if it has this shape (None: any length) and its numbers this range.

    Compiled loops trust their arrays, so what comes from a file is looked at before.
    """
    found = state.get(name)
    if found is None:
        raise FormatError(f"the checkpoint has no array {name}")
    fits = found.dtype == np.int64 and len(found.shape) == len(shape)
    if not fits or any(want not in (None, n) for n, want in zip(found.shape, shape, strict=True)):
        wanted = " × ".join("any" if n is None else str(n) for n in shape)
        raise FormatError(
            f"the checkpoint's {name} is {found.dtype} of shape {found.shape}; expected int64 of "
            f"shape {wanted}"
        )
    if found.size and (found.min() < least or found.max() > most):
        wrong = found.min() if found.min() < least else found.max()
        raise FormatError(
            f"the checkpoint's {name} has the number {wrong}; expected {least} to {most}"
        )
    return found


def require_consistent(holds: object, what: str) -> None:
    """FormatError if the arrays of a checkpoint contradict each other."""
    if not holds:
        raise FormatError(f"the checkpoint contradicts itself: {what}")


FARTHEST = 1 << 50
"""More than any run takes: no time, cell or number of steps is beyond it."""


class Bookmark(Protocol):
    """Where a run is kept, to go on with it another time."""

    every: float
    """Seconds between two times that it is kept."""

    def read(self) -> State | None:
        """What was kept before."""

    def write(self, state: State) -> None:
        """Keep a state."""


PATIENCE_SECONDS = 0.4
"""How long a run may go on by the definition before a faster engine takes over."""


class Moments(Protocol):
    """A network's run, moment by moment, as watches see it."""

    compile_seconds: float
    reason: str | None
    """Why it does not do it in the fastest way."""

    @property
    def fast(self) -> bool:
        """Whether it left the definition behind."""

    def advance(self, count: int) -> NDArray[np.int64]:
        """The codes of the next moments, a row each: at least one, and `count` at most."""

    def snapshot(self) -> State:
        """All that the moments from here on depend on."""

    def restore(self, state: State) -> None:
        """Go on from a snapshot; FormatError if it is none of this network."""


class MomentsWithVectors(Moments, Protocol):
    """Moments whose vectors can be had."""

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """One of the vectors that are watched, now or one moment before."""


class Stepwise:
    """Moments from vectors, one set of named vectors a moment."""

    compile_seconds = 0.0
    reason: str | None = None

    def __init__(
        self,
        vectors: Iterator[Mapping[str, Vector]],
        watches: Sequence[Watch],
        *,
        fast: bool = False,
    ) -> None:
        self.vectors, self.watches, self.fast = vectors, watches, fast
        self.moments = 0
        self.newest: Mapping[str, Vector] = {}
        self.before: Mapping[str, Vector] = {}

    def advance(self, count: int) -> NDArray[np.int64]:
        """The codes of the next moment: one at a time, as vectors are slow."""
        self.before, self.newest = self.newest, next(self.vectors)
        self.moments += 1
        codes = [watch.code(self.newest[watch.vector]) for watch in self.watches]
        return np.array([codes], dtype=np.int64)

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """One of the vectors."""
        return (self.before if before else self.newest)[name]

    def snapshot(self) -> State:
        """The number of moments: what they hold is computed again."""
        return {"moments": np.array([self.moments])}

    def restore(self, state: State) -> None:
        """Do again what was done."""
        for _ in range(int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])):
            self.advance(1)
