"""Affine forms, and a network's maps on sparse vectors of them.

The unknowns of a form are pointers and positions, of which only bounds are known: a pointer is in
[0, 1], a position is at least 1. A vector of forms represents all vectors that the bounds allow,
and a map is evaluated once for all of them.

A vector has few nonzero coordinates, however many a network has. A row of a matrix may still be
long: every rule that reads a symbol is in the row of that symbol. So a hidden unit has *guards*,
coordinates with short rows: where all guards are 0 and its other inputs are in [0, 1], the unit is
0, and is skipped.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from netwright.definitions.transformer import Map, Positions, Transformer
from netwright.engine.moments import UnsuitableError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Rational, sigma
from netwright.exact.vector import Vector

Bound = tuple[Rational, Rational | None]
"""The least and, if there is one, the greatest value of an unknown."""
Bounds = Mapping[str, Bound]


class Form(NamedTuple):
    """c + Σ c_x x."""

    constant: Rational
    terms: tuple[tuple[str, Rational], ...] = ()
    """Sorted by name, without zeros."""

    @staticmethod
    def sum(parts: "Sequence[tuple[Rational, Form]]") -> "Form":
        """Σ w f."""
        if len(parts) == 1 and parts[0][0] is ONE:
            return parts[0][1]
        constant, terms = ZERO, dict[str, Rational]()
        for weight, form in parts:
            if form.constant:
                term = form.constant if weight is ONE else weight * form.constant
                constant = term if constant is ZERO else constant + term
            for name, factor in form.terms:
                term = factor if weight is ONE else weight * factor
                terms[name] = terms[name] + term if name in terms else term
        if not terms:
            return Form(constant)
        return Form(constant, tuple(sorted((x, c) for x, c in terms.items() if c)))

    @property
    def unknown(self) -> str | None:
        """The unknown x of a form that is just x, else None."""
        if not self.constant and len(self.terms) == 1 and self.terms[0][1] == ONE:
            return self.terms[0][0]
        return None

    def within(self, bounds: Bounds) -> tuple[Rational | None, Rational | None]:
        """Its least and its greatest value; None where it is unbounded."""
        least: Rational | None = self.constant
        most: Rational | None = self.constant
        for name, factor in self.terms:
            low, high = bounds[name]
            ends = (low, high) if factor > ZERO else (high, low)
            least = None if least is None or ends[0] is None else least + factor * ends[0]
            most = None if most is None or ends[1] is None else most + factor * ends[1]
        return least, most

    def is_in_unit(self, bounds: Bounds) -> bool:
        """Whether the bounds imply that it is between 0 and 1."""
        if self.constant is ONE and not self.terms:
            return True
        least, most = self.within(bounds)
        return least is not None and most is not None and least >= ZERO and most <= ONE

    def clipped(self, bounds: Bounds) -> "Form":
        """σ of the form; raise UnsuitableError where σ bends inside the bounds."""
        if not self.terms:
            number = sigma(self.constant)
            return UNIT if number == ONE else Form(number) if number else NOTHING
        least, most = self.within(bounds)
        if most is not None and most <= ZERO:
            return NOTHING
        if least is not None and least >= ONE:
            return UNIT
        if least is not None and most is not None and least >= ZERO and most <= ONE:
            return self
        raise UnsuitableError("a unit is neither 0 nor 1 nor what it reads, for some pointers")

    def at(self, values: Mapping[str, Rational]) -> Rational:
        """The number of the form at given values of its unknowns."""
        return self.constant + sum((c * values[name] for name, c in self.terms), ZERO)


NOTHING, UNIT = Form(ZERO), Form(ONE)
Forms = dict[int, Form]
"""A vector of forms by coordinate; missing ones are 0."""
Sparse = Mapping[int, Rational]
"""A vector of numbers by coordinate."""


def known(numbers: Sparse) -> Forms:
    """A vector of numbers as constant forms."""
    return {place: Form(value) for place, value in numbers.items() if value}


def vector_of(layout: Layout, forms: Forms) -> Vector:
    """The vector of forms that are all constant."""
    return Vector(layout, {place: form.constant for place, form in forms.items()})


def added(*vectors: Forms) -> Forms:
    """The sum of vectors."""
    total: Forms = dict(vectors[0])
    for vector in vectors[1:]:
        for place, form in vector.items():
            there = total.get(place)
            total[place] = form if there is None else Form.sum([(ONE, there), (ONE, form)])
    return {place: form for place, form in total.items() if form.terms or form.constant}


def scores(query: Forms, key: Forms) -> dict[str, Form]:
    """Σ q_c k_c as a form in the key's unknowns, whose factors are forms of the query."""
    factors: dict[str, list[tuple[Rational, Form]]] = {}
    for place, form in key.items():
        if place in query:
            for name, factor in (("", form.constant), *form.terms):
                factors.setdefault(name, []).append((factor, query[place]))
    found = {name: Form.sum(parts) for name, parts in factors.items()}
    return {name: form for name, form in found.items() if form != NOTHING}


def hashable(vector: Forms) -> Hashable:
    """A vector as a tuple of integers and names: it hashes ten times as fast as rationals."""
    found: list[tuple[int | str, int, int]] = []
    for place, form in sorted(vector.items()):
        c = form.constant
        found.append((place, 1, 1) if c is ONE else (place, int(c.p), int(c.q)))
        for name, c in form.terms:
            found.append((name, 1, 1) if c is ONE else (name, int(c.p), int(c.q)))
    return tuple(found)


