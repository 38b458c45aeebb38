"""Formats of at most 53 bits in Python's own numbers: a fast `RationalArithmetic`."""

from collections.abc import Sequence
from functools import partial
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.feed_forward import Affine
from netwright.exact.rational import Rational
from netwright.exact.rounding import rounded
from netwright.precision import float_loops as loops
from netwright.precision.arithmetic import MOST_WINNERS, Arithmetic, Attended, Tokens
from netwright.precision.float_loops import Form, loop
from netwright.precision.formats import NATIVE_BITS, Format
from netwright.precision.rational_arithmetic import RationalArithmetic


class FloatMap(NamedTuple):
    """A sparse matrix by columns (starts, rows, weights), and the bias."""

    starts: AnyArray
    rows: AnyArray
    weights: AnyArray
    bias: AnyArray


class FloatArithmetic(Arithmetic[FloatMap]):
    """Operations in a format of at most 53 bits; each number is a float64."""

    def __init__(self, storage: Format, sums: Format | None = None) -> None:
        super().__init__(storage, sums)
        if self.sums.bits > NATIVE_BITS:
            raise InputError(f"{self.sums.name} are more than Python's own {NATIVE_BITS}")
        self.form, self.sums_form = packed(self.storage), packed(self.sums)

    def number(self, x: Rational) -> float:
        """Round an exact number; beyond the largest it becomes infinity."""
        if self.storage.bits < NATIVE_BITS:  # Python rounds quotients of integers correctly
            x = rounded(x, self.storage.bits, self.storage.lowest)
        number = int(x.p) / int(x.q)
        return number if abs(number) <= self.storage.largest else (inf if number > 0 else -inf)

    def exact(self, x: Any) -> Rational | None:
        """The exact value of a number; None for infinity and NaN."""
        return fmpq(*float(x).as_integer_ratio()) if isfinite(x) else None

    def zero(self, size: int) -> AnyArray:
        """The vector 0."""
        return np.zeros(size)

    def affine_map(self, affine: Affine) -> FloatMap:
        """Sort the weights by column, then row."""
        entries = sorted((column, row, w) for (row, column), w in affine.weights.items())
        columns = [column for column, _, _ in entries]
        return FloatMap(
            np.searchsorted(columns, np.arange(affine.output.dimension + 1)).astype(np.int64),
            np.array([row for _, row, _ in entries], dtype=np.int64),
            np.array([self.number(w) for _, _, w in entries], dtype=np.float64),
            self.vector(affine.bias),
        )

    def affine(self, affine: FloatMap, x: AnyArray) -> AnyArray:
        """Apply a map to a vector."""
        out = np.empty(len(affine.bias))
        loop(loops.affine, self.form, self.sums_form)(*affine, x, out)
        return out

    def plus(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x + y."""
        return self._combined(loops.all_plus, x, y)

    def times(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """x · y."""
        return self._combined(loops.all_times, x, y)

    def _combined(self, operation: object, x: AnyArray, y: AnyArray) -> AnyArray:
        out = np.empty(len(x))
        loop(operation, self.form)(x, y, out)
        return out

    def tokens(self, size: int, keys: Sequence[int], values: Sequence[int]) -> Tokens:
        """An empty store."""
        return _FloatTokens(self, size, keys, values)


class _FloatTokens(Tokens):
    """Arrays with a row for each coordinate: a loop over tokens reads memory in order."""

    def __init__(
        self, arithmetic: FloatArithmetic, size: int, keys: Sequence[int], values: Sequence[int]
    ) -> None:
        super().__init__(size, keys, values)
        self.arithmetic = arithmetic
        self.keys, self.values = np.zeros((len(keys), 64)), np.zeros((len(values), 64))
        self.sizes = np.zeros(64)
        self.running = np.zeros(len(values))
        self.shares = np.zeros(len(values))
        self.winners = np.zeros(MOST_WINNERS, dtype=np.int64)

    def append(self, key: AnyArray, value: AnyArray) -> None:
        """Add a token; double the arrays when they are full."""
        if self.count == len(self.sizes):
            more = ((0, 0), (0, self.count))
            self.keys, self.values = np.pad(self.keys, more), np.pad(self.values, more)
            self.sizes = np.zeros(2 * self.count)
        newest = value[self.value_places]
        self.keys[:, self.count] = key[self.key_places]
        self.values[:, self.count] = newest
        self.count += 1
        if not len(self.key_places):  # all scores are 0
            forms = self.arithmetic.form, self.arithmetic.sums_form
            loop(loops.mean, *forms)(self.running, newest, self.count, self.shares)

    def attend(self, query: AnyArray, tau: float | None) -> Attended:
        """Apply hard attention, or softmax at temperature τ."""
        found, score = np.zeros(self.size), partial(self.score, query)
        here, count = self.arithmetic, self.count
        forms = here.form, here.sums_form
        if not count:
            return Attended(found, [], score)
        if not len(self.key_places) and tau is None:
            found[self.value_places] = self.shares
            return Attended(found, [*range(min(count, MOST_WINNERS))], score)
        shares = np.empty(len(self.value_places))
        loop(loops.products, here.sums_form)(query[self.key_places], self.keys, count, self.sizes)
        patterns = self.sizes.view(np.int64)
        most = loop(loops.winners_of)(patterns, count, self.winners)
        names = self.winners[: min(most, MOST_WINNERS)].tolist()
        if tau is None:
            loop(loops.hard, *forms)(patterns, most, self.winners, count, self.values, shares)
        else:
            low = self.sizes[names[0]]
            loop(loops.soft, *forms)(self.sizes, low, count, tau, self.values, shares)
        found[self.value_places] = shares
        return Attended(found, names, score)

    def score(self, query: AnyArray, token: int) -> float:
        """−|⟨q, k⟩|, computed as in `attend`."""
        size, keys = np.zeros(1), self.keys[:, token : token + 1].copy()
        loop(loops.products, self.arithmetic.sums_form)(query[self.key_places], keys, 1, size)
        return -float(size[0])


def packed(form: Format) -> Form:
    """A format as the loops take it; float64 needs no range check."""
    if form.lowest is None or form.bits == NATIVE_BITS:
        return form.bits, 0.0, 0.0, inf
    least = 2.0**form.lowest
    return form.bits, least, least * 2.0 ** (form.bits - 1), form.largest


def arithmetic_of(storage: Format, sums: Format | None = None) -> Arithmetic[Any]:
    """Choose the faster arithmetic that supports the formats."""
    if (sums or storage).bits <= NATIVE_BITS:
        return FloatArithmetic(storage, sums)
    return RationalArithmetic(storage, sums)
