"""Checks a proposal chunk by chunk: holds the arrays of columns, and the state between chunks."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from netwright.engine.full.forms import LONGEST, Column, Number, Vector, is_wide
from netwright.engine.full.lanes import CLOCK, DONE, LANES, Compiled, Stage, compiled, name_of
from netwright.engine.full.program import Decoder
from netwright.engine.moments import UnsuitableError
from netwright.exact.arrays import AnyArray, IntArray
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector as Exact

CHUNK = 1 << 14
"""Tokens per chunk: few enough that their columns stay in the processor's cache."""
AHEAD = LANES + 1
"""How far code reads beyond a chunk: the rest of the last vector, and the next token."""
LOWEST, HIGHEST, FIRST, CELLS = map(CLOCK.index, ("lowest", "highest", "first", "cells"))
FAR = 1 << 61
CELLS_A_TOKEN = 8
"""With more cells per token the head jumps, and most memory would go to cells never visited."""


class Checked:
    """Checks how far a proposed run is the network's run."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.tokens = decoder, 0
        self.reached: dict[int, int] = {}
        """By pass: how many tokens of the chunk it did."""
        self.code: Compiled = compiled(tuple(decoder.forms.operations))
        self.arrays: dict[str, AnyArray] = {}
        self._where: dict[str, tuple[IntArray, int, int]] = {}
        """Cache: the addresses of a stage's arrays, and of its clock."""
        self.clocks: dict[int, IntArray] = {}
        self._clock = np.zeros(len(CLOCK), np.int64)
        for column in (*self.code.stored, *self.code.passes):
            self._make(name_of(column), column.wide)
        for column in self.code.passes:
            name, arguments = decoder.forms.operations[column.operation]
            self.clocks[column.operation] = clock = np.zeros(len(CLOCK), np.int64)
            if name == "seek":
                values: Any = arguments[3]
                for n, value in enumerate(values):
                    self._make(f"found {column.operation} {n}", is_wide(value))
                clock[[LOWEST, HIGHEST]] = FAR, -FAR
                rows = np.zeros((65, 1 + len(values)), np.int64)
                self.keep_cells(column.operation, -32, rows)
        for n, table in enumerate(decoder.tables):
            self.arrays[f"table {n}"] = np.ascontiguousarray(table)
        for stage in self.code.stages:
            for name in stage.arrays:
                if name.startswith("flags "):
                    self.arrays[name] = np.zeros(CHUNK // LANES + 1, np.uint16)
                elif name not in self.arrays:
                    self._make(name, wide=True)
        given = {name: array for name, array in self.arrays.items() if name.startswith("given ")}
        self.given = {name.removeprefix("given "): array for name, array in given.items()}
        """The arrays of the proposal, by hint; callers write into them."""

    def _make(self, name: str, wide: bool) -> None:
        self.arrays[name] = np.zeros(CHUNK + AHEAD, np.int64 if wide else np.int32)

    def advance(self, count: int) -> int:
        """Check the next tokens, a chunk at most; return how many are as proposed.

        `given` must hold the proposal for them and for one token more, the first of the next chunk.
        Raise UnsuitableError beyond the number of tokens for which all numbers are sure to fit.
        """
        if self.tokens + count > LONGEST:
            raise UnsuitableError(f"a run of more than {LONGEST:,} tokens")
        self.reached = {}
        for stage in self.code.stages:
            if stage.over is None:
                count = self._lanes(stage, count)
            else:
                count = self.reached[stage.over.operation] = self._pass(stage, stage.over, count)
            if not count:
                break
        self.tokens += count
        return count

    def shift(self, count: int) -> None:
        """Move the proposal of token `count` to the front, as the first of the next chunk."""
        for array in self.given.values():
            array[0] = array[count]

    def _call(self, stage: Stage, clock: IntArray, count: int) -> int:
        clock[1] = self.tokens
        name = stage.arrays[0]  # its flags, or the column of its pass
        if name not in self._where:
            where = np.array([self.arrays[each].ctypes.data for each in stage.arrays], np.int64)
            self._where[name] = where, where.ctypes.data, clock.ctypes.data
        _, *addresses = self._where[name]
        return int(stage.code(*addresses, count))

    def _lanes(self, stage: Stage, count: int) -> int:
        self._call(stage, self._clock, count)
        flags = self.arrays[stage.arrays[0]][: -(-count // LANES)]
        wrong = np.flatnonzero(flags != (1 << LANES) - 1)
        if wrong.size:
            missing = int(flags[wrong[0]]) ^ ((1 << LANES) - 1)
            lane = (missing & -missing).bit_length() - 1
            return min(count, int(wrong[0]) * LANES + lane)
        return count

    def _pass(self, stage: Stage, column: Column, count: int) -> int:
        clock = self.clocks[column.operation]
        name, arguments = self.decoder.forms.operations[column.operation]
        if name == "seek":
            cells: Any = arguments[1]
            if arguments[0] == "pointer":
                here = np.concatenate([self.given[each][:count] for each in ("cell", "look")])
            elif isinstance(cells, int):
                here = np.array([cells])
            else:
                here = self._column(cells)[:count]
            self._make_room(column, int(here.min()), int(here.max()))
        done = self._call(stage, clock, count)
        assert clock[0] != DONE or done == count
        return done

    def _column(self, column: Column) -> AnyArray:
        name, arguments = self.decoder.forms.operations[column.operation]
        return self.arrays[f"given {arguments[0]}" if name == "given" else name_of(column)]

    def _make_room(self, column: Column, lowest: int, highest: int) -> None:
        clock, name = self.clocks[column.operation], f"cells {column.operation}"
        first, size = int(clock[FIRST]), int(clock[CELLS]) - 1
        if first <= lowest and highest < first + size:
            return
        start = lowest - size if lowest < first else first
        end = highest + size + 1 if highest >= first + size else first + size
        if max(first + size, highest) - min(first, lowest) > CELLS_A_TOKEN * (self.tokens + CHUNK):
            raise UnsuitableError("cells are too far apart")
        rows = np.zeros((1 + end - start, self.arrays[name].shape[1]), np.int64)
        rows[0] = self.arrays[name][0]
        rows[1 + first - start : 1 + first - start + size] = self.arrays[name][1:]
        self.keep_cells(column.operation, start, rows)

    def keep_cells(self, operation: int, first: int, rows: IntArray) -> None:
        """Set the rows of a look-up: row 0 is the first token's, row 1 that of cell `first`."""
        self.arrays[f"cells {operation}"] = rows
        self.clocks[operation][[FIRST, CELLS]] = first, len(rows)
        self._where.clear()

    # One token of the chunk, in exact numbers.

    def exact(self, vector: Vector, k: int, tokens: int, name: str = "") -> Exact | None:
        """A vector of the k-th token of the chunk, which begins after `tokens` tokens.

        None where it depends on a failed look-up or on a mean. With the `name` of one of the
        network's vectors, also None if a requirement before that vector fails.
        """
        forms, p = self.decoder.forms, tokens + k + 1
        numbers = self._numbers(k, p)
        before = forms.operations[: self.decoder.made.get(name, 0)]
        if any(n.startswith("require") and not x for (n, _), x in zip(before, numbers)):  # noqa: B905
            return None
        found: dict[int, Rational] = {}
        for place, form in vector.items():
            total = Rational(0)
            for (unknown, power), (number, over) in form.items():
                factor = _value(number, numbers)
                kind, u = forms.unknowns[unknown]
                value = _value(u, numbers)
                if factor is None or (factor and (value is None or kind == "mean")):
                    return None
                if factor:
                    assert value is not None
                    whole = Rational(1, value) if kind == "pointer" else Rational(value)
                    total += Rational(factor, over) * whole * Rational(p) ** power
            found[place] = total
        return Exact(self.decoder.network.layout, found)

    def _numbers(self, k: int, p: int) -> list[int | None]:
        """The result of every operation for a token, evaluated by definition; None if unknown."""
        numbers: list[int | None] = []
        for n, (name, arguments) in enumerate(self.decoder.forms.operations):
            try:
                numbers.append(self._number(n, name, arguments, numbers, k, p))
            except _UnknownError:
                numbers.append(None)
        return numbers

    def _number(
        self, n: int, name: str, arguments: Any, numbers: list[int | None], k: int, p: int
    ) -> int:
        def of(x: Any) -> int:
            found = _value(x, numbers)
            if found is None:
                raise _UnknownError
            return found

        if name == "whole":
            terms, over = arguments
            whole, rest = divmod(sum(f * of(x) * of(u) * p**e for f, x, u, e in terms), over)
            if rest:
                raise _UnknownError
            return int(whole)
        if name == "at":
            return int(self.decoder.tables[arguments[1]][of(arguments[0])])
        if name in OPERATIONS:
            return int(OPERATIONS[name](of, *arguments))
        return self._stored(n, name, arguments, k)

    def _stored(self, n: int, name: str, arguments: Any, k: int) -> int:
        """The result of an operation that reads the proposal, or that a pass has stored."""
        if name in ("running sum", "seek", "found"):
            operation = arguments[0].operation if name == "found" else n
            if k >= self.reached.get(operation, 0):
                raise _UnknownError
            where = f"found {operation} {arguments[1]}" if name == "found" else f"column {n}"
            return int(self.arrays[where][k])
        assert name in ("given", "code", "number"), name
        code = int(self.given[arguments[0]][k + arguments[1]])
        if name != "code":
            return code
        return int(dict(enumerate(arguments[3], start=arguments[2])).get(code, 0))


class _UnknownError(Exception):
    """A number depends on a look-up, a division or a choice that failed."""


def _best(of: Callable[[Number], int], scores: Sequence[Number]) -> int:
    found = [*map(of, scores)]
    if found.count(max(found)) > 1:
        raise _UnknownError
    return found.index(max(found))


OPERATIONS: dict[str, Callable[..., int]] = {
    "sum": lambda of, terms, bias: bias + sum(factor * of(x) for x, factor in terms),
    "clip": lambda of, x, top: max(0, of(x) if top < 0 else min(of(x), top)),
    "clip wide": lambda of, x, top: max(0, min(of(x), top)),
    "at most": lambda of, x, limit: of(x) <= limit,
    "choose": lambda of, condition, x, y: of(x if of(condition) else y),
    "minus absolute": lambda of, x: -abs(of(x)),
    "best": _best,
    "row": lambda of, nearest, count: min(max(of(nearest), 1), count) - 1,
    "require 0": lambda of, x: of(x) == 0,
    "require between": lambda of, x, low, high: low <= of(x) <= high,
}
"""The definitions of the operations on numbers of one token; `of` evaluates an argument."""


def _value(x: Number, numbers: list[int | None]) -> int | None:
    return x if isinstance(x, int) else numbers[x.operation]
