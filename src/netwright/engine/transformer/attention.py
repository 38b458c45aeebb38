"""Hard attention over a growing row of keys without looking at all of them, exactly.

An `AttentionCache` equals `definitions.transformer`. Where keys and query have a form for which the
winner is known, it answers in constant time; it checks that form exactly, key by key and query by
query, and otherwise looks at all keys. The forms, for the score −|⟨q, k⟩|:

- *Equal*: the query or every key is 0. All scores are equal, and the attention is the mean of the
  values: a running sum.
- *On a line*: the i-th key is (i, −1) in two coordinates and the query (1, j) there, j an integer
  (Lemma B.1). The score is −|i − j|: the nearest i wins.
- *Last visit*: with ε_k = 1/(k+1), key j is (ε_j, −ε_j c_j, ε_j²) in three coordinates, and the
  query of the newest token i is (ε_i c, ε_i, ε_i²/3) there, all c integers (Lemma B.4). The product
  is χ_j = x (Δ + x/3) with x = ε_i ε_j and Δ = c − c_j. If some c_j = c, the latest such j wins:
  there |χ_j| = x²/3 ≤ ε_i²/3 and falls with j, and elsewhere |χ_j| ≥ 2ε_i²/3. If no c_j = c, all
  c_j lie on one side of c and |c − c_i| = 1, then i wins: x and |Δ| are both least there.
- *Last visit by recency*: key j is (ε_j, −ε_j c_j, 1, j) in four coordinates and the query
  (ε_i c, ε_i, ε_i²/3, −ε_i³/3). The product is another, the winners are the same, under the same
  conditions: the proof is in `scores.recency`, and uses no more of the cells than these.

In both forms of a last visit |χ_j| falls with j among the tokens of one cell. With Δ ≥ 0 every part
of it does. With Δ ≤ −1 and x = ε_i ε_j it is x (|Δ| − x/3), which grows with x while x < 3/2; by
recency it is ε_i ε_j |Δ| − ε_i³ (i + 1 − j)/3, and from j to j + 1 ≤ i it falls by more than
ε_i (ε_i² − ε_i²/3). So the score that comes second is that of the latest visit of another cell, or
of the visit before the latest to the winner's own.
"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.transformer import Map, Normalizer, Score, attention, hardmax, score_phi
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector, combine


class AttentionCache:
    """The keys and values of all tokens so far, and the attention over them."""

    def __init__(self, key_map: Map, score: Score, rho: Normalizer) -> None:
        self.score, self.rho = score, rho
        self.keys: list[Vector] = []
        self.values: list[Vector] = []
        self.scans = 0
        """How often no form determined the winner, so that all keys were looked at."""
        self._total: Vector | None = None
        self._keys_are_zero = True
        # The roles of the coordinates are not known: begin with all, drop those a key does not fit.
        hard = score == score_phi and rho == hardmax
        places = written_by(key_map) if hard else []
        lines = permutations(places, 2) if len(places) == 2 else ()
        visits = permutations(places) if len(places) in (3, 4) else ()
        self._forms: list[LineForm | _LastVisit] = [
            *(LineForm(a, b) for a, b in lines),
            *(_LastVisit(places) for places in visits),
        ]

    def append(self, key: Vector, value: Vector) -> None:
        """Add the key and value of the next token."""
        self.keys.append(key)
        self.values.append(value)
        self._total = value if self._total is None else self._total + value
        self._keys_are_zero = self._keys_are_zero and not key.entries
        self._forms = [form for form in self._forms if form.takes(key, len(self.keys))]

    def attend(self, q: Vector) -> Vector:
        """Att(q, K, V)."""
        if self._total is None:
            return Vector.zero(q.layout)
        # Equal keys have equal scores, whatever the score; a query 0 has score 0 with every key.
        if self._keys_are_zero or (self.score == score_phi and not q.entries):
            self.rho([self.score(q, self.keys[0])])  # a normaliser may refuse the score
            return combine(self._total.layout, [(ONE / len(self.keys), self._total)])
        for form in self._forms:
            winner = form.winner(q, len(self.keys))
            if winner is not None:
                return self.values[winner]
        self.scans += 1
        return attention(q, self.keys, self.values, self.score, self.rho)


class LineForm:
    """Keys (1, −1), (2, −1), … in two coordinates."""

    def __init__(self, a: int, b: int) -> None:
        self.a, self.b = a, b

    def takes(self, key: Vector, n: int) -> bool:
        """Whether the n-th key fits."""
        return key.entries == {self.a: n * ONE, self.b: -ONE}

    def winner(self, q: Vector, n: int) -> int | None:
        """The nearest of n keys to the query's place, counted from 0; None for other queries."""
        place = q.entries.get(self.b, ZERO)
        if q.entries.get(self.a) != ONE or place.q != 1:
            return None
        return int(min(max(place, ONE), n * ONE).p) - 1


