"""The operations of `residual` as machine code: one token after another.

Operations are plain data and name nothing of a network but its shape, so that networks of one shape
share their code. What differs from network to network is in arrays.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from netwright.assembler import WORD, Assembler, Number
from netwright.engine.transformer.arrays import (
    BEFORE,
    CELLS,
    DONE,
    FIRST_CELL,
    HIGHEST,
    LATEST,
    LOWEST,
    MORE_CELLS,
    OTHER_FORM,
    OWN,
    STATUS,
    TOKENS,
    TOO_LARGE,
    VALUE,
    WANTED_CELL,
)
from netwright.engine.transformer.tables.residual import ONE, Linear, Y

MISSING = MORE_CELLS + 1  # there is no entry for the keys of the token
CLASS = VALUE  # where a kept row has the class of its value; its other numbers follow
NEXT_BITS = 32  # of an entry: the number of the next output; above them the code
FIXED = ("total", "visits", "kept", "own", "rest", "final", "codes", "stream", "keys")


class Shape(NamedTuple):
    """All that the code depends on."""

    operations: tuple[tuple[Any, ...], ...]
    keys: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    stream: tuple[Linear, ...]
    longest: int
    direct: bool
    """Whether entries are found by all keys at once; else by a number for all but y."""

    @property
    def totals(self) -> int:
        """How many running sums there are."""
        return sum(each[0] == "total" for each in self.operations)

    @property
    def visits(self) -> int:
        """How many attentions to a last visit."""
        return sum(each[0] == "visit" for each in self.operations)

    @property
    def width(self) -> int:
        """The length of a kept row: two visits, a class, and numbers."""
        numbers = (len(each[4]) for each in self.operations if each[0] == "visit")
        return CLASS + 1 + max(numbers, default=0)

    @property
    def looked_up(self) -> tuple[str, ...]:
        """The keys that have tables of slots: y first."""
        return (Y, *(key for key in self.keys if key not in dict(self.sizes)))

    @property
    def encoders(self) -> tuple[str, ...]:
        """The keys of external attentions."""
        return tuple(key for key in self.keys if key.startswith("e"))

    @property
    def columns(self) -> int:
        """How many coordinates of the encoder's values are looked up as they are."""
        return sum(each[0] == "column" for each in self.operations)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of all arrays, in the order of their addresses."""
        return (
            *FIXED,
            *(f"slots {key}" for key in self.looked_up),
            *(f"class {key}" for key in self.encoders),
            *(f"column {n}" for n in range(self.columns)),
        )

    @property
    def capacities(self) -> tuple[str, ...]:
        """The names of the sizes that change: of tables, and of the encoder's rows."""
        return (*self.looked_up, "rest", *(f"rows {key}" for key in self.encoders))


@lru_cache(maxsize=64)
def compiled(shape: Shape) -> Callable[..., int]:
    """The code for a shape: do `count` tokens, return how many were done."""
    return _Writer(shape).compiled(optimised=True)


