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

from netwright.certificates.reading import Matrix, Sparse, read_chain
from netwright.errors import FormatError

Long = tuple[tuple[int, int, tuple[tuple[int, fmpq], ...]], ...]
"""What comes to long rows: the number of the term and of the matrix in it, rows and numbers."""


class Products:
    """A sum of products, without biases.

    >>> factor = Matrix({0: [(0, fmpq(1)), (1, fmpq(2))], 1: [(1, fmpq(1))]}, {})
    >>> square = Products([[factor, factor]])
    >>> factor.long, square({0: fmpq(1), 1: fmpq(1)})
    ({0}, {0: 1, 1: 5})
    """

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

    def split(self, x: Mapping[int, fmpq]) -> tuple[Long, Sparse]:
        """The image of a vector in two summands: `shared` gives the first."""
        long, own = [], Sparse()
        for term_number, term in enumerate(self.terms):
            value = x
            for n, matrix in enumerate(term):
                if here := matrix.long & value.keys():
                    long.append((term_number, n, tuple((j, value[j]) for j in sorted(here))))
                    value = {j: v for j, v in value.items() if j not in here}
                if not (value := matrix(value)):
                    break
            own = plus(own, value)
        return tuple(long), own

    def _shared(self, long: Long) -> Mapping[int, fmpq]:
        """The summand of what comes to the long rows."""
        rows = {(term_number, n): dict(numbers) for term_number, n, numbers in long}
        total = Sparse()
        for term_number, term in enumerate(self.terms):
            value = Sparse()
            for n, matrix in enumerate(term):
                value = matrix(plus(value, rows.get((term_number, n), {})))
            total = plus(total, value)
        return total

    def __call__(self, x: Mapping[int, fmpq]) -> Sparse:
        """The image of a vector."""
        long, own = self.split(x)
        return plus(self.shared(long), own) if long else own


def plus(one: Mapping[int, fmpq], other: Mapping[int, fmpq]) -> Sparse:
    """The sum of two vectors."""
    total = dict(one)
    for k, value in other.items():
        total[k] = total.get(k, fmpq(0)) + value
    return {k: value for k, value in total.items() if value}