# Maps.

TWO = ONE + ONE
NAMES = {0: "", 1: "n", -1: "e", -2: "e2"}
"""The unknown for each power of the position."""


def position_forms(network: Transformer) -> Forms:
    """pos(i + 1), with the position as an unknown."""
    pos = network.pos
    if not isinstance(pos, Positions) or any(power not in NAMES for _, power in pos.powers):
        raise UnsuitableError("its positions are not 1, i, 1/i, 1/i²")
    forms = {power: Form(ZERO, ((name, ONE),)) for power, name in NAMES.items()} | {0: UNIT}
    return {network.layout.index(block): forms[power] for block, power in pos.powers}


def position_values(position: int) -> dict[str, Rational]:
    """The values of the unknowns at a position."""
    e = ONE / position
    return {"n": ONE * position, "e": e, "e2": e * e}


def feed_forward(map_: Map) -> FeedForward:
    """A map as a feed-forward network; raise UnsuitableError if it is not one."""
    if not isinstance(map_, FeedForward):
        raise UnsuitableError("a map is not a feed-forward network")
    return map_


class AffineForms:
    """An affine map on forms, by the rows of its matrix."""

    def __init__(self, affine: Affine) -> None:
        self.bias = known(affine.bias.entries)
        self.rows: dict[int, list[tuple[int, Rational]]] = {}
        for (row, column), weight in affine.weights.items():
            each = column, ONE if weight == ONE else weight
            self.rows.setdefault(row, []).append(each)

    @property
    def columns(self) -> set[int]:
        """The coordinates where an image may be nonzero."""
        return {column for row in self.rows.values() for column, _ in row} | set(self.bias)

    @property
    def is_zero(self) -> bool:
        """Whether it maps every vector to 0."""
        return not self.rows and not self.bias

    def __call__(self, x: Forms) -> Forms:
        """The image of a vector."""
        parts: dict[int, list[tuple[Rational, Form]]] = {}
        for place, form in x.items():
            for column, weight in self.rows.get(place, ()):
                parts.setdefault(column, []).append((weight, form))
        for place, form in self.bias.items():
            parts.setdefault(place, []).append((ONE, form))
        found = {column: Form.sum(each) for column, each in parts.items()}
        return {column: form for column, form in found.items() if form.terms or form.constant}


class Units:
    """σ of an affine map; evaluates only units that may be more than 0.

    The other inputs of a unit, those with the longest rows, have positive weights of at most −b
    together. So where they are in [0, 1] and the guards are 0, σ has at most b + Σ w x ≤ 0. QED.
    """

    def __init__(self, affine: Affine) -> None:
        self.bias = known(affine.bias.entries)
        self.inputs: dict[int, list[tuple[int, Rational]]] = {}
        self.rows: dict[int, list[int]] = {}
        raising: dict[int, list[tuple[int, Rational]]] = {}
        for (row, unit), given in affine.weights.items():
            weight = ONE if given == ONE else given
            self.inputs.setdefault(unit, []).append((row, weight))
            self.rows.setdefault(row, []).append(unit)
            if weight is ONE or weight > ZERO:
                raising.setdefault(row, []).append((unit, weight))
        most = dict(affine.bias.entries)
        self.always = [unit for unit, bias in most.items() if bias > ZERO]
        """Those that are more than 0 for the vector 0."""
        self.guarded: dict[int, list[int]] = {}
        for row, units in sorted(raising.items(), key=lambda each: -len(each[1])):
            for unit, weight in units:
                if unit in most and (above := most[unit] + weight) <= ZERO:
                    most[unit] = above
                else:
                    self.guarded.setdefault(row, []).append(unit)

    def __call__(self, x: Forms, bounds: Bounds) -> Forms:
        """The units for a vector; raise UnsuitableError where σ bends inside the bounds."""
        units = set(self.always)
        for place, form in x.items():
            rows = self.guarded if form.is_in_unit(bounds) else self.rows
            units.update(rows.get(place, ()))
        found: Forms = {}
        for unit in units:
            parts = [(w, x[row]) for row, w in self.inputs.get(unit, ()) if row in x]
            if unit in self.bias:
                parts.append((ONE, self.bias[unit]))
            form = Form.sum(parts).clipped(bounds)
            if form.terms or form.constant:
                found[unit] = form
        return found


class NetworkForms:
    """A feed-forward network on forms."""

    def __init__(self, map_: Map) -> None:
        network = feed_forward(map_)
        if network.activation != sigma and len(network.maps) > 1:
            raise UnsuitableError("its activation is not σ")
        self.hidden = [Units(affine) for affine in network.maps[:-1]]
        self.last = AffineForms(network.maps[-1])
        self.reads = {row for row, _ in network.maps[0].weights}

    def __call__(self, x: Forms, bounds: Bounds) -> Forms:
        """The image of a vector; raise UnsuitableError where σ bends inside the bounds."""
        for units in self.hidden:
            x = units(x, bounds)
        return self.last(x)


def affine_forms(map_: Map) -> AffineForms:
    """The map of queries, keys or values; raise UnsuitableError if it is not affine."""
    network = feed_forward(map_)
    if len(network.maps) > 1:
        raise UnsuitableError("queries, keys or values are not affine")
    return AffineForms(network.maps[0])
