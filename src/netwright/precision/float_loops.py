"""Rounded arithmetic in Python's own numbers, as compiled loops.

A number of a format of p ≤ 53 bits is a float64. An operation is done in float64 and its result
rounded to the format. For p ≤ 25 that gives the rounded exact result, as 53 ≥ 2p + 2: the first
rounding never moves a result onto the middle between two numbers of the format, or off it. For 26
≤ p ≤ 52 it may, so what the first rounding took away is computed too (Dekker's product, Knuth's
sum): its sign decides where the float64 is a middle. The middles have p + 1 bits, so they are
float64s, and rounding to float64 does not carry a number across one.
"""

from functools import cache
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.exact.arrays import IntArray
from netwright.jit import compiled

Form = tuple[int, float, float, float]
"""A format: its bits, the least quantum, the least normal number, the largest number."""
Floats = NDArray[np.float64]
SPLIT = 134217729.0  # 2^27 + 1


def nearest(hi: float, lo: float, form: Form) -> float:
    """The number of a format nearest to hi + lo, |lo| being at most half a unit of hi."""
    bits, least, normal, largest = form
    if bits == 53 or hi == 0.0 or hi != hi:
        return hi
    if abs(hi) < normal:
        scaled = hi / least  # a power of two: exact
        below = float(np.floor(scaled))
        rest = scaled - below
        is_odd = 2.0 * np.floor(below / 2.0) != below
        if rest > 0.5 or (rest == 0.5 and (lo > 0.0 or (lo == 0.0 and is_odd))):
            below += 1.0
        return below * least
    drop = 53 - bits
    pattern = np.float64(hi).view(np.int64)
    half = np.int64(1) << (drop - 1)
    mask = (np.int64(1) << drop) - 1
    if lo != 0.0 and (pattern & mask) == half:
        # Not the middle after all; a pattern grows away from 0.
        if (lo > 0.0) == (hi > 0.0):
            pattern += half
    else:
        pattern += half - 1 + ((pattern >> drop) & 1)
    pattern &= ~mask
    near = float(np.int64(pattern).view(np.float64))
    if abs(near) > largest:
        return np.inf if near > 0.0 else -np.inf
    return near


def product_rest(a: float, b: float, product: float) -> float:
    """The rounding error of the float64 product a · b, from halves of its factors (Dekker)."""
    t = SPLIT * a
    a1 = t - (t - a)
    a2 = a - a1
    t = SPLIT * b
    b1 = t - (t - b)
    b2 = b - b1
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def times(a: float, b: float, form: Form) -> float:
    """a · b, rounded."""
    hi = a * b
    lo = product_rest(a, b, hi) if 26 <= form[0] <= 52 else 0.0
    return nearest(hi, lo, form)


def plus(a: float, b: float, form: Form) -> float:
    """a + b, rounded."""
    hi = a + b
    lo = 0.0
    if 26 <= form[0] <= 52:
        t = hi - a
        lo = (a - (hi - t)) + (b - t)
    return nearest(hi, lo, form)


def over(a: float, b: float, form: Form) -> float:
    """a / b, rounded, for any two float64s: a temperature need not be a number of the format."""
    hi = a / b
    lo = 0.0
    if form[0] <= 52:
        back = hi * b
        lo = ((a - back) - product_rest(hi, b, back)) / b
    return nearest(hi, lo, form)


def all_plus(x: Floats, y: Floats, out: Floats, form: Form) -> None:
    """x + y, component by component."""
    for k in range(len(x)):
        out[k] = plus(x[k], y[k], form)


def all_times(x: Floats, y: Floats, out: Floats, form: Form) -> None:
    """x · y, component by component."""
    for k in range(len(x)):
        out[k] = times(x[k], y[k], form)


def affine(
    starts: IntArray,
    rows: IntArray,
    weights: Floats,
    bias: Floats,
    x: Floats,
    out: Floats,
    storage: Form,
    sums: Form,
) -> None:
    """Column by column: the products in the order of the rows, then the bias."""
    for k in range(len(bias)):
        number = 0.0
        for e in range(starts[k], starts[k + 1]):
            number = plus(number, times(x[rows[e]], weights[e], sums), sums)
        out[k] = nearest(plus(number, bias[k], sums), 0.0, storage)


