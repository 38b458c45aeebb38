"""Matrices as sums of products of sparser ones, x ↦ Σ x A₁ A₂ ⋯, as networks with stacks have them.

Multiplied out, the matrix U of a machine with n rules has n² entries: every neuron P adds to a
stack, and every neuron P reads the stacks, all through two rows of a factor. So an image has two
summands: one through such *long* rows, which many vectors share and which is cached, and a short
one of its own.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from flint import fmpq

from netwright.certificates.reading import Matrix, Sparse, read_chain
from netwright.errors import FormatError

Long = tuple[tuple[int, int, tuple[tuple[int, fmpq], ...]], ...]
"""The input of long rows: the number of the term, of the matrix in it, and (row, value) pairs."""


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
        """Read a map of a layout to itself; raise FormatError for another layout or a bias."""
        terms = [read_chain(term, sizes, layout) for term in written.get("terms", [[written]])]
        if (written["input"], written["output"]) != (layout, layout):
            raise FormatError("a matrix does not fit the vectors it is for")
        if any(matrix.bias for term in terms for matrix in term):
            raise FormatError("a matrix has a bias")
        return Products(terms)

    def split(self, x: Mapping[int, fmpq]) -> tuple[Long, Sparse]:
        """The two summands of an image: the argument of `shared`, and the vector of its own."""
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
        """The summand that comes through the long rows; `shared` caches it."""
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
