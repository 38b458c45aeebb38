"""Affine maps and feed-forward networks between named blocks.

Vectors are rows, as in the paper: an affine map is x ↦ xA + b. Weights are given and read by the
names of the blocks they connect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import lcm
from typing import TypeAlias

from netwright.errors import NetworkError
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.rational import ONE, ZERO, Activation, Number, Rational, rational, sigma
from netwright.exact.vector import Part, Vector, check_layout, combine, pointwise

Weights: TypeAlias = Number | Mapping[tuple[str, str], Number]
"""The weights between two blocks: a multiple of the identity, or numbers by pair of labels."""


@dataclass(frozen=True)
class Affine:
    """x ↦ xA + b; `weights` has the nonzero A[i, j] by index.

    >>> layout = Layout.of(q=("on", "off"), x="")
    >>> swap = {("on", "off"): 1, ("off", "on"): 1}
    >>> flip = Affine.of(layout, layout, {("q", "q"): swap}, {"x": 5})
    >>> flip(Vector.of(layout, q="on", x=7))
    [q[off]=1, x=5]
    """

    input: Layout
    output: Layout
    weights: Mapping[tuple[int, int], Rational]
    bias: Vector

    def __post_init__(self) -> None:
        nonzero = {place: weight for place, weight in self.weights.items() if weight}
        object.__setattr__(self, "weights", nonzero)

    @staticmethod
    def of(
        input: Layout,
        output: Layout,
        blocks: Mapping[tuple[str, str], Weights] | None = None,
        bias: Mapping[str, Part] | None = None,
    ) -> "Affine":
        """Build the map with these weights between blocks, 0 elsewhere.

        A number c connects two blocks of equal size by c·identity, coordinate by coordinate.
        """
        weights: dict[tuple[int, int], Rational] = {}
        for (source, target), content in (blocks or {}).items():
            if isinstance(content, Number):
                rows, columns = input.places(source), output.places(target)
                weights |= dict.fromkeys(zip(rows, columns, strict=True), rational(content))
            else:
                for (row, column), number in content.items():
                    place = input.index(source, row), output.index(target, column)
                    weights[place] = rational(number)
        return Affine(input, output, weights, Vector.of(output, bias or {}))

    @cached_property
    def fractions(self) -> list[tuple[int, int, int, int]]:
        """The weights as (row, column, numerator, denominator)."""
        return [(j, k, int(w.p), int(w.q)) for (j, k), w in self.weights.items()]

    @cached_property
    def denominator(self) -> int:
        """The least common denominator of the weights."""
        return lcm(*{q for *_, q in self.fractions})

    @cached_property
    def _rows(self) -> dict[int, list[tuple[int, Rational]]]:
        rows: dict[int, list[tuple[int, Rational]]] = {}
        for (row, column), weight in self.weights.items():
            rows.setdefault(row, []).append((column, weight))
        return rows

    def __call__(self, x: Vector) -> Vector:
        """Apply the map to a vector."""
        check_layout(x, self.input)
        entries = dict(self.bias.entries)
        rows = self._rows
        for row, value in x.entries.items():
            for column, weight in rows.get(row, ()):
                term = value * weight
                entries[column] = entries[column] + term if column in entries else term
        return Vector(self.output, entries)

    def between(self, source: str, target: str) -> dict[tuple[str, str], Rational]:
        """The nonzero weights from one block to another, by the labels they connect."""
        rows, columns = self.input.coordinates, self.output.coordinates
        named = ((rows[j], columns[k], weight) for (j, k), weight in self.weights.items())
        blocks = source, target
        return {(a.label, b.label): w for a, b, w in named if (a.block, b.block) == blocks}

    def then(self, after: "Affine") -> "Affine":
        """The composition as one map: x ↦ after(self(x))."""
        weights: dict[tuple[int, int], Rational] = {}
        for (row, middle), weight in self.weights.items():
            for column, factor in after._rows.get(middle, ()):
                weights[row, column] = weights.get((row, column), ZERO) + weight * factor
        return Affine(self.input, after.output, weights, after(self.bias))


@dataclass(frozen=True)
class LinearMap:
    """A matrix as a sum of products of sparser ones: x ↦ Σ x A₁ A₂ ⋯, a term for each tuple.

    The matrices of Theorems 2.3 and 4.1 have many entries and few reasons: as products of
    meaningful factors they stay small. `matrix` multiplies out.
    """

    input: Layout
    output: Layout
    terms: tuple[tuple[Affine, ...], ...] = field(metadata=called("", folded=(True, True)))

    def __post_init__(self) -> None:
        if () in self.terms:
            raise NetworkError("a term of a linear map is a product of no matrices; give it one")
        for affine in (affine for term in self.terms for affine in term):
            check_linear(affine)

    def __call__(self, x: Vector) -> Vector:
        """Apply the map to a vector."""
        images = (reduce(lambda image, affine: affine(image), term, x) for term in self.terms)
        return combine(self.output, ((ONE, image) for image in images))

    @cached_property
    def matrix(self) -> Affine:
        """The matrix, multiplied out."""
        total: dict[tuple[int, int], Rational] = {}
        for first, *others in self.terms:
            product = reduce(Affine.then, others, first)
            for place, weight in product.weights.items():
                total[place] = total.get(place, ZERO) + weight
        return Affine(self.input, self.output, total, Vector.zero(self.output))


def check_linear(matrix: "LinearMap | Affine") -> None:
    """Raise NetworkError for an affine map with a bias where a matrix is expected."""
    if isinstance(matrix, Affine) and matrix.bias.entries:
        raise NetworkError(f"expected a matrix; got an affine map with the bias {matrix.bias}")


def linear(
    input: Layout, output: Layout, blocks: Mapping[tuple[str, str], Weights] | None = None
) -> LinearMap:
    """Build a matrix from its blocks; the zero matrix if none are given."""
    return LinearMap(input, output, ((Affine.of(input, output, blocks),),))


@dataclass(frozen=True)
class FeedForward:
    """Affine maps with an activation between each two: x ↦ A_n(f(… f(A_1(x)))).

    A network of one map has no activation and is affine; the paper calls one with n maps and an
    activation between them an n-layer network.
    """

    maps: tuple[Affine, ...] = field(metadata=called("", folded=(True,)))
    activation: Activation = sigma

    def __call__(self, x: Vector) -> Vector:
        """Apply the network to a vector."""
        for affine in self.maps[:-1]:
            x = pointwise(self.activation, affine(x))
        return self.maps[-1](x)

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """The dimensions between the maps."""
        return tuple(affine.output.dimension for affine in self.maps[:-1])


def affine_network(
    layout: Layout,
    blocks: Mapping[tuple[str, str], Weights] | None = None,
    bias: Mapping[str, Part] | None = None,
) -> FeedForward:
    """Build a network of one affine map from a layout to itself; by default the zero map."""
    return FeedForward((Affine.of(layout, layout, blocks, bias),))