class LastVisitForm:
    """Keys (ε_j, −ε_j c_j, ε_j²) in three coordinates, or (ε_j, −ε_j c_j, 1, j) in four.

    The n-th key or query is that of token j = n − 1.
    """

    def __init__(self, places: tuple[int, ...]) -> None:
        self.a, self.b, *self.rest = places

    def key(self, n: int, cell: Rational) -> dict[int, Rational]:
        """The entries of the n-th key, of a cell."""
        rest = (ONE / (n * n),) if len(self.rest) == 1 else (ONE, (n - 1) * ONE)
        entries = {self.a: ONE / n, self.b: -cell / n, **dict(zip(self.rest, rest, strict=True))}
        return {k: value for k, value in entries.items() if value}

    def cell_of_key(self, key: Vector, n: int) -> Rational:
        """The cell c of the n-th key."""
        return -key.entries.get(self.b, ZERO) * n

    def cell_of_query(self, q: Vector, n: int) -> Rational:
        """The cell c of the n-th query."""
        return q.entries.get(self.a, ZERO) * n

    def distances(
        self, n: int, differences: NDArray[np.float64], visits: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """|⟨q, k⟩| in floating point, for the n-th query and some visits of other cells.

        Nothing is cancelled much, as |Δ| ≥ 1: the error is a few units in the last place.
        """
        x = 1 / (n * visits)
        if len(self.rest) == 1:
            return np.abs(x * (differences + x / 3))
        return np.abs(x * differences + (n - visits + 1) / (3 * float(n) ** 3))


class _LastVisit(LastVisitForm):
    """Keys of this form, with the latest visit of each cell."""

    def __init__(self, places: tuple[int, ...]) -> None:
        super().__init__(places)
        self.latest: dict[Rational, int] = {}
        self.lowest = self.highest = self.newest = ZERO

    def takes(self, key: Vector, n: int) -> bool:
        """Whether the n-th key fits; if so, remember its cell."""
        cell = self.cell_of_key(key, n)
        if cell.q != 1 or key.entries != self.key(n, cell):
            return False
        self.lowest = min(self.lowest, cell) if self.latest else cell
        self.highest = max(self.highest, cell) if self.latest else cell
        self.newest = cell
        self.latest[cell] = n - 1
        return True

    def winner(self, q: Vector, n: int) -> int | None:
        """The latest visit of the query's cell among n keys, or the newest key if it is fresh."""
        cell = self.cell_of_query(q, n)
        wanted = (ONE / n, ONE / (3 * n**2), -ONE / (3 * n**3))
        found = [q.entries.get(k) for k in (self.b, *self.rest)]
        if found != [*wanted[: len(found)]] or cell.q != 1:
            return None
        if cell in self.latest:
            return self.latest[cell]
        outside = not self.lowest <= cell <= self.highest
        return n - 1 if outside and abs(cell - self.newest) == 1 else None


def written_by(key_map: Map) -> list[int]:
    """The coordinates where a feed-forward map may be nonzero; empty for other maps."""
    if not isinstance(key_map, FeedForward):
        return []
    last = key_map.maps[-1]
    return sorted({column for _, column in last.weights} | set(last.bias.entries))
