"""The keys and values of a Transformer's encoder on an input: one array for each coordinate.

Where the encoder's attention adds nothing and its maps are affine, as in Theorem 3.4, a key or
value is an affine function of the symbol's vector and of the position's: A(x) + A'(pos(i)). So maps
are evaluated once for each symbol and each coordinate of the positions, and the columns are sums of
these. All other encoders are evaluated token by token (`AttentionCache`).
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from netwright.definitions.transformer import Positions, Transformer, hardmax, score_phi
from netwright.engine.full.program import Input, whole_numbers
from netwright.engine.moments import UnsuitableError
from netwright.engine.transformer.attention import AttentionCache, LineForm
from netwright.exact.arrays import IntArray
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector

LARGEST = 1 << 40  # numbers of a column


class Column(NamedTuple):
    """A coordinate of all rows: integers over a common denominator."""

    over: int
    numbers: IntArray

    def at(self, row: int) -> Rational:
        """The number in a row."""
        return Rational(int(self.numbers[row]), self.over)


Columns = dict[int, Column]


class Encoded:
    """K(X) and V(X) of an encoder on an input (Equation 8)."""

    def __init__(self, network: Transformer, X: Sequence[Vector]) -> None:
        self.network, self.X = network, X
        self._arrays = _by_symbols(network, X)

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def cache(self) -> AttentionCache:
        """The keys and values as vectors, with the attention over them."""
        network = self.network
        X = [network.positioned(x, i) for i, x in enumerate(self.X, start=1)]
        for layer in network.encoder:
            cache = AttentionCache(layer.K, network.score, network.rho)
            for x in X:
                cache.append(layer.K(x), layer.V(x))
            A = [cache.attend(layer.Q(x)) + x for x in X]
            X = [layer.O(a) + a for a in A]
        external = AttentionCache(network.K, network.score, network.rho)
        for x in X:
            external.append(network.K(x), network.V(x))
        return external

    @cached_property
    def keys(self) -> Columns:
        """The keys as columns; raise UnsuitableError if a number is too large."""
        return self._arrays[0] if self._arrays else _from_vectors(self.cache.keys)

    @cached_property
    def values(self) -> Columns:
        """The values as columns; raise UnsuitableError if a number is too large."""
        return self._arrays[1] if self._arrays else _from_vectors(self.cache.values)

    @cached_property
    def line(self) -> tuple[int, int] | None:
        """The coordinates a and b in which the i-th key is (i, −1), or None."""
        if len(self.keys) != 2 or any(column.over != 1 for column in self.keys.values()):
            return None
        for a, b in (tuple(self.keys), tuple(self.keys)[::-1]):
            counts = (self.keys[a].numbers == np.arange(1, len(self) + 1)).all()
            if counts and (self.keys[b].numbers == -1).all():
                return a, b
        return None

    def attend(self, q: Vector) -> Vector:
        """Att(q, K, V)."""
        is_hard = (self.network.score, self.network.rho) == (score_phi, hardmax)
        if self._arrays is None or self.line is None or not is_hard:
            return self.cache.attend(q)
        row = LineForm(*self.line).winner(q, len(self))
        if row is None:
            return self.cache.attend(q)
        return Vector(q.layout, {k: column.at(row) for k, column in self.values.items()})


def _by_symbols(network: Transformer, X: Sequence[Vector]) -> tuple[Columns, Columns] | None:
    """Keys and values of an encoder whose attention adds nothing and whose maps are affine."""
    pos = network.pos
    if not X or type(network) is not Transformer:
        return None
    if not (isinstance(pos, Positions) and pos.is_reciprocal):
        return None
    try:
        given = Input(network, X)
    except UnsuitableError:
        return None
    keys = _sums(given.keys, given.key_slopes, given.rows)
    values = _sums(given.values, given.value_slopes, given.rows)
    return None if keys is None or values is None else (keys, values)


def _sums(bases: Sequence[Vector], slopes: Mapping[int, Vector], rows: IntArray) -> Columns | None:
    """The columns of bases[rows[i − 1]] + i·slopes[1]; None for reciprocals and large numbers."""
    if set(slopes) - {1}:
        return None
    found: Columns = {}
    vectors = [each.entries for each in (*bases, slopes.get(1, Vector.zero(bases[0].layout)))]
    for k in dict.fromkeys(k for each in vectors for k in each):
        (*numbers, step), over = whole_numbers([each.get(k, ZERO) for each in vectors])
        if over >= LARGEST or any(abs(n) * len(rows) >= LARGEST for n in (*numbers, step)):
            return None
        column = np.array(numbers, dtype=np.int64)[rows] + step * np.arange(1, len(rows) + 1)
        if column.any():
            found[k] = Column(over, column)
    return found


def _from_vectors(vectors: Sequence[Vector]) -> Columns:
    """The columns of any vectors; raise UnsuitableError if a number is too large."""
    found: Columns = {}
    for k in dict.fromkeys(k for vector in vectors for k in vector.entries):
        whole, over = whole_numbers([vector.entries.get(k, ZERO) for vector in vectors])
        if over >= LARGEST or max(map(abs, whole)) >= LARGEST:
            raise UnsuitableError("what the encoder says is too large for 64 bits")
        found[k] = Column(over, np.array(whole, dtype=np.int64))
    return found
