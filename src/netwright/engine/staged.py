"""A run in stages: the definition first, then a faster method, and rationals where that fails.

All of them return the same codes, so one can take over from another at any moment.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter, process_time
from typing import Generic, Protocol, TypeVar

import numpy as np

from netwright.engine.moments import (
    AT_ONCE,
    Codes,
    ReferenceEngine,
    Restorable,
    UnsuitableError,
    Watch,
    moments_of,
)
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector

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

    def __init__(self, watches: Sequence[Watch], reference_steps: int) -> None:
        self.watches = tuple(watches)
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
