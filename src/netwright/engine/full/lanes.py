"""Operations on columns as machine code: sixteen tokens at a time, and passes from token to token.

A stage computes everything that the stored columns allow, in vectors of sixteen numbers. Operations
that need earlier tokens, running sums and look-ups of the latest visit of a cell, are passes over
the chunk between two stages. Columns that a later stage or a pass needs are stored in between.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from llvmlite import ir

from netwright.assembler import HALF, WORD, Assembler
from netwright.engine.full.forms import Column, Number, Operation, is_wide
from netwright.engine.moments import UnsuitableError

LANES = 16
NARROW, WIDE = ir.VectorType(HALF, LANES), ir.VectorType(WORD, LANES)
MASK = ir.VectorType(ir.IntType(1), LANES)
PASSES = ("running sum", "seek")
DONE, DIFFERS = range(2)
FEW = 4
"""Up to this many codes with a nonzero number are compared one by one; more take a table."""
CLOCK = ("status", "position", "lowest", "highest", "first", "cells")
"""The fields of a clock: why the loop ended, the tokens before; for a look-up, its cells."""


class Stage(NamedTuple):
    """One loop over a chunk: vector code, or a pass for one operation."""

    code: Callable[..., int]
    arrays: tuple[str, ...]
    """The names of the arrays whose addresses the code takes."""
    over: Column | None = None
    """The column that a pass computes; None for vector code."""


class Compiled(NamedTuple):
    """All stages in order, the columns that vector code stores, and those of the passes."""

    stages: tuple[Stage, ...]
    stored: tuple[Column, ...]
    passes: tuple[Column, ...]


def name_of(column: Column) -> str:
    """The name of a column's array."""
    return f"column {column.operation}"


@lru_cache(maxsize=16)
def compiled(operations: tuple[Operation, ...]) -> Compiled:
    """Compile all operations to stages."""
    columns = {c.operation: c for c in _columns_in(operations)}
    is_pass = [operation.name in PASSES for operation in operations]
    levels: list[int] = []
    kept: dict[int, Column] = {}
    for operation in operations:  # the column of a pass is available one stage later
        used = _columns_in([operation])
        level = max([levels[c.operation] + is_pass[c.operation] for c in used], default=0)
        for c in used:
            is_stored = levels[c.operation] < level or operation.name in PASSES
            if is_stored and operations[c.operation].name != "given":
                kept[c.operation] = c
        levels.append(level)
    stages: list[Stage] = []
    passes: list[Column] = []
    for level in range(max(levels, default=0) + 1):
        chosen = [n for n, each in enumerate(levels) if each == level]
        writer = _Lanes(operations, level, levels, kept, chosen)
        stages.append(Stage(writer.compiled(optimised=True), writer.names))
        for n in chosen:
            if is_pass[n]:
                column = columns.get(n) or Column(n, 0, 1, wide=True)
                passes.append(column)
                after = _Pass(operations, column)
                stages.append(Stage(after.compiled(optimised=True), after.names, column))
    return Compiled(tuple(stages), tuple(kept.values()), tuple(passes))


def _columns_in(operations: Sequence[object]) -> list[Column]:
    """All columns among the arguments of operations, with repetitions."""
    found: list[Column] = []
    for each in operations:
        if isinstance(each, Column):
            found.append(each)
        elif isinstance(each, tuple):
            found += _columns_in(each)
    return found


