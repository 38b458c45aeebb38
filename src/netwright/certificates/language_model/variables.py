"""The variables of a context of T tokens, and how tables of numbers are read as bits of them.

T, A, N of position i are the bits of i, i − 1 and i − 3; some are the same function of i, such as
bit 0 of A and of N, or its negation. Each function has one number here, so that a coordinate with
one of them is known to have the other. A table's columns are compared with all of these functions
for every position; what they differ in goes into a radius.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netwright.certificates.language_model.boxes import NONE, Box, Places
from netwright.certificates.language_model.classes import KINDS
from netwright.certificates.language_model.rounding import Floats

BACK = {"T": 0, "A": 1, "N": 3}
"""What is taken off a position."""
MOST_BITS = 32


def bits(numbers: Places, b: int) -> Floats:
    """Bits ±1 of numbers modulo 2^b, the least significant first, in columns."""
    return (2 * (numbers[:, None] >> np.arange(b) & 1) - 1).astype(np.float64)


@dataclass(frozen=True)
class Table:
    """The columns of a table by rows n: c + k·bit(var) ± r; row 0 has c_first ± r_first instead."""

    c: Floats
    k: Floats
    r: Floats
    var: Places
    c_first: Floats

    def box(self, *, first: bool) -> Box:
        """All rows but the first, or the first alone, as one class."""
        c, r = (self.c_first, 0 * self.r) if first else (self.c, self.r)
        return Box(c[None], self.k[None], r[None], self.var)


class Variables:
    """The variables of a context; `widths` are the numbers of bits of those of its machine."""

    def __init__(self, context: int, widths: Mapping[str, int]) -> None:
        self.context, self.b = context, max(1, (context - 1).bit_length())
        self._widths = widths
        self._known: dict[tuple[str, int], tuple[int, float]] = {}
        positions, seen = np.arange(context), dict[bytes, int]()
        columns = []
        for kind in ("A", "T", "N"):
            for bit, column in enumerate(bits(positions - BACK[kind], self.b).T):
                own, sign = self.number(kind, bit), 1.0
                if (found := seen.get(column.tobytes())) is not None:
                    own = found
                elif (found := seen.get((-column).tobytes())) is not None:
                    own, sign = found, -1.0
                else:
                    seen[column.tobytes()] = own
                    columns.append((own, column))
                self._known[kind, bit] = own, sign
        for kind in KINDS:
            for bit in range(self.width(kind)):
                self._known.setdefault((kind, bit), (self.number(kind, bit), 1.0))
        only = bits(np.where(positions == 0, 1, 0), 1)[:, 0]
        self.alone = seen.get(only.tobytes(), NONE - 1)
        """The variable that is 1 at position 0 alone, if there is one: for T = 2^(b-1) + 1."""
        self.of_positions = np.array([own for own, _ in columns]), np.array([c for _, c in columns])

    def width(self, kind: str) -> int:
        """The number of its bits."""
        return self._widths.get(kind, self.b)

    def of(self, numbers: Mapping[str, Sequence[int]]) -> tuple[Places, Floats]:
        """Variables, and their bits in the rows of a table, of which the numbers are given."""
        own = [self.number(kind, j) for kind in numbers for j in range(self.width(kind))]
        columns = [bits(np.array(each), self.width(kind)).T for kind, each in numbers.items()]
        return np.array(own), np.concatenate(columns)

    @staticmethod
    def number(kind: str, bit: int) -> int:
        """A variable's own number."""
        return KINDS.index(kind) * MOST_BITS + bit

    def known(self, kind: str, bit: int) -> tuple[int, float]:
        """The variable that is a bit, and the sign with which it is."""
        return self._known[kind, bit]

    def renaming(self, old: str, new: str) -> dict[int, tuple[int, float]]:
        """What the bits of one variable become if they are called by another's name."""
        found = {}
        for bit in range(self.width(old)):
            (a, sign), (z, other) = self.known(old, bit), self.known(new, bit)
            found[a] = z, sign * other
        return found

    def read(self, table: Floats, functions: tuple[Places, Floats]) -> Table:
        """Compare columns with functions of the row's number."""
        numbers, values = functions
        varies = table.max(axis=0) > table.min(axis=0)
        columns = table[:, varies]
        centred = values - values.mean(axis=1, keepdims=True)
        spread = (centred**2).sum(axis=1, keepdims=True)
        fits = (centred @ columns) ** 2 / np.where(spread > 0, spread, np.inf)
        best = fits.argmax(axis=0) if columns.size else np.zeros(0, np.int64)
        on = values[best].T > 0
        low, high = np.where(on, columns, np.inf).min(axis=0), np.where(on, columns, -np.inf).max(0)
        low_off = np.where(on, np.inf, columns).min(axis=0)
        high_off = np.where(on, -np.inf, columns).max(axis=0)
        c = (low + high + low_off + high_off) / 4
        k = (low + high - low_off - high_off) / 4
        alone = columns[1:].max(axis=0) - columns[1:].min(axis=0)  # all rows but the first
        apart = alone < np.maximum(high - low, high_off - low_off)
        middle = (columns[1:].max(axis=0) + columns[1:].min(axis=0)) / 2
        c, k = np.where(apart, middle, c), np.where(apart, 0, k)
        ends = (high - (c + k), c + k - low, high_off - (c - k), c - k - low_off)
        r = np.maximum(np.maximum(*ends[:2]), np.maximum(*ends[2:]))
        r = np.where(apart, alone / 2, r) * (1 + 2.0**-40)
        zeros, none = np.zeros(len(varies)), np.full(len(varies), NONE)
        found = Table(table[0].copy(), zeros, zeros.copy(), none, table[0].copy())
        found.c[varies], found.k[varies], found.r[varies] = c, k, r
        found.var[varies] = np.where(k != 0, numbers[best], NONE)
        found.c_first[varies] = columns[0] - k * values[best, 0]
        return found
