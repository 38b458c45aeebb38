"""A decoder-only language model in the manner of GPT-2: its definition, with hard attention.

    x = wte[token] + wpe[position]                           the residual stream
    x ← x + Σ_heads Att(x Q, x K, x V) O                     of every block, causally
    x ← x + relu(x A + b) B
    logits = x U

Weights are whole numbers with names for their rows and columns. Here every attention is hard: it
takes the value of the latest token among those of the greatest score. Layer norms are left out.
A checkpoint has softmax and layer norms instead; `kinds.language_model` makes its weights
such that both give the same tokens, and says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.arrays import FloatArray
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector

"""Whole numbers below 2^53, so that float64 adds and multiplies them exactly."""


@dataclass(frozen=True)
class Matrix:
    """A matrix of whole numbers, by the names of rows and columns, and what is added, if anything.

    It is the leaf of a language model's tree, which others know as an affine map.
    """

    rows: Layout
    columns: Layout
    entries: dict[tuple[int, int], int] = field(default_factory=dict)
    bias: dict[int, int] = field(default_factory=dict)

    @property
    def affine(self) -> Affine:
        """The same as an affine map."""
        weights = {place: Rational(weight) for place, weight in self.entries.items()}
        bias = {k: Rational(number) for k, number in self.bias.items()}
        return Affine(self.rows, self.columns, weights, Vector(self.columns, bias))

    def with_affine(self, affine: Affine) -> "Matrix":
        """A matrix with the numbers of an affine map."""
        numbers = [*affine.weights.values(), *affine.bias.entries.values()]
        if any(number.q != 1 for number in numbers):
            raise InputError("the weights of a language model are whole numbers")
        if affine.bias.entries and "unit" not in self.columns:
            raise InputError("only the units of a language model have a bias")
        entries = {place: int(weight.p) for place, weight in affine.weights.items()}
        bias = {k: int(number.p) for k, number in affine.bias.entries.items()}
        return Matrix(self.rows, self.columns, entries, bias)

    def connect(self, source: str, target: str, weight: int = 1) -> "Matrix":
        """Every coordinate of a block with its fellow in another one of the same size."""
        pairs = zip(self.rows.places(source), self.columns.places(target), strict=True)
        self.entries.update(dict.fromkeys(pairs, weight))
        return self

    def put(self, row: tuple[str, str], column: tuple[str, str], weight: int = 1) -> "Matrix":
        """One number, by block and label of its row and its column."""
        self.entries[self.rows.index(*row), self.columns.index(*column)] = weight
        return self

    @cached_property
    def array(self) -> FloatArray:
        """The matrix as an array."""
        found = np.zeros((self.rows.dimension, self.columns.dimension))
        if self.entries:
            places = np.array(list(self.entries)).T
            found[places[0], places[1]] = list(self.entries.values())
        return found


@dataclass(frozen=True)
class Head:
    """An attention head: scale·⟨x Q, x K⟩ is its score, x V its value, O leads back."""

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
    """With b, the bias."""
    B: Matrix

    @cached_property
    def b(self) -> FloatArray:
        """The bias as an array."""
        found = np.zeros(self.A.columns.dimension)
        found[list(self.A.bias)] = list(self.A.bias.values())
        return found


@dataclass(frozen=True)
class Block:
    """Some heads, then some units; either may be missing."""

    heads: tuple[Head, ...] = field(metadata=called("head", first=0))
    units: Units | None = None


@dataclass(frozen=True)
class Attended:
    """What a head did: the token that each token looked at."""

    name: str
    winners: NDArray[np.int64]


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
        """How many positions there are."""
        return self.wpe.rows.dimension

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The texts of all tokens."""
        return self.wte.rows.labels("token")

    def forward(self, ids: Sequence[int]) -> tuple[FloatArray, FloatArray, list[Attended]]:
        """Logits and final stream for tokens from position 0 on, and whom heads looked at."""
        streams: dict[str, FloatArray] = {}
        x, attended = self._through(ids, streams)
        return x @ self.U.array, x, attended

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The stream has a name wherever something is added to it."""
        blocks = range(len(self.blocks))
        return (*(f"block.{n}.{part}" for n in blocks for part in ("input", "middle")), "output")

    def streams(self, ids: Sequence[int]) -> dict[str, FloatArray]:
        """The stream of all tokens under each of these names."""
        streams: dict[str, FloatArray] = {}
        self._through(ids, streams)
        return streams

    def _through(
        self, ids: Sequence[int], streams: dict[str, FloatArray]
    ) -> tuple[FloatArray, list[Attended]]:
        x = self.wte.array[list(ids)] + self.wpe.array[: len(ids)]
        attended = []
        later = np.triu(np.ones((len(ids), len(ids)), bool), 1)
        for n, block in enumerate(self.blocks):
            streams[f"block.{n}.input"] = x
            total = np.zeros_like(x)
            for head in block.heads:
                scores = head.scale * (x @ head.Q.array) @ (x @ head.K.array).T
                scores[later] = -np.inf
                # Among equals the latest: the first from the end.
                winners = len(ids) - 1 - scores[:, ::-1].argmax(axis=1)
                attended.append(Attended(head.name, winners))
                total += (x @ head.V.array)[winners] @ head.O.array
            x = streams[f"block.{n}.middle"] = x + total
            if block.units is not None:
                hidden = np.maximum(x @ block.units.A.array + block.units.b, 0)
                x = x + hidden @ block.units.B.array
        streams["output"] = x
        return x, attended