class _Writer(Assembler):
    """Writes the loop."""

    def __init__(self, shape: Shape) -> None:
        carried = {"tokens": ("clock", TOKENS), "y": ("clock", OWN)}
        carried |= {f"total {n}": ("total", n) for n in range(shape.totals)}
        for layer in range(shape.visits):
            carried[f"lowest {layer}"] = ("visits", 2 * layer + LOWEST)
            carried[f"highest {layer}"] = ("visits", 2 * layer + HIGHEST)
        super().__init__(("where", "size", "clock", "count"), STATUS, carried, shape.arrays)
        self.shape = shape
        self.size = {name: self.at_first("size", n) for n, name in enumerate(shape.capacities)}
        self.cells, self.first = self.at_first("clock", CELLS), self.at_first("clock", FIRST_CELL)
        self.new: dict[str, Number] = {}
        self.at_the_end: list[Callable[[], None]] = []
        self.known: dict[int, Number] = {ONE: 1}
        self.ids: dict[str, Number] = {Y: self.carried["y"]}
        self.p = self.sum(self.carried["tokens"], 1)
        self.powers: list[Number] = [1, self.p]
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), DONE)
        self.go_on_if(self.compare("<=", self.p, shape.longest), TOO_LARGE)
        for name, *rest in shape.operations:
            getattr(self, f"_{name}")(*rest)
        self._look_up_the_output()
        for commit in self.at_the_end:
            commit()
        self.again(tokens=self.p, **self.new)

    def value(self, x: Linear) -> Number:
        """A sum."""
        total: Number = 0
        for unknown, power, factor in x:
            while len(self.powers) <= power:
                self.powers.append(self.b.mul(self.powers[-1], self.p))
            part = self.product(self.product(self.known[unknown], factor), self.powers[power])
            total = self.sum(total, part)
        return total

    # Operations; the last argument is what they define.

    def _slot(self, key: str, n: int, x: int) -> None:
        at = self.sum(self.product(self.size[key], n), self.ids[key])
        self.known[x] = self.load(f"slots {key}", at)

    def _total(self, n: int, added: Linear, x: int) -> None:
        self.known[x] = self.sum(self.carried[f"total {n}"], self.value(added))
        self.new[f"total {n}"] = self.known[x]

    def _relu(self, found: Linear, x: int) -> None:
        self.known[x] = self.greatest(self.value(found), 0)

    def _sigma(self, found: Linear, one: Linear, x: int) -> None:
        self.known[x] = self.least(self.greatest(self.value(found), 0), self.value(one))

    def _key(self, key: str, found: Linear) -> None:
        self.ids[key] = self.value(found)

    def _guard(self, found: Linear, wanted: Linear) -> None:
        equal = self.compare("==", self.value(found), self.value(wanted))
        self.go_on_if(equal, OTHER_FORM)

    def _quotient(self, found: Linear, unit: int, x: int) -> None:
        number = self.word(self.value(found))
        if unit & (unit - 1):
            self.known[x] = self.b.sdiv(number, self.word(unit))
        else:
            self.known[x] = self.b.ashr(number, self.word(unit.bit_length() - 1))
        exact = self.compare("==", self.product(self.known[x], unit), number)
        self.go_on_if(exact, OTHER_FORM)

    def _row(self, nearest: Linear, key: str, x: int) -> None:
        inside = self.least(self.greatest(self.value(nearest), 1), self.size[f"rows {key}"])
        self.known[x] = self.sum(inside, -1)

    def _class(self, row: Linear, key: str, x: int) -> None:
        self.known[x] = self.load(f"class {key}", self.value(row))

    def _column(self, row: Linear, n: int, x: int) -> None:
        self.known[x] = self.load(f"column {n}", self.value(row))

    def _visit(
        self,
        layer: int,
        here: Linear,
        wanted: Linear,
        numbers: Sequence[Linear],
        found: Sequence[int],
    ) -> None:
        """The latest visit of the wanted cell, or the newest token itself.

        `kept` has a row for each cell: the tokens of its latest visit and of the one before, 0 for
        none, and the value of the latest.
        """
        here_at, wanted_at = (self.word(self.value(each)) for each in (here, wanted))
        place_here = self.b.sub(here_at, self.first)
        in_range = self.b.icmp_unsigned("<", place_here, self.cells)
        with self.b.if_then(self.b.not_(in_range), likely=False):
            self.store(here_at, "clock", WANTED_CELL)
        self.go_on_if(in_range, MORE_CELLS)
        place = self.b.sub(wanted_at, self.first)
        inside = self.b.icmp_unsigned("<", place, self.cells)
        start = self.product(self.cells, layer)
        row_here = self.product(self.sum(start, place_here), self.shape.width)
        chosen = self.choose(inside, place, place_here)
        row = self.product(self.sum(start, chosen), self.shape.width)
        other = self.b.icmp_signed("!=", wanted_at, here_at)
        visited = self.b.icmp_signed("!=", self.load("kept", row), self.word(0))
        hit = self.b.and_(self.b.and_(inside, visited), other)
        lowest = self.least(self.carried[f"lowest {layer}"], here_at)
        highest = self.greatest(self.carried[f"highest {layer}"], here_at)
        above = self.b.and_(
            self.compare("==", wanted_at, self.sum(highest, 1)),
            self.compare("==", here_at, highest),
        )
        below = self.b.and_(
            self.compare("==", wanted_at, self.sum(lowest, -1)),
            self.compare("==", here_at, lowest),
        )
        known = self.b.or_(hit, self.b.not_(other))
        self.go_on_if(self.b.or_(known, self.b.or_(above, below)), OTHER_FORM)
        own = self.load("own", self.sum(self.product(self.size[Y], layer), self.ids[Y]))
        values = [own, *map(self.value, numbers)]
        latest_here = self.load("kept", row_here)
        for n, value in enumerate(values, start=CLASS):
            at = self.sum(row_here, n)
            self.at_the_end.append(partial(self.store, value, "kept", at))
        # A branch, not a choice: a processor that foresees it need not wait for the comparison.
        here_block, other_block, behind = (self.b.append_basic_block() for _ in range(3))
        self.b.cbranch(hit, here_block, other_block)
        self.b.position_at_end(here_block)
        kept = [self.load("kept", self.sum(row, CLASS + n)) for n in range(len(values))]
        self.b.branch(behind)
        self.b.position_at_end(other_block)
        self.b.branch(behind)
        self.b.position_at_end(behind)
        for x, value, old in zip(found, values, kept, strict=True):
            self.known[x] = self.b.phi(WORD)
            self.known[x].add_incoming(old, here_block)
            self.known[x].add_incoming(self.word(value), other_block)
        self.at_the_end += [
            partial(self.store, self.p, "kept", self.sum(row_here, LATEST)),
            partial(self.store, latest_here, "kept", self.sum(row_here, BEFORE)),
        ]
        self.new |= {f"lowest {layer}": lowest, f"highest {layer}": highest}

    def _look_up_the_output(self) -> None:
        """The entry for the keys of this token: the next output, and what watches see."""
        place: Number = 0
        sizes = dict(self.shape.sizes)
        for key in self.shape.keys:
            size = sizes[key] if key in sizes else self.size[key]
            place = self.sum(self.product(place, size), self.ids[key])
        if not self.shape.direct:
            place = self.load("rest", place)
        entry = self.load("final", self.sum(self.product(self.ids[Y], self.size["rest"]), place))
        there = self.compare(">=", entry, 0)
        last = self.compare("==", self.sum(self.done, 1), self.arguments["count"])
        with self.b.if_then(self.b.or_(self.b.not_(there), last), likely=False):
            for n, key in enumerate((Y, *self.shape.keys)):
                self.store(self.ids[key], "keys", n)
            for n, x in enumerate(self.shape.stream):
                self.store(self.value(x), "stream", n)
        self.go_on_if(there, MISSING)
        self.store_short(self.b.lshr(entry, self.word(NEXT_BITS)), "codes", self.done)
        self.new["y"] = self.b.and_(entry, self.word((1 << NEXT_BITS) - 1))