class _Lanes(Assembler):
    """Writes a stage: loads the columns of earlier stages, stores those that later ones need."""

    def __init__(
        self,
        operations: Sequence[Operation],
        level: int,
        levels: Sequence[int],
        kept: dict[int, Column],
        chosen: Sequence[int],
    ) -> None:
        self.operations = operations
        names: dict[str, None] = {f"flags {level}": None}
        for n in chosen:
            operation = operations[n]
            names |= dict.fromkeys(_arrays_of(operation))
            for c in _columns_in([operation]):
                own = operations[c.operation]
                names |= dict.fromkeys(_arrays_of(own) if own.name == "given" else ())
                names |= {name_of(c): None} if c.operation in kept else {}
            if n in kept:
                names[name_of(kept[n])] = None
        self.names = tuple(names)
        super().__init__(("where", "clock", "count"), 0, None, self.names)
        self.start = self.product(self.done, LANES)
        self.go_on_if(self.compare("<", self.start, self.arguments["count"]), DONE)
        first = self.sum(self.sum(self.at_first("clock", 1), self.start), 1)
        lanes = ir.Constant(WIDE, list(range(LANES)))
        self.position = self.b.add(self._splat(first), lanes)
        self.values: dict[int, Any] = {}
        self.given: dict[tuple[str, int], Any] = {}
        self.fine: list[Any] = []
        for n in chosen:
            operation = operations[n]
            if operation.name not in PASSES:
                method = getattr(self, "_" + operation.name.replace(" ", "_"))
                self.values[n] = method(*operation.arguments)
        for n in chosen:  # last, as a load after a store may have to wait for it
            if n in kept and n in self.values:
                self._write(self.values[n], name_of(kept[n]))
        fine = reduce(self.b.and_, self.fine) if self.fine else ir.Constant(MASK, [1] * LANES)
        self.store_short(
            self.b.zext(self.b.bitcast(fine, ir.IntType(16)), WORD), f"flags {level}", self.done
        )
        self.again()

    # Vectors.

    def _splat(self, x: Any) -> Any:
        """A vector with the same 64-bit number in every lane."""
        undefined = ir.Constant(WIDE, ir.Undefined)
        one = self.b.insert_element(undefined, x, ir.Constant(HALF, 0))
        return self.b.shuffle_vector(one, undefined, constant(NARROW, 0))

    def _place(self, name: str, kind: Any, shift: int) -> Any:
        base = self.b.bitcast(self.arguments[name], kind.element.as_pointer())
        at = self.b.gep(base, [self.word(self.sum(self.start, shift))])
        return self.b.bitcast(at, kind.as_pointer())

    def _read(self, name: str, kind: Any, shift: int = 0) -> Any:
        return self.b.load(self._place(name, kind, shift), align=4)

    def _write(self, x: Any, name: str) -> None:
        self.b.store(x, self._place(name, x.type, 0), align=4)

    def number(self, x: Number, kind: Any = NARROW) -> Any:
        """A number as a vector of 32-bit or 64-bit lanes."""
        if isinstance(x, int):
            return constant(kind, x)
        if x.operation not in self.values:
            name, arguments = self.operations[x.operation]
            if name == "given":
                self.values[x.operation] = self._given(*arguments)  # type: ignore[arg-type]
            else:
                self.values[x.operation] = self._read(name_of(x), _kind(x))
        found = self.values[x.operation]
        return self.b.sext(found, kind) if found.type != kind else found

    def _times(self, x: Any, factor: int) -> Any:
        if factor in (1, -1):
            return x if factor == 1 else self.b.neg(x)
        return self.b.mul(x, constant(x.type, factor))

    def _is(self, how: str, x: Any, y: int) -> Any:
        return self.b.icmp_signed(how, x, constant(x.type, y))

    def _least(self, x: Any, y: int) -> Any:
        return self.b.select(self._is("<", x, y), x, constant(x.type, y))

    def _greatest(self, x: Any, y: int) -> Any:
        return self.b.select(self._is(">", x, y), x, constant(x.type, y))

    # Operations.

    def _given(self, name: str, shift: int) -> Any:
        if (name, shift) not in self.given:
            self.given[name, shift] = self._read(f"given {name}", WIDE, shift)
        return self.given[name, shift]

    def _number(self, name: str, shift: int) -> Any:
        return self.b.trunc(self._given(name, shift), NARROW)

    def _code(self, name: str, shift: int, first: int, numbers: Sequence[int]) -> Any:
        codes = self._number(name, shift)
        some = [(first + n, x) for n, x in enumerate(numbers) if x]
        if len(some) > FEW:
            place = self._greatest(self.b.sub(codes, self.number(first - 1)), 0)
            place = self._least(place, len(numbers) + 1)
            return self._gathered(place, self.table([0, *numbers, 0]))
        found = self.number(0)
        for code, x in some:
            found = self.b.select(self._is("==", codes, code), self.number(x), found)
        return found

    def _gathered(self, places: Any, table: Any) -> Any:
        found = ir.Constant(NARROW, ir.Undefined)
        for lane in range(LANES):
            n = ir.Constant(HALF, lane)
            place = self.b.extract_element(places, n)
            if place.type != WORD:
                place = self.b.sext(place, WORD)
            x = self.b.trunc(self.b.load(self.b.gep(table, [place])), HALF)
            found = self.b.insert_element(found, x, n)
        return found

    def _sum(self, terms: Sequence[tuple[Column, int]], bias: int) -> Any:
        found = None if not bias else self.number(bias)
        for column, factor in sorted(terms, key=lambda term: -term[1]):
            x = self.number(column)
            if factor == -1 and found is not None:
                found = self.b.sub(found, x)
                continue
            part = self._times(x, factor)
            found = part if found is None else self.b.add(found, part)
        return found

    def _clip(self, x: Number, top: int) -> Any:
        found = self._greatest(self.number(x), 0)
        return found if top < 0 else self._least(found, top)

    def _clip_wide(self, x: Number, top: int) -> Any:
        found = self._least(self._greatest(self.number(x, WIDE), 0), top)
        return self.b.trunc(found, NARROW)

    def _at_most(self, x: Number, limit: int) -> Any:
        return self.b.zext(self._is("<=", self.number(x), limit), NARROW)

    def _choose(self, condition: Number, x: Number, y: Number) -> Any:
        holds = self._is("!=", self.number(condition), 0)
        return self.b.select(holds, self.number(x), self.number(y))

    def _minus_absolute(self, x: Number) -> Any:
        found = self.number(x)
        return self.b.select(self._is("<", found, 0), found, self.b.neg(found))

    def _whole(self, terms: Sequence[tuple[int, Number, Number, int]], over: int) -> Any:
        found = None
        for factor, number, unknown, power in terms:
            part = self.number(unknown, WIDE) if unknown != 1 else None
            if power:
                part = self.position
            if number != 1:
                own = self.number(number, WIDE)
                part = own if part is None else self.b.mul(part, own)
            part = self.number(factor, WIDE) if part is None else self._times(part, factor)
            found = part if found is None else self.b.add(found, part)
        if over == 1:
            return found
        whole = self.b.sdiv(found, self.number(over, WIDE))
        self.fine.append(self.b.icmp_signed("==", self._times(whole, over), found))
        return whole

    def _require_0(self, x: Column) -> None:
        self.fine.append(self._is("==", self.number(x, _kind(x)), 0))

    def _require_between(self, x: Column, low: int, high: int) -> None:
        found = self.number(x)
        self.fine += [self._is(">=", found, low), self._is("<=", found, high)]

    def _best(self, scores: Sequence[Number]) -> Any:
        """The index of the greatest score, which must be unique."""
        best, winner = self.number(scores[0]), self.number(0)
        alone: Any = ir.Constant(MASK, [1] * LANES)
        for n, score in enumerate(scores[1:], start=1):
            x = self.number(score)
            more, same = self.b.icmp_signed(">", x, best), self.b.icmp_signed("==", x, best)
            alone = self.b.or_(more, self.b.and_(alone, self.b.not_(same)))
            best, winner = self.b.select(more, x, best), self.b.select(more, self.number(n), winner)
        self.fine.append(alone)
        return winner

    def _row(self, nearest: Number, count: int) -> Any:
        found = self._least(self._greatest(self.number(nearest, WIDE), 1), count)
        return self.b.sub(found, self.number(1, WIDE))

    def _at(self, row: Column, table: int) -> Any:
        return self._gathered(self.number(row, _kind(row)), self.arguments[f"table {table}"])

    def _found(self, seek: Column, place: int) -> Any:
        """A value that a pass has stored."""
        value = self.operations[seek.operation].arguments[3][place]  # type: ignore[index]
        return self._read(f"found {seek.operation} {place}", _kind(value))


