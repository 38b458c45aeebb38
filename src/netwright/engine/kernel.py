"""The machine-code loop that runs entries: one for all networks of a shape.

A shape is the number of stacks and the greatest number of digits read of each. An entry is a row
of a table: what it does to each stack, the code of the moment that it leads to, and the address of
the next row: `base` plus a multiple of each of the highest digits, 0 for those that do not matter.
So a moment is a few loads and no branch, in every network.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from netwright.assembler import Assembler

DONE, BY_HAND = range(2)
"""Why the loop stopped: all moments are done, or it met a row with flags, left to Python."""
STATUS, ROW, EMITTED, TOPS = range(4)
"""Indices of the clock: why the loop stopped, the row to apply next, how many codes were written,
and the index of the highest digit of each stack."""
FLAGS, EMITS, CODE, BASE, MULTIPLES = range(5)
"""Fields of a row."""
POPS, PUSHED, GROWS = range(3)
"""Fields of each stack, after the multiples: how many digits to remove, the digit to write, and by
how much the stack then grows."""


class Shape(NamedTuple):
    """The number of stacks, and how many digits of each are looked at."""

    stacks: int
    depth: int

    def multiple(self, stack: int, depth: int) -> int:
        """The index of the field with the multiple of a digit."""
        return MULTIPLES + stack * self.depth + depth

    def field(self, stack: int, which: int) -> int:
        """The index of a field of a stack."""
        return MULTIPLES + self.stacks * self.depth + 3 * stack + which

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


@cache
def compiled(shape: Shape) -> Callable[..., int]:
    """The compiled loop for a shape: it follows rows until `count` codes are written."""
    return _Writer(shape).compiled(optimised=True)


class _Writer(Assembler):
    """Generates the loop; every stack has `depth` entries `EMPTY` below its lowest digit."""

    def __init__(self, shape: Shape) -> None:
        stacks = [f"stack {n}" for n in range(shape.stacks)]
        tops = [f"top {n}" for n in range(shape.stacks)]
        places = {"row": ROW, "emitted": EMITTED}
        places |= {name: TOPS + n for n, name in enumerate(tops)}
        super().__init__(
            ("addresses", "clock", "count"),
            STATUS,
            {name: ("clock", place) for name, place in places.items()},
            ("rows", "codes", *stacks),
        )
        now = self.carried
        self.go_on_if(self.compare("<", now["emitted"], self.arguments["count"]), DONE)

        def field(row: object, number: int) -> object:
            return self.load("rows", self.sum(row, number))

        row = now["row"]
        self.go_on_if(self.compare("==", field(row, FLAGS), 0), BY_HAND)
        after = {}
        for n, (stack, top) in enumerate(zip(stacks, tops, strict=True)):
            below = self.b.sub(now[top], field(row, shape.field(n, POPS)))
            below = self.greatest(below, shape.depth - 1)
            self.store_short(field(row, shape.field(n, PUSHED)), stack, self.sum(below, 1))
            after[top] = self.sum(below, field(row, shape.field(n, GROWS)))
        following = field(row, BASE)
        for n, (stack, top) in enumerate(zip(stacks, tops, strict=True)):
            for depth in range(shape.depth):
                digit = self.load_short(stack, self.sum(after[top], -depth))
                multiple = field(row, shape.multiple(n, depth))
                following = self.sum(following, self.product(digit, multiple))
        self.store_short(field(following, CODE), "codes", now["emitted"])
        emitted = self.sum(now["emitted"], field(following, EMITS))
        self.again(row=following, emitted=emitted, **after)
