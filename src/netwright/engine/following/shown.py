"""Follow a machine's run through the states, symbols and moves that a network's outputs show.

A moment shows the state of an output, the symbol written and the move. A kind whose networks show
a machine in this way has a `Shown`; `ShownFollower` tracks the machine's configuration from codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.engine.following.drive import M, OngoingRun
from netwright.engine.following.tape_runs import (
    ALL,
    ENDED,
    FEW,
    FINAL,
    GIVEN,
    LIMIT,
    NO_ROOM,
    STOP,
    STOPPED,
    Meanings,
    RunTape,
)
from netwright.engine.moments import ZERO_BLOCK, Codes, IndexedCodes, RepeatedCodes, Watch
from netwright.errors import NetworkError
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.kind.compiled_decoder import CompiledNormalDecoder
from netwright.machine.configuration import Tape
from netwright.machine.simulate import Engine, Outcome, Run
from netwright.machine.turing_machine import TuringMachine

Watches = tuple[Watch, Watch, Watch]
"""The watches of an output's state, the symbol written, and the move."""


@dataclass(frozen=True)
class Shown:
    """The watches of one run, and the meaning of their codes."""

    given: TuringMachine
    watches: Watches
    states: tuple[str, ...]
    """The states by the codes of the first watch; the code after them means: accepted."""
    given_states: frozenset[str]
    """The states that show a configuration of the given machine."""
    final_states: frozenset[str]
    """The states that end the run as soon as they are shown."""
    symbols: tuple[str, ...]
    """The given machine's symbols by the codes of the second watch."""
    blank: int
    laid: Sequence[int]
    """The codes on the tape before the first moment, from cell 0 on."""
    cell: int
    """The first cell of the head."""
    before: int
    """The number of the moment that shows the given machine at step 0."""
    stays: bool = False
    """Whether the head may stay."""
    short: bool = False
    """Whether `accepted` replaces the accepting configuration, instead of following it."""

    @property
    def accepted(self) -> int:
        """The code of acceptance."""
        return len(self.states)


def normal_shown(
    compiled: CompiledNormalDecoder, word: Sequence[str], watches: Watches, *, stays: bool = False
) -> Shown:
    """The `Shown` of a normal machine, which reads its input and moves the head back first."""
    normal = compiled.normal
    machine, symbols = normal.machine, normal.check_word(word)
    return Shown(
        given=normal.given,
        watches=watches,
        states=machine.states,
        given_states=frozenset(filter(normal.is_given_state, machine.states)),
        final_states=compiled.final_states,
        symbols=tuple(map(normal.given_symbol, machine.symbols)),
        blank=machine.symbols.index(machine.blank),
        laid=[*map(machine.symbols.index, symbols)],
        cell=-1,
        before=2 * len(symbols) + 3,
        stays=stays,
    )


