"""Drive an engine and follow the machine's run in what the network shows.

An engine returns state, symbols and moves as codes (see `engine.moments`), many moments at a time.
A `Follower` tracks the given machine's configuration from them; `follow` drives both until the run
ends, updates the progress bar, saves checkpoints and reacts to Ctrl-C.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from netwright.engine.moments import Codes, Moments, NetworkEngine, Restorable
from netwright.exact.snapshot import (
    FARTHEST,
    CheckpointStore,
    Snapshot,
    checked_array,
    require_consistent,
)
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import (
    Interrupted,
    Outcome,
    Progress,
    Run,
    check_saved,
    held_interrupt,
    report,
)

FIRST_AT_ONCE, MUCH = 1 << 8, 16
SHORT, LONG = 0.05, 0.2  # seconds between two checks of Ctrl-C and updates of the progress bar


class Follower(Protocol):
    """Tracks the given machine's configuration; `outcome` is None until the run ends."""

    outcome: Outcome | None
    max_steps: int

    @property
    def steps(self) -> int:
        """How many steps the given machine has done; −1 before its run begins."""

    @property
    def cells(self) -> int:
        """The length of the tape so far."""

    def remaining(self) -> int:
        """A number of moments that cannot pass the step limit; 0 if the machine is at it."""

    def take(self, codes: Codes) -> None:
        """Advance by a batch of moments."""


class SeekableFollower(Follower, Restorable, Protocol):
    """A follower that can be saved and moved back."""

    @property
    def moments(self) -> int:
        """How many moments it has followed."""

    @property
    def shown(self) -> int:
        """How many moments showed a machine: all but a last one that only ended the run."""

    @property
    def most_moments(self) -> int:
        """The greatest number of moments of a run within the limit."""

    @property
    def at_a_step(self) -> bool:
        """Whether the newest moment shows a configuration of the given machine."""

    def put(self, state: Snapshot) -> None:
        """Continue from one of its own snapshots."""


M = TypeVar("M", bound=Moments)
N = TypeVar("N", bound=NetworkEngine)


@dataclass(frozen=True)
class OngoingRun(Generic[M]):
    """A run in progress: an engine, its follower, and a function that returns the run so far."""

    moments: M
    follower: SeekableFollower
    reached: Callable[[], Run]
    blank: str

    def configuration(self) -> Configuration | None:
        """The given machine's configuration at the newest moment; None if that shows none."""
        if not self.follower.at_a_step:
            return None
        run = self.reached()
        return Configuration.on_tape(run.state, run.head, run.tape, self.blank)


def finish(
    ongoing: OngoingRun[N], progress: Progress | None = None, store: CheckpointStore | None = None
) -> Run:
    """Drive a run to its end and return it; raise `Interrupted` at Ctrl-C."""
    try:
        saved = SavedRun(ongoing.moments, ongoing.follower, store) if store is not None else None
        follow(ongoing.moments, ongoing.follower, progress, saved)
    except KeyboardInterrupt:
        raise Interrupted(ongoing.reached()) from None
    return ongoing.reached()


def follow(
    moments: Moments,
    follower: Follower,
    progress: Progress | None = None,
    saved: "SavedRun | None" = None,
) -> None:
    """Drive an engine until the follower has an outcome; Ctrl-C takes effect between moments.

    The run is saved periodically, at Ctrl-C, and at the step limit, which a resumed run may raise.
    """

    def ended() -> bool:
        return follower.outcome is not None

    count, last_saved = FIRST_AT_ONCE if moments.fast else 1, monotonic()
    with held_interrupt() as interrupted:
        while not ended():
            left = follower.remaining()
            if left == 0 and saved is not None:
                saved.write()
            started = monotonic()
            follower.take(moments.advance(min(count, max(1, left))))
            now = monotonic()
            if now - started < SHORT:
                factor = MUCH if MUCH * (now - started) < SHORT else 2
                count = min(factor * count, moments.most_at_once)
            elif now - started > LONG:
                count = max(1, count // 2)
            if progress:
                moves = getattr(moments, "moves", None)
                report(progress, max(0, follower.steps), follower.cells, moves)
            if ended():
                return
            if interrupted():
                if saved is not None:
                    saved.write()
                raise KeyboardInterrupt
            if saved is not None and now - last_saved >= saved.store.every:
                saved.write()
                last_saved = monotonic()


class SavedRun:
    """An engine and its follower that resume from a store's checkpoint, and are saved there."""

    def __init__(
        self, moments: NetworkEngine, follower: SeekableFollower, store: CheckpointStore
    ) -> None:
        self.parts: dict[str, Restorable] = {"moments": moments, "follower": follower}
        self.store = store
        if not (kept := store.read()):
            return
        follower.restore(_part(kept, "follower"))
        clock = int(checked_array(kept, "moments.moments", (1,), 0, FARTHEST)[0])
        require_consistent(
            clock == follower.moments,
            f"{clock:,} moments of the network, {follower.moments:,} that were followed",
        )
        check_saved(follower.steps, follower.max_steps)
        moments.restore(_part(kept, "moments"))

    def write(self) -> None:
        """Write a checkpoint with the snapshots of both."""
        state: dict[str, NDArray[np.int64]] = {}
        for name, part in self.parts.items():
            state |= {f"{name}.{key}": array for key, array in part.snapshot().items()}
        self.store.write(state)


def _part(state: Snapshot, name: str) -> Snapshot:
    start = f"{name}."
    return {key.removeprefix(start): each for key, each in state.items() if key.startswith(start)}


def first_place(condition: NDArray[np.bool_]) -> int:
    """The first index at which a condition holds; the length if there is none.

    >>> first_place(np.array([False, True])), first_place(np.array([False, False]))
    (1, 2)
    """
    return int(condition.argmax()) if condition.any() else len(condition)
