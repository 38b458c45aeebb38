"""A decoder-only language model in the manner of Llama: its definition, with hard attention.

    x = wte[token]                                           the residual stream
    x ← x + Σ_heads Att(x Q, x K, x V) O                     of every block, causally
    x ← x + (x G ∘ x U) D                                    units: products of two sums
    logits = x U

Queries and keys are turned by RoPE (`phases`): the slots of a head are named `re3` and `im3` for
the two coordinates of its pair 3. Every attention is hard: it takes the value of the latest token
among those of the greatest score. Norms are left out, and units multiply; `checkpoint` has Llama's
norms, SwiGLU and softmax, and proves that these give the same tokens.

All weights are numbers of float32; products and sums are those of float64. The states,
symbols and flags in the stream are whole numbers, and so they stay, exactly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.arrays import FloatArray
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.places import called
from netwright.exact.vector import Vector
from netwright.kind.language_model.definition import Head, Matrix, Winners
from netwright.kind.language_model.llama.phases import FREQUENCIES, rounded


@dataclass(frozen=True)
class RealMatrix(Matrix):
    """A sparse matrix of numbers that float64 has, without a bias."""

    entries: dict[tuple[int, int], float] = field(default_factory=dict)  # type: ignore[assignment]

    def at(self, row: int, column: int, weight: float) -> None:
        """Set one number, by the indices of its row and its column."""
        if number := rounded(weight):
            self.entries[row, column] = number

    def set(self, row: tuple[str, str], column: tuple[str, str], weight: float) -> None:
        """Set one number, by block and label of its row and its column."""
        self.at(self.rows.index(*row), self.columns.index(*column), weight)

    def set_row(self, row: int, block: str, numbers: Iterable[float]) -> None:
        """Set the numbers of a block of columns in one row."""
        for column, number in zip(self.columns.places(block), numbers, strict=True):
            self.at(row, column, number)

    @property
    def affine(self) -> Affine:
        """The matrix as an affine map."""
        weights = {place: fmpq(*w.as_integer_ratio()) for place, w in self.entries.items()}
        return Affine(self.rows, self.columns, weights, Vector(self.columns, {}))

    def with_affine(self, affine: Affine) -> "RealMatrix":
        """A copy with the numbers of an affine map; InputError if float64 does not have them."""
        if affine.bias.entries:
            raise InputError("the weights of a Llama have no bias")
        entries = {place: int(w.p) / int(w.q) for place, w in affine.weights.items()}
        if any(fmpq(*x.as_integer_ratio()) != affine.weights[at] for at, x in entries.items()):
            raise InputError("the weights of a Llama are numbers that float64 has")
        return replace(self, entries=entries)


@dataclass(frozen=True)
class Gated:
    """Units that multiply two sums: (x G ∘ x U) D."""

    G: RealMatrix
    U: RealMatrix
    D: RealMatrix

    def __call__(self, x: FloatArray) -> FloatArray:
        """What the units add to the stream."""
        found: FloatArray = ((x @ self.G.array) * (x @ self.U.array)) @ self.D.array
        return found


@dataclass(frozen=True)
class LlamaBlock:
    """Attention heads, then units."""

    heads: tuple[Head, ...] = field(metadata=called("head", first=0))
    units: Gated | None = None
    """Units whose gate is 0 or 1."""
    products: Gated | None = None
    """Units that multiply any two sums."""

    @property
    def gated(self) -> tuple[Gated, ...]:
        """All units."""
        return tuple(each for each in (self.units, self.products) if each is not None)

    @property
    def unit_names(self) -> list[str]:
        """The names of all units of SwiGLU; a product has two."""
        found = list(self.units.G.columns.labels("unit")) if self.units else []
        names = self.products.G.columns.labels("unit") if self.products else ()
        return [*found, *(f"{sign}{name}" for sign in ("", "−") for name in names)]


@dataclass(frozen=True)
class LlamaModel:
    """wte, the blocks, and the unembedding U."""

    context: int
    stream: Layout
    wte: RealMatrix
    blocks: tuple[LlamaBlock, ...] = field(metadata=called("block", first=0))
    U: RealMatrix

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The texts of all tokens."""
        return self.wte.rows.labels("token")

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The names of the stream between the parts of the model."""
        blocks = range(len(self.blocks))
        return (*(f"block.{n}.{part}" for n in blocks for part in ("input", "middle")), "output")

    def forward(self, ids: Sequence[int]) -> tuple[FloatArray, dict[str, Winners]]:
        """The logits after each token, and for each head the token that each token looks at."""
        evaluator = HardLlama(self)
        logits = np.array([evaluator.extend([token]) for token in ids])
        return logits, {name: np.array(each) for name, each in evaluator.winners.items()}

    def streams(self, ids: Sequence[int]) -> dict[str, FloatArray]:
        """The stream of all tokens, by `stream_names`."""
        evaluator = HardLlama(self)
        evaluator.extend(list(ids))
        return {name: np.array(each) for name, each in evaluator.streams.items()}

    def asked(self, head: Head, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The queries and keys of a head, turned by RoPE; their products are its scores."""
        q, k = (turned(head.Q.columns, x @ matrix.array) for matrix in (head.Q, head.K))
        return q, k


