"""Partial evaluation: which numbers of a program are finite, and the operations that remain.

A number of a program is *finite* if it is a function of keys, each of which takes few values:

    y     the output before, as a whole
    e0 …  the symbol class of an encoder's row that an external attention chooses
    v0 …  the finite part of a value that an attention to a last visit finds
    s0 …  a switch: σ of a growing sum, where it is 0, 1 or one of few numbers between

Maps of finite numbers are finite. All other numbers are `Linear`: sums Σ c·x·p^e of positions,
running sums and values of last visits, in a normal form that shows which are equal. A finite number
in such a sum is looked up in a *slot* of its key's table. The remaining operations are plain data,
the same for all networks of one shape; `kernel` compiles them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from netwright.engine.moments import UnsuitableError
from netwright.engine.transformer.program import (
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
from netwright.exact.rational import sigma

Linear: TypeAlias = tuple[tuple[int, int, int], ...]
"""Triples (unknown, power of p, coefficient), in order, with no coefficient 0."""
ONE = 0
ZERO: Linear = ()


def constant(c: int, power: int = 0) -> Linear:
    """c·p^power."""
    return ((ONE, power, c),) if c else ZERO


def unknown(x: int) -> Linear:
    """An unknown."""
    return ((x, 0, 1),)


def is_constant(a: Linear) -> bool:
    """Whether it is the same number at every token."""
    return not a or (len(a) == 1 and a[0][:2] == (ONE, 0))


def plus(a: Linear, b: Linear) -> Linear:
    """a + b.

    >>> plus(plus(unknown(3), constant(2)), constant(-2))
    ((3, 0, 1),)
    """
    if not a or not b:
        return a or b
    sums = {(x, e): c for x, e, c in a}
    for x, e, c in b:
        sums[x, e] = sums.get((x, e), 0) + c
    return tuple((x, e, c) for (x, e), c in sorted(sums.items()) if c)


def times(a: Linear, factor: int, power: int = 0) -> Linear:
    """a·factor·p^power."""
    if factor == 1 and power == 0:
        return a
    return tuple((x, e + power, c * factor) for x, e, c in a) if factor else ZERO


Y = "y"
LOOKED_AT = 1000  # rows, before all are
MOST_VALUES = 64  # of a switch, or of a finite coordinate of the encoder
NOTHING: frozenset[str] = frozenset()


class Finite(NamedTuple):
    """A function of some keys; `finite` evaluates it."""

    keys: frozenset[str]


Value: TypeAlias = "Finite | Linear"


class Slot(NamedTuple):
    """A row of a key's table: Σ factor·number over coordinates, before an instruction."""

    before: int
    parts: tuple[tuple[int, int, int], ...]  # vector, coordinate, factor


class VisitPart(NamedTuple):
    """The value of an attention to a last visit: its finite numbers, and the others."""

    key: str
    finite: tuple[int, ...]  # places among the terms
    numeric: tuple[int, ...]


@dataclass
class Residual:
    """The result of the analysis."""

    operations: list[tuple[object, ...]] = field(default_factory=list)
    """The operations for every token, in order; see `kernel`."""
    slots: dict[str, list[Slot]] = field(default_factory=lambda: {Y: []})
    switches: dict[tuple[int, int], str] = field(default_factory=dict)
    """By instruction and coordinate: the switch there."""
    sizes: dict[str, int] = field(default_factory=dict)
    """By switch: the number of its values."""
    visits: dict[int, VisitPart] = field(default_factory=dict)
    """By instruction."""
    rows: dict[int, str] = field(default_factory=dict)
    """By instruction: the key of an external attention."""
    finite_columns: dict[int, frozenset[int]] = field(default_factory=dict)
    """By instruction: the coordinates of the encoder's values that are finite."""
    columns: list[tuple[int, int]] = field(default_factory=list)
    """Instructions and coordinates of the encoder's values that are read from arrays."""
    finite: dict[int, dict[int, frozenset[str]]] = field(default_factory=dict)
    """By instruction: the coordinates that become finite, with their keys."""
    stream: dict[int, Linear] = field(default_factory=dict)
    """The coordinates of the last stream that are not finite."""

    @property
    def keys(self) -> list[str]:
        """All keys but y, in order."""
        return [key for key in self.slots if key != Y] + list(self.sizes)


