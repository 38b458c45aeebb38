"""A weight matrix of a network, with the names of its rows and columns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from netwright.errors import InputError, unknown
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector
from netwright.html import table
from netwright.networks.labelled import MOST_COLUMNS, MOST_ROWS, as_float
from netwright.text import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Weight:
    """A matrix and its bias: x is taken to x·A + b. Indices are names of coordinates.

    >>> from netwright.networks.network import compile_network
    >>> from netwright.machine.library import library_machine
    >>> weight = compile_network(library_machine("palindrome")).weights()["decoder.3.V"]
    >>> weight, weight["s2[a]", "s4[a]"], weight["x8", "x7"], weight.blocks
    (<decoder.3.V: 45 × 45, 5 not 0>, 1, -1, ['s2 → s4', 'x9 → x7', 'x8 → x7'])
    """

    name: str
    affine: Affine

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """The names of the rows and of the columns."""
        return (
            [str(coordinate) for coordinate in self.affine.input.coordinates],
            [str(coordinate) for coordinate in self.affine.output.coordinates],
        )

    @property
    def bias(self) -> Vector:
        """What is added."""
        return self.affine.bias

    @property
    def blocks(self) -> list[str]:
        """Which blocks lead to which, such as `s2 → s4`."""
        rows, columns = self.affine.input.coordinates, self.affine.output.coordinates
        pairs = ((rows[j].block, columns[k].block) for j, k in self.affine.weights)
        return list(dict.fromkeys(f"{source} → {target}" for source, target in pairs))

    @property
    def entries(self) -> dict[tuple[str, str], Rational]:
        """What is not 0, by the names of row and column."""
        rows, columns = self.labels
        return {(rows[j], columns[k]): value for (j, k), value in self.affine.weights.items()}

    def place(self, row: str, column: str) -> tuple[int, int]:
        """The indices of a row and a column."""
        found = []
        for label, labels in zip((row, column), self.labels, strict=True):
            if label not in labels:
                message = unknown(f"coordinate of {self.name}", str(label), labels[:40])
                raise InputError(message)
            found.append(labels.index(label))
        return found[0], found[1]

    def __getitem__(self, names: tuple[str, str]) -> Rational:
        """One weight, exactly, by the names of its row and its column."""
        if not isinstance(names, tuple) or len(names) != 2:
            raise InputError(f"{self.name} takes the names of a row and a column; got {names!r}")
        return self.affine.weights.get(self.place(*names), ZERO)

    def to_numpy(self) -> "NDArray[np.float64]":
        """The matrix as float64: no longer exact where a weight is no binary fraction."""
        import numpy as np

        found = np.zeros((self.affine.input.dimension, self.affine.output.dimension))
        for place, weight in self.affine.weights.items():
            found[place] = as_float(weight)
        return found

    def __repr__(self) -> str:
        shape = f"{self.affine.input.dimension} × {self.affine.output.dimension}"
        return f"<{self.name}: {shape}, {len(self.affine.weights)} not 0>"

    def _repr_html_(self) -> str:
        weights = self.affine.weights
        rows, columns = self.labels
        used_rows = sorted({j for j, _ in weights})[:MOST_ROWS]
        used_columns = sorted({k for _, k in weights} | set(self.bias.entries))[:MOST_COLUMNS]
        lines = [
            [rows[j], *(shortened(weights.get((j, k), "")) for k in used_columns)]
            for j in used_rows
        ]
        if self.bias.entries:
            lines.append(["bias", *(shortened(self.bias.entries.get(k, "")) for k in used_columns)])
        return table(repr(self)[1:-1], ["", *(columns[k] for k in used_columns)], lines)
