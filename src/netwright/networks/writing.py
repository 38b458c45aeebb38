"""Networks written down as JSON, and read again: for certificates and for saved files alike.

Layouts are numbered; a block is its name if it is one coordinate, else its name and its labels. A
map is its input and output layout, its weights as [row, column, rational] and its bias; a rational
is text in lowest terms.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flint import fmpq

from netwright.errors import FormatError
from netwright.exact.feed_forward import Affine, FeedForward, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import Activation, Rational, relu, sigma
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.nets.rnn import Matrix

ACTIVATIONS: dict[str, Activation] = {"sigma": sigma, "relu": relu}


def name_of_function(activation: Activation) -> str:
    """σ is σ by being equal to it, not by its name."""
    return next((name for name, known in ACTIVATIONS.items() if activation == known), "another")


def machine_parts(machine: TuringMachine) -> dict[str, Any]:
    """A machine as JSON."""
    return {
        "states": list(machine.states),
        "symbols": list(machine.symbols),
        "blank": machine.blank,
        "start": machine.start,
        "delta": [[*key, q, v, move.value] for key, (q, v, move) in machine.delta.items()],
        "accepting": sorted(machine.accepting),
        "default_input": list(machine.default_input),
        "input_symbols": list(machine.input_symbols),
        "name": machine.name,
        "description": machine.description,
    }


def machine_of(parts: Mapping[str, Any]) -> TuringMachine:
    """The machine that `machine_parts` describes."""
    delta = {(q, s): Action(p, w, Move(m)) for q, s, p, w, m in parts["delta"]}
    return TuringMachine(**{**parts, "delta": delta})


class Writing:
    """Writes maps and vectors, and numbers the layouts they are of."""

    def __init__(self) -> None:
        self._numbers: dict[Layout, int] = {}

    def layout(self, layout: Layout) -> int:
        """The number of a layout."""
        return self._numbers.setdefault(layout, len(self._numbers))

    @property
    def layouts(self) -> list[Any]:
        """All layouts so far, by number."""
        return [
            [name if labels == ("",) else [name, list(labels)] for name, labels in layout.blocks]
            for layout in self._numbers
        ]

    def affine(self, affine: Affine) -> dict[str, Any]:
        """A map."""
        return {
            "input": self.layout(affine.input),
            "output": self.layout(affine.output),
            "weights": [[j, k, str(w)] for (j, k), w in affine.weights.items()],
            "bias": self.vector(affine.bias),
        }

    def matrix(self, matrix: Matrix) -> list[list[dict[str, Any]]]:
        """A matrix as a sum of products."""
        terms = matrix.terms if isinstance(matrix, LinearMap) else ((matrix,),)
        return [[self.affine(affine) for affine in term] for term in terms]

    def vector(self, vector: Vector) -> list[list[Any]]:
        """A vector by its nonzero coordinates."""
        return [[k, str(x)] for k, x in sorted(vector.entries.items())]

    def machine(self, machine: TuringMachine) -> dict[str, Any]:
        """What a machine is and does, without words about it."""
        parts = machine_parts(machine)
        names = ("states", "symbols", "blank", "start", "delta", "accepting")
        return {name: parts[name] for name in names}


class Reading:
    """Reads what a `Writing` wrote; its `layout` is that of the network's vectors."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        self.layouts = [
            Layout(tuple((b, ("",)) if isinstance(b, str) else (b[0], tuple(b[1])) for b in blocks))
            for blocks in written["layouts"]
        ]
        self.layout = self.layouts[written["layout"]]

    def vector(self, entries: Iterable[Sequence[Any]], layout: Layout) -> Vector:
        """A vector of a layout."""
        found = {k: _number(x) for k, x in entries}
        if any(not 0 <= k < layout.dimension for k in found):
            raise FormatError("a coordinate outside its layout")
        return Vector(layout, found)

    def affine(self, each: Mapping[str, Any]) -> Affine:
        """A map."""
        start, end = self.layouts[each["input"]], self.layouts[each["output"]]
        weights = {(j, k): _number(w) for j, k, w in each["weights"]}
        if any(not (0 <= j < start.dimension and 0 <= k < end.dimension) for j, k in weights):
            raise FormatError("a weight outside its matrix")
        return Affine(start, end, weights, self.vector(each["bias"], end))

    def network(self, net: Mapping[str, Any]) -> FeedForward:
        """A feed-forward network from vectors of the network's layout to the same."""
        maps = tuple(map(self.affine, net["maps"]))
        found = FeedForward(maps, ACTIVATIONS[net["activation"]])
        found(Vector.zero(self.layout)) + Vector.zero(self.layout)  # its maps fit each other
        return found

    def matrix(self, terms: Sequence[Sequence[Mapping[str, Any]]], layout: Layout) -> LinearMap:
        """A sum of products, from vectors of a layout to the same."""
        chains = tuple(tuple(self.affine(each) for each in term) for term in terms)
        found = LinearMap(layout, layout, chains)
        found(Vector.zero(layout)) + Vector.zero(layout)
        return found


def _number(text: str) -> Rational:
    top, _, bottom = text.partition("/")
    return fmpq(int(top), int(bottom or 1))
