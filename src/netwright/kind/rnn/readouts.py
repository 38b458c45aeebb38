"""Linear read-outs of a hidden vector: stacks, state and symbol. They pass through no activation.

    X_R = B·Rpop + Rpush + Rstay + B·Σ a·e_a − Σ P[q, R, a]      the right stack
    X_L = B·Lpop + Lpush + Lstay − Σ P[q, L, a]                  the left stack
    n[q, s]                                                      the one-hot of state and symbol

A pop is done late: Rpop keeps the stack before it, and Σ_a P[q, R, a] is the digit of its top, so
B·Rpop − Σ P[q, R, a] is the stack without it. Of Rpop, Rpush, Rstay one is not 0 at most. The
encoder's e holds the last digit read, which Rpop does not have yet: 0 after the blank after the
input, but read-outs hold at every moment of the encoder.

With G_{q,0} = S_q, G_{q,a} = Σ_D P[q, D, a] for 1 ≤ a < k and G_{q,k} = 0, G_{q,a} says whether
the state is q and the digit at least a; so n[q, s] = G_{q,dig s} − G_{q,dig s + 1} says whether
the state is q and the symbol s.
"""

from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational
from netwright.kind.rnn.neurons import Neurons
from netwright.machine.turing_machine import Move


def pair_label(state: str, symbol: str) -> str:
    """The label of a pair of state and symbol."""
    return f"{state!r}, {symbol!r}"


def readout_layout(neurons: Neurons) -> Layout:
    """u, X_R, X_L and n."""
    machine = neurons.machine
    pairs = [pair_label(q, s) for q in machine.states for s in machine.symbols]
    return Layout.of({"u": "", "R": "", "L": "", "n": pairs})


def readouts(neurons: Neurons) -> Affine:
    """The linear map from hidden vectors to read-outs."""
    base, machine = neurons.base, neurons.machine
    above_zero = range(1, neurons.k)
    popped: dict[Move, dict[tuple[str, str], int]] = {Move.R: {}, Move.L: {}}
    tops: dict[tuple[str, str], int] = {}
    for state, move in neurons.entries:
        for a in above_zero:
            label = neurons.label(state, move, a)
            if move is not Move.S:
                popped[move][label, ""] = -1
            # G_{q,a} adds to the pair of digit a and is taken from that of digit a − 1.
            tops[label, pair_label(state, neurons.symbol_of[a])] = 1
            tops[label, pair_label(state, neurons.symbol_of[a - 1])] = -1
    blocks: dict[tuple[str, str], Rational | int | dict[tuple[str, str], int]] = {
        ("u", "u"): 1,
        ("Rpop", "R"): base,
        ("Rpush", "R"): 1,
        ("Lpop", "L"): base,
        ("Lpush", "L"): 1,
        ("P", "R"): popped[Move.R],
        ("P", "L"): popped[Move.L],
        ("P", "n"): tops,
        ("S", "n"): {(q, pair_label(q, machine.blank)): 1 for q in machine.states},
    }
    if neurons.stays:
        blocks |= {("Rstay", "R"): 1, ("Lstay", "L"): 1}
    digits = {("e", "R"): {(str(a), ""): a * base for a in above_zero}}
    return Affine.of(neurons.layout, readout_layout(neurons), {**blocks, **digits})
