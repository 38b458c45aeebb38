"""The fast engine for Turing machines: a compiled loop (`jit`) over packed rules (`packed`).

The tape is an array; Python enlarges it whenever the head walks off either end.
"""

from typing import Any

import numpy as np

from netwright.errors import InputError
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.jit import compiled
from netwright.machine.configuration import Tape
from netwright.machine.packed import Cells, rule_table
from netwright.machine.simulate import Engine, OngoingMachine, Run
from netwright.machine.turing_machine import TuringMachine

CHUNK = 1 << 23  # steps between two checks for Ctrl-C and progress: about 30 ms


def _advance(rules: Any, tape: Any, position: Any, limit: int) -> None:
    """Step until the machine halts, the head is off either end, or `limit` steps are done.

    `position` holds the state's row, the head and the steps. They and the tape change in place.
    """
    row, head, steps = position
    cells = tape.size
    while steps < limit and 0 <= head < cells:
        rule = rules[row + tape[head]]
        if rule < 0:
            break
        tape[head] = (rule >> 2) & 0x3FFFFFFF
        head += (rule & 3) - 1
        row = rule >> 32
        steps += 1
    position[0], position[1], position[2] = row, head, steps


class FastMachine(OngoingMachine):
    """A machine's run, a compiled batch of steps at a time."""

    engine = Engine.FAST

    def __init__(self, machine: TuringMachine, run: Run) -> None:
        super().__init__(machine, run)
        self._rules, states, symbols = rule_table(machine)
        self._width, self._blank = len(symbols), symbols[machine.blank]
        self._tape, self._origin = _lay_out(run, symbols, self._blank)
        row, head = states[run.state] * self._width, run.head - self._origin
        self._position = np.array([row, head, run.steps], dtype=np.int64)
        arrays = self._rules, self._tape, self._position
        self._loop, self.compile_seconds = compiled(_advance, *arrays, run.steps)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return int(self._position[2])

    @property
    def place(self) -> tuple[str, str, int]:
        """The state, the symbol under the head, and the head."""
        row, head, _ = self._position.tolist()
        inside = 0 <= head < self._tape.size
        symbol = self.machine.symbols[self._tape[head]] if inside else self.machine.blank
        return self.machine.states[row // self._width], symbol, head + self._origin

    @property
    def cells(self) -> int:
        """The number of cells from the first to the last that is not blank."""
        return len(_written_cells(self._tape, self._blank))

    def tape(self) -> Tape:
        """The tape."""
        return _read_off(self._tape, self._origin, self.machine, self._blank)

    def advance(self, limit: int) -> None:
        """Do up to `CHUNK` steps: fewer if the machine halts or the tape must grow."""
        if not 0 <= self._position[1] < self._tape.size:
            self._make_room()
        self._loop(self._rules, self._tape, self._position, self.steps + min(limit, CHUNK))

    def _make_room(self) -> None:
        """Double the tape."""
        old = self._tape.size
        shift = old if self._position[1] < 0 else 0
        try:
            self._tape = np.pad(self._tape, (shift, old - shift), constant_values=self._blank)
        except MemoryError:
            raise InputError(
                f"no memory for a tape of more than {old:,} cells, after {self.steps:,} steps"
            ) from None
        self._origin -= shift
        self._position[1] += shift

    def snapshot(self) -> Snapshot:
        """The tape as it is laid out, and the head on it."""
        where = {"position": self._position.copy(), "origin": np.array([self._origin], np.int64)}
        return {**where, "tape": self._tape.astype(np.int64)}

    def restore(self, kept: Snapshot) -> None:
        """Continue from a snapshot; FormatError if it is damaged."""
        tape = checked_array(kept, "tape", (None,), 0, self._width - 1)
        self._origin = int(checked_array(kept, "origin", (1,), -FARTHEST, FARTHEST)[0])
        self._position = checked_array(kept, "position", (3,), -1, FARTHEST).copy()
        row, head, steps = self._position.tolist()
        is_state = 0 <= row < len(self._rules) and row % self._width == 0
        require_consistent(is_state, f"no state {row}")
        require_consistent(-1 <= head <= tape.size and tape.size, f"the head is at {head}")
        require_consistent(steps >= 0, f"{steps} steps")
        self._tape = tape.astype(self._tape.dtype)


def _lay_out(run: Run, symbols: dict[str, int], blank: int) -> tuple[Cells, int]:
    """Copy the tape into an array with margins; return it and the cell of its first item."""
    first = min(run.tape.start, run.head)
    last = max(run.tape.start + len(run.tape.cells), run.head + 1)
    margin = max(512, last - first)
    origin = first - margin
    dtype = np.uint8 if len(symbols) <= 256 else np.int32
    tape = np.full(last - first + 2 * margin, blank, dtype=dtype)
    written = [symbols[symbol] for symbol in run.tape.cells]
    tape[run.tape.start - origin : run.tape.start - origin + len(written)] = written
    return tape, origin


def _read_off(tape: Cells, origin: int, machine: TuringMachine, blank: int) -> Tape:
    cells = _written_cells(tape, blank)
    symbols = tuple(map(machine.symbols.__getitem__, tape[cells.start : cells.stop].tolist()))
    return Tape(origin + cells.start if symbols else 0, symbols)


def _written_cells(tape: Cells, blank: int) -> range:
    """The indices from the first to the last cell that is not blank."""
    written = np.flatnonzero(tape != blank)
    return range(int(written[0]), int(written[-1]) + 1) if written.size else range(0)
