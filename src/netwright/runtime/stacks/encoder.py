"""The encoder of an RNN (Equation 2), for long inputs: the same h_n, in numbers that stay short.

A number is N/D^j for one D, the least common denominator of the weights, with its own j. Terms with
the same j are added first, so that what cancels never becomes long: of the stacks of Theorem 2.3
only one is a long number, and it gets one digit more with each symbol.
"""

from collections.abc import Mapping, Sequence
from math import lcm, log2
from typing import NamedTuple

from netwright.exact.feed_forward import LinearMap
from netwright.exact.rational import Rational, sigma
from netwright.exact.vector import Vector
from netwright.nets.rnn import RNN

Number = tuple[int, int]
"""N and j."""
SHORT_BITS = 256  # up to which N is kept as short as it can be
CLEAR = 1e-3  # more than floating point is wrong by
NEAR = 8  # powers of D, so near to each other that terms are added as they are


def last_hidden(network: RNN, X: Sequence[Vector]) -> Vector:
    """h_n."""
    if network.f1 is not sigma or not X:
        *_, last = network.encoder_states(X)
        return last
    zero = Vector.zero(network.layout)
    bias = network.b1 if network.b1 is not None else zero
    distinct = {id(x): x for x in X}
    images = {key: network.W(x) + bias for key, x in distinct.items()}
    V = network.V.matrix if isinstance(network.V, LinearMap) else network.V
    D = lcm(
        V.denominator,
        *(int(number.q) for image in images.values() for number in image.entries.values()),
    )
    D = max(D, 2)
    steps = {key: [(k, *_short(x, D)) for k, x in v.entries.items()] for key, v in images.items()}
    rows: dict[int, list[tuple[int, int, int]]] = {}
    for (row, column), weight in V.weights.items():
        rows.setdefault(row, []).append((column, *_short(weight, D)))
    h: dict[int, Number] = {}
    known: dict[tuple[int, frozenset[int]], _Whole] = {}
    for x in X:
        # Most neurons are 0 or 1, and what they and a symbol do together is computed once.
        ones = frozenset(k for k, number in h.items() if number == (1, 0))
        if (id(x), ones) not in known:
            known[id(x), ones] = _whole(steps[id(x)], ones, rows, D)
        sums, settled = known[id(x), ones]
        changed: dict[int, dict[int, int]] = {}
        for row, (N, j) in h.items():
            if row in ones:
                continue
            for k, n, more in rows.get(row, ()):
                if k not in changed:
                    changed[k] = dict(sums.get(k, ()))
                changed[k][j + more] = changed[k].get(j + more, 0) + N * n
        h = dict(settled)
        for k, by_power in changed.items():
            h[k] = _sigma(by_power, D)
            if not h[k][0]:
                del h[k]
    return Vector(network.layout, {k: Rational(N, D**j) for k, (N, j) in h.items()})


class _Whole(NamedTuple):
    """What a symbol and the neurons that are 1 add to each neuron, and σ of that alone."""

    sums: dict[int, dict[int, int]]
    settled: dict[int, Number]


def _whole(
    step: Sequence[tuple[int, int, int]],
    ones: frozenset[int],
    rows: Mapping[int, Sequence[tuple[int, int, int]]],
    D: int,
) -> _Whole:
    sums: dict[int, dict[int, int]] = {}
    for k, N, j in (*step, *(each for row in ones for each in rows.get(row, ()))):
        by_power = sums.setdefault(k, {})
        by_power[j] = by_power.get(j, 0) + N
    settled = {k: number for k, each in sums.items() if (number := _sigma(each, D))[0]}
    return _Whole(sums, settled)


def _short(number: Rational, D: int) -> Number:
    """A number as N/D^j, with the least j; every prime of its denominator divides D."""
    j = 0
    while (number * D**j).q != 1:
        j += 1
    return int((number * D**j).p), j


def _sigma(by_power: dict[int, int], D: int) -> Number:
    """σ of a sum of N/D^j: in floating point where that is clearly below 0 or above 1."""
    if len(by_power) == 1 and 0 in by_power:  # a whole number: most neurons are 0 or 1
        return (1, 0) if by_power[0] > 0 else (0, 0)
    parts = {j: N for j, N in by_power.items() if N}
    if not parts:
        return 0, 0
    top, low = max(parts), min(parts)
    if top - low > NEAR:
        about = sum(_about(N, j, D) for j, N in parts.items())
        if about < -CLEAR or about > 1 + CLEAR:
            return (0, 0) if about < 0 else (1, 0)
    total = parts[top]
    for j, N in parts.items():
        if j != top:
            total += N * D ** (top - j)
    if total <= 0:
        return 0, 0
    bits = total.bit_length()
    if bits <= SHORT_BITS:
        while top and total % D == 0:
            total, top = total // D, top - 1
    if bits <= top:  # total < 2^bits ≤ D^top
        return total, top
    about = _about(total, top, D)
    if about < 1 - CLEAR:
        return total, top
    return (1, 0) if about > 1 + CLEAR or total >= D**top else (total, top)


def _about(N: int, j: int, D: int) -> float:
    """N/D^j with an error of less than one in a million."""
    first = max(0, N.bit_length() - 64)
    size: float = 2.0 ** min(64.0, first + log2(abs(N) >> first) - j * log2(D))
    return size if N > 0 else -size
