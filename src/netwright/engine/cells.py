"""Moments that Python does, entry by entry: while an input is read, which the kernel does not do."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from netwright.engine.control import Control, Entry, Made, Source, State
from netwright.engine.digits import EMPTY, Digits, Stack
from netwright.engine.forms import Cell
from netwright.exact.vector import Vector


class Held:
    """A vector: its state, and a stack for each of its cells."""

    __slots__ = ("stacks", "state")

    def __init__(self, state: State, stacks: Sequence[Stack | None]) -> None:
        self.state, self.stacks = state, stacks

    @staticmethod
    def of(vector: Vector, known: Digits) -> "Held":
        """A vector of constants: a cell of one digit for each number other than 0 and 1."""
        ones, cells = [], dict[int, list[int]]()
        for k, number in sorted(vector.entries.items()):
            if number == 1:
                ones.append(k)
            else:
                digit = known.number(int(number.p), 0, int(number.q))
                cells.setdefault(digit, []).append(k)
        state = State(tuple(ones), tuple(map(tuple, cells.values())))
        return Held(state, [Stack([digit]) for digit in cells])

    def copy(self) -> "Held":
        """The same with stacks of its own."""
        return Held(self.state, [stack and stack.copy() for stack in self.stacks])

    def arrays(self) -> list[NDArray[np.uint16]]:
        """The digits of its stacks, the lowest first."""
        return [(stack or Stack()).array() for stack in self.stacks]

    def digit(self, cell: Cell, depth: int) -> int:
        """The digit of a cell at a depth."""
        stack = self.stacks[cell]
        return EMPTY if stack is None else stack.digit(depth)


def step(held: Held, control: Control, context: object) -> Held:
    """The vector after an entry of a control, which may take the stacks of the one before."""
    entry = control.entry((context, held.state), held.digit)
    cells = dict(enumerate(held.stacks))
    return Held(entry.state, made_of(entry, cells, uses(entry, cells), control.known))


def uses(entry: Entry, cells: Mapping[Cell, Stack | None]) -> Counter[int]:
    """How often each stack is used by an entry."""
    found = Counter[int]()
    for made in entry.cells:
        if isinstance(made, Source):
            found.update([id(cells[made.cell])] if made.cell is not None else ())
        elif made is not None:
            found.update(id(cells[cell]) for cell, _, _ in made.terms)
    return found


def made_of(
    entry: Entry, cells: Mapping[Cell, Stack | None], left: Counter[int], known: Digits
) -> list[Stack | None]:
    """The stacks of an entry's cells; the last to use an old one takes it, others copy it."""

    def taken(cell: Cell) -> Stack:
        stack = cells[cell]
        assert stack is not None
        left[id(stack)] -= 1
        return stack if left[id(stack)] == 0 else stack.copy()

    return [None if made is None else _made(made, taken, known) for made in entry.cells]


def _made(made: Made, taken: Callable[[Cell], Stack], known: Digits) -> Stack:
    if isinstance(made, Source):
        stack = Stack() if made.cell is None else taken(made.cell)
        if made.pops:
            stack.pop(made.pops)
        if made.digit is not None:
            stack.push(made.digit, known)
        return stack
    stacks = []
    for cell, pops, w in made.terms:
        stacks.append(taken(cell))
        stacks[-1].pop(pops)
        stacks[-1].multiply(w, made.d, known)
    if made.c:
        stacks.append(Stack([known.number(made.c, 0, made.d)]))
    total = max(stacks, key=lambda stack: len(stack.digits))
    for stack in stacks:
        if stack is not total:
            total.add(stack, known)
    return total
