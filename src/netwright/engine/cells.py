"""Moments computed one by one in Python, while an input is read; the kernel does not do that."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from netwright.engine.control import DEEPEST, Control, Entry, NewCell, Source, State, Sum
from netwright.engine.digits import Digits, Stack
from netwright.engine.forms import Cell
from netwright.exact.vector import Vector

T = TypeVar("T")


class StackVector:
    """A vector: its state, and a stack for each cell; a free slot has an empty one."""

    __slots__ = ("stacks", "state")

    def __init__(self, state: State, stacks: Sequence[Stack]) -> None:
        self.state, self.stacks = state, stacks

    @staticmethod
    def of(vector: Vector, known: Digits) -> "StackVector":
        """A vector of constants: a cell of one digit for each number other than 0 and 1."""
        ones, cells = [], dict[int, list[int]]()
        for k, number in sorted(vector.entries.items()):
            if number == 1:
                ones.append(k)
            else:
                digit = known.number(int(number.p), 0, int(number.q))
                cells.setdefault(digit, []).append(k)
        state = State(tuple(ones), tuple(map(tuple, cells.values())))
        return StackVector(state, [Stack([digit]) for digit in cells])

    def copy(self) -> "StackVector":
        """A copy with its own stacks."""
        return StackVector(self.state, [stack.copy() for stack in self.stacks])

    def arrays(self) -> list[NDArray[np.uint16]]:
        """The digits of each stack, lowest first."""
        return [stack.array() for stack in self.stacks]

    def digit(self, cell: Cell, depth: int) -> int:
        """The digit of a cell at a depth."""
        return self.stacks[cell].digit(depth)


def step(held: StackVector, control: Control) -> StackVector:
    """The vector after the next moment; it may reuse the stacks of the one before."""
    return _after(control.entry((None, held.state), held.digit), held, control.known)


def _after(entry: Entry, held: StackVector, known: Digits) -> StackVector:
    cells = dict(enumerate(held.stacks))
    return StackVector(entry.state, new_stacks(entry, cells, count_uses(entry, cells), known))


_Appended = tuple[Stack, Stack, int, int, int]
"""A stack that gets a digit at the bottom; another, whose single digit is at that depth; that
digit, the digit to append, and a zero to fill the gap."""


class _Plan(NamedTuple):
    """An entry as in-place changes, none of a digit that a control may read."""

    state: State
    below: Sequence[_Appended]
    longer: Sequence[Stack]
    """Stacks that get one more zero on top."""

    @property
    def fits(self) -> bool:
        """Whether the single digits are unchanged since the plan was made, or only deeper."""
        return all(
            len(other.digits) == 1 and other.digits[0] == single and other.zeros >= len(stack)
            for stack, other, single, _, _ in self.below
        )


def read(
    held: StackVector, symbols: Iterable[T], control_of: Callable[[T], Control]
) -> StackVector:
    """Read symbols in order, each by its own control.

    As long as only digits change that are too deep to be read, a state and a symbol always have the
    same entry. It is looked up once and cached as a plan.
    """
    plans: dict[tuple[State, int], _Plan] = {}
    controls: dict[int, Control] = {}
    version = -1
    for x in symbols:
        plan = plans.get((held.state, id(x)))
        if plan is None or not plan.fits:
            control = controls.get(id(x)) or controls.setdefault(id(x), control_of(x))
            entry = control.entry((None, held.state), held.digit)
            plan = _planned(entry, held, control)
            if plan is None or version != control.known.version:
                plans.clear()  # they refer to replaced stacks, or to a hull that has widened
                version = control.known.version
            if plan is None:
                held = _after(entry, held, control.known)
                continue
            plans[held.state, id(x)] = plan
        held.state, below, longer = plan
        for stack, other, _, digit, zero in below:
            gap = other.zeros - stack.zeros - len(stack.digits)
            if gap:
                stack.digits.extend([zero] * gap)
            stack.digits.append(digit)
        for stack in longer:
            stack.zeros += 1
    return held


def _planned(entry: Entry, held: StackVector, control: Control) -> _Plan | None:
    """The plan of an entry; None if it changes a digit that the control may read."""
    below, longer = [], []
    if len(entry.cells) != len(held.stacks):
        return None
    for slot, (made, stack) in enumerate(zip(entry.cells, held.stacks, strict=True)):
        if made == Source(slot, 0, None) or (made is None and not stack):
            continue
        if stack.base is None or len(stack) < DEEPEST:
            return None
        if made == (slot, 0, stack.zero) and stack.zeros >= DEEPEST:
            longer.append(stack)
            continue
        appended = _appended(made, slot, held, control) if isinstance(made, Sum) else None
        if appended is None:
            return None
        below.append(appended)
    return _Plan(entry.state, below, longer) if control.version == control.known.version else None


def _appended(made: Sum, slot: int, held: StackVector, control: Control) -> _Appended | None:
    """The digit that a sum appends to a stack: that of another with one digit, below all of it."""
    if len(made.terms) != 2 or made.c or made.terms[0] != (slot, 0, made.d):
        return None
    cell, pops, w = made.terms[1]
    stack, other, known = held.stacks[slot], held.stacks[cell], control.known
    if stack.base is None or not stack.digits:
        return None
    if len(other.digits) != 1 or pops or other.base != stack.base:
        return None
    if other.zeros < max(len(stack), DEEPEST):
        return None
    (b, over), (c, _, e) = stack.base, known.pairs[other.digits[0]]
    _, last_b, last_over = known.pairs[stack.digits[-1]]
    if last_b * over != b * last_over:
        return None
    digit = known.number(c * w * over, b * e * made.d, e * made.d * over)
    return stack, other, other.digits[0], digit, known.number(0, b, over)


def count_uses(entry: Entry, cells: Mapping[Cell, Stack]) -> Counter[int]:
    """How often an entry uses each stack, by the stack's id."""
    found = Counter[int]()
    for made in entry.cells:
        if isinstance(made, Source):
            found.update([id(cells[made.cell])] if made.cell is not None else ())
        elif made is not None:
            found.update(id(cells[cell]) for cell, _, _ in made.terms)
    return found


def new_stacks(
    entry: Entry, cells: Mapping[Cell, Stack], left: Counter[int], known: Digits
) -> list[Stack]:
    """The stacks of an entry's cells; `left` counts uses: the last one takes the stack itself."""

    def taken(cell: Cell) -> Stack:
        stack = cells[cell]
        left[id(stack)] -= 1
        return stack if left[id(stack)] == 0 else stack.copy()

    return [Stack() if made is None else _made(made, taken, known) for made in entry.cells]


def _made(made: NewCell, taken: Callable[[Cell], Stack], known: Digits) -> Stack:
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
