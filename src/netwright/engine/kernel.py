"""The machine-code loop that runs entries: one for all networks of a shape.

A shape is the number of stacks and the greatest number of digits read of each. An entry is a row
of a table (see `exact.entries`). So a moment is a few loads and no branch, in every network.
"""

from collections.abc import Callable
from functools import cache

from netwright.assembler import Assembler
from netwright.exact.entries import (
    BASE,
    BY_HAND,
    CODE,
    DONE,
    EMITS,
    EMITTED,
    FLAGS,
    GROWS,
    POPS,
    PUSHED,
    ROW,
    STATUS,
    TOPS,
    Shape,
)


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
