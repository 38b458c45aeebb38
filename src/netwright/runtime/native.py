"""A program of `program` as machine code: one token after another, in 64-bit integers.

The code is made for one network. Its vectors live in registers: the weights are constants, a
coordinate that is always 0 costs nothing, and a weight of 1 is an addition. Maps with many weights
(the pairs of state and symbol of Lemma B.2 in a large machine) are loops over what is not 0.

A token changes the state (running sums, last visits, the output) only at its end, so a token that
cannot be done here leaves everything as it was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int64, c_void_p
from functools import partial
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from netwright.exact.observe import NEITHER, ZERO_BLOCK, Watch
from netwright.exact.rational import sigma
from netwright.nets.transformer import Transformer
from netwright.runtime.program import (
    OUTPUT,
    STREAM,
    External,
    LastVisit,
    Mean,
    Program,
    Rescale,
    Scale,
    Step,
    Term,
)

DONE, OTHER_FORM, TOO_LARGE, MORE_CELLS = range(4)
MANY = 400  # weights of a map, from which on it is a loop
_WORD = ir.IntType(64)
_POINTER = _WORD.as_pointer()

Number = Any
"""A number of the program: an integer, or an instruction that computes it."""
ARGUMENTS = ("stream", "output", "total", "visits", "kept", "rows", "clock", "codes", "count")
# What clock has: tokens done, why the loop ended, the first cell, how many cells there are, a cell
# that may be out of range, and the tokens done in this call.
TOKENS, STATUS, FIRST_CELL, CELLS, WANTED_CELL, HERE = range(6)
# What visits has for a layer: the lowest and the highest cell visited.
LOWEST, HIGHEST = range(2)


class NativeCode:
    """The compiled loop of a program."""

    def __init__(self, program: Program, network: Transformer, watches: tuple[Watch, ...]) -> None:
        self.tables: list[NDArray[Any]] = []  # kept alive for the code
        module = _Writer(program, network, watches, self.tables).module
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), opt=2
        )
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        self.engine = llvm.create_mcjit_compiler(parsed, machine)
        self.engine.finalize_object()
        address = self.engine.get_function_address("advance")
        prototype = CFUNCTYPE(c_int64, *[c_void_p] * (len(ARGUMENTS) - 1), c_int64)
        self.advance: Callable[..., int] = prototype(address)


class _List(NamedTuple):
    """A sparse vector in memory: its numbers, and the coordinates that were touched."""

    values: Any
    marks: Any
    touched: Any
    count: Any
    units: Any
    biases: Any


class _Writer:
    """Writes the function `advance`: do `count` tokens, return how many were done."""

    def __init__(
        self,
        program: Program,
        network: Transformer,
        watches: tuple[Watch, ...],
        tables: list[NDArray[Any]],
    ) -> None:
        self.program, self.network, self.watches, self.tables = program, network, watches, tables
        self.module = ir.Module("netwright")
        kinds = [_POINTER] * (len(ARGUMENTS) - 1) + [_WORD]
        function = ir.Function(self.module, ir.FunctionType(_WORD, kinds), "advance")
        self.arguments = dict(zip(ARGUMENTS, function.args, strict=True))
        self.vectors: list[dict[int, Number]] = [{} for _ in program.vectors]
        self.lists: dict[int, _List] = {}
        self.at_the_end: list[Callable[[], None]] = []
        self.means = self.visits = 0
        self.width = kept_width(program)

        self.entry = function.append_basic_block("entry")
        self.head = function.append_basic_block("token")
        self.leave = function.append_basic_block("leave")
        self.b = ir.IRBuilder(self.leave)
        self.status = self.b.phi(_WORD, "status")
        self.b.store(self.status, self._at("clock", STATUS))
        self.b.ret(self.b.load(self._at("clock", HERE)))

        self.b.position_at_end(self.entry)
        self.b.store(_WORD(0), self._at("clock", HERE))
        self.b.branch(self.head)
        self.b.position_at_end(self.head)
        self.done = self._load("clock", HERE)
        self._go_on_if(self._compare("<", self.done, self.arguments["count"]), DONE)
        self.p = self._sum(self._load("clock", TOKENS), 1)
        self._go_on_if(self._compare("<=", self.p, program.longest), TOO_LARGE)
        self.powers: list[Number] = [1, self.p]
        self.vectors[OUTPUT] = {k: self._load("output", k) for k in program.vectors[OUTPUT]}
        for each in program.instructions:
            self._instruction(each)
        for k, bound in program.output_bound.items():
            number = self.vectors[OUTPUT].get(k, 0)
            self._go_on_if(self._compare("<=", number, bound), TOO_LARGE)
            self._go_on_if(self._compare(">=", number, -bound), TOO_LARGE)
        for place, watch in enumerate(watches):
            at = self._sum(self._product(self.done, len(watches)), place)
            self._store(self._code(watch), "codes", at)
        for commit in self.at_the_end:
            commit()
        for k in program.vectors[OUTPUT]:
            self._store(self.vectors[OUTPUT].get(k, 0), "output", k)
        self._store(self.p, "clock", TOKENS)
        following = self._sum(self.done, 1)
        self._store(following, "clock", HERE)
        with self.b.if_then(self._compare("==", following, self.arguments["count"])):
            for k in program.vectors[STREAM]:
                self._store(self.vectors[STREAM].get(k, 0), "stream", k)
        self.b.branch(self.head)

    # Numbers: integers are folded, everything else becomes an instruction.

    def _word(self, x: Number) -> Any:
        return _WORD(x) if isinstance(x, int) else x

    def _sum(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.b.add(self._word(x), self._word(y))

    def _product(self, x: Number, y: Number) -> Number:
        if isinstance(x, int):
            x, y = y, x
        if isinstance(x, int):
            return x * y
        if y == 0 or y == 1:
            return x if y == 1 else 0
        return self.b.neg(x) if y == -1 else self.b.mul(x, self._word(y))

    def _power(self, e: int) -> Number:
        while len(self.powers) <= e:
            self.powers.append(self.b.mul(self.powers[-1], self.p))
        return self.powers[e]

    def _unit(self, scale: Scale) -> Number:
        """The integer that stands for 1."""
        return self._product(self._power(scale.e), scale.D)

    def _compare(self, how: str, x: Number, y: Number) -> Any:
        return self.b.icmp_signed(how, self._word(x), self._word(y))

    def _choose(self, condition: Any, x: Number, y: Number) -> Number:
        return self.b.select(condition, self._word(x), self._word(y))

    def _min(self, x: Number, y: Number) -> Number:
        return self._choose(self._compare("<", x, y), x, y)

    def _max(self, x: Number, y: Number) -> Number:
        return self._choose(self._compare(">", x, y), x, y)

    def _activated(self, x: Number, activation: object, scale: Scale) -> Number:
        if activation is not None:
            x = max(x, 0) if isinstance(x, int) else self._max(x, 0)
        if activation is sigma:
            one = self._unit(scale)
            both = isinstance(x, int) and isinstance(one, int)
            x = min(x, one) if both else self._min(x, one)
        return x

    # Memory.

    def _at(self, array: Any, index: Number) -> Any:
        base = self.arguments[array] if isinstance(array, str) else array
        return self.b.gep(base, [self._word(index)])

    def _load(self, array: Any, index: Number) -> Any:
        return self.b.load(self._at(array, index))

    def _store(self, x: Number, array: Any, index: Number) -> None:
        self.b.store(self._word(x), self._at(array, index))

    def _table(self, numbers: Any) -> Any:
        """An array of the code's own."""
        self.tables.append(np.array(numbers, dtype=np.int64))
        return _WORD(self.tables[-1].ctypes.data).inttoptr(_POINTER)

    # Control.

    def _go_on_if(self, condition: Any, status: int) -> None:
        """Leave with a status if a condition does not hold."""
        following = self.b.append_basic_block()
        self.status.add_incoming(_WORD(status), self.b.block)
        self.b.cbranch(condition, following, self.leave)
        self.b.position_at_end(following)

    @contextmanager
    def _loop(self, start: Number, end: Number) -> Iterator[Any]:
        """For i from `start` to before `end`."""
        before = self.b.block
        head = self.b.append_basic_block()
        body = self.b.append_basic_block()
        behind = self.b.append_basic_block()
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(_WORD)
        i.add_incoming(self._word(start), before)
        self.b.cbranch(self._compare("<", i, end), body, behind)
        self.b.position_at_end(body)
        yield i
        i.add_incoming(self.b.add(i, _WORD(1)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(behind)

    # Instructions.

    def _instruction(self, each: object) -> None:
        if isinstance(each, Step):
            scales = self.program.vectors[each.target].values()
            powers = any(scale.e for scale in scales) or any(term.power for term in each.terms)
            if len(each.terms) > MANY and not powers:
                self._sparse_step(each)
            else:
                self._step(each)
        elif isinstance(each, Rescale):
            stream = self.vectors[STREAM]
            stream |= {t.target: self._times(t, stream.get(t.source, 0)) for t in each.terms}
        elif isinstance(each, Mean):
            self._mean(each)
        elif isinstance(each, External):
            self._external(each)
        elif isinstance(each, LastVisit):
            self._last_visit(each)

    def _times(self, term: Term, x: Number) -> Number:
        return self._product(self._product(x, term.factor), self._power(term.power))

    def _add_to(self, vector: dict[int, Number], term: Term, x: Number) -> None:
        vector[term.target] = self._sum(vector.get(term.target, 0), self._times(term, x))

    def _numbers(self, vector: int) -> dict[int, Number]:
        """A vector's numbers, from memory if they are there."""
        if vector in self.lists:
            values = self.lists[vector].values
            return {k: self._load(values, k) for k in self.program.vectors[vector]}
        return self.vectors[vector]

    def _step(self, each: Step) -> None:
        source = self._numbers(each.source)
        target = dict(self.vectors[each.target]) if each.adds else {}
        for term in each.bias:
            self._add_to(target, term, 1)
        for term in each.terms:
            self._add_to(target, term, source.get(term.source, 0))
        scales = self.program.vectors[each.target]
        self.vectors[each.target] = {
            k: self._activated(x, each.activation, scales[k]) for k, x in target.items()
        }

    def _sparse_step(self, each: Step) -> None:
        """A step as a loop over what is not 0 in its source."""
        terms = sorted(each.terms)
        rows = np.searchsorted(
            [t.source for t in terms], range(self.program.sizes[each.source] + 1)
        )
        row_start = self._table(rows)
        targets = self._table([term.target for term in terms])
        factors = self._table([term.factor for term in terms])
        source = self.lists.get(each.source) or self._in_memory(each)
        hidden = each.target not in (STREAM, OUTPUT)
        target = self._listed_target(each) if hidden else self._dense_target(each)
        with self._loop(0, self._load(source.count, 0)) as x:
            j = self._load(source.touched, x)
            v = self._load(source.values, j)
            with self.b.if_then(self._compare("!=", v, 0)):
                end = self._load(row_start, self._sum(j, 1))
                with self._loop(self._load(row_start, j), end) as e:
                    k = self._load(targets, e)
                    self._touch(target, k)
                    added = self.b.mul(self._load(factors, e), v)
                    self._store(self._sum(self._load(target.values, k), added), target.values, k)
        if hidden:
            self.lists[each.target] = target
            with self._loop(0, self._load(target.count, 0)) as x:
                k = self._load(target.touched, x)
                top = self._load(target.units, k) if each.activation is sigma else None
                v = self._load(target.values, k)
                if each.activation is not None:
                    v = self._max(v, 0)
                self._store(v if top is None else self._min(v, top), target.values, k)
        else:
            scales = self.program.vectors[each.target]
            self.vectors[each.target] = {k: self._load(target.values, k) for k in scales}

    def _in_memory(self, each: Step) -> "_List":
        """The coordinates of a source that have weights."""
        used = sorted({term.source for term in each.terms})
        size = self.program.sizes[each.source]
        source = _List(*map(self._table, ([0] * size, [], used, [len(used)], [], [])))
        for j in used:
            self._store(self.vectors[each.source].get(j, 0), source.values, j)
        return source

    def _dense_target(self, each: Step) -> "_List":
        """What stands in the target before, with the bias; every coordinate counts as touched."""
        size = self.program.sizes[each.target]
        target = _List(*map(self._table, ([0] * size, [1] * size, [], [0], [], [])))
        now = dict(self.vectors[each.target]) if each.adds else {}
        for term in each.bias:
            self._add_to(now, term, 1)
        for k in self.program.vectors[each.target]:
            self._store(now.get(k, 0), target.values, k)
        return target

    def _listed_target(self, each: Step) -> "_List":
        """Nothing but biases; one that the activation makes 0 waits until its place is touched."""
        size = self.program.sizes[each.target]
        bias = {term.target: term.factor for term in each.bias}
        at_once = [k for k, b in bias.items() if b > 0 or each.activation is None]
        scales = self.program.vectors[each.target]
        units = [scales.get(k, Scale()).D for k in range(size)]
        later = [0 if k in at_once else bias.get(k, 0) for k in range(size)]
        parts = ([0] * size, [0] * size, [0] * size, [0], units, later)
        target = _List(*map(self._table, parts))
        with self._loop(0, self._load(target.count, 0)) as x:
            k = self._load(target.touched, x)
            self._store(0, target.values, k)
            self._store(0, target.marks, k)
        self._store(len(at_once), target.count, 0)
        for x, k in enumerate(at_once):
            self._store(bias[k], target.values, k)
            self._store(1, target.marks, k)
            self._store(k, target.touched, x)
        return target

    def _touch(self, target: "_List", k: Number) -> None:
        """Put a coordinate on the list, with its bias, if it is not there."""
        with self.b.if_then(self._compare("==", self._load(target.marks, k), 0)):
            n = self._load(target.count, 0)
            self._store(1, target.marks, k)
            self._store(k, target.touched, n)
            self._store(self._sum(n, 1), target.count, 0)
            self._store(self._load(target.biases, k), target.values, k)

    def _mean(self, each: Mean) -> None:
        """The sums so far are in `total`, a place for each coordinate."""
        for term in each.terms:
            place, self.means = self.means, self.means + 1
            newest = self._numbers(each.vector).get(term.source, 0)
            total = self._sum(self._load("total", place), newest)
            self._add_to(self.vectors[STREAM], term, total)
            self.at_the_end.append(partial(self._store, total, "total", place))

    def _quotient(self, x: Number, unit: int) -> Number:
        """x / unit, if that is an integer; else leave."""
        if unit == 1:
            return x
        if unit & (unit - 1):
            whole = self.b.sdiv(self._word(x), _WORD(unit))
        else:
            whole = self.b.ashr(self._word(x), _WORD(unit.bit_length() - 1))
        self._go_on_if(self._compare("==", self._product(whole, unit), x), OTHER_FORM)
        return whole

    def _external(self, each: External) -> None:
        """The rows are in `rows`, all of the coordinates that any row has."""
        stream = self.vectors[STREAM]
        row: Number = 0
        if each.places:
            first, second = (stream.get(k, 0) for k in each.places)
            self._go_on_if(self._compare("==", first, each.units[0]), OTHER_FORM)
            nearest = self._quotient(second, each.units[1])
            row = self._sum(self._min(self._max(nearest, 1), len(each.rows)), -1)
        columns = external_columns(each)
        start = self._product(row, len(columns))
        offset = self.program.instructions.index(each)
        base = sum(
            len(other.rows) * len(external_columns(other))
            for other in self.program.instructions[:offset]
            if isinstance(other, External)
        )
        for place, (k, power) in enumerate(columns):
            number = self._load("rows", self._sum(start, base + place))
            self._add_to(stream, Term(-1, k, 1, power), number)

    def _last_visit(self, each: LastVisit) -> None:
        """The key must be (ε, −ε·here, ε²) and the query (ε·wanted, ε, ε²/3), with ε = 1/p.

        `kept` has a row for each cell: whether it was visited, and the value of the latest visit.
        """
        layer, self.visits = self.visits, self.visits + 1

        def number(vector: int, place: int) -> tuple[Number, int]:
            k = each.places[place]
            scale = self.program.vectors[vector].get(k, Scale())
            return self._numbers(vector).get(k, 0), scale.D

        for vector, place, factor in (
            (each.key, 0, 1),
            (each.key, 2, 1),
            (each.query, 1, 1),
            (each.query, 2, 3),
        ):
            x, one = number(vector, place)
            self._go_on_if(self._compare("==", self._product(x, factor), one), OTHER_FORM)
        here = self._product(self._quotient(*number(each.key, 1)), -1)
        wanted = self._quotient(*number(each.query, 0))
        cells = self._load("clock", CELLS)
        first = self._load("clock", FIRST_CELL)
        place_here = self.b.sub(self._word(here), first)
        self._store(here, "clock", WANTED_CELL)
        self._go_on_if(self.b.icmp_unsigned("<", place_here, cells), MORE_CELLS)
        place = self.b.sub(self._word(wanted), first)
        inside = self.b.icmp_unsigned("<", place, cells)
        layer_row = self._product(cells, layer)
        row_here = self._product(self._sum(layer_row, place_here), self.width)
        row = self._product(
            self._sum(layer_row, self._choose(inside, place, place_here)), self.width
        )
        other = self.b.icmp_signed("!=", self._word(wanted), self._word(here))
        visited = self.b.icmp_signed("!=", self._load("kept", row), _WORD(0))
        hit = self.b.and_(self.b.and_(inside, visited), other)
        lowest = self._min(self._load("visits", 2 * layer + LOWEST), here)
        highest = self._max(self._load("visits", 2 * layer + HIGHEST), here)
        # A fresh cell beside the newest token's and beyond all others, or the newest one's own.
        above = self._compare("==", wanted, self._sum(highest, 1))
        above = self.b.and_(above, self._compare("==", here, highest))
        below = self._compare("==", wanted, self._sum(lowest, -1))
        below = self.b.and_(below, self._compare("==", here, lowest))
        fresh = self.b.or_(above, below)
        known = self.b.or_(hit, self.b.not_(other))
        self._go_on_if(self.b.or_(known, fresh), OTHER_FORM)
        chosen = self._choose(hit, row, row_here)
        own = self._numbers(each.value)
        for place_in_row, term in enumerate(each.terms, start=1):
            newest = own.get(term.source, 0)
            kept = self._load("kept", self._sum(chosen, place_in_row))
            self._add_to(self.vectors[STREAM], term, self._choose(hit, kept, newest))
            at = self._sum(row_here, place_in_row)
            self.at_the_end.append(partial(self._store, newest, "kept", at))
        self.at_the_end += [
            partial(self._store, 1, "kept", row_here),
            partial(self._store, lowest, "visits", 2 * layer + LOWEST),
            partial(self._store, highest, "visits", 2 * layer + HIGHEST),
        ]

    def _code(self, watch: Watch) -> Number:
        """The code of a watch; see `exact.observe`."""
        number = {"z": STREAM, "y": OUTPUT}[watch.vector]
        layout, scales = self.network.layout, self.program.vectors[number]
        code: Number = 0 if watch.sign else ZERO_BLOCK
        for place, label in enumerate(layout.labels(watch.block)):
            k = layout.index(watch.block, label)
            x = self.vectors[number].get(k, 0)
            if x == 0:
                continue
            one = self._unit(scales[k])
            if watch.sign:
                minus = self._choose(self._compare("==", x, self._product(one, -1)), -1, NEITHER)
                seen = self._choose(self._compare("==", x, one), 1, minus)
            else:
                alone = self.b.and_(
                    self._compare("==", x, one), self._compare("==", code, ZERO_BLOCK)
                )
                seen = self._choose(alone, place, NEITHER)
            code = self._choose(self._compare("==", x, 0), code, seen)
        return code


def kept_width(program: Program) -> int:
    """The length of a row that is kept for a cell: whether there is one, and a value."""
    lengths = (len(each.terms) for each in program.instructions if isinstance(each, LastVisit))
    return 1 + max(lengths, default=0)


def external_columns(each: External) -> list[tuple[int, int]]:
    """The coordinates that the rows of an external attention add to, with the power of p."""
    return sorted({(term.target, term.power) for row in each.rows for term in row})