def products(query: Floats, keys: Floats, count: int, out: Floats, sums: Form) -> None:
    """|⟨q, k⟩| for the first `count` keys; `keys` has a row for each coordinate.

    Long runs have three or four coordinates in float64: written out, their loops are vectorised.
    """
    width = len(query)
    if sums[0] == 53 and width == 3:
        a, b, c = query[0], query[1], query[2]
        for j in range(count):
            out[j] = abs((a * keys[0, j] + b * keys[1, j]) + c * keys[2, j])
    elif sums[0] == 53 and width == 4:
        a, b, c, d = query[0], query[1], query[2], query[3]
        for j in range(count):
            out[j] = abs(((a * keys[0, j] + b * keys[1, j]) + c * keys[2, j]) + d * keys[3, j])
    else:
        for j in range(count):
            number = 0.0
            for x in range(width):
                number = plus(number, times(query[x], keys[x, j], sums), sums)
            out[j] = abs(number)


def winners_of(patterns: IntArray, count: int, winners: IntArray) -> int:
    """Count the tokens of least size, and store the first few of them in `winners`.

    Nonnegative floats are ordered as their bit patterns, and a loop over integers is several times
    as fast.
    """
    low = patterns[0]
    for j in range(count):
        low = min(low, patterns[j])
    found = 0
    for j in range(count):
        found += patterns[j] == low
    left = found
    for j in range(count - 1, -1, -1):  # most often the winner is recent
        if patterns[j] == low:
            left -= 1
            if left < len(winners):
                winners[left] = j
            if left == 0:
                break
    return found


def shared(out: Floats, found: int, storage: Form, sums: Form) -> None:
    """Divide sums over `found` tokens by their number."""
    number = nearest(float(found), 0.0, storage)
    for k in range(len(out)):
        out[k] = nearest(over(out[k], number, sums), 0.0, storage)


def hard(
    patterns: IntArray,
    found: int,
    winners: IntArray,
    count: int,
    values: Floats,
    out: Floats,
    storage: Form,
    sums: Form,
) -> None:
    """The mean of the values of the winners."""
    for k in range(len(out)):
        out[k] = 0.0
    low = patterns[winners[0]]
    for j in range(winners[0], count if found > 1 else winners[0] + 1):
        if patterns[j] == low:
            for k in range(len(out)):
                out[k] = plus(out[k], values[k, j], sums)
    shared(out, found, storage, sums)


def mean(
    running: Floats, newest: Floats, count: int, out: Floats, storage: Form, sums: Form
) -> None:
    """Add a token to a running sum and take the mean: hard attention with equal scores."""
    for k in range(len(out)):
        running[k] = plus(running[k], newest[k], sums)
        out[k] = running[k]
    shared(out, count, storage, sums)


def soft(
    size: Floats,
    low: float,
    count: int,
    tau: float,
    values: Floats,
    out: Floats,
    storage: Form,
    sums: Form,
) -> None:
    """Softmax at temperature τ of the scores −size, of which −low is the greatest."""
    weights = 0.0
    for k in range(len(out)):
        out[k] = 0.0
    for j in range(count):
        below = over(plus(low, -size[j], sums), tau, sums)
        if below < -800.0:
            continue  # exp of it is 0, as Python's own exp has no number for it
        weight = nearest(exp(below), 0.0, sums)
        weights = plus(weights, weight, sums)
        for k in range(len(out)):
            out[k] = plus(out[k], times(weight, values[k, j], sums), sums)
    for k in range(len(out)):
        out[k] = nearest(over(out[k], weights, sums), 0.0, storage)


