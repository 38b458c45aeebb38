"""A network as named tensors: all that is needed to run it without netwright.

`Network.tensors` makes them with `Construction.tensors`; `netwright.export` writes them for other
tools. Vectors are rows, as in the paper: a weight has the shape (input, output), and x is taken to
x·A + b.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.rational import ZERO, Rational, as_float
from netwright.exact.rounding import rounded
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import TuringMachine
from netwright.network.tree import maps

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATIONAL = "rational"
"""The type of numbers that are not rounded."""
VECTOR = "vector"  # the name of the layout of the network's own vectors


@dataclass(frozen=True)
class Tensor:
    """A sparse array of exact numbers."""

    shape: tuple[int, ...]
    entries: Mapping[Any, Rational]
    """The numbers that are not 0, by tuples of indices."""

    def to_numpy(self, dtype: str) -> "NDArray[Any]":
        """A dense array, with each number rounded once; or not, if `dtype` is `RATIONAL`."""
        import numpy as np

        if dtype == RATIONAL:
            exact = np.full(self.shape, ZERO, dtype=object)
            for place, number in self.entries.items():
                exact[place] = number
            return exact
        found = np.zeros(self.shape, dtype=dtype)
        bits = np.finfo(found.dtype).nmant + 1
        for place, number in self.entries.items():
            found[place] = as_float(rounded(number, bits))
        return found


@dataclass
class NamedTensors:
    """A network's tensors by name, with the meaning of all rows and columns.

    `names` is data for a JSON file: what the network is, the symbols it reads, the names of
    coordinates (`layouts`), weights and activations with their meanings, and how an output is read:
    y·A + b of the tensors `readout` is above 1/2 for at most one pair of state and symbol.
    """

    kind: str
    names: dict[str, Any]
    meanings: Meanings
    vector: Layout  # the layout of the network's own vectors
    tensors: dict[str, Tensor] = field(default_factory=dict)

    @staticmethod
    def of(
        about: Any,
        machine: TuringMachine,
        network: Any,
        meanings: Meanings,
        *,
        linear: bool = False,
    ) -> "NamedTensors":
        """The names and maps that all kinds have; `linear` if no map has a bias."""
        named = NamedTensors(about.name, about_machine(about, machine), meanings, network.layout)
        named.layout(VECTOR, network.layout)
        for leaf in maps(network, whole=True):
            named.names.setdefault("weights", {})[leaf.name] = {
                "rows": named.layout(f"into {leaf.name}", leaf.part.input),
                "columns": named.layout(f"out of {leaf.name}", leaf.part.output),
                "meaning": meanings.of_weight(leaf.name),
            }
            named.put(leaf.name, leaf.part, linear)
        return named

    def layout(self, name: str, layout: Layout) -> str:
        """Add a layout under a name; return the name of an equal one if it is there already."""
        known = self.names.setdefault("layouts", {})
        coordinates = [str(coordinate) for coordinate in layout.coordinates]
        found: str = next((key for key, there in known.items() if there == coordinates), name)
        known.setdefault(found, coordinates)
        return found

    def put(self, name: str, affine: Affine, linear: bool = False) -> None:
        """Add the matrix of a map and, if it is not linear, its bias."""
        size = affine.input.dimension, affine.output.dimension
        self.tensors[f"{name}.weight"] = Tensor(size, affine.weights)
        if not linear:
            self.tensors[f"{name}.bias"] = tensor_of(affine.bias)

    def embedding(self, vectors: Mapping[str, Vector], behind: Sequence[str]) -> None:
        """Add the embedding of symbols; `behind` are those that are read after every word."""
        entries = {(n, k): x for n, v in enumerate(vectors.values()) for k, x in v.entries.items()}
        self.names |= {"vocabulary": list(vectors), "behind": list(behind)}
        self.tensors["embedding"] = Tensor((len(vectors), self.vector.dimension), entries)

    def readout(
        self, affine: Affine, pairs: Iterable[tuple[str, str]], final: Iterable[str]
    ) -> None:
        """Add the map that reads a state and a symbol off an output, and the final states."""
        self.names["readout"] = {"pairs": [list(pair) for pair in pairs], "final": sorted(final)}
        self.put("readout", affine)


def about_machine(about: Any, machine: TuringMachine) -> dict[str, Any]:
    """The part of `names` that all kinds have; `about` is the kind's construction."""
    accepting = bool(machine.accepting)
    return {
        "kind": about.name,
        "statement": about.statement,
        "machine": machine.name,
        "default_input": list(machine.default_input),
        "outcomes": {
            "final": "accepted" if accepting else "halted",
            "dead": "rejected" if accepting else "halted",
        },
    }


def tensor_of(vector: Vector) -> Tensor:
    """A vector as a tensor."""
    return Tensor((vector.layout.dimension,), {(k,): x for k, x in vector.entries.items()})


def name_of_function(activation: Any) -> str:
    """The name of an activation."""
    return str(activation.__name__)
