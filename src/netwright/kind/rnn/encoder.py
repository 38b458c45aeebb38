"""The encoder: h_i = σ(x_i W + h_{i−1} V) puts the input on the right stack, first symbol on top.

Pushing symbols as they come would put the last on top. So the i-th is added at its place instead,
with a neuron for the scale B^(−i). The token of a symbol with digit s has 1 in u, 1 in e[s] (if s
≥ 1), and 1 in P[q₀, R, a] for each a ≤ s. Behind the input one more token is read, that of the
blank: a blank at the end of a stack changes nothing, and on the empty word it sets u and S,
without which a network with no bias would stay at 0 for ever.

    u   = σ(x_u)                                1
    S_q₀ = σ(x_u)                               1: the machine starts
    sc  = σ((sc + x_u − u)/B)                   B^(−i): for i = 1 the old u is 0, so
                                                (0 + 1 − 0)/B = 1/B; then (B^(−(i−1)) + 1 − 1)/B
    e_a = σ((sc + x_u − u)/B − (x_u − x_{e_a})) B^(−i) if the digit is a, else ≤ 0, so 0
    Rpop = σ(Rpop + Σ a·e_a)                    Σ dig(s_j) B^(−j) over j < i; the last digit is in e
    P[q₀,R,a] = σ(2P + x_P − u)                 for i = 1 whether s₁ ≥ a; then P keeps its value:
                                                2 + x_P − 1 ≥ 1 if it was 1, 0 + x_P − 1 ≤ 0 if not

So h_n is the configuration at time 0: state q₀, the head on the first symbol, whose digit is Σ_a
P, and X_R = B·(Rpop + Σ a·e_a) − Σ P the rest of the input. The decoder leaves sc and e at 0.
"""

from netwright.exact.feed_forward import LinearMap, linear
from netwright.exact.vector import Vector
from netwright.kind.rnn.neurons import Neurons
from netwright.machine.turing_machine import Move


def token(neurons: Neurons, symbol: str) -> Vector:
    """f(s): the vector of an input symbol."""
    digit = neurons.digits[symbol]
    start = neurons.machine.start
    return Vector.of(
        neurons.layout,
        u=1,
        e={str(digit): 1} if digit else {},
        P={neurons.label(start, Move.R, a): 1 for a in range(1, digit + 1)},
    )


def input_matrix(neurons: Neurons) -> LinearMap:
    """W: what the token adds to each line."""
    layout, base = neurons.layout, neurons.base
    digits = [str(a) for a in range(1, neurons.k)]
    return linear(
        layout,
        layout,
        {
            ("u", "u"): 1,
            ("u", "S"): {("", neurons.machine.start): 1},
            ("u", "sc"): 1 / base,
            ("u", "e"): {("", a): 1 / base - 1 for a in digits},
            ("e", "e"): 1,
            ("P", "P"): _of_the_start(neurons, 1),
        },
    )


def state_matrix(neurons: Neurons) -> LinearMap:
    """V: what the hidden vector before adds to each line."""
    layout, base = neurons.layout, neurons.base
    digits = [str(a) for a in range(1, neurons.k)]
    start = neurons.machine.start
    return linear(
        layout,
        layout,
        {
            ("sc", "sc"): 1 / base,
            ("u", "sc"): -1 / base,
            ("sc", "e"): {("", a): 1 / base for a in digits},
            ("u", "e"): {("", a): -1 / base for a in digits},
            ("Rpop", "Rpop"): 1,
            ("e", "Rpop"): {(a, ""): int(a) for a in digits},
            ("P", "P"): _of_the_start(neurons, 2),
            ("u", "P"): {("", neurons.label(start, Move.R, a)): -1 for a in range(1, neurons.k)},
        },
    )


def _of_the_start(neurons: Neurons, weight: int) -> dict[tuple[str, str], int]:
    """A multiple of the identity on the neurons P[q₀, R, a]."""
    labels = [neurons.label(neurons.machine.start, Move.R, a) for a in range(1, neurons.k)]
    return {(label, label): weight for label in labels}
