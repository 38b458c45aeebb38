"""Affine forms in unknowns of which only bounds are known, such as pointers and positions.

A pointer is in [0, 1], a position is at least 1. A vector of forms represents all vectors that the
bounds allow, and a map is evaluated once for all of them (`maps`).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from netwright.engine.moments import UnsuitableError
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


def spelled(vector: Forms) -> Hashable:
    """A vector as a tuple of integers and names: it hashes ten times as fast as rationals."""
    found: list[tuple[int | str, int, int]] = []
    for place, form in sorted(vector.items()):
        c = form.constant
        found.append((place, 1, 1) if c is ONE else (place, int(c.p), int(c.q)))
        for name, c in form.terms:
            found.append((name, 1, 1) if c is ONE else (name, int(c.p), int(c.q)))
    return tuple(found)
