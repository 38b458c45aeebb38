"""Where the kernel keeps cells: a store lays them out in arrays, and says what an entry does there.

`tables` and `control` know a store by what it has for them: `digits` and `digit` for what the cells
are, `after` for what they are after an entry, `fields` for the same as fields of a row, `put` and
`make_room` for its arrays. A stack of digits is the one kind of store so far.
"""

import numpy as np

from netwright.engine.control import Entry, Source
from netwright.engine.digits import EMPTY, MOST_STACKS, Digit, Digits, Stacks
from netwright.engine.kernel import TOPS, Shape
from netwright.engine.moments import UnsuitableError

ALL = 1 << 62
"""So many pops leave nothing."""


class StackStore:
    """Stacks by slot. Below its lowest digit every array has `depth` places with `EMPTY`."""

    def __init__(self, shape: Shape, known: Digits, stacks: Stacks) -> None:
        self.shape, self.known = shape, known
        self.clock = np.zeros(shape.clock, np.int64)
        self.arrays: Stacks = [np.zeros(shape.depth + 256, Digit) for _ in range(shape.stacks)]
        self.clock[TOPS:] = shape.depth - 1
        self.put(stacks)

    def put(self, stacks: Stacks) -> None:
        """Write digits in place of those that are there."""
        below = self.shape.depth
        for slot, digits in enumerate(stacks[: self.shape.stacks]):
            size = len(digits)
            if below + size + 1 > len(self.arrays[slot]):
                self.arrays[slot] = np.zeros(below + 2 * size, Digit)
            self.arrays[slot][below : below + size] = digits
            self.clock[TOPS + slot] = below - 1 + size

    def make_room(self, count: int) -> None:
        """Room for as many digits more as there are moments, in every stack."""
        for slot, array in enumerate(self.arrays):
            if self.clock[TOPS + slot] + count + 2 > len(array):
                needed = self._strip(slot) + count + 2
                if needed > len(array):
                    self.arrays[slot] = np.concatenate([array, np.zeros(needed, Digit)])

    def _strip(self, slot: int) -> int:
        """Take away the lowest digits that are (0, b), which say nothing; the place of the top."""
        below, top = self.shape.depth, int(self.clock[TOPS + slot])
        digits = self.arrays[slot][below : top + 1]
        is_other = np.array([c != 0 for c, _, _ in self.known.pairs])
        if len(digits) and not is_other[digits[0]]:
            others = is_other[digits]
            zeros = int(others.argmax()) if others.any() else len(digits)
            digits[: len(digits) - zeros] = digits[zeros:].copy()
            self.clock[TOPS + slot] = top = top - zeros
        return top

    def digits(self) -> Stacks:
        """The digits of all stacks, the lowest first; a view."""
        tops = [self._strip(slot) + 1 for slot in range(self.shape.stacks)]
        return [a[self.shape.depth : top] for a, top in zip(self.arrays, tops, strict=True)]

    def digit(self, slot: int, depth: int) -> int:
        """The digit of a stack at a depth."""
        place = int(self.clock[TOPS + slot]) - depth
        return int(self.arrays[slot][place]) if place >= self.shape.depth else EMPTY

    def after(self, entry: Entry) -> Stacks:
        """The digits after an entry, copied."""
        found, digits = [], self.digits()
        for made in entry.cells:
            stack = np.zeros(0, Digit)
            if made is not None:
                assert isinstance(made, Source)
                if made.cell is not None:
                    own = digits[made.cell]
                    stack = own[: max(0, len(own) - made.pops)].copy()
                if made.digit is not None:
                    stack = np.append(stack, Digit(made.digit))
            found.append(stack)
        return found

    def fields(self, entry: Entry) -> list[int] | None:
        """What an entry does to each stack, as the kernel has it; None if a cell changes slots."""
        found: list[int] = []
        if len(entry.cells) > self.shape.stacks:
            return None
        for slot in range(self.shape.stacks):
            made = entry.cells[slot] if slot < len(entry.cells) else None
            if made is None:
                found += (ALL, EMPTY, 0)
                continue
            assert isinstance(made, Source)
            if made.cell not in (None, slot):
                return None
            pops = ALL if made.cell is None else made.pops
            found += (pops, made.digit or EMPTY, made.digit is not None)
        return found


def larger(shape: Shape, stacks: int, depth: int) -> Shape:
    """A shape for at least so many stacks and digits."""
    if stacks > MOST_STACKS:
        raise UnsuitableError(f"it has more than {MOST_STACKS} numbers that are not 0 or 1")
    more = next(n for n in (2, 4, MOST_STACKS) if n >= max(stacks, shape.stacks))
    return Shape(more, max(depth, shape.depth))
