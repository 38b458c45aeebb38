"""Definition 2.1: sequence-to-sequence language recognizers.

| here        | paper | meaning                                           |
|-------------|-------|---------------------------------------------------|
| `alphabet`  | Σ     | the symbols of the words                          |
| `embedding` | f     | a vector for each symbol                          |
| `network`   | N     | X and s to y_1, y_2, …; N(X, s, r) is the first r |
| `seed`      | s     | y_0                                               |
| `final`     | 𝔽     | the set of final vectors, as a predicate          |

A word is accepted if y_r ∈ 𝔽 for some r ≥ 1. (In print r ∈ ℕ; y_0 is the seed and never tested.)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from netwright.errors import InputError
from netwright.exact.vector import Vector


class Network(Protocol):
    """A seq-to-seq network."""

    def outputs(self, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
        """y_1, y_2, … without end."""


@dataclass(frozen=True)
class Recognizer:
    """A = (Σ, f, N, s, 𝔽)."""

    alphabet: tuple[str, ...]
    embedding: Mapping[str, Vector]
    network: Network
    seed: Vector
    final: Callable[[Vector], bool]

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """f(w), symbol by symbol."""
        for place, symbol in enumerate(word):
            if symbol not in self.embedding:
                raise InputError(
                    f"symbol {symbol!r} at position {place + 1} is not in the recognizer's "
                    f"alphabet: {' '.join(self.alphabet)}"
                )
        return tuple(self.embedding[symbol] for symbol in word)

    def outputs(self, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, … on a word."""
        return self.network.outputs(self.embed(word), self.seed)

    def first_difference(self, w: Sequence[str], u: Sequence[str], r: int) -> int | None:
        """The first i ≤ r where y_i differs on w and on u, or None."""
        pairs = islice(zip(self.outputs(w), self.outputs(u), strict=False), r)
        return next((i for i, (on_w, on_u) in enumerate(pairs, start=1) if on_w != on_u), None)

    def accepts_at(self, word: Sequence[str], limit: int) -> int | None:
        """The first r with 1 ≤ r ≤ limit and y_r ∈ 𝔽, or None."""
        outputs = islice(self.outputs(word), limit)
        return next((r for r, y in enumerate(outputs, start=1) if self.final(y)), None)
