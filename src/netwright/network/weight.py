"""Matrices with named rows and columns: the exact weights of a network, and arrays for numpy."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from netwright.definitions.transformer import Positions
from netwright.errors import InputError, UnknownNameError, unknown
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Number, Rational, as_float, rational
from netwright.exact.vector import Vector
from netwright.html import part_of, table
from netwright.network.tree import Path, maps, replaced
from netwright.text import shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


LARGEST_BITS = 1000
BIAS = "bias"  # the name of the bias as a row of the matrix
EMBEDDING, SEED, POSITIONS, GATES = "embedding", "seed", "positions", "URF"
MOST_ROWS, MOST_COLUMNS = 60, 60
"""The size of the corner of a matrix that a notebook shows."""
MOST_BLOCKS = 6
"""The pairs of blocks of a weight in a list of all."""


@dataclass(frozen=True, eq=False)
class LabelledArray:
    """A matrix of float64, no longer exact, with named rows and columns; a numpy array-like."""

    name: str
    values: "NDArray[np.float64]"
    labels: tuple[Sequence[Any], Sequence[Any]]
    """The names of the rows, such as the times, and of the columns, such as coordinates."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        import numpy as np

        return np.array(self.values, dtype=dtype, copy=bool(copy) or dtype is not None)

    def __getitem__(self, index: Any) -> Any:
        """Index the array as numpy does."""
        return self.values[index]

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.values.shape

    def __repr__(self) -> str:
        return f"<{self.name}: {' × '.join(map(str, self.shape))} float64>"

    def _repr_html_(self) -> str:
        rows, columns = self.labels
        part = part_of(min(MOST_ROWS, len(rows)), len(rows), "rows")
        part += part_of(min(MOST_COLUMNS, len(columns)), len(columns), "columns")
        return table(
            f"{repr(self)[1:-1]}{part}",
            ["", *map(shortened, columns[:MOST_COLUMNS])],
            [
                [row, *(f"{value:g}" if value else "" for value in values[:MOST_COLUMNS])]
                for row, values in zip(rows[:MOST_ROWS], self.values, strict=False)
            ],
        )


def read_number(value: Number | str) -> Rational:
    """Read an exact number; raise InputError for a float, or for more than `LARGEST_BITS`.

    >>> read_number("1/3"), read_number(-2)
    (1/3, -2)
    """
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}(/0*[1-9]\d{0,17})?", value):
        return rational(Fraction(value))
    if hasattr(value, "__index__") and not isinstance(value, bool):
        value = int(value.__index__())
    if isinstance(value, int | Fraction | Rational) and not isinstance(value, bool):
        number = rational(value)
        if max(number.p.bit_length(), number.q.bit_length()) <= LARGEST_BITS:
            return number
        raise InputError(
            f"a weight has at most {LARGEST_BITS} bits in its numerator and denominator"
        )
    raise InputError(
        "a weight is an exact number, such as 2, Fraction(1, 3) or '1/3'; got "
        + shortened(repr(value), 60)
    )


