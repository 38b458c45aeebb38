"""A timeline by the accelerated engine: any moment of a regular run, however far it is.

Instead of steps, moves are limited. When a cell was visited is not known: a move may visit very
many cells.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from netwright.errors import InputError
from netwright.exact.arrays import IntArray
from netwright.exact.snapshot import Snapshot
from netwright.machine.accelerated import AcceleratedMachine
from netwright.machine.bookmarks import Bookmarks
from netwright.machine.simulate import simulate
from netwright.machine.timeline import Diagram, Instant, Timeline
from netwright.machine.turing_machine import TuringMachine

MOST_MOVES = 1 << 28
"""The greatest number of moves of a run: a few seconds."""
MOST_RUNS = 1 << 16
"""The greatest number of runs of equal cells on the tape."""


class _Mark(NamedTuple):
    """A bookmark."""

    time: int
    entered: int
    kept: Snapshot

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return sum(array.nbytes for array in self.kept.values())


class AcceleratedTimeline(Timeline):
    """The run of a machine on a word, explored a move at a time."""

    def __init__(
        self,
        machine: TuringMachine,
        word: Sequence[str],
        head: int = 0,
        *,
        limit: int,
        counts: Callable[[str], bool] = lambda state: True,
    ) -> None:
        super().__init__(machine, word, head, limit=limit, counts=counts)
        run = replace(simulate(machine, word, 0), head=head)
        self._run, self._moves = AcceleratedMachine(machine, run), 0
        states = [*map(counts, machine.states)]
        if not all(states):
            self._run.count(states)
        self._first = states[machine.states.index(machine.start)] - 1
        self._bookmarks = Bookmarks(self._mark())

    @staticmethod
    def of(timeline: Timeline) -> "AcceleratedTimeline":
        """The run of another timeline."""
        own = timeline
        return AcceleratedTimeline(
            own.machine, own.word, own.start, limit=own.limit, counts=own.counts
        )

    def _mark(self) -> _Mark:
        return _Mark(self._run.steps, self._run.entered, self._run.snapshot())

    def explore(self, time: int, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Explore up to a time, the end or the limit; return False if `go_on` returned False."""
        with self.lock:
            self._go(self.reached)
            while self.reached < min(time, self.limit) and self.end is None:
                if not go_on():
                    return False
                self._advance(min(time, self.limit))
        return True

    def _go(self, time: int) -> None:
        """Move to a time, or to the last one before it."""
        mark = self._bookmarks.last(time)
        if not mark.time <= self._run.steps <= time:
            self._run.restore(mark.kept)
            self._run.entered = mark.entered
        self._bookmarks.set_out(self._run.steps, time)
        while self._run.steps < min(time, self.limit) and not self._has_halted:
            self._advance(min(time, self.limit))

    @property
    def _has_halted(self) -> bool:
        return not self.machine.action(*self._run.place[:2])

    def _advance(self, time: int) -> None:
        """Do a batch of moves, and keep a bookmark if one is due."""
        run, moves = self._run, self._run.moves
        run.advance(self._bookmarks.goal(run.steps, time) - run.steps)
        self._bookmarks.pass_by(run.steps, self._mark)
        if run.steps <= self.reached:
            return
        self.reached, self._moves = run.steps, self._moves + run.moves - moves
        self.lowest = min(self.lowest, run.lowest)
        self.highest = max(self.highest, run.highest)
        if self._has_halted:
            self.end = run.steps
        elif self._moves > MOST_MOVES or sum(len(each.counts) for each in run.stacks()) > MOST_RUNS:
            self.limit, self.cut = run.steps, "beyond them, its tape has too few long runs"

    def _run_on(self, time: int) -> None:
        """Move to a time without a jump to a bookmark."""
        while self._run.steps < time and not self._has_halted:
            self._run.advance(time - self._run.steps)

    # Looking.

    def _stand(self, time: int) -> bool:
        if time < 0:
            raise InputError(f"a machine has no time {time}")
        self._go(time)
        return self._run.steps == time

    def _at(self, time: int) -> Instant | None:
        with self.lock:
            if not self._stand(time):
                return None
            entered = time if self._run.counted is None else self._run.entered
            return Instant(time, *self._run.place, self._first + entered)

    def cells(self, time: int, first: int, last: int) -> list[str]:
        """The symbols of cells `first` to `last` at a time, or at the last one before it."""
        with self.lock:
            self._stand(time)
            digits = self._run.digits(np.arange(first, last + 1))
            return [self._run.table.symbols[digit] for digit in digits.tolist()]

    def visits(self, time: int, first: int, last: int) -> list[tuple[int | None, int | None]]:
        """Nothing: visits are not known."""
        return []

    def diagram(
        self, start: int, stop: int, columns: int, first: int, last: int, rows: int
    ) -> Diagram:
        """Draw times `start` to `stop` (exclusive) and cells `first` to `last`."""
        with self.lock:
            self.explore(stop)
            self._go(start)
            run, order = self._run, [*map(self.machine.symbols.index, self._run.table.symbols)]
            levels, (sampled, rows_begin) = self.levels()[order], _samples(first, last, rows)
            lengths = np.diff(rows_begin, append=len(sampled))
            image = np.zeros((columns, rows), dtype=np.uint8)
            heads = np.zeros((2, columns), dtype=np.int64)
            for column in range(columns):
                end = start + (stop - start) * (column + 1) // columns
                shades = levels[run.digits(sampled)]
                image[column] = np.add.reduceat(shades, rows_begin) // lengths
                run.lowest = run.highest = run.head
                self._run_on(end - 1)
                heads[:, column] = run.lowest, run.highest
                self._run_on(end)
            return Diagram(image, *heads)


def _samples(first: int, last: int, rows: int) -> tuple[IntArray, IntArray]:
    """The cells that a picture looks at, some of every row, and where those of each row begin."""
    edges = [first + (last + 1 - first) * n // rows for n in range(rows + 1)]
    found = [
        np.arange(edge, max(edge + 1, after), max(1, (after - edge) // 16))
        for edge, after in pairwise(edges)
    ]
    return np.concatenate(found), np.cumsum([0, *map(len, found[:-1])])
