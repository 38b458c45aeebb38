"""The layout of a table of entries on stacks of digits, which loops of machine code follow.

An entry is a row: what it does to each stack, the code of the moment that it leads to, and the
address of the next row: `base` plus a multiple of each of the highest digits, 0 for those that do
not matter. Addresses count numbers, not rows.
"""

from typing import NamedTuple

EMPTY = 0
"""The digit read below the end of a stack."""
ALL = 1 << 62
"""A number of pops that empties any stack."""
DONE, BY_HAND, PART = range(3)
"""Why a loop stopped: all moments are done; it met a row with flags, left to Python, or one of
more moments than are wanted."""
STATUS, ROW, EMITTED, TOPS = range(4)
"""Indices of a clock: why the loop stopped, the row to apply next, how many codes were written,
and the index of the highest digit, or run of digits, of each stack."""
FLAGS, EMITS, CODE, BASE, REPEATS, MULTIPLES = range(6)
"""Fields of a row, which emits its code for `EMITS` moments; a row `REPEATS` if the next one is
looked up where it was looked up itself."""
POPS, PUSHED, GROWS = range(3)
"""Fields of each stack, after the multiples and the numbers of digits that are read: how many
digits to remove, the digit to write, and by how much the stack then grows."""


class Shape(NamedTuple):
    """The number of stacks, and how many digits of each are looked at."""

    stacks: int
    depth: int

    def multiple(self, stack: int, depth: int) -> int:
        """The index of the field with the multiple of a digit."""
        return MULTIPLES + stack * self.depth + depth

    def reads(self, stack: int) -> int:
        """The index of the field that says how many digits the next row depends on."""
        return self.multiple(self.stacks, 0) + stack

    def field(self, stack: int, which: int) -> int:
        """The index of a field of a stack."""
        return self.reads(self.stacks) + 3 * stack + which

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return self.field(self.stacks, 0)

    @property
    def clock(self) -> int:
        """How many numbers a clock has."""
        return TOPS + self.stacks


FIRST_SHAPE = Shape(2, 2)
"""Enough for the networks of machines; for other networks it is enlarged."""