@dataclass(frozen=True)
class Weight:
    """A matrix A with its bias b: x is taken to x·A + b. Indices are names of coordinates.

    >>> import netwright as nw
    >>> weight = nw.compile("palindrome").weights()["decoder.3.V"]
    >>> weight, weight["s2[a]", "s4[a]"], weight["x8", "x7"], weight.blocks
    (<decoder.3.V: 45 × 45, 5 nonzero>, 1, -1, ['s2 → s4', 'x9 → x7', 'x8 → x7'])
    """

    name: str
    affine: Affine

    @property
    def labels(self) -> tuple[list[str], list[str]]:
        """The names of the rows and of the columns."""
        rows, columns = self.affine.input.coordinates, self.affine.output.coordinates
        return [*map(str, rows)], [*map(str, columns)]

    @property
    def bias(self) -> Vector:
        """The vector b."""
        return self.affine.bias

    @property
    def blocks(self) -> list[str]:
        """The pairs of blocks that weights connect, such as `s2 → s4`."""
        rows, columns = self.affine.input.coordinates, self.affine.output.coordinates
        pairs = ((rows[j].block, columns[k].block) for j, k in self.affine.weights)
        return list(dict.fromkeys(f"{source} → {target}" for source, target in pairs))

    @property
    def entries(self) -> dict[tuple[str, str], Rational]:
        """The weights that are not 0, by the names of row and column."""
        rows, columns = self.labels
        return {(rows[j], columns[k]): value for (j, k), value in self.affine.weights.items()}

    def _place(self, row: str, column: str) -> tuple[int | None, int]:
        """The indices of a row, None for that of the bias, and of a column."""

        def index(label: str, labels: list[str]) -> int:
            if label not in labels:
                raise UnknownNameError(unknown(f"coordinate of {self.name}", str(label), labels))
            return labels.index(label)

        rows, columns = self.labels
        return None if row == BIAS else index(row, rows), index(column, columns)

    def __getitem__(self, names: tuple[str, str]) -> Rational:
        """The exact weight at a row (or `bias`) and a column, by their names."""
        if not isinstance(names, tuple) or len(names) != 2:
            raise InputError(f"{self.name} takes the names of a row and a column; got {names!r}")
        row, column = self._place(*names)
        if row is None:
            return self.bias.entries.get(column, ZERO)
        return self.affine.weights.get((row, column), ZERO)

    def with_entry(self, row: str, column: str, value: Number | str) -> "Weight":
        """A copy with one number changed."""
        j, k = self._place(row, column)
        number = read_number(value)
        a = self.affine
        if j is None:
            bias = Vector(a.output, {**a.bias.entries, k: number})
            return Weight(self.name, Affine(a.input, a.output, a.weights, bias))
        return Weight(self.name, Affine(a.input, a.output, {**a.weights, (j, k): number}, a.bias))

    def replaced_in(self, network: Any) -> Any:
        """A copy of a network with this matrix in place of the one with its name."""
        path = next(leaf.path for leaf in maps(network) if leaf.name == self.name)
        return replaced(network, path, self.affine)

    def to_numpy(self) -> "NDArray[np.float64]":
        """The matrix as float64, rounded where a weight is not a binary fraction."""
        import numpy as np

        found = np.zeros((self.affine.input.dimension, self.affine.output.dimension))
        for place, weight in self.affine.weights.items():
            found[place] = as_float(weight)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        shape = f"{self.affine.input.dimension} × {self.affine.output.dimension}"
        return f"<{self.name}: {shape}, {len(self.affine.weights)} nonzero>"

    def _repr_html_(self) -> str:
        rows, columns = self.labels
        found = [(rows[j], columns[k], x) for (j, k), x in sorted(self.affine.weights.items())]
        found += [(BIAS, columns[k], x) for k, x in sorted(self.bias.entries.items())]
        lines = [(row, f"→ {column}", shortened(x)) for row, column, x in found[:MOST_ROWS]]
        return table(f"{repr(self)[1:-1]}{part_of(len(lines), len(found), 'entries')}", [], lines)


class Weights(dict[str, Weight]):
    """Weights by name."""

    def _repr_html_(self) -> str:
        lines = [
            (
                each.name,
                f"{each.affine.input.dimension} × {each.affine.output.dimension}",
                len(each.affine.weights) + len(each.bias.entries),
                ", ".join(each.blocks[:MOST_BLOCKS]) + ", …" * (len(each.blocks) > MOST_BLOCKS),
            )
            for each in self.values()
            if each.affine.weights or each.bias.entries
        ]
        caption = f"weights that are not 0{part_of(len(lines), len(self), 'weights')}"
        return table(caption, ["", "shape", "not 0", "from → to"], lines)

    def __missing__(self, name: str) -> Weight:
        several = [each for each in self if each.startswith(f"{name}.")]
        if several:
            raise UnknownNameError(f"{name} has several weights: {', '.join(several)}")
        raise UnknownNameError(unknown("weight", str(name), list(self)))


def weights_of(compiled: Any) -> Weights:
    """All numbers of a network by name: every matrix, and what else enters a step.

    The only matrix at its place has no number.
    """
    found = [Weight(leaf.name, leaf.part) for leaf in maps(compiled.network)]
    return Weights((each.name, each) for each in (*found, *_inputs(compiled)))