def _kind(x: Number) -> Any:
    return WIDE if is_wide(x) else NARROW


def constant(kind: Any, x: int) -> Any:
    """A vector of equal constants; raise UnsuitableError where LLVM would truncate them."""
    most = 1 << (kind.element.width - 1)
    if not -most <= x < most:
        raise UnsuitableError("a constant is too large")
    return ir.Constant(kind, [x] * LANES)


def _arrays_of(operation: Operation) -> list[str]:
    """The arrays that an operation reads, besides columns."""
    name, arguments = operation
    if name in ("given", "code", "number"):
        return [f"given {arguments[0]}"]
    if name == "at":
        return [f"table {arguments[1]}"]
    if name == "found":
        assert isinstance(arguments[0], Column)
        return [f"found {arguments[0].operation} {arguments[1]}"]
    return []


class _Pass(Assembler):
    """Writes a pass: a loop that does one token after another."""

    def __init__(self, operations: Sequence[Operation], column: Column) -> None:
        name, arguments = operations[column.operation]
        self.operations, self.column = operations, column
        numbers = _columns_in([arguments])
        self.names = tuple(
            dict.fromkeys([name_of(column), *map(self._name, numbers), *self._own(name, arguments)])
        )
        places = {each: ("clock", CLOCK.index(each)) for each in ("lowest", "highest")}
        carried = {"total": ("clock", 2)} if name == "running sum" else places
        super().__init__(("where", "clock", "count"), 0, carried, self.names)
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), DONE)
        if name == "running sum":
            total = self.sum(self.carried["total"], self.value(arguments[1]))
            self.store(total, name_of(column), self.done)
            self.again(total=total)
        else:
            self._seek(*arguments)  # type: ignore[arg-type]  # those of a seek

    def word(self, x: Any) -> Any:
        """A 64-bit number; raise UnsuitableError for a constant that does not fit."""
        if isinstance(x, int) and not -(1 << 63) <= x < 1 << 63:
            raise UnsuitableError("a constant is too large")
        return super().word(x)

    def _name(self, column: Column) -> str:
        name, arguments = self.operations[column.operation]
        return f"given {arguments[0]}" if name == "given" else name_of(column)

    def _own(self, name: str, arguments: tuple[Any, ...]) -> list[str]:
        if name == "running sum":
            return []
        found = [f"found {self.column.operation} {n}" for n in range(len(arguments[3]))]
        cells = ["given cell", "given look"] if arguments[0] == "pointer" else []
        return [self._cells, *found, *cells]

    @property
    def _cells(self) -> str:
        return f"cells {self.column.operation}"

    def value(self, x: Any) -> Any:
        """A number of the current token."""
        if isinstance(x, int):
            return x
        name, arguments = self.operations[x.operation]
        if name == "given":
            return self.load(self._name(x), self.sum(self.done, arguments[1]))
        if x.wide:
            return self.load(name_of(x), self.done)
        return self.b.sext(self.b.load(self.at(name_of(x), self.done, HALF)), WORD)

    def _seek(self, how: str, first: Any, second: Any, values: Sequence[Any]) -> None:
        """Find the winner of an attention. A cell's row holds its latest visitor and their values.

        For a last visit, the winner is the latest visitor of the wanted cell; or the newest token
        itself where it wants its own cell, or a fresh one beside it and beyond all others. For a
        pointer, it is the token with that number, which must be the latest visitor of its cell, or
        the first token, whose row is row 0.
        """
        width = 1 + len(values)
        own = [self.value(x) for x in values]
        token = self.sum(self.sum(self.at_first("clock", 1), self.done), 1)
        start, cells = self.at_first("clock", CLOCK.index("first")), self._cells
        lowest, highest = self.carried["lowest"], self.carried["highest"]
        if how == "visit":
            here, wanted = self.word(self.value(first)), self.word(self.value(second))
            lowest, highest = self.least(lowest, here), self.greatest(highest, here)
        else:
            here = self.load("given cell", self.done)
            wanted = self.load("given look", self.done)
        row_here = self.product(self.sum(self.b.sub(here, start), 1), width)
        place = self.sum(self.b.sub(wanted, start), 1)
        if how == "visit":
            inside = self.b.icmp_unsigned("<", place, self.at_first("clock", CLOCK.index("cells")))
            row = self.product(self.choose(inside, place, 0), width)
            visited = self.load(cells, row)
            other = self.compare("!=", wanted, here)
            hit = self.b.and_(self.compare("!=", visited, 0), other)
            above = self.b.and_(
                self.compare("==", wanted, self.sum(highest, 1)), self.compare("==", here, highest)
            )
            below = self.b.and_(
                self.compare("==", wanted, self.sum(lowest, -1)), self.compare("==", here, lowest)
            )
            known = self.b.or_(self.b.or_(hit, self.b.not_(other)), self.b.or_(above, below))
            winner = self.choose(hit, visited, token)
        else:
            winner, hit = self.word(self.value(first)), self.compare("!=", self.value(second), 0)
            is_first = self.compare("==", winner, 1)
            row = self.product(self.choose(is_first, 0, place), width)
            visited = self.choose(is_first, 1, self.load(cells, row))
            itself = self.compare("==", winner, token)
            known = self.b.or_(self.compare("==", visited, winner), self.b.not_(hit))
            known = self.b.or_(known, itself)
        self.go_on_if(known, DIFFERS)
        for n, (value, x) in enumerate(zip(values, own, strict=True)):
            kept = self.load(cells, self.sum(row, n + 1))
            if how == "pointer":
                kept = self.choose(itself, x, kept)
            found = self.choose(hit, kept, x if how == "visit" else 0)
            name, kind = f"found {self.column.operation} {n}", WORD if is_wide(value) else HALF
            self.store(found, name, self.done, kind)
        self.store(winner, name_of(self.column), self.done)
        self.store(token, cells, row_here)
        for n, x in enumerate(own, start=1):
            self.store(x, cells, self.sum(row_here, n))
        if how == "pointer":
            with self.b.if_then(self.compare("==", token, 1), likely=False):
                for n, x in enumerate([token, *own]):
                    self.store(x, cells, n)
        self.again(lowest=lowest, highest=highest)
