"""How long the attention of Lemma B.4 stays right in floating point: bounds, and a search.

Let u = 2^(−p), ε_k = 1/(k+1), and let cell c be wanted at token i and have been visited at j, so
that in exact arithmetic the products ε_i c · ε_j and −ε_i · ε_j c cancel. Each of the two is made
of two stored numbers and a rounding, so it is off by 3u relatively, and their sum by 6u|c| ε_i ε_j.
All else is off by a few u of itself. Two visits j₁ < j₂ have the parity of c, so j₂ ≥ j₁ + 2.

- *The paper's score*: |χ_j| = ε_i² ε_j²/3. Visits j and j + 2 differ by
  ε_i² (ε_j − ε_{j+2})(ε_j + ε_{j+2})/3 with ε_j − ε_{j+2} = 2 ε_j ε_{j+2}, and the errors of both
  add up to 6u|c| ε_i (ε_j + ε_{j+2}). So they can change places only if 9u|c| (i+1)(j+1)(j+3) ≥ 1
  (up to terms of relative order ε_i ε_j and u). As |c| ≤ j ≤ i − 3, that product is less than
  9u (i² − 2i)², which is less than 9u i⁴ by 4/i of it: that leaves room for those terms, and the
  order is right for all i < (1/(9u))^(1/4).
- *The score by recency*: χ_j = (i + 1 − j) ε_i³/3. Visits j and j + 2 differ by 2ε_i³/3, and the
  errors add up to 6u|c| ε_i (ε_j + ε_{j+2}) + 2u ε_i²: the term ε_i²/3 is the same for both, but
  sums with it are rounded. So they can change places only if
  9u|c| (i+1)² (ε_j + ε_{j+2}) + 3u (i+1) ≥ 1. As |c| ≤ j ≤ i − 3, |c| (ε_j + ε_{j+2}) is less than
  2 by 1/(i−2) + 3/i, which is more than 4/(i+1): so the left side is less than 18u (i+1)², and the
  order is right for all i ≤ (1/(18u))^(1/2) − 1.

Two other failures are possible, and neither comes before these bounds do (for 7 bits and more;
with fewer, the bounds are tokens 0 and 1, which have no earlier token of their parity):

- *A fresh cell*, |Δ| = 1 for token i: an earlier token of |Δ| = 1 has the parity of i, so it is two
  steps earlier at least, and behind by (i−j) ε_i² ε_j/3, or by recency 2(i−j) ε_i² ε_j/3, while the
  errors are 12u ε_j together. So none fails while 18u (i+1)² < 1, by recency 9u (i+1)² < 1; tokens
  of |Δ| ≥ 2 are behind by more.
- *Another cell* is behind the visit by ε_i ε_j − 2ε_i²/3 ≥ ε_i ε_j/3, while the errors are 12u ε_j:
  not while 36u (i+1) < 1.

All of it holds while nothing is subnormal, and float16's bound is before that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netwright.exact.rational import ONE
from netwright.kind.transformer.scores import Score
from netwright.precision.float_arithmetic import FloatArithmetic
from netwright.precision.float_loops import loop, wrong_order
from netwright.precision.formats import Format

_PRUNED = 12  # bits, from which on 3u(i+1) is a tenth at most as far as a search goes, and u too
_CHUNK = 64


@dataclass(frozen=True)
class WrongOrder:
    """Token i may take visit j₁ of cell c for a later one, j₂, or not tell them apart."""

    token: int
    cell: int
    earlier: int
    later: int


def safe_until(form: Format, score: Score) -> int:
    """The last token at which the proof guarantees the order of visits for every machine.

    >>> from netwright.precision.formats import FORMATS
    >>> from netwright.kind.transformer.scores import PAPER, RECENCY
    >>> safe_until(FORMATS["float32"], PAPER), safe_until(FORMATS["float64"], PAPER)
    (36, 5624)
    >>> safe_until(FORMATS["float64"], RECENCY)
    22369620
    """
    return score.safe_until(form.bits)


def search_limit(form: Format, score: Score) -> int:
    """The last token of a search: for 4 to 24 bits, and 53, there is a failure before it."""
    return 3 * safe_until(form, score) + 60


def first_possible(
    form: Format,
    score: Score,
    last: int,
    *,
    two_way: bool = False,
    sums: Format | None = None,
    report: Callable[[int], None] = lambda _: None,
) -> WrongOrder | None:
    """Search for the first token, up to `last`, at which some machine's visits are misordered.

    All cells and visits that a head can reach are tried, on a tape that ends to the left of cell 0
    or on a two-way infinite one, except those that the bounds above prove right.
    """
    arithmetic = FloatArithmetic(form, sums)
    prune = form.bits >= _PRUNED and (form.lowest is None or form.lowest < -100)
    reciprocals = np.zeros((3, last + 2))
    for k in range(1, last + 2):
        reciprocals[:, k] = [arithmetic.number(ONE / k**e) for e in (1, 2, 3)]
    found = np.zeros(4, dtype=np.int64)
    search = loop(wrong_order, arithmetic.form, arithmetic.sums_form)
    first = safe_until(form, score) if prune else 0
    for start in range(max(3, first), last + 1, _CHUNK):  # in chunks, so that Ctrl-C works
        rest = prune, reciprocals, np.zeros(4), found
        end = min(start + _CHUNK - 1, last)
        report(start)
        if search(start, end, 1 + two_way, score.has_time_in_keys, *rest):
            return WrongOrder(*found.tolist())
    return None