class WrittenTape:
    """A tape of codes that grows on demand."""

    def __init__(self, codes: Sequence[int], blank: int, symbols: int) -> None:
        self.blank, self.symbols = blank, symbols
        self.origin, self.codes = 0, np.array(codes, dtype=np.int64)
        self.lowest, self.highest = 0, len(codes) - 1

    @property
    def cells(self) -> int:
        """The number of cells from the first to the last written one."""
        return self.highest - self.lowest + 1

    def reach(self, cell: int) -> None:
        """Make room for a cell, and more beyond it."""
        end = self.origin + self.codes.size
        room = self.codes.size + 64
        first = min(self.origin, cell - room) if cell < self.origin else self.origin
        last = max(end, cell + room) if cell >= end else end
        larger = np.full(last - first, self.blank, dtype=np.int64)
        larger[self.origin - first : end - first] = self.codes
        self.codes, self.origin = larger, first

    def tape(self, symbols: list[str], blank: str) -> Tape:
        """The tape with symbols for codes; several codes may mean the blank."""
        written = np.array([symbol != blank for symbol in symbols])[self.codes]
        if not written.any():
            return Tape(0, ())
        first, last = int(written.argmax()), len(written) - 1 - int(written[::-1].argmax())
        cells = map(symbols.__getitem__, self.codes[first : last + 1].tolist())
        return Tape(self.origin + first, tuple(cells))

    def as_runs(self, cell: int) -> RunTape:
        """The same tape as runs, with the head on a cell."""
        found = RunTape.of(self.codes, self.origin, self.blank, self.symbols, cell)
        found.lowest, found.highest = self.lowest, self.highest
        return found

    def snapshot(self) -> Snapshot:
        """The tape as arrays."""
        place = [self.origin, self.lowest, self.highest]
        return {"tape_place": np.array(place, dtype=np.int64), "tape": self.codes.copy()}

    def restore(self, state: Snapshot) -> None:
        """Take the tape of a snapshot; FormatError if it is damaged."""
        place = checked_array(state, "tape_place", (3,), -FARTHEST, FARTHEST)
        self.codes = checked_array(state, "tape", (None,), 0, self.symbols - 1).copy()
        self.origin, self.lowest, self.highest = place.tolist()
        lowest, end = self.lowest, self.highest + 1
        inside = self.origin <= lowest <= end <= self.origin + self.codes.size
        require_consistent(inside, "its tape ends before its cells do")


def _follow(numbers: Any, flags: Any, written: Any, moves: Any, tape: Any, clock: Any) -> int:
    """Follow tokens by the meanings of their numbers; return how many were followed.

    Compiled for long batches (see `jit`). `clock` holds the configuration, and why it stopped.
    """
    cell, steps, at_a_step, code, head, lowest, highest, status, limit, origin = clock
    done, status = 0, ALL
    while done < numbers.size:
        number = numbers[done]
        flag, place = flags[number], cell - origin
        if flag & STOP:
            status = STOPPED
            break
        if at_a_step and steps == limit:
            status = LIMIT
            break
        if place < 0 or place >= tape.size:
            status = NO_ROOM
            break
        tape[place] = written[number]
        lowest, highest = min(lowest, cell), max(highest, cell)
        cell += moves[number]
        done += 1
        at_a_step = flag & GIVEN
        if at_a_step:
            steps, code, head = steps + 1, number, cell
        if flag & FINAL:
            status = ENDED
            break
    clock[0], clock[1], clock[2], clock[3], clock[4] = cell, steps, at_a_step, code, head
    clock[5], clock[6], clock[7] = lowest, highest, status
    return done