def residual_of(program: Program) -> Residual:
    """The analysis, cached in the program; raise UnsuitableError if an output is not finite."""
    if "residual" not in program.found:
        program.found["residual"] = _Analysis(program).run()
    found: Residual = program.found["residual"]
    return found


class _Analysis:
    """One pass over the instructions."""

    def __init__(self, program: Program) -> None:
        self.program, self.found = program, Residual()
        self.unknowns = ONE
        self.values: list[dict[int, Value]] = [{} for _ in program.vectors]
        self.values[OUTPUT] = {k: Finite(frozenset([Y])) for k in program.vectors[OUTPUT]}
        self.totals = self.layers = 0
        self.chosen: dict[tuple[Linear, Linear, int], tuple[Linear, str]] = {}

    def run(self) -> Residual:
        """Analyse all instructions."""
        analyse: dict[type, Callable[[int, Any], None]] = {
            Step: self._step,
            Rescale: self._rescale,
            Mean: self._mean,
            External: self._external,
            LastVisit: self._last_visit,
        }
        for i, each in enumerate(self.program.instructions):
            analyse[type(each)](i, each)

        def growing(values: dict[int, Value]) -> dict[int, Linear]:
            return {
                k: value
                for k, value in values.items()
                if not isinstance(value, Finite) and not is_constant(value)
            }

        if growing(self.values[OUTPUT]):
            raise UnsuitableError("an output is not one of finitely many")
        self.found.stream = growing(self.values[STREAM])
        return self.found

    # Numbers.

    def _new(self, *operation: object) -> Linear:
        """Append an operation; return the unknown that it computes."""
        self.unknowns += 1
        self.found.operations.append((*operation, self.unknowns))
        return unknown(self.unknowns)

    def _looked_up(self, i: int, parts: list[tuple[int, int, int, frozenset[str]]]) -> Linear:
        """A sum of finite numbers, with factors, as unknowns: one slot for each key."""
        by_key: dict[str, list[tuple[int, int, int]]] = {}
        for vector, k, factor, keys in parts:
            if len(keys) > 1:
                raise UnsuitableError("a sum has a number of several keys")
            key = next(iter(keys), Y)
            if key in self.found.sizes:
                raise UnsuitableError("a switch goes into a sum that grows")
            by_key.setdefault(key, []).append((vector, k, factor))
        total = ZERO
        for key, found in by_key.items():
            slots = self.found.slots[key]
            slots.append(Slot(i, tuple(found)))
            total = plus(total, self._new("slot", key, len(slots) - 1))
        return total

    def _number(self, i: int, vector: int, k: int) -> Linear:
        """A coordinate before an instruction as a linear sum, whether finite or not."""
        value = self.values[vector].get(k, ZERO)
        if isinstance(value, Finite):
            return self._looked_up(i, [(vector, k, 1, value.keys)])
        return value

    def _sum(
        self, i: int, terms: list[tuple[int, Term]], bias: list[Term], old: tuple[int, int] | None
    ) -> Value:
        """The sum of terms, each of a vector, of a bias, and of the old value if there is one.

        A sum of constants is constant; with finite numbers among them it is finite.
        """
        finite: dict[int, list[tuple[int, int, int, frozenset[str]]]] = {}
        total = ZERO
        for term in bias:
            total = plus(total, constant(term.factor, term.power))
        parts = [(vector, term.source, term.factor, term.power) for vector, term in terms]
        if old is not None:
            parts.append((*old, 1, 0))
        for vector, k, factor, power in parts:
            value = self.values[vector].get(k, ZERO)
            if isinstance(value, Finite):
                finite.setdefault(power, []).append((vector, k, factor, value.keys))
            else:
                total = plus(total, times(value, factor, power))
        if is_constant(total) and finite.keys() == {0}:
            return Finite(NOTHING.union(*(keys for _, _, _, keys in finite[0])))
        for power, found in finite.items():
            total = plus(total, times(self._looked_up(i, found), 1, power))
        return total

    # Instructions.

    def _step(self, i: int, each: Step) -> None:
        scales = self.program.vectors[each.target]
        terms: dict[int, list[tuple[int, Term]]] = {}
        bias: dict[int, list[Term]] = {}
        for term in each.terms:
            terms.setdefault(term.target, []).append((each.source, term))
        for term in each.bias:
            bias.setdefault(term.target, []).append(term)
        before = self.values[each.target] if each.adds else {}
        new = dict(before)
        for k in dict.fromkeys([*terms, *bias]):
            old = (each.target, k) if k in before else None
            value = self._sum(i, terms.get(k, []), bias.get(k, []), old)
            if not isinstance(value, Finite) and each.activation is not None:
                value = self._activated(i, k, value, each.activation is sigma, scales[k])
            new[k] = value
            self._note(i, k, value)
        self.values[each.target] = new

    def _note(self, i: int, k: int, value: Value) -> None:
        """Add a coordinate to the finite part if it is finite or constant."""
        if (keys := _finite_keys(value)) is not None:
            self.found.finite.setdefault(i, {})[k] = keys

    def _add_finite(self, i: int, k: int, key: str, refusal: str) -> None:
        """Add a finite number of a key, or of no key, to a coordinate of the stream."""
        keys = _finite_keys(self.values[STREAM].get(k, ZERO))
        if keys is None:
            raise UnsuitableError(refusal)
        self.values[STREAM][k] = Finite(keys | ({key} if key else NOTHING))
        self._note(i, k, self.values[STREAM][k])

    def _activated(self, i: int, k: int, value: Linear, clipped: bool, scale: Scale) -> Value:
        if is_constant(value):
            number = max(0, value[0][2] if value else 0)
            if not clipped or scale.e == 0:
                return constant(min(number, scale.D) if clipped else number)
        if not clipped:
            return self._new("relu", value)
        found = self._new("sigma", value, constant(scale.D, scale.e))
        if scale.e or scale.D >= MOST_VALUES:
            return found
        key = f"s{len(self.found.sizes)}"
        self.found.sizes[key] = scale.D + 1
        self.found.switches[i, k] = key
        self.found.operations.append(("key", key, found))
        return Finite(frozenset([key]))

    def _rescale(self, i: int, each: Rescale) -> None:
        stream = self.values[STREAM]
        new: dict[int, Value] = {}
        for term in each.terms:
            value = stream.get(term.source, ZERO)
            if not isinstance(value, Finite):
                new[term.target] = times(value, term.factor, term.power)
                self._note(i, term.target, new[term.target])
            elif term.power:
                part = (STREAM, term.source, term.factor, value.keys)
                new[term.target] = times(self._looked_up(i, [part]), 1, term.power)
            else:
                new[term.target] = value
                self._note(i, term.target, value)
        stream |= new

    def _add(self, i: int, term: Term, value: Linear) -> None:
        """Add a linear sum to the stream."""
        old = self._number(i, STREAM, term.target)
        self.values[STREAM][term.target] = plus(old, times(value, term.factor, term.power))

    def _mean(self, i: int, each: Mean) -> None:
        for term in each.terms:
            newest = self._number(i, each.vector, term.source)
            total = self._new("total", self.totals, newest)
            self.totals += 1
            self._add(i, term, total)

    def _external(self, i: int, each: External) -> None:
        row, key = self._row(i, each)
        finite = frozenset(
            k
            for k, (power, numbers) in each.columns.items()
            if not power
            and len(set(numbers[:LOOKED_AT].tolist())) < MOST_VALUES
            and len(np.unique(numbers)) < MOST_VALUES
        )
        self.found.rows[i], self.found.finite_columns[i] = key, finite
        for k in sorted(each.columns):
            if k in finite:
                self._add_finite(i, k, key, "the encoder adds to a number that grows")
                continue
            column = constant(int(each.columns[k][1][0]))
            if key:
                self.found.columns.append((i, k))
                column = self._new("column", row, len(self.found.columns) - 1)
            self._add(i, Term(-1, k, 1, each.columns[k][0]), column)

    def _row(self, i: int, each: External) -> tuple[Linear, str]:
        """The row of the encoder that a query chooses, and its key; ZERO and "" for one row."""
        if not each.places:
            return ZERO, ""
        first, second = (self._number(i, STREAM, k) for k in each.places)
        chosen = (first, second, each.count)
        if each.count > 1 and chosen in self.chosen:
            return self.chosen[chosen]
        self._guard(first, constant(each.units[0]))
        nearest = self._quotient(second, each.units[1])
        if each.count == 1:
            return ZERO, ""
        key = f"e{sum(name[0] == 'e' for name in self.found.slots)}"
        self.found.slots[key] = []
        row = self._new("row", nearest, key)
        self.found.operations.append(("key", key, self._new("class", row, key)))
        self.chosen[chosen] = row, key
        return row, key

    def _guard(self, found: Linear, wanted: Linear) -> None:
        if found != wanted:
            self.found.operations.append(("guard", found, wanted))

    def _quotient(self, x: Linear, unit: int) -> Linear:
        """x / unit, which must be an integer: checked at every token where it is not certain."""
        if all(c % unit == 0 for _, _, c in x):
            return tuple((u, e, c // unit) for u, e, c in x)
        return self._new("quotient", x, unit)

    def _last_visit(self, i: int, each: LastVisit) -> None:
        here, wanted = self._cells(i, each)
        values = self.values[each.value]
        own = [_finite_keys(values.get(term.source, ZERO)) for term in each.terms]
        finite = tuple(n for n, keys in enumerate(own) if keys is not None)
        numeric = tuple(n for n, keys in enumerate(own) if keys is None)
        if not NOTHING.union(*filter(None, own)) <= {Y}:
            raise UnsuitableError("a value has a finite part of other keys than the output")
        key = f"v{self.layers}"
        self.found.visits[i] = VisitPart(key, finite, numeric)
        self.found.slots[key] = []
        numbers = tuple(self._number(i, each.value, each.terms[n].source) for n in numeric)
        found = [self.unknowns + 1 + n for n in range(1 + len(numeric))]
        self.unknowns = found[-1]
        self.found.operations.append(("visit", self.layers, here, wanted, numbers, tuple(found)))
        self.found.operations.append(("key", key, unknown(found[0])))
        self.layers += 1
        refusal = "a value is added to a number that grows"
        for n in finite:
            if each.terms[n].power:
                raise UnsuitableError(refusal)
            self._add_finite(i, each.terms[n].target, key, refusal)
        for n, visited in zip(numeric, found[1:], strict=True):
            self._add(i, each.terms[n], unknown(visited))

    def _cells(self, i: int, each: LastVisit) -> tuple[Linear, Linear]:
        """The cells of key and query, whose form is guarded.

        The form is (ε, −ε·here, ε²) and (ε·wanted, ε, ε²/3); or with four numbers.
        """

        def number(vector: int, place: int) -> tuple[Linear, int]:
            k = each.places[place]
            return self._number(i, vector, k), self.program.vectors[vector].get(k, Scale()).D

        form: list[tuple[int, int, int, Linear]] = [
            (each.key, 0, 1, constant(1)),
            (each.key, 2, 1, constant(1)),
            (each.query, 1, 1, constant(1)),
            (each.query, 2, 3, constant(1)),
        ]
        if len(each.places) == 4:
            p_less_one = plus(constant(1, 1), constant(-1))
            form += [(each.key, 3, 1, p_less_one), (each.query, 3, 3, constant(-1))]
        for vector, place, factor, right in form:
            x, one = number(vector, place)
            self._guard(times(x, factor), times(right, one))
        here = times(self._quotient(*number(each.key, 1)), -1)
        return here, self._quotient(*number(each.query, 0))


def _finite_keys(value: Value) -> frozenset[str] | None:
    """The keys of a finite number, none for a constant; None for a number that grows."""
    if isinstance(value, Finite):
        return value.keys
    return NOTHING if is_constant(value) else None
