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
ONE = (1, 0)
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
    known: dict[tuple[int, ...], _Step] = {}
    for x in X:
        # Most neurons are 0 or 1, and what they and a symbol do together is computed once.
        shape = id(x), *[row if number == ONE else ~row for row, number in h.items()]
        if shape not in known:
            known[shape] = _step(steps[id(x)], shape[1:], rows, D)
        settled, open_sums = known[shape]
        before, h = h, dict(settled)
        for k, whole, terms in open_sums:
            by_power = dict(whole)
            for row, n, more in terms:
                N, j = before[row]
                product, power = N if n == 1 else N * n, j + more
                by_power[power] = by_power[power] + product if power in by_power else product
            if (number := _sigma(by_power, D))[0]:
                h[k] = number
    return Vector(network.layout, {k: Rational(N, D**j) for k, (N, j) in h.items()})


class _Step(NamedTuple):
    """What a symbol and the neurons that are 1 do, and which others are added to that where."""

    settled: dict[int, Number]
    open_sums: list[tuple[int, dict[int, int], list[tuple[int, int, int]]]]


def _step(
    symbol: Sequence[tuple[int, int, int]],
    shape: Sequence[int],
    rows: Mapping[int, Sequence[tuple[int, int, int]]],
    D: int,
) -> _Step:
    """The step from a hidden vector with these rows, ~row where the number is not 1."""
    sums: dict[int, dict[int, int]] = {}
    terms: dict[int, list[tuple[int, int, int]]] = {}
    for k, N, j in (*symbol, *(each for row in shape for each in rows.get(row, ()))):
        by_power = sums.setdefault(k, {})
        by_power[j] = by_power.get(j, 0) + N
    for row in (~each for each in shape if each < 0):
        for k, n, more in rows.get(row, ()):
            terms.setdefault(k, []).append((row, n, more))
    settled = {
        k: number for k, each in sums.items() if k not in terms and (number := _sigma(each, D))[0]
    }
    return _Step(settled, [(k, sums.get(k, {}), each) for k, each in terms.items()])


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
    if 0 in by_power.values():
        by_power = {j: N for j, N in by_power.items() if N}
        if not by_power:
            return 0, 0
    top = max(by_power)
    if top - min(by_power) > NEAR:
        about = sum(_about(N, j, D) for j, N in by_power.items())
        if about < -CLEAR or about > 1 + CLEAR:
            return (0, 0) if about < 0 else (1, 0)
    total = by_power[top]
    for j, N in by_power.items():
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
    """N/D^j for N ≠ 0 with an error of less than one in a million."""
    first = max(0, N.bit_length() - 64)
    size: float = 2.0 ** min(64.0, first + log2(abs(N) >> first) - j * log2(D))
    return size if N > 0 else -size
