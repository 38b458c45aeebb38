"""Maps of a network on sparse vectors of forms.

A vector has few nonzero coordinates, however many a network has. A row of a matrix may still be
long: every rule that reads a symbol is in the row of that symbol. So a hidden unit has *guards*,
coordinates with short rows: where all guards are 0 and its other inputs are in [0, 1], the unit is
0, and is skipped.
"""

from netwright.definitions.positional import Positions
from netwright.definitions.transformer import Map, Transformer
from netwright.engine.moments import UnsuitableError
from netwright.engine.pointers.forms import UNIT, Bounds, Form, Forms, known
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.rational import ONE, ZERO, Rational, sigma

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
        raise UnsuitableError("a map is no feed-forward network")
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