def visit(
    query: Floats,
    cell: float,
    j: int,
    recency: bool,
    reciprocals: Floats,
    storage: Form,
    sums: Form,
) -> float:
    """|χ_j| for a visit j of a cell, and the query of a token that looks for it."""
    then = nearest(j + 1.0, 0.0, storage)
    key = -nearest(over(cell, then, sums), 0.0, storage)
    s = plus(times(query[0], reciprocals[0, j + 1], sums), times(query[1], key, sums), sums)
    if recency:
        s = plus(s, query[2], sums)
        t = times(query[3], nearest(then - 1.0, 0.0, storage), sums)
    else:
        t = times(query[2], reciprocals[1, j + 1], sums)
    return abs(plus(s, t, sums))


def wrong_order(
    first: int,
    last: int,
    sides: int,
    recency: bool,
    prune: bool,
    reciprocals: Floats,
    query: Floats,
    found: IntArray,
    storage: Form,
    sums: Form,
) -> bool:
    """The first token at which some two visits of a cell are taken in the wrong order, if any.

    Token i looks for cell c, |c| ≤ j; visits j and j + 2 have the parity of c and of i + 1. If any
    two visits are in the wrong order, so are two consecutive ones, so only those are compared.
    `reciprocals` has 1/k, 1/k², 1/k³ for k = 1, 2, …, rounded; `query` is a buffer for the four
    numbers of a query. `prune` skips visits that the bounds of `horizon` prove to be in order, with
    a margin of a tenth.
    """
    unit = 1.0 / (1 << storage[0])
    third = nearest(1.0 / 3.0, 1.0, storage)  # its float64 is below 1/3, and of lo the sign counts
    for i in range(first, last + 1):
        n = i + 1.0
        now = nearest(n, 0.0, storage)
        query[1] = reciprocals[0, i + 1]
        query[2] = nearest(times(reciprocals[1, i + 1], third, sums), 0.0, storage)
        query[3] = nearest(times(reciprocals[2, i + 1], -third, sums), 0.0, storage)
        for c in range((i + 1) % 2, i - 2, 2):
            low, high = c, i - 3
            if prune and c and recency:
                # As ε_j + ε_{j+2} < 2/(j+1), 9uc(i+1)²(ε_j + ε_{j+2}) + 3u(i+1) ≥ 1 needs
                # j + 1 ≤ 18uc(i+1)²/(1 − 3u(i+1)).
                high = min(high, int(20.0 * unit * c * n * n))
            if prune and c and not recency:
                # 9uc(i+1)(j+1)(j+3) ≥ 1 needs (j + 2)² > 1/(9uc(i+1)).
                low = max(low, int(sqrt(1.0 / (10.0 * unit * c * n))) - 3)
                low += (low - c) % 2
            for side in range(sides):
                cell = -float(c) if side else float(c)
                query[0] = nearest(over(cell, now, sums), 0.0, storage)
                older = 0.0
                for j in range(low, high + 3, 2):
                    newer = visit(query, cell, j, recency, reciprocals, storage, sums)
                    if j > low and older <= newer:
                        found[0], found[1], found[2], found[3] = i, int(cell), j - 2, j
                        return True
                    older = newer
    return False


_FLOATS, _INTEGERS, _TABLE = np.zeros(0), np.zeros(1, np.int64), np.zeros((1, 0))
_SAMPLES: dict[Any, tuple[Any, ...]] = {
    all_plus: (_FLOATS, _FLOATS, _FLOATS),
    all_times: (_FLOATS, _FLOATS, _FLOATS),
    affine: (_INTEGERS, _INTEGERS, _FLOATS, _FLOATS, _FLOATS, _FLOATS),
    products: (_FLOATS, _TABLE, 0, _FLOATS),
    winners_of: (_INTEGERS, 0, _INTEGERS),
    hard: (_INTEGERS, 1, _INTEGERS, 0, _TABLE, _FLOATS),
    mean: (_FLOATS, _FLOATS, 1, _FLOATS),
    soft: (_FLOATS, 0.0, 0, 1.0, _TABLE, _FLOATS),
    wrong_order: (1, 0, 1, False, True, _TABLE, _FLOATS, _INTEGERS),
}
"""Sample arguments that give the types of each loop, without the formats."""


@cache
def loop(function: Any, *forms: Form) -> Any:
    """Compile a loop for some formats; cached."""
    return compiled(function, *_SAMPLES[function], bound=forms).loop
