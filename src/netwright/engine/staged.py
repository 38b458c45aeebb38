"""Stages of a run: the definition first, then a faster way, and rationals where that ends.

All of them give the same codes, so one can take over from another at any moment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter, process_time
from typing import Generic, Protocol, TypeVar

import numpy as np

from netwright.engine.moments import Codes, ReferenceEngine, UnsuitableError, Watch
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector

REFERENCE_SECONDS = 0.4
"""How long a run may go on by the definition before a faster engine takes over."""


class FasterMoments(Protocol):
    """A faster way through the moments of a run, from the first on."""

    @property
    def moments(self) -> int:
        """How many it has done."""

    def advance(self, count: int, /) -> Codes:
        """The codes of the next moments, one at least; UnsuitableError if there is none."""

    def snapshot(self) -> Snapshot:
        """All that the moments from here on depend on; nothing where they are done again."""

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot; FormatError if it is none of this network."""


F = TypeVar("F", bound=FasterMoments)
Vectors = Iterator[Mapping[str, Vector]]


class StagedEngine(ABC, Generic[F]):
    """A run in stages.

    The first `reference_steps` moments are done by the definition, so that a short run waits for
    no compiler, unless that takes long. Then each of `ways` is tried, and goes on from the first
    moment until a moment is not for it. What is left is for rationals.
    """

    SHORT = 64
    """How many moments `--engine auto` does by the definition: less time than a compiler takes."""

    def __init__(self, watches: Sequence[Watch], reference_steps: int) -> None:
        self.watches = tuple(watches)
        self.moments = 0
        self.compile_seconds = 0.0
        self.by_definition = 0 if self.is_warm() else reference_steps
        """How many moments are done by the definition."""
        self._started = process_time()  # time that nobody used does not count: traces wait
        self.reason: str | None = None
        """Why rationals go on."""
        self.faster: F | None = None
        self.vectors: ReferenceEngine | None = None
        """The definition, or the rationals; None while `faster` runs."""
        self._ways, self._why = self.ways(), ""

    @staticmethod
    @abstractmethod
    def is_warm() -> bool:
        """Whether the compiled code is at hand in this process; asking imports no compiler."""

    @abstractmethod
    def ways(self) -> Iterator[Callable[[], F]]:
        """Faster ways, the fastest first; making one may be an UnsuitableError."""

    @abstractmethod
    def definition(self) -> Vectors:
        """The definition's moments, from the first on."""

    def rationals(self) -> ReferenceEngine:
        """Moments in exact rationals, from where `faster` stands or from the first on."""
        return ReferenceEngine(self.definition(), self.watches, fast=True)

    @property
    def fast(self) -> bool:
        """Whether the definition is left behind."""
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
        self.moments += len(codes)
        return codes

    def begin_faster(self) -> None:
        """Take the next faster way, up to where we are; rationals if there is none."""
        self.by_definition = min(self.by_definition, self.moments)
        for way in self._ways:
            started = perf_counter()
            try:
                self.faster = way()
                self.compile_seconds += perf_counter() - started
                while self.faster.moments < self.moments:
                    self.faster.advance(self.moments - self.faster.moments)
                self.vectors, self.reason = None, None
                return
            except UnsuitableError as unsuitable:
                self._why = str(unsuitable)
        self.reason = self._why
        self.vectors = self.rationals()
        self.faster = None
        while self.vectors.moments < self.moments:
            self.vectors.advance(1)

    def leave(self, reason: str) -> None:
        """Leave the way that we are on for the next one."""
        self._why = reason
        self.begin_faster()

    def replay(self, moments: int, reason: str) -> None:
        """Do moments again in rationals, where the faster way cannot go on from a place of its own.

        It may know more by then than it knew there, and so refuse what it did not refuse before.
        """
        self.faster, self.reason, self.moments = None, reason, moments
        self.vectors = ReferenceEngine(self.definition(), self.watches, fast=True)
        while self.vectors.moments < moments:
            self.vectors.advance(1)

    def snapshot(self) -> Snapshot:
        """What the faster way needs, or only how many moments there were."""
        kept = self.faster.snapshot() if self.faster is not None else {}
        return {"moments": np.array([self.moments]), **kept}

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot."""
        moments = int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])
        if len(state) > 1:
            self.begin_faster()
            if self.faster is None:  # another way kept it, one that is not asked for now
                self.replay(moments, self.reason or "")
                return
            try:
                self.faster.restore(state)
                self.moments = self.faster.moments
                require_consistent(self.moments == moments, f"{moments} moments")
            except UnsuitableError as unsuitable:
                self.replay(moments, str(unsuitable))
        while self.moments < moments:
            self.advance(moments - self.moments)
