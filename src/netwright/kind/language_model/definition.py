"""A decoder-only language model in the manner of GPT-2: its definition, with hard attention.

    x = wte[token] + wpe[position]                           the residual stream
    x ← x + Σ_heads Att(x Q, x K, x V) O                     of every block, causally
    x ← x + relu(x A + b) B
    logits = x U

Weights are whole numbers with names for their rows and columns. Here every attention is hard: it
takes the value of the latest token among those of the greatest score. Layer norms are left out.
Sums stay below 2^53, so that float64 adds and multiplies them exactly. A checkpoint has softmax and
layer norms instead; `kind.language_model.checkpoint` proves that both give the same tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.arrays import FloatArray
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector

Winners = NDArray[np.int64]
"""For each token the token that a head looks at, both from 0 on."""


@dataclass(frozen=True)
class Matrix:
    """A sparse matrix of whole numbers with named rows and columns, and an optional bias.

    It is a leaf of a language model's tree; `network.tree` sees it as an affine map.
    """

    rows: Layout
    columns: Layout
    entries: dict[tuple[int, int], int] = field(default_factory=dict)
    bias: dict[int, int] = field(default_factory=dict)

    @property
    def affine(self) -> Affine:
        """The matrix and its bias as an affine map."""
        weights = {place: Rational(weight) for place, weight in self.entries.items()}
        bias = {k: Rational(number) for k, number in self.bias.items()}
        return Affine(self.rows, self.columns, weights, Vector(self.columns, bias))

    def with_affine(self, affine: Affine) -> "Matrix":
        """A copy with the numbers of an affine map; InputError if they are not whole."""
        numbers = [*affine.weights.values(), *affine.bias.entries.values()]
        if any(number.q != 1 for number in numbers):
            raise InputError("the weights of a language model are whole numbers")
        if affine.bias.entries and "unit" not in self.columns:
            raise InputError("only the units of a language model have a bias")
        entries = {place: int(weight.p) for place, weight in affine.weights.items()}
        bias = {k: int(number.p) for k, number in affine.bias.entries.items()}
        return Matrix(self.rows, self.columns, entries, bias)

    def connect(self, source: str, target: str, weight: Any = 1) -> "Matrix":
        """Put a multiple of the identity between two blocks of the same size."""
        pairs = zip(self.rows.places(source), self.columns.places(target), strict=True)
        self.entries.update(dict.fromkeys(pairs, weight))
        return self

    def put(self, row: tuple[str, str], column: tuple[str, str], weight: int = 1) -> "Matrix":
        """Set one number, by block and label of its row and its column."""
        self.entries[self.rows.index(*row), self.columns.index(*column)] = weight
        return self

    def put_in_row(self, row: int, block: str, numbers: Sequence[int]) -> None:
        """Set the numbers of a block of columns in one row."""
        places = ((row, column) for column in self.columns.places(block))
        self.entries.update(zip(places, numbers, strict=True))

    def put_in_column(self, block: str, column: int, numbers: Sequence[int]) -> None:
        """Set the numbers of a block of rows in one column."""
        places = ((row, column) for row in self.rows.places(block))
        self.entries.update(zip(places, numbers, strict=True))

    @cached_property
    def array(self) -> FloatArray:
        """The matrix as a dense array."""
        found = np.zeros((self.rows.dimension, self.columns.dimension))
        if self.entries:
            places = np.array(list(self.entries)).T
            found[places[0], places[1]] = list(self.entries.values())
        return found


@dataclass(frozen=True)
class Head:
    """An attention head: its score is scale·⟨x Q, x K⟩; it adds (x V) O to the stream."""

    name: str
    Q: Matrix
    K: Matrix
    V: Matrix
    O: Matrix
    scale: int = 1


@dataclass(frozen=True)
class Units:
    """Hidden units between two matrices: relu(x A + b) B."""

    A: Matrix
    """The weights and the bias b."""
    B: Matrix

    @cached_property
    def b(self) -> FloatArray:
        """The bias as an array."""
        found = np.zeros(self.A.columns.dimension)
        found[list(self.A.bias)] = list(self.A.bias.values())
        return found


@dataclass(frozen=True)
class Block:
    """Attention heads, then hidden units; either may be missing."""

    heads: tuple[Head, ...] = field(metadata=called("head", first=0))
    units: Units | None = None

    @property
    def unit_names(self) -> list[str]:
        """The names of all units."""
        return list(self.units.A.columns.labels("unit")) if self.units else []


@dataclass(frozen=True)
class LanguageModel:
    """wte, wpe, the blocks, and the unembedding U."""

    stream: Layout
    wte: Matrix
    wpe: Matrix
    blocks: tuple[Block, ...] = field(metadata=called("block", first=0))
    U: Matrix

    @property
    def context(self) -> int:
        """The number of positions."""
        return self.wpe.rows.dimension

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The texts of all tokens."""
        return self.wte.rows.labels("token")

    def forward(self, ids: Sequence[int]) -> tuple[FloatArray, dict[str, Winners]]:
        """The logits after each token, and for each head the token that each token looks at."""
        streams, winners = self._through(ids)
        return streams["output"] @ self.U.array, winners

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The names of the stream between the parts of the model."""
        blocks = range(len(self.blocks))
        return (*(f"block.{n}.{part}" for n in blocks for part in ("input", "middle")), "output")

    def streams(self, ids: Sequence[int]) -> dict[str, FloatArray]:
        """The stream of all tokens, by `stream_names`."""
        return self._through(ids)[0]

    def asked(self, head: Head, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The queries and keys of a head, whose products are its scores."""
        return head.scale * x @ head.Q.array, x @ head.K.array

    def _through(self, ids: Sequence[int]) -> tuple[dict[str, FloatArray], dict[str, Winners]]:
        streams: dict[str, FloatArray] = {}
        attended: dict[str, Winners] = {}
        x = self.wte.array[list(ids)] + self.wpe.array[: len(ids)]
        later = np.triu(np.ones((len(ids), len(ids)), bool), 1)
        for n, block in enumerate(self.blocks):
            streams[f"block.{n}.input"] = x
            total = np.zeros_like(x)
            for head in block.heads:
                scores = head.scale * (x @ head.Q.array) @ (x @ head.K.array).T
                scores[later] = -np.inf
                # Among equals the latest: the first from the end.
                winners = len(ids) - 1 - scores[:, ::-1].argmax(axis=1)
                attended[head.name] = winners
                total += (x @ head.V.array)[winners] @ head.O.array
            x = streams[f"block.{n}.middle"] = x + total
            if block.units is not None:
                hidden = np.maximum(x @ block.units.A.array + block.units.b, 0)
                x = x + hidden @ block.units.B.array
        streams["output"] = x
        return streams, attended
