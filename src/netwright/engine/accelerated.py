"""The engine `accelerated`: a run by entries in which a whole run of digits is done at once.

The entries are those of `tables`, from the network's weights alone. The stacks are runs of equal
digits, and the loop is that of `exact.runs`: an entry that is followed by itself is applied as
often as that holds, in one move. So every vector is exact and can be had at any moment, but moments
are not computed one by one. Simulators of machines can do the same.
"""

from typing import Any

import numpy as np

from netwright.engine.control import Entry, Source
from netwright.engine.digits import Digits, Stacks
from netwright.engine.moments import RepeatedCodes
from netwright.engine.tables import StackStore, Tables
from netwright.exact.blocks import BlockStacks
from netwright.exact.entries import Shape
from netwright.exact.runs import MOST_MOVES, Emitted, Pieces, Runs


class RunStore(StackStore):
    """The stacks of a network as runs."""

    def __init__(self, shape: Shape, known: Digits, stacks: Stacks, pieces: Pieces) -> None:
        self.shape, self.known = shape, known
        self.held = BlockStacks(shape, [*map(runs_of, stacks)], pieces)
        self.clock = self.held.clock

    def put(self, stacks: Stacks) -> None:
        """Replace the digits of all stacks."""
        self.held.put([*map(runs_of, stacks)])

    def make_room(self, count: int) -> None:
        """Nothing: the loop makes room itself."""

    def digits(self) -> Stacks:
        """The stacks as runs, as views."""
        return self.held.stacks()

    def digit(self, slot: int, depth: int) -> int:
        """The digit of a stack at a depth."""
        return self.held.stacks()[slot].digit(depth)

    def after(self, entry: Entry) -> Stacks:
        """Copies of the stacks after an entry."""
        found, nothing = [], Runs(np.zeros(0, np.int64), np.zeros(0, np.int64))
        for made in entry.cells:
            assert made is None or isinstance(made, Source)
            own = nothing if made is None or made.cell is None else self.digits()[made.cell]
            found.append(nothing if made is None else own.after(made.pops, made.digit))
        return found


def runs_of(stack: object) -> Runs:
    """A stack of digits, or of runs, as runs."""
    return stack if isinstance(stack, Runs) else Runs.of(np.asarray(stack))


class RunTables(Tables):
    """A network's moments by entries, a run of digits at a time."""

    store: RunStore
    moves = 0
    """How many moves were done."""

    def __init__(self, *control: Any) -> None:
        super().__init__(*control)
        self._pieces = Pieces()

    def new_store(self, stacks: Stacks) -> RunStore:
        """The stacks as runs."""
        return RunStore(self.shape, self.known, stacks, self._pieces)

    def advance(self, count: int) -> RepeatedCodes:
        """The codes of the next moments, at least one; UnsuitableError if there is none."""
        emitted = Emitted(min(count, MOST_MOVES))

        def follow(done: int) -> int:
            zeros = np.array([c == 0 for c, _, _ in self.known.pairs], np.int64)
            return done + self.store.held.advance(self._rows, zeros, emitted, count - done)

        done = self.follow(count, len(emitted.codes), follow)
        self.moves += emitted.size
        numbers, counts = emitted.codes[: emitted.size], emitted.counts[: emitted.size]
        return RepeatedCodes(numbers, self._codes, counts, done, self._pieces)
