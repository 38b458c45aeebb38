"""A machine's run, followed from what a network says at each moment.

A network shows state, symbols and moves as codes (see `runtime.engine`), many moments at a time. A
`Follower` makes of them where the given machine stands; `follow` drives the two until the run has
ended, with a look now and then at the progress bar, the clock and Ctrl-C.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netwright.engine.moments import Codes, Moments, NetworkEngine
from netwright.errors import InputError
from netwright.exact.snapshot import (
    FARTHEST,
    CheckpointStore,
    Snapshot,
    checked_array,
    require_consistent,
)
from netwright.interrupts import held_interrupt
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import Interrupted, Outcome, Progress, Run

FIRST_AT_ONCE, MOST_AT_ONCE = 1 << 8, 1 << 16
SHORT, LONG = 0.05, 0.2  # seconds between two looks at Ctrl-C and the progress bar


class Follower(Protocol):
    """Where the given machine stands; `outcome` is None while the run goes on."""

    outcome: Outcome | None
    max_steps: int

    @property
    def steps(self) -> int:
        """How many steps the given machine has done; −1 before its run has begun."""

    @property
    def cells(self) -> int:
        """How many cells the tape takes."""

    def remaining(self) -> int:
        """How many moments cannot pass the limit; 0 where the machine stands at it."""

    def take(self, codes: Codes) -> None:
        """Follow some moments."""


class KeptFollower(Follower, Protocol):
    """One that can be kept, and go back."""

    @property
    def moments(self) -> int:
        """How many moments it has followed."""

    @property
    def shown(self) -> int:
        """How many moments have shown a machine: all but one that ended the run, if one did."""

    @property
    def most_moments(self) -> int:
        """How many moments a run within the limit takes at most."""

    @property
    def at_a_step(self) -> bool:
        """Whether the newest moment shows a configuration of the given machine."""

    def snapshot(self) -> Snapshot:
        """All that a run from here on depends on."""

    def put(self, state: Snapshot) -> None:
        """Go on from a snapshot of its own."""

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot that may be of another run, or damaged: FormatError."""


M = TypeVar("M", bound=Moments)
N = TypeVar("N", bound=NetworkEngine)


@dataclass(frozen=True)
class OngoingRun(Generic[M]):
    """A run under way: an engine, who follows it, and what is reached so far."""

    moments: M
    follower: KeptFollower
    reached: Callable[[], Run]
    blank: str

    def configuration(self) -> Configuration | None:
        """Where the given machine stands, if the newest moment shows one of its configurations."""
        if not self.follower.at_a_step:
            return None
        run = self.reached()
        return Configuration.on_tape(run.state, run.head, run.tape, self.blank)


def finish(
    ongoing: OngoingRun[N], progress: Progress | None = None, store: CheckpointStore | None = None
) -> Run:
    """The run that a course ends with; `Interrupted` at Ctrl-C."""
    try:
        kept = Kept(ongoing.moments, ongoing.follower, store) if store is not None else None
        follow(ongoing.moments, ongoing.follower, progress, kept)
    except KeyboardInterrupt:
        raise Interrupted(ongoing.reached()) from None
    return ongoing.reached()


def follow(
    moments: Moments,
    follower: Follower,
    progress: Progress | None = None,
    store: "Kept | None" = None,
) -> None:
    """Drive an engine until the follower has an outcome; Ctrl-C takes effect between moments.

    A store is written now and then, at Ctrl-C, and at the limit, from where one may go on with
    a higher one.
    """

    def ended() -> bool:
        return follower.outcome is not None

    count, last_kept = FIRST_AT_ONCE if moments.fast else 1, monotonic()
    with held_interrupt() as interrupted:
        while not ended():
            left = follower.remaining()
            if left == 0 and store is not None:
                store.keep()
            started = monotonic()
            follower.take(moments.advance(min(count, max(1, left))))
            now = monotonic()
            if now - started < SHORT:
                count = min(2 * count, MOST_AT_ONCE)
            elif now - started > LONG:
                count = max(1, count // 2)
            if progress:
                progress(max(0, follower.steps), follower.cells)
            if ended():
                return
            if interrupted():
                if store is not None:
                    store.keep()
                raise KeyboardInterrupt
            if store is not None and now - last_kept >= store.every:
                store.keep()
                last_kept = monotonic()


class Kept:
    """A run whose engine and follower are kept in a store, and begin with what is there."""

    def __init__(
        self, moments: NetworkEngine, follower: KeptFollower, store: CheckpointStore
    ) -> None:
        self.parts: dict[str, NetworkEngine | KeptFollower] = {
            "moments": moments,
            "follower": follower,
        }
        self.store, self.every = store, store.every
        if not (kept := store.read()):
            return
        follower.restore(_part(kept, "follower"))
        clock = int(checked_array(kept, "moments.moments", (1,), 0, FARTHEST)[0])
        require_consistent(
            clock == follower.moments,
            f"{clock:,} moments of the network, {follower.moments:,} that were followed",
        )
        if follower.steps > follower.max_steps:
            raise InputError(
                f"the run that was kept is at step {follower.steps:,}, beyond the limit of "
                f"{follower.max_steps:,} steps"
            )
        moments.restore(_part(kept, "moments"))

    def keep(self) -> None:
        """Write both."""
        self.store.write(
            {
                f"{name}.{key}": array
                for name, part in self.parts.items()
                for key, array in part.snapshot().items()
            }
        )


def _part(state: Snapshot, name: str) -> Snapshot:
    start = f"{name}."
    return {key.removeprefix(start): each for key, each in state.items() if key.startswith(start)}


def first_place(condition: NDArray[np.bool_]) -> int:
    """Where a condition first holds; behind the end if nowhere.

    >>> first_place(np.array([False, True])), first_place(np.array([False, False]))
    (1, 2)
    """
    return int(condition.argmax()) if condition.any() else len(condition)