def _inputs(compiled: Any) -> Iterator[Weight]:
    """The embedding, the seed, the positions, and the biases of convolutions, as matrices.

    A row of the embedding is a symbol, one of the positions a power of i; the others have no rows
    but the bias.
    """
    network, alone = compiled.network, Layout(())
    for letter in GATES:
        bias = getattr(getattr(network, letter, None), "bias", None)
        if isinstance(bias, Sequence) and len(bias) == 1:
            yield Weight(f"{letter}.{BIAS}", Affine(alone, bias[0].layout, {}, bias[0]))
    embedding = getattr(compiled, EMBEDDING, None)
    if embedding:
        symbols = Layout.of(symbol=tuple(embedding))
        numbers = {
            (j, k): x for j, v in enumerate(embedding.values()) for k, x in v.entries.items()
        }
        nothing = Vector.zero(network.layout)
        yield Weight(EMBEDDING, Affine(symbols, network.layout, numbers, nothing))
    seed = getattr(compiled, SEED, None)
    if isinstance(seed, Vector):
        yield Weight(SEED, Affine(alone, seed.layout, {}, seed))
    if isinstance(pos := getattr(network, "pos", None), Positions):
        powers = Layout.of(power=tuple(f"i^{power}" for _, power in pos.powers))
        ones = {(n, pos.layout.index(block)): ONE for n, block in enumerate(pos.blocks)}
        yield Weight(POSITIONS, Affine(powers, pos.layout, ones, Vector.zero(pos.layout)))


def with_weight(compiled: Any, weight: Weight) -> Any:
    """A copy of a compiled network with one of `weights_of` in place of its own."""
    letter, _, part = weight.name.rpartition(".")
    affine = weight.affine
    if weight.name == EMBEDDING:
        if affine.bias.entries:
            raise InputError("an embedding has a row for each symbol, and no bias")
        rows = {symbol: dict[int, Rational]() for symbol in compiled.embedding}
        for (j, k), value in affine.weights.items():
            rows[[*rows][j]][k] = value
        layout = affine.output
        return replace(compiled, embedding={s: Vector(layout, row) for s, row in rows.items()})
    if weight.name == SEED:
        return replace(compiled, seed=affine.bias)
    if weight.name == POSITIONS:
        raise InputError("positions are powers of i, and are not changed by a weight")
    if part == BIAS and letter in GATES:
        gate = replace(getattr(compiled.network, letter), bias=(affine.bias,))
        return replace(compiled, network=replace(compiled.network, **{letter: gate}))
    return replace(compiled, network=weight.replaced_in(compiled.network))


# Damage that must make a check fail. A weight is named by the place of its matrix and the block
# that it leads to: `decoder.3.V.s4`, `F.x1`, `U.S`.


class WeightPlace(NamedTuple):
    """A weight of a network: the path of its matrix, its row and its column."""

    path: Path
    row: int
    column: int


def weights_into(network: Any, place: str) -> list[WeightPlace]:
    """The weights that lead into a block such as `decoder.3.V.s4`; InputError if none does."""
    found = weights_by_place(network)
    if place not in found:
        raise InputError(f"no weight leads to {place!r}; there are weights to {', '.join(found)}")
    return found[place]


def weights_by_place(network: Any) -> dict[str, list[WeightPlace]]:
    """All weights by the place of their matrix and the block that they lead to."""
    found: dict[str, list[WeightPlace]] = {}
    for leaf in maps(network):
        for row, column in leaf.part.weights:
            block = f"{leaf.place}.{leaf.part.output.coordinates[column].block}"
            found.setdefault(block, []).append(WeightPlace(leaf.path, row, column))
    return found


def flipped(network: Any, weight: WeightPlace) -> Any:
    """A copy of a network with the sign of a weight flipped."""
    affine = next(leaf.part for leaf in maps(network) if leaf.path == weight.path)
    place = (weight.row, weight.column)
    weights = {**affine.weights, place: -affine.weights[place]}
    changed = Affine(affine.input, affine.output, weights, affine.bias)
    return replaced(network, weight.path, changed)
