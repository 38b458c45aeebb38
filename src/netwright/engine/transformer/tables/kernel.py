"""The operations of `residual` as machine code: a loop over tokens.

Operations are plain data and depend on the shape of a network only, so that networks of one shape
share their code. Everything else about a network is in arrays.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from netwright.assembler import WORD, Assembler, Number
from netwright.engine.transformer import arrays
from netwright.engine.transformer.tables.residual import ONE, Linear, Y

MISSING = arrays.MORE_CELLS + 1  # there is no entry for the keys of the token
CLASS = arrays.VALUE  # where a kept row has the class of its value; its other numbers follow
NEXT_BITS = 32  # of an entry: the number of the next output; above them the code
FIXED = ("total", "visits", "kept", "own", "rest", "final", "codes", "stream", "keys")


class Shape(NamedTuple):
    """Everything that the code depends on; the key of the cache."""

    operations: tuple[tuple[Any, ...], ...]
    keys: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    stream: tuple[Linear, ...]
    longest: int
    direct: bool
    """Whether entries are indexed by all keys at once; else by y and a number for the others."""

    def count_of(self, name: str) -> int:
        """How many operations have this name."""
        return sum(each[0] == name for each in self.operations)

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
    def arrays(self) -> tuple[str, ...]:
        """The names of all arrays in the order of their addresses."""
        return (
            *FIXED,
            *(f"slots {key}" for key in self.looked_up),
            *(f"class {key}" for key in self.encoders),
            *(f"column {n}" for n in range(self.count_of("column"))),
        )

    @property
    def capacities(self) -> tuple[str, ...]:
        """The names of the sizes that may change: of tables, and of the encoder's rows."""
        return (*self.looked_up, "rest", *(f"rows {key}" for key in self.encoders))


@lru_cache(maxsize=64)
def compiled(shape: Shape) -> Callable[..., int]:
    """The loop for a shape: it does `count` tokens, and returns how many it did."""
    return _Writer(shape).compiled(optimised=True)


class _Writer(Assembler):
    """Writes the loop."""

    def __init__(self, shape: Shape) -> None:
        carried = {"tokens": ("clock", arrays.TOKENS), "y": ("clock", arrays.OWN)}
        carried |= {f"total {n}": ("total", n) for n in range(shape.count_of("total"))}
        for layer in range(shape.count_of("visit")):
            carried[f"lowest {layer}"] = ("visits", 2 * layer + arrays.LOWEST)
            carried[f"highest {layer}"] = ("visits", 2 * layer + arrays.HIGHEST)
        super().__init__(("where", "size", "clock", "count"), arrays.STATUS, carried, shape.arrays)
        self.shape = shape
        self.size = {name: self.at_first("size", n) for n, name in enumerate(shape.capacities)}
        self.cells = self.at_first("clock", arrays.CELLS)
        self.first = self.at_first("clock", arrays.FIRST_CELL)
        self.new: dict[str, Number] = {}
        self.at_the_end: list[Callable[[], None]] = []
        self.known: dict[int, Number] = {ONE: 1}
        self.ids: dict[str, Number] = {Y: self.carried["y"]}
        self.p = self.sum(self.carried["tokens"], 1)
        self.powers: list[Number] = [1, self.p]
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), arrays.DONE)
        self.go_on_if(self.compare("<=", self.p, shape.longest), arrays.TOO_LARGE)
        for name, *rest in shape.operations:
            getattr(self, f"_{name}")(*rest)
        self._look_up_the_output()
        for commit in self.at_the_end:
            commit()
        self.again(tokens=self.p, **self.new)

    def value(self, x: Linear) -> Number:
        """The value of a linear sum."""
        total: Number = 0
        for unknown, power, factor in x:
            while len(self.powers) <= power:
                self.powers.append(self.b.mul(self.powers[-1], self.p))
            part = self.product(self.product(self.known[unknown], factor), self.powers[power])
            total = self.sum(total, part)
        return total

    # Operations; the last argument is the unknown that they define.

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
        self.go_on_if(equal, arrays.OTHER_FORM)

    def _quotient(self, found: Linear, unit: int, x: int) -> None:
        number = self.word(self.value(found))
        if unit & (unit - 1):
            self.known[x] = self.b.sdiv(number, self.word(unit))
        else:
            self.known[x] = self.b.ashr(number, self.word(unit.bit_length() - 1))
        exact = self.compare("==", self.product(self.known[x], unit), number)
        self.go_on_if(exact, arrays.OTHER_FORM)

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
        """Find the latest visit of the wanted cell, or the newest token itself.

        `kept` has a row for each cell: the tokens of its latest visit and of the one before (0 if
        there is none), and the value of the latest.
        """
        here_at, wanted_at = (self.word(self.value(each)) for each in (here, wanted))
        place_here = self.b.sub(here_at, self.first)
        in_range = self.b.icmp_unsigned("<", place_here, self.cells)
        with self.b.if_then(self.b.not_(in_range), likely=False):
            self.store(here_at, "clock", arrays.WANTED_CELL)
        self.go_on_if(in_range, arrays.MORE_CELLS)
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
        self.go_on_if(self.b.or_(known, self.b.or_(above, below)), arrays.OTHER_FORM)
        own = self.load("own", self.sum(self.product(self.size[Y], layer), self.ids[Y]))
        values = [own, *map(self.value, numbers)]
        latest_here = self.load("kept", row_here)
        for n, value in enumerate(values, start=CLASS):
            at = self.sum(row_here, n)
            self.at_the_end.append(partial(self.store, value, "kept", at))
        # A branch, not a select: predicted right, it does not wait for the comparison.
        here_block, other_block, after = (self.b.append_basic_block() for _ in range(3))
        self.b.cbranch(hit, here_block, other_block)
        self.b.position_at_end(here_block)
        kept = [self.load("kept", self.sum(row, CLASS + n)) for n in range(len(values))]
        self.b.branch(after)
        self.b.position_at_end(other_block)
        self.b.branch(after)
        self.b.position_at_end(after)
        for x, value, old in zip(found, values, kept, strict=True):
            self.known[x] = self.b.phi(WORD)
            self.known[x].add_incoming(old, here_block)
            self.known[x].add_incoming(self.word(value), other_block)
        self.at_the_end += [
            partial(self.store, self.p, "kept", self.sum(row_here, arrays.LATEST)),
            partial(self.store, latest_here, "kept", self.sum(row_here, arrays.BEFORE)),
        ]
        self.new |= {f"lowest {layer}": lowest, f"highest {layer}": highest}

    def _look_up_the_output(self) -> None:
        """Look up the entry for the keys of this token: the next output, and a code."""
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
