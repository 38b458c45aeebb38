"""Rounded arithmetic by definition: each operation in exact rationals, then `Format.nearest`."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import ZERO, Rational
from netwright.precision.arithmetic import MOST_WINNERS, Arithmetic, Attended, Tokens

RationalMap = tuple[list[list[tuple[int, Rational]]], list[Rational]]


class RationalArithmetic(Arithmetic[RationalMap]):
    """Each operation is exact and then rounded."""

    def number(self, x: Rational) -> Rational:
        """Round an exact number."""
        return self.storage.nearest(x)

    def exact(self, x: Any) -> Rational:
        """The number itself."""
        return Rational(x)

    def zero(self, size: int) -> AnyArray:
        """The vector 0."""
        return np.array([ZERO] * size, dtype=object)

    def affine_map(self, affine: Affine) -> RationalMap:
        """The weights of each output coordinate, in the order of the inputs."""
        columns: list[list[tuple[int, Rational]]] = [[] for _ in range(affine.output.dimension)]
        for (row, column), weight in sorted(affine.weights.items(), key=lambda item: item[0]):
            columns[column].append((row, self.number(weight)))
        return columns, list(self.vector(affine.bias))

    def affine(self, affine: RationalMap, x: AnyArray) -> AnyArray:
        """Add the products in order, then the bias."""
        columns, bias = affine
        image = [self.dot((x[row], weight) for row, weight in column) for column in columns]
        sums = (self.sums.nearest(number + b) for number, b in zip(image, bias, strict=True))
        return np.array([self.number(number) for number in sums], dtype=object)

    def dot(self, pairs: Iterable[tuple[Rational, Rational]]) -> Rational:
        """Add up products in order."""
        total = ZERO
        for a, b in pairs:
            total = self.sums.nearest(total + self.sums.nearest(a * b))
        return total

    def plus(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x + y."""
        return np.array([self.number(a) for a in x + y], dtype=object)

    def times(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x · y."""
        return np.array([self.number(a) for a in x * y], dtype=object)

    def tokens(self, size: int, keys: Sequence[int], values: Sequence[int]) -> Tokens:
        """An empty store."""
        return _RationalTokens(self, size, keys, values)


class _RationalTokens(Tokens):
    def __init__(
        self, arithmetic: RationalArithmetic, size: int, keys: Sequence[int], values: Sequence[int]
    ) -> None:
        super().__init__(size, keys, values)
        self.arithmetic = arithmetic
        self.keys: list[AnyArray] = []
        self.values: list[AnyArray] = []

    def append(self, key: AnyArray, value: AnyArray) -> None:
        """Add a token."""
        self.keys.append(key[self.key_places])
        self.values.append(value[self.value_places])
        self.count += 1

    def attend(self, query: AnyArray, tau: float | None) -> Attended:
        """Apply hard attention; raise InputError for softmax."""
        if tau is not None:
            raise InputError("softmax is for formats of 53 bits at most")
        here, found = self.arithmetic, self.arithmetic.zero(self.size)
        scores = [self.score(query, token) for token in range(self.count)]
        if not scores:
            return Attended(found, [], partial(self.score, query))
        top = max(scores)
        winners = [j for j, score in enumerate(scores) if score == top]
        total = here.zero(len(self.value_places))
        for j in winners:
            total = np.array([here.sums.nearest(a) for a in total + self.values[j]], dtype=object)
        number = here.number(Rational(len(winners)))
        found[self.value_places] = [here.number(here.sums.nearest(a / number)) for a in total]
        return Attended(found, winners[:MOST_WINNERS], partial(self.score, query))

    def score(self, query: AnyArray, token: int) -> Rational:
        """−|⟨q, k⟩|."""
        places = query[self.key_places]
        return -abs(self.arithmetic.dot(zip(places, self.keys[token], strict=True)))
