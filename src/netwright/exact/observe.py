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


def check_shape(name: str, state: State, shape: tuple[int, ...]) -> None:
    """Refuse a state without an array of this name and shape: loops trust their arrays."""
    found = state.get(name)
    if found is None or found.shape != shape or found.dtype != np.int64:
        has = "nothing" if found is None else f"{found.dtype} of shape {found.shape}"
        raise FormatError(
            f"the checkpoint has {has} for {name}; expected integers of shape {shape}"
        )


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
        """Go on from a snapshot."""


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
        for _ in range(int(state["moments"][0])):
            self.advance(1)
