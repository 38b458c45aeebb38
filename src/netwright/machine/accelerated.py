"""The accelerated engine for Turing machines: a whole run of equal cells in one move.

The tape is two stacks of runs, and the rules are entries for the loop of `exact.runs`. A pair is a
state and the symbol under the head. Its rule writes on one stack and pops the top x of the other,
so the next pair is (next state, x): there is an entry for each pair and each x. Symbols are digits;
the blank is 0, which `EMPTY` is too.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact import entries
from netwright.exact.blocks import BlockStacks
from netwright.exact.entries import GROWS, POPS, PUSHED, ROW, STATUS, Shape
from netwright.exact.runs import MOST_MOVES, Emitted, Moves, Pieces, Runs
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.machine.configuration import Tape
from netwright.machine.simulate import Engine, OngoingMachine, Run
from netwright.machine.turing_machine import TuringMachine

SHAPE = Shape(2, 1)
LEFT, RIGHT = range(2)
MOST_ENTRIES = 1 << 21


class Entries:
    """The rules of a machine as a table of entries."""

    def __init__(self, machine: TuringMachine) -> None:
        self.machine, self.states = machine, {q: n for n, q in enumerate(machine.states)}
        self.symbols = [machine.blank, *(s for s in machine.symbols if s != machine.blank)]
        self.digits = {symbol: n for n, symbol in enumerate(self.symbols)}
        self.k = k = len(self.symbols)
        pairs = len(machine.states) * k
        if pairs * k > MOST_ENTRIES:
            raise InputError(
                f"{pairs:,} pairs of states and symbols are too many for the accelerated engine, "
                f"which keeps at most {MOST_ENTRIES:,} entries; run it with --engine fast"
            )
        self.moves, self.no_flags = np.zeros(pairs, np.int64), np.zeros(pairs, np.int64)
        self.rows = np.zeros((pairs * k + 1, SHAPE.width), np.int64)
        """Row k·pair + x; the last one only leads to the first pair."""
        self.rows[:, entries.FLAGS] = 1
        rules = {}
        for (state, symbol), action in machine.delta.items():
            if machine.action(state, symbol) is not None:
                rules[self.pair(state, symbol)] = action
        self.moves[[*rules]] = [action.move.offset for action in rules.values()]
        self._has_rule = np.isin(np.arange(pairs), [*rules])
        for pair, action in rules.items():
            self._write(pair, action.state, action.write)

    def pair(self, state: str, symbol: str) -> int:
        """The number of a state and a symbol."""
        return self.states[state] * self.k + self.digits[symbol]

    def _write(self, pair: int, state: str, write: str) -> None:
        """Write the entries of a rule."""
        move, next_state = int(self.moves[pair]), self.states[state] * self.k
        for x in range(self.k if move else 1):
            row = self.rows[pair * self.k + x]
            row[entries.FLAGS], row[entries.EMITS] = 0, 1
            following = next_state + (x if move else self.digits[write])
            row[entries.CODE] = following
            row[entries.REPEATS] = following == pair
            self.lead(row, following)
            if move:
                on, off = (LEFT, RIGHT) if move > 0 else (RIGHT, LEFT)
                row[SHAPE.field(on, PUSHED)] = self.digits[write]
                row[SHAPE.field(on, GROWS)] = row[SHAPE.field(off, POPS)] = 1

    def lead(self, row: NDArray[np.int64], pair: int) -> None:
        """Make a row lead to the entries of a pair."""
        row[entries.BASE] = pair * self.k * SHAPE.width
        if self._has_rule[pair] and self.moves[pair]:
            side = RIGHT if self.moves[pair] > 0 else LEFT
            row[SHAPE.multiple(side, 0)], row[SHAPE.reads(side)] = SHAPE.width, 1


class AcceleratedMachine(OngoingMachine):
    """A machine's run, a move at a time."""

    engine = Engine.ACCELERATED
    moves = steps = entered = 0
    counted: Moves | None = None
    """Which pairs count in `entered`, the number of steps that led to one; None for none."""

    def __init__(self, machine: TuringMachine, run: Run) -> None:
        super().__init__(machine, run)
        self.table, self._pieces = Entries(machine), Pieces()
        table = self.table
        self._moves = Moves(table.no_flags, table.moves, self._pieces)
        self.head, self.steps = run.head, run.steps
        self.lowest = self.highest = run.head
        tape, place = run.tape, run.head - run.tape.start
        codes = np.array([table.digits[cell] for cell in tape.cells], np.int64)
        inside = 0 <= place < len(codes)
        # Blanks between the head and a tape that it is not on.
        left = np.append(codes[: max(0, place)], [0] * max(0, place - len(codes)))
        right = np.append([0] * max(0, -1 - place), codes[max(0, place + 1) :])
        symbol = int(codes[place]) if inside else 0
        pair = table.states[run.state] * table.k + symbol
        self.put(pair, [Runs.of(_stripped(left)), Runs.of(_stripped(right[::-1]))])

    def count(self, states: Sequence[bool]) -> None:
        """Count the steps that lead to some states."""
        counts = np.repeat(states, self.table.k).astype(np.int64)
        self.counted = Moves(self.table.no_flags, counts, self._pieces)

    def put(self, pair: int, stacks: list[Runs]) -> None:
        """Continue with a pair and the stacks left and right of it."""
        self._pair, self._stacks = pair, BlockStacks(SHAPE, stacks, self._pieces)
        first = self.table.rows[-1]
        first[:] = 0
        self.table.lead(first, pair)
        self._stacks.clock[ROW] = first.size * (len(self.table.rows) - 1)

    @property
    def place(self) -> tuple[str, str, int]:
        """The state, the symbol under the head, and the head."""
        state, symbol = divmod(self._pair, self.table.k)
        return self.machine.states[state], self.table.symbols[symbol], self.head

    @property
    def cells(self) -> int:
        """The number of cells that the head has visited."""
        return self.highest - self.lowest + 1

    def advance(self, limit: int) -> None:
        """Do up to `limit` steps: fewer if the machine halts, or after `MOST_MOVES` moves."""
        emitted, table = Emitted(min(limit, MOST_MOVES)), self.table
        zeros = np.zeros(table.k, np.int64)
        zeros[0] = 1
        self.steps += self._stacks.advance(table.rows, zeros, emitted, limit)
        self.moves += emitted.size
        pairs, counts = emitted.codes[: emitted.size], emitted.counts[: emitted.size]
        move = int(table.moves[self._pair])
        place = [self.head, move, self.lowest, self.highest, 0, self._pair]
        if self.counted is not None:  # added up as moves are: that of the last pair comes next
            added = [0, 0, 0, 0, 0, self._pair]
            _, (sum_before, last, *_) = self.counted.walked(pairs, counts, added, self.steps)
            self.entered += sum_before + last
        _, place = self._moves.walked(pairs, counts, place, self.steps)
        self.head, _, self.lowest, self.highest, _, self._pair = place

    def stacks(self) -> list[Runs]:
        """The tape left and right of the head; the last entry of the loop is not applied yet."""
        clock, found = self._stacks.clock, self._stacks.stacks()
        row = self.table.rows[int(clock[ROW]) // SHAPE.width]
        if clock[STATUS] == entries.BY_HAND:
            return found
        fields = [[int(row[SHAPE.field(s, n)]) for n in range(3)] for s in (LEFT, RIGHT)]
        return [
            each.after(pops, pushed if grows else None)
            for each, (pops, pushed, grows) in zip(found, fields, strict=True)
        ]

    def digits(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """The digits of the symbols on some cells."""
        left, right = self.stacks()
        here = np.array([self._pair % self.table.k])
        digits = np.concatenate([left.digits, here, right.digits[::-1], np.zeros(1, np.int64)])
        counts = np.concatenate([left.counts, [1], right.counts[::-1]])
        start = self.head - left.height
        runs = np.searchsorted(start + np.cumsum(counts), cells, side="right")
        return np.where(cells < start, 0, digits[runs])

    def tape(self) -> Tape:
        """The tape."""
        left, right = self.stacks()
        digits = [*left.digits.tolist(), self._pair % self.table.k, *right.digits[::-1].tolist()]
        counts = [*left.counts.tolist(), 1, *right.counts[::-1].tolist()]
        symbols = [*map(self.table.symbols.__getitem__, digits)]
        return Tape.of_runs(symbols, counts, self.head - left.height, self.machine.blank)

    def snapshot(self) -> Snapshot:
        """The configuration as arrays."""
        stacks = self.stacks()
        if self.steps > FARTHEST:
            raise InputError(f"a run of more than {FARTHEST:,} steps is not saved to a file")
        return {
            "position": np.array([self._pair, self.head, self.steps], np.int64),
            "heights": np.array([len(each.digits) for each in stacks], np.int64),
            "digits": np.concatenate([each.digits for each in stacks]),
            "counts": np.concatenate([each.counts for each in stacks]).astype(np.int64),
        }

    def restore(self, kept: Snapshot) -> None:
        """Continue from a snapshot; FormatError if it is damaged."""
        position = checked_array(kept, "position", (3,), -FARTHEST, FARTHEST).tolist()
        heights = checked_array(kept, "heights", (2,), 0, FARTHEST).tolist()
        digits = checked_array(kept, "digits", (sum(heights),), 0, self.table.k - 1)
        counts = checked_array(kept, "counts", (sum(heights),), 1, FARTHEST)
        pair, self.head, self.steps = position
        require_consistent(0 <= pair < len(self.table.moves), f"no pair {pair}")
        require_consistent(self.steps >= 0, f"{self.steps} steps")
        self.lowest = self.highest = self.head
        ends = np.split(digits.copy(), heights[:1]), np.split(counts.copy(), heights[:1])
        self.put(pair, [Runs(*each) for each in zip(*ends, strict=True)])


def _stripped(digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """A stack without the blanks at its bottom."""
    written = np.flatnonzero(digits)
    return digits[written[0] :] if len(written) else digits[:0]
