"""Matrices as sums of products of sparser ones, x ↦ Σ x A₁ A₂ ⋯, as networks with stacks have them.

Multiplied out, the matrix U of a machine with n rules has n² entries: every neuron P says something
of a stack, and every neuron P reads the stacks. All of this goes through two rows of a factor. So
an image is taken in two summands: one that came through such *long* rows, which many vectors have
in common and which is kept, and one of its own, which is short.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from flint import fmpq

from netwright.errors import FormatError
from netwright.verify.certificate.reading import Matrix, Numbers, read_chain

Long = tuple[tuple[tuple[int, fmpq], ...], ...]
"""What comes to the long rows of each matrix, from the first term on."""


class Products:
    """A sum of products, without biases."""

    def __init__(self, terms: Sequence[Sequence[Matrix]]) -> None:
        self.terms = terms
        self.shared = lru_cache(maxsize=16)(self._shared)

    @staticmethod
    def read(written: Mapping[str, Any], sizes: Sequence[int], layout: int) -> "Products":
        """From a certificate: from vectors of a layout to vectors of the same."""
        terms = [read_chain(term, sizes, layout) for term in written.get("terms", [[written]])]
        if (written["input"], written["output"]) != (layout, layout):
            raise FormatError("a matrix does not fit the vectors it is for")
        if any(matrix.bias for term in terms for matrix in term):
            raise FormatError("a matrix has a bias")
        return Products(terms)

    def split(self, x: Mapping[int, fmpq]) -> tuple[Long, Numbers]:
        """The image of a vector in two summands: `shared` gives the first."""
        long, own = [], Numbers()
        for term in self.terms:
            value = x
            for matrix in term:
                long.append(tuple(sorted((j, v) for j, v in value.items() if j in matrix.long)))
                value = matrix({j: v for j, v in value.items() if j not in matrix.long})
            own = plus(own, value)
        return tuple(long), own

    def _shared(self, long: Long) -> Mapping[int, fmpq]:
        """The summand of what comes to the long rows."""
        rows, total = iter(long), Numbers()
        for term in self.terms:
            value = Numbers()
            for matrix in term:
                value = matrix(plus(value, dict(next(rows))))
            total = plus(total, value)
        return total

    def __call__(self, x: Mapping[int, fmpq]) -> Numbers:
        """The image of a vector."""
        long, own = self.split(x)
        return plus(self.shared(long), own)


def plus(one: Mapping[int, fmpq], other: Mapping[int, fmpq]) -> Numbers:
    """The sum of two vectors."""
    total = dict(one)
    for k, value in other.items():
        total[k] = total.get(k, fmpq(0)) + value
    return {k: value for k, value in total.items() if value}
