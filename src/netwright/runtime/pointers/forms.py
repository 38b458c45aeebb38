"""Affine forms: what a network computes while some of its numbers are not known, only bounded.

A pointer is a number in [0, 1], a position is one that is 1 at least. A map is evaluated once for
all of them: a hidden unit's value is a form c + Σ c_x x, and σ of it is 0, 1 or the form itself
wherever its bounds say so. Where they do not, nothing is claimed.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from netwright.engine.moments import UnsuitableError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import ONE, ZERO, Rational, sigma
from netwright.exact.vector import Vector

Bound = tuple[Rational, Rational | None]
"""The least and, if there is one, the greatest value of an unknown."""
Bounds = Mapping[str, Bound]


class Form(NamedTuple):
    """c + Σ c_x x."""

    constant: Rational
    terms: tuple[tuple[str, Rational], ...] = ()
    """In the order of their names, without zeros."""

    @staticmethod
    def sum(parts: "Iterable[tuple[Rational, Form]]") -> "Form":
        """Σ w f."""
        constant, terms = ZERO, dict[str, Rational]()
        for weight, form in parts:
            constant += weight * form.constant
            for name, factor in form.terms:
                terms[name] = terms.get(name, ZERO) + weight * factor
        return Form(constant, tuple(sorted((x, c) for x, c in terms.items() if c)))

    @property
    def unknown(self) -> str | None:
        """The unknown that it is, if it is one."""
        if not self.constant and len(self.terms) == 1 and self.terms[0][1] == ONE:
            return self.terms[0][0]
        return None

    def within(self, bounds: Bounds) -> tuple[Rational | None, Rational | None]:
        """Its least and its greatest value; None where there is none."""
        least: Rational | None = self.constant
        most: Rational | None = self.constant
        for name, factor in self.terms:
            low, high = bounds[name]
            ends = (low, high) if factor > 0 else (high, low)
            least = None if least is None or ends[0] is None else least + factor * ends[0]
            most = None if most is None or ends[1] is None else most + factor * ends[1]
        return least, most


NOTHING = Form(ZERO)
Forms = dict[int, Form]
"""A vector of them, by coordinate; those that are not there are 0."""


def known(vector: Vector) -> Forms:
    """A vector that is known."""
    return {place: Form(value) for place, value in vector.entries.items()}


def added(*vectors: Forms) -> Forms:
    """The sum of vectors."""
    total: Forms = {}
    for vector in vectors:
        for place, form in vector.items():
            there = total.get(place)
            total[place] = form if there is None else Form.sum([(ONE, there), (ONE, form)])
    return {place: form for place, form in total.items() if form != NOTHING}


def image(affine: Affine, x: Forms) -> Forms:
    """The image of a vector under a map."""
    constants = dict(affine.bias.entries)
    terms: dict[int, dict[str, Rational]] = {}
    for (row, column), weight in affine.weights.items():
        form = x.get(row)
        if form is None:
            continue
        if form.constant:
            constants[column] = constants.get(column, ZERO) + weight * form.constant
        for name, factor in form.terms:
            there = terms.setdefault(column, {})
            there[name] = there.get(name, ZERO) + weight * factor
    found = {column: Form(constant) for column, constant in constants.items() if constant}
    for column, factors in terms.items():
        named = tuple(sorted((name, factor) for name, factor in factors.items() if factor))
        if named:
            found[column] = Form(constants.get(column, ZERO), named)
    return found


def through(network: FeedForward, x: Forms, bounds: Bounds) -> Forms:
    """The image of a vector under a network; UnsuitableError where σ bends inside the bounds."""
    if network.activation != sigma and len(network.maps) > 1:
        raise UnsuitableError("its activation is not σ")
    for affine in network.maps[:-1]:
        x = {place: _clipped(form, bounds) for place, form in image(affine, x).items()}
        x = {place: form for place, form in x.items() if form != NOTHING}
    return image(network.maps[-1], x)


def _clipped(form: Form, bounds: Bounds) -> Form:
    """σ of a form."""
    least, most = form.within(bounds)
    if most is not None and most <= 0:
        return NOTHING
    if least is not None and least >= 1:
        return Form(ONE)
    if least is not None and most is not None and least >= 0 and most <= 1:
        return form
    raise UnsuitableError("a unit is neither 0 nor 1 nor what it reads, for some pointers")