def turned(slots: Layout, rows: FloatArray, start: int = 0) -> FloatArray:
    """Rows of queries or keys at the positions from `start` on, turned by RoPE.

    A layout of slots has its real parts first and then as many imaginary ones.
    """
    labels = slots.labels("pair")
    half = len(labels) // 2
    w = FREQUENCIES[[int(label[2:]) for label in labels[:half]]]
    turn = np.exp(1j * np.outer(np.arange(start, start + len(rows)), w))
    z = (rows[:, :half] + 1j * rows[:, half:]) * turn
    return np.concatenate([z.real, z.imag], axis=1)


class _Kept:
    """Rows of a growing matrix."""

    def __init__(self, width: int) -> None:
        self.rows, self.length = np.zeros((64, width)), 0

    def add(self, row: NDArray[np.float64]) -> FloatArray:
        """Append a row; return all of them."""
        if self.length == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.rows[self.length] = row
        self.length += 1
        return self.rows[: self.length]


class HardLlama:
    """The definition, with cached keys and values; it keeps streams and winners."""

    def __init__(self, model: LlamaModel) -> None:
        self.model = model
        self.restart()

    def restart(self) -> None:
        """Forget all tokens."""
        model = self.model
        self.length = 0
        self.streams: dict[str, list[FloatArray]] = {name: [] for name in model.stream_names}
        heads = [head for block in model.blocks for head in block.heads]
        self.winners: dict[str, list[int]] = {head.name: [] for head in heads}
        self.keys = {head.name: _Kept(head.K.columns.dimension) for head in heads}
        self.values = {head.name: _Kept(head.V.columns.dimension) for head in heads}

    def extend(self, tokens: list[int]) -> NDArray[np.float64]:
        """Append tokens; return the logits after the last one."""
        for token in tokens:
            x = self._next(token)
        logits: FloatArray = x @ self.model.U.array
        return logits

    def _next(self, token: int) -> FloatArray:
        x: FloatArray = self.model.wte.array[token]
        for n, block in enumerate(self.model.blocks):
            self.streams[f"block.{n}.input"].append(x)
            total = np.zeros_like(x)
            for head in block.heads:
                slots, at = head.Q.columns, self.length
                keys = self.keys[head.name].add(turned(slots, (x @ head.K.array)[None], at)[0])
                values = self.values[head.name].add(x @ head.V.array)
                scores = keys @ turned(slots, (x @ head.Q.array)[None], at)[0]
                # Sums of float64 differ in their last bits where they should be equal.
                winner = int(np.flatnonzero(scores >= scores.max() - 1e-6)[-1])
                self.winners[head.name].append(winner)
                total = total + values[winner] @ head.O.array
            x = x + total
            self.streams[f"block.{n}.middle"].append(x)
            for units in block.gated:
                x = x + units(x)
        self.streams["output"].append(x)
        self.length += 1
        return x
