"""A program of `program` as machine code: one token after another, in 64-bit integers.

The code is made for one network. Its vectors live in registers: the weights are constants, a
coordinate that is always 0 costs nothing, and a weight of 1 is an addition. Maps with many weights
(the pairs of state and symbol of Lemma B.2 in a large machine) are loops over what is not 0.

A token changes the state (running sums, last visits, the output) only at its end, so a token that
cannot be done here leaves everything as it was.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from netwright.assembler import WORD, Assembler, Number
from netwright.engine.moments import NEITHER, ZERO_BLOCK, Watch
from netwright.exact.rational import sigma
from netwright.nets.transformer import Transformer
from netwright.runtime.transformer.arrays import (
    BEFORE,
    CELLS,
    FIRST_CELL,
    HIGHEST,
    LATEST,
    LOWEST,
    STATUS,
    TOKENS,
    VALUE,
    WANTED_CELL,
    kept_width,
)
from netwright.runtime.transformer.program import (
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
    vector_of,
)

DONE, OTHER_FORM, TOO_LARGE, MORE_CELLS = range(4)
MANY = 400  # weights of a map, from which on it is a loop
ARGUMENTS = ("stream", "output", "total", "visits", "kept", "rows", "clock", "codes", "count")


def native_code(
    program: Program, network: Transformer, watches: tuple[Watch, ...]
) -> Callable[..., int]:
    """The compiled loop of a program: do `count` tokens, return how many were done."""
    return _Writer(program, network, watches).compiled(optimised=True)


class _List(NamedTuple):
    """A sparse vector in memory, as tables."""

    values: Any
    marks: Any  # by coordinate: whether it was touched
    touched: Any  # which were, in any order
    count: Any  # how many
    units: Any  # by coordinate: what stands for 1
    biases: Any  # by coordinate: what is added when it is touched first


class _Writer(Assembler):
    """Writes the loop."""

    def __init__(self, program: Program, network: Transformer, watches: tuple[Watch, ...]) -> None:
        super().__init__(ARGUMENTS, STATUS, {"tokens": ("clock", TOKENS)})
        self.program, self.network = program, network
        self.vectors: list[dict[int, Number]] = [{} for _ in program.vectors]
        self.lists: dict[int, _List] = {}
        self.at_the_end: list[Callable[[], None]] = []
        self.means = self.visits = self.rows = 0
        self.width = kept_width(program)
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), DONE)
        self.p = self.sum(self.carried["tokens"], 1)
        self.go_on_if(self.compare("<=", self.p, program.longest), TOO_LARGE)
        self.powers: list[Number] = [1, self.p]
        self.vectors[OUTPUT] = {k: self.load("output", k) for k in program.vectors[OUTPUT]}
        for each in program.instructions:
            self._instruction(each)
        for k, bound in program.output_bound.items():
            number = self.vectors[OUTPUT].get(k, 0)
            self.go_on_if(self.compare("<=", number, bound), TOO_LARGE)
            self.go_on_if(self.compare(">=", number, -bound), TOO_LARGE)
        for place, watch in enumerate(watches):
            at = self.sum(self.product(self.done, len(watches)), place)
            self.store(self._code(watch), "codes", at)
        for commit in self.at_the_end:
            commit()
        for k in program.vectors[OUTPUT]:
            self.store(self.vectors[OUTPUT].get(k, 0), "output", k)
        for k in program.vectors[STREAM]:
            self.store(self.vectors[STREAM].get(k, 0), "stream", k)
        self.again(tokens=self.p)

    def _power(self, e: int) -> Number:
        while len(self.powers) <= e:
            self.powers.append(self.b.mul(self.powers[-1], self.p))
        return self.powers[e]

    def _unit(self, scale: Scale) -> Number:
        """The integer that stands for 1."""
        return self.product(self._power(scale.e), scale.D)

    def _activated(self, x: Number, activation: object, scale: Scale) -> Number:
        if activation is not None:
            x = max(x, 0) if isinstance(x, int) else self.greatest(x, 0)
        if activation is sigma:
            one = self._unit(scale)
            both = isinstance(x, int) and isinstance(one, int)
            x = min(x, one) if both else self.least(x, one)
        return x

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
        return self.product(self.product(x, term.factor), self._power(term.power))

    def _add_to(self, vector: dict[int, Number], term: Term, x: Number) -> None:
        vector[term.target] = self.sum(vector.get(term.target, 0), self._times(term, x))

    def _numbers(self, vector: int) -> dict[int, Number]:
        """A vector's numbers, from memory if they are there."""
        if vector in self.lists:
            values = self.lists[vector].values
            return {k: self.load(values, k) for k in self.program.vectors[vector]}
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
        row_start = self.table(rows)
        targets = self.table([term.target for term in terms])
        factors = self.table([term.factor for term in terms])
        source = self.lists.get(each.source) or self._in_memory(each)
        hidden = each.target not in (STREAM, OUTPUT)
        target = self._listed_target(each) if hidden else self._dense_target(each)
        with self.loop(0, self.load(source.count, 0)) as x:
            j = self.load(source.touched, x)
            v = self.load(source.values, j)
            with self.b.if_then(self.compare("!=", v, 0)):
                end = self.load(row_start, self.sum(j, 1))
                with self.loop(self.load(row_start, j), end) as e:
                    k = self.load(targets, e)
                    self._touch(target, k)
                    added = self.b.mul(self.load(factors, e), v)
                    self.store(self.sum(self.load(target.values, k), added), target.values, k)
        if hidden:
            self.lists[each.target] = target
            with self.loop(0, self.load(target.count, 0)) as x:
                k = self.load(target.touched, x)
                top = self.load(target.units, k) if each.activation is sigma else None
                v = self.load(target.values, k)
                if each.activation is not None:
                    v = self.greatest(v, 0)
                self.store(v if top is None else self.least(v, top), target.values, k)
        else:
            scales = self.program.vectors[each.target]
            self.vectors[each.target] = {k: self.load(target.values, k) for k in scales}

    def _in_memory(self, each: Step) -> "_List":
        """The coordinates of a source that have weights."""
        used = sorted({term.source for term in each.terms})
        size = self.program.sizes[each.source]
        source = _List(*map(self.table, ([0] * size, [], used, [len(used)], [], [])))
        for j in used:
            self.store(self.vectors[each.source].get(j, 0), source.values, j)
        return source

    def _dense_target(self, each: Step) -> "_List":
        """What stands in the target before, with the bias; every coordinate counts as touched."""
        size = self.program.sizes[each.target]
        target = _List(*map(self.table, ([0] * size, [1] * size, [], [0], [], [])))
        now = dict(self.vectors[each.target]) if each.adds else {}
        for term in each.bias:
            self._add_to(now, term, 1)
        for k in self.program.vectors[each.target]:
            self.store(now.get(k, 0), target.values, k)
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
        target = _List(*map(self.table, parts))
        with self.loop(0, self.load(target.count, 0)) as x:
            k = self.load(target.touched, x)
            self.store(0, target.values, k)
            self.store(0, target.marks, k)
        self.store(len(at_once), target.count, 0)
        for x, k in enumerate(at_once):
            self.store(bias[k], target.values, k)
            self.store(1, target.marks, k)
            self.store(k, target.touched, x)
        return target

    def _touch(self, target: "_List", k: Number) -> None:
        """Put a coordinate on the list, with its bias, if it is not there."""
        with self.b.if_then(self.compare("==", self.load(target.marks, k), 0)):
            n = self.load(target.count, 0)
            self.store(1, target.marks, k)
            self.store(k, target.touched, n)
            self.store(self.sum(n, 1), target.count, 0)
            self.store(self.load(target.biases, k), target.values, k)

    def _mean(self, each: Mean) -> None:
        """The sums so far are in `total`, a place for each coordinate."""
        for term in each.terms:
            place, self.means = self.means, self.means + 1
            newest = self._numbers(each.vector).get(term.source, 0)
            total = self.sum(self.load("total", place), newest)
            self._add_to(self.vectors[STREAM], term, total)
            self.at_the_end.append(partial(self.store, total, "total", place))

    def _quotient(self, x: Number, unit: int) -> Number:
        """x / unit, if that is an integer; else leave."""
        if unit == 1:
            return x
        if unit & (unit - 1):
            whole = self.b.sdiv(self.word(x), WORD(unit))
        else:
            whole = self.b.ashr(self.word(x), WORD(unit.bit_length() - 1))
        self.go_on_if(self.compare("==", self.product(whole, unit), x), OTHER_FORM)
        return whole

    def _external(self, each: External) -> None:
        """The rows are in `rows`, all of the coordinates that any row has."""
        stream = self.vectors[STREAM]
        row: Number = 0
        if each.places:
            first, second = (stream.get(k, 0) for k in each.places)
            self.go_on_if(self.compare("==", first, each.units[0]), OTHER_FORM)
            nearest = self._quotient(second, each.units[1])
            row = self.sum(self.least(self.greatest(nearest, 1), each.count), -1)
        columns = external_columns(each)
        start, base = self.product(row, len(columns)), self.rows
        self.rows += each.count * len(columns)
        for place, (k, power) in enumerate(columns):
            number = self.load("rows", self.sum(start, base + place))
            self._add_to(stream, Term(-1, k, 1, power), number)

    def _last_visit(self, each: LastVisit) -> None:
        """The key must be (ε, −ε·here, ε²) and the query (ε·wanted, ε, ε²/3), with ε = 1/p.

        Or (ε, −ε·here, 1, p − 1) and (ε·wanted, ε, ε²/3, −ε³/3).
        `kept` has a row for each cell: the tokens of its latest visit and of the one before (0 for
        none), and the value of the latest.
        """
        layer, self.visits = self.visits, self.visits + 1

        def number(vector: int, place: int) -> tuple[Number, int]:
            k = each.places[place]
            scale = self.program.vectors[vector].get(k, Scale())
            return self._numbers(vector).get(k, 0), scale.D

        form: list[tuple[int, int, int, Number]] = [
            (each.key, 0, 1, 1),
            (each.key, 2, 1, 1),
            (each.query, 1, 1, 1),
            (each.query, 2, 3, 1),
        ]
        if len(each.places) == 4:
            form += [(each.key, 3, 1, self.sum(self.p, -1)), (each.query, 3, 3, -1)]
        for vector, place, factor, right in form:
            x, one = number(vector, place)
            found = self.product(x, factor)
            self.go_on_if(self.compare("==", found, self.product(right, one)), OTHER_FORM)
        here = self.product(self._quotient(*number(each.key, 1)), -1)
        wanted = self._quotient(*number(each.query, 0))
        cells = self.load("clock", CELLS)
        first = self.load("clock", FIRST_CELL)
        place_here = self.b.sub(self.word(here), first)
        self.store(here, "clock", WANTED_CELL)
        self.go_on_if(self.b.icmp_unsigned("<", place_here, cells), MORE_CELLS)
        place = self.b.sub(self.word(wanted), first)
        inside = self.b.icmp_unsigned("<", place, cells)
        layer_row = self.product(cells, layer)
        row_here = self.product(self.sum(layer_row, place_here), self.width)
        row = self.product(self.sum(layer_row, self.choose(inside, place, place_here)), self.width)
        other = self.b.icmp_signed("!=", self.word(wanted), self.word(here))
        visited = self.b.icmp_signed("!=", self.load("kept", row), WORD(0))
        hit = self.b.and_(self.b.and_(inside, visited), other)
        lowest = self.least(self.load("visits", 2 * layer + LOWEST), here)
        highest = self.greatest(self.load("visits", 2 * layer + HIGHEST), here)
        # A fresh cell beside the newest token's and beyond all others, or the newest one's own.
        above = self.compare("==", wanted, self.sum(highest, 1))
        above = self.b.and_(above, self.compare("==", here, highest))
        below = self.compare("==", wanted, self.sum(lowest, -1))
        below = self.b.and_(below, self.compare("==", here, lowest))
        fresh = self.b.or_(above, below)
        known = self.b.or_(hit, self.b.not_(other))
        self.go_on_if(self.b.or_(known, fresh), OTHER_FORM)
        chosen = self.choose(hit, row, row_here)
        latest_here = self.load("kept", row_here)
        own = self._numbers(each.value)
        for place_in_row, term in enumerate(each.terms, start=VALUE):
            newest = own.get(term.source, 0)
            kept = self.load("kept", self.sum(chosen, place_in_row))
            self._add_to(self.vectors[STREAM], term, self.choose(hit, kept, newest))
            at = self.sum(row_here, place_in_row)
            self.at_the_end.append(partial(self.store, newest, "kept", at))
        self.at_the_end += [
            partial(self.store, self.p, "kept", self.sum(row_here, LATEST)),
            partial(self.store, latest_here, "kept", self.sum(row_here, BEFORE)),
            partial(self.store, lowest, "visits", 2 * layer + LOWEST),
            partial(self.store, highest, "visits", 2 * layer + HIGHEST),
        ]

    def _code(self, watch: Watch) -> Number:
        """The code of a watch; see `runtime.engine`."""
        number = vector_of(watch)
        layout, scales = self.network.layout, self.program.vectors[number]
        code: Number = 0 if watch.sign else ZERO_BLOCK
        for place, label in enumerate(layout.labels(watch.block)):
            k = layout.index(watch.block, label)
            x = self.vectors[number].get(k, 0)
            if x == 0:
                continue
            one = self._unit(scales[k])
            if watch.sign:
                minus = self.choose(self.compare("==", x, self.product(one, -1)), -1, NEITHER)
                seen = self.choose(self.compare("==", x, one), 1, minus)
            else:
                alone = self.b.and_(
                    self.compare("==", x, one), self.compare("==", code, ZERO_BLOCK)
                )
                seen = self.choose(alone, place, NEITHER)
            code = self.choose(self.compare("==", x, 0), code, seen)
        return code


def external_columns(each: External) -> list[tuple[int, int]]:
    """The coordinates that the rows of an external attention add to, with the power of p."""
    return sorted((k, power) for k, (power, _) in each.columns.items())
