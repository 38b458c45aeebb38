"""The encoder of an RNN (Equation 2), for long inputs: the same h_n, in numbers that stay short.

A number is N/D^j for one D, the least common denominator of the weights, with its own j. Terms with
the same j are added first, so that what cancels never becomes long: of the stacks of Theorem 2.3
only one is a long number, and it gets one digit more with each symbol.
"""

from collections.abc import Sequence
from math import lcm, log2

from netwright.exact.feed_forward import LinearMap
from netwright.exact.rational import Rational, sigma
from netwright.exact.vector import Vector
from netwright.nets.rnn import RNN

Number = tuple[int, int]
"""N and j."""
SHORT_BITS = 256  # up to which N is kept as short as it can be
CLEAR = 1e-3


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
    for x in X:
        sums: dict[int, dict[int, int]] = {}
        for k, N, j in steps[id(x)]:
            sums.setdefault(k, {})[j] = N
        for row, (N, j) in h.items():
            for k, n, more in rows.get(row, ()):
                by_power = sums.setdefault(k, {})
                by_power[j + more] = by_power.get(j + more, 0) + N * n
        h = {}
        for k, by_power in sums.items():
            number = _sigma(by_power, D)
            if number[0]:
                h[k] = number
    return Vector(network.layout, {k: Rational(N, D**j) for k, (N, j) in h.items()})


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
    about = sum(_about(N, j, D) for j, N in parts.items())
    if not parts or about < -CLEAR:
        return 0, 0
    if about > 1 + CLEAR:
        return 1, 0
    top = max(parts)
    total = sum(N if j == top else N * D ** (top - j) for j, N in parts.items())
    if total <= 0:
        return 0, 0
    if total.bit_length() <= SHORT_BITS:
        while top and total % D == 0:
            total, top = total // D, top - 1
    return (1, 0) if about > 1 - CLEAR and total >= D**top else (total, top)


def _about(N: int, j: int, D: int) -> float:
    """N/D^j with an error of less than one in a million."""
    first = max(0, N.bit_length() - 64)
    size: float = 2.0 ** min(64.0, first + log2(abs(N) >> first) - j * log2(D))
    return size if N > 0 else -size