class ShownFollower:
    """Tracks the given machine's configuration from the codes of moments."""

    def __init__(self, reading: Shown, max_steps: int) -> None:
        self.reading = reading
        self.max_steps = max_steps
        self.outcome: Outcome | None = None
        states = reading.states
        # The last entry is for `accepted`, which is not a state.
        self.is_given = np.array([*(state in reading.given_states for state in states), False])
        self.is_final = np.array([*(state in reading.final_states for state in states), False])
        laid = WrittenTape(reading.laid, reading.blank, len(reading.symbols))
        self.written: WrittenTape | RunTape = laid
        self._rows = np.zeros((0, len(reading.watches)), np.int64)
        self._meanings = self._meanings_of(self._rows)
        self.moments, self.cell = 0, reading.cell
        self.steps = -1  # the given machine's run has not yet begun
        self.at_a_step = self.before_end = False
        self.state, self.head = states.index(reading.given.start), 0
        # A stay may take two tokens; one more shows the limit.
        self.most_moments = reading.before + 2 * max_steps + 1

    @property
    def cells(self) -> int:
        """The number of cells from the first to the last written one."""
        return self.written.cells

    @property
    def shown(self) -> int:
        """All moments followed, as each of them shows a machine."""
        return self.moments

    def remaining(self) -> int:
        """A number of tokens that cannot pass the limit: a step takes at least one token."""
        if self.moments >= self.most_moments:
            self._complain(self.moments + 1)
        before = 0 if self.steps >= 0 else max(0, self.reading.before - self.moments - 1)
        return min(self.max_steps - self.steps + before, self.most_moments - self.moments)

    def take(self, codes: Codes) -> None:
        """Advance by a batch of tokens: update tape, head, state and step count."""
        if not isinstance(codes, IndexedCodes):
            codes = IndexedCodes(np.arange(len(codes), dtype=np.uint16), codes)
        if self._rows is not codes.rows:
            self._rows, self._meanings = codes.rows, self._meanings_of(codes.rows)
        if isinstance(codes, RepeatedCodes) or isinstance(self.written, RunTape):
            status, code = self._take_runs(codes)
        else:
            status, code = self._take_tokens(codes, self.written)
        if status == ENDED:
            self.outcome = self._accepted
        elif status == LIMIT:
            self.outcome = Outcome.UNDECIDED
        elif status == STOPPED:
            self._end_with(int(self._meanings[3][code]))

    def _take_tokens(self, codes: IndexedCodes, tape: WrittenTape) -> tuple[int, int]:
        """Follow tokens one by one; return why it stopped, and the code there, or −1."""
        numbers = codes.numbers
        flags, written, move, state = self._meanings
        done, loop = 0, _follow
        if len(numbers) > FEW:
            from netwright.jit import compiled  # the compiler, which a fast engine has loaded

            loop = compiled(_follow, numbers, flags, written, move, tape.codes, flags).loop
        status = NO_ROOM
        while status == NO_ROOM:
            bounds = (tape.lowest, tape.highest) if tape.cells else (FARTHEST, -FARTHEST)
            now = (self.cell, self.steps, self.at_a_step, -1, self.head, *bounds)
            limit = min(self.max_steps, FARTHEST)
            clock = np.array([*now, status, limit, tape.origin], dtype=np.int64)
            count = loop(numbers[done:], flags, written, move, tape.codes, clock)
            done, self.moments = done + count, self.moments + count
            self.cell, self.steps, at_a_step, code, self.head, *bounds, status = clock.tolist()[:8]
            self.at_a_step = bool(at_a_step)
            if code >= 0:
                self.state = int(state[code])
            if bounds[0] <= bounds[1]:
                tape.lowest, tape.highest = bounds
            if status == NO_ROOM:
                tape.reach(self.cell)
        return status, int(numbers[done]) if done < len(numbers) else -1

    def _take_runs(self, codes: IndexedCodes) -> tuple[int, int]:
        """The same for tokens that repeat, and for those after them."""
        if not isinstance(codes, RepeatedCodes):
            counts = np.ones(len(codes), np.int64)
            codes = RepeatedCodes(codes.numbers, codes.rows, counts, len(codes))
        if isinstance(self.written, WrittenTape):
            self.written = self.written.as_runs(self.cell)
        tape = self.written
        bounds = (tape.lowest, tape.highest) if tape.cells else (self.cell, self.cell)
        now = [self.cell, self.steps, self.at_a_step, -1, self.head, *bounds, ALL]
        now = tape.follow(codes, self._meanings, [*now, self.max_steps, self.moments])
        self.cell, self.steps, at_a_step, code, self.head, _, _, status, _, self.moments, stop = now
        self.at_a_step = bool(at_a_step)
        if code >= 0:
            self.state = int(self._meanings[3][code])
        return status, stop

    def _meanings_of(self, rows: NDArray[np.int64]) -> Meanings:
        """The meanings of rows of codes, as `_follow` takes them."""
        state, written, move = rows.T.copy()
        moves = abs(move) <= 1 if self.reading.stays else abs(move) == 1
        stops = (state < 0) | (state == self.reading.accepted) | (written < 0) | ~moves
        shown = np.maximum(state, 0)
        flags = GIVEN * self.is_given[shown] + FINAL * self.is_final[shown]
        return np.where(stops, STOP, flags).astype(np.int64), written, move, state

    @property
    def _accepted(self) -> Outcome:
        return Outcome.ACCEPTED if self.reading.given.accepting else Outcome.HALTED

    def _end_with(self, state: int) -> None:
        """End at a token that shows no step: acceptance, no rule applied, or the limit.

        Raises NetworkError if it is none of these.
        """
        given = self.reading.given
        if self.at_a_step and state == self.reading.accepted:
            final = given.accepting or frozenset(given.halting_states)
            if self.reading.short and self.reading.states[self.state] not in final:
                # It replaces a step whose configuration is not shown, within the limit or not.
                if self.steps == self.max_steps:
                    self.outcome = Outcome.UNDECIDED
                    return
                self.steps += 1
                self.before_end = True
            self.outcome = self._accepted
        elif self.at_a_step and state == ZERO_BLOCK:
            self.outcome = Outcome.REJECTED if given.accepting else Outcome.HALTED
        elif self.at_a_step and self.steps == self.max_steps:
            self.outcome = Outcome.UNDECIDED
        else:
            self._complain(self.moments + 1)

    def _complain(self, number: int) -> None:
        raise NetworkError(f"from output {number} on, its vectors do not show a machine")

    def snapshot(self) -> Snapshot:
        """The configuration and the counters, as arrays."""
        place = [self.moments, self.cell, self.steps, self.at_a_step, self.state, self.head]
        kind = np.int64 if self.moments < FARTHEST else object
        return {"place": np.array(place, dtype=kind), **self.written.snapshot()}

    def put(self, state: Snapshot) -> None:
        """Continue from one of its own snapshots."""
        blank, symbols = self.reading.blank, len(self.reading.symbols)
        runs = "tape_counts" in state
        self.written = RunTape(blank, symbols) if runs else WrittenTape((), blank, symbols)
        self.written.restore(state)
        place = state["place"].tolist()
        self.moments, self.cell, self.steps, at_a_step, self.state, self.head = place
        self.at_a_step = bool(at_a_step)

    def restore(self, state: Snapshot) -> None:
        """Continue from a snapshot; FormatError if it contradicts itself."""
        at_a_step = checked_array(state, "place", (6,), -FARTHEST, FARTHEST)[3]
        self.put(state)
        require_consistent(-1 <= self.steps <= self.moments, f"{self.steps} steps")
        most = self.most_moments - 2 * (self.max_steps - self.steps) + 2
        require_consistent(0 <= self.moments <= most, f"{self.moments} tokens")
        require_consistent(at_a_step in (0, 1), f"at_a_step is {at_a_step}")
        require_consistent(0 <= self.state < len(self.is_given), f"no state {self.state}")
        # The head is never more than a cell away from where something was written.
        for cell in (self.cell, self.head):
            near = self.written.lowest - 1 <= cell <= self.written.highest + 1
            require_consistent(near, f"the head is at {cell}")


def shown_run(
    shown: Shown, moments: M, max_steps: int, dimension: int, started: float
) -> OngoingRun[M]:
    """The given machine's run on a network, driven by an engine."""
    follower = ShownFollower(shown, max_steps)
    engine = Engine.FAST if getattr(moments, "tables", True) else Engine.FULL
    engine = Engine.ACCELERATED if getattr(moments, "accelerated", False) else engine

    def reached() -> Run:
        return Run(
            follower.outcome or Outcome.UNDECIDED,
            max(0, follower.steps),
            shown.states[follower.state],
            follower.head,
            follower.written.tape(list(shown.symbols), shown.given.blank),
            engine if moments.fast else Engine.REFERENCE,
            perf_counter() - started - moments.compile_seconds,
            moments.compile_seconds,
            network_steps=follower.moments,
            dimension=dimension,
            note=moments.reason,
            before_end=follower.before_end,
            moves=getattr(moments, "moves", None),
        )

    return OngoingRun(moments, follower, reached, shown.given.blank)
