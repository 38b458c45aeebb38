"""The decoder: one step of the machine in one step g ↦ σ(gU).

Every line is linear in the read-outs u, X_R, X_L, n of g, hence in g. N_{q,D} is the sum of n
over the pairs whose rule enters q moving D: whether the next step does that. Ind_D = Σ_q N_{q,D}.
Wr_D is the digit written by a step that moves D, else 0.

    u'       = σ(u)                                              1 stays 1
    S_q'     = σ(N_{q,R} + N_{q,L} + N_{q,S})                    the next state
    P[q,D,a]' = σ((B·X_D − a·u)/gap + u − M·(u − N_{q,D}))       for D = R, L
    P[q,S,a]' = σ(N of the pairs that enter q staying and write a digit ≥ a)
    Rpop'    = σ(X_R − (u − Ind_R))                              moving right pops the right stack
    Rpush'   = σ((X_R + Wr_L)/B − (u − Ind_L))                   moving left pushes on it
    Rstay'   = σ(X_R − (u − Ind_S))
    and the same for the left stack, with R and L exchanged.

Why P is right: with u = 1, T = (B·X_D − a)/gap + 1 is at least 1 if the top of stack D is at
least a, else at most 0, and T ≤ M always (see `neurons`). If N_{q,D} = 1 the line is σ(T): 1 or 0
as it should be. If N_{q,D} = 0 it is σ(T − M) = σ(≤ 0) = 0. The symbol under the head after a
move to D is that top.

Why the stacks are right: X_D ∈ [0, τ] and (X_D + Wr)/B ∈ [0, τ], so σ is the identity on them, and
subtracting 1 makes what is ≤ 0, so 0, of the ones that do not apply.

A halt: no pair with a rule, so N = 0 throughout and all but u is 0 from the next step on. Only a
start state that accepts keeps its neuron S for ever, so that some y_r with r ≥ 1 shows it.
"""

from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational
from netwright.kind.rnn.neurons import Neurons
from netwright.kind.rnn.readouts import pair_label, readout_layout, readouts
from netwright.machine.turing_machine import Move


def update_matrix(neurons: Neurons, final_states: frozenset[str]) -> LinearMap:
    """U, as the product of the read-outs and the lines above."""
    layout = neurons.layout
    terms: list[tuple[Affine, ...]] = [(readouts(neurons), _lines(neurons))]
    start = neurons.machine.start
    if start in final_states:
        terms.append((Affine.of(layout, layout, {("S", "S"): {(start, start): 1}}),))
    return LinearMap(layout, layout, tuple(terms))


def _lines(neurons: Neurons) -> Affine:
    """The lines, as a map from the read-outs to the neurons."""
    base, gap, M = neurons.base, neurons.gap, neurons.M
    moves = {label: (move, a) for label, (_, move, a) in neurons.tops.items() if move is not Move.S}
    right, left = (
        {("", label): base / gap for label, (move, _) in moves.items() if move is side}
        for side in (Move.R, Move.L)
    )
    from_pairs = _from_pairs(neurons)
    return Affine.of(
        readout_layout(neurons),
        neurons.layout,
        {
            ("u", "u"): 1,
            ("u", "P"): {("", label): 1 - a / gap - M for label, (_, a) in moves.items()},
            ("R", "P"): right,
            ("L", "P"): left,
            ("n", "S"): from_pairs["S"],
            ("n", "P"): from_pairs["P"],
            **{("u", name): -1 for name in neurons.stacks},
            **{("n", name): from_pairs[name] for name in neurons.stacks},
            **{
                (name[0], name): 1 / base if name.endswith("push") else 1 for name in neurons.stacks
            },
        },
    )


def _from_pairs(neurons: Neurons) -> dict[str, dict[tuple[str, str], Rational | int]]:
    """The weights from n into each block: those of N, Ind and Wr."""
    base, M = neurons.base, neurons.M
    found: dict[str, dict[tuple[str, str], Rational | int]] = {
        block: {} for block in ("S", "P", *neurons.stacks)
    }
    for (q, s), (target, written, move) in neurons.rules.items():
        pair, digit = pair_label(q, s), neurons.digits[written]
        found["S"][pair, target] = 1
        for a in range(1, neurons.k):
            if move is not Move.S:
                found["P"][pair, neurons.label(target, move, a)] = M
            elif digit >= a:
                found["P"][pair, neurons.label(target, move, a)] = 1
        if move is Move.S:
            found["Rstay"][pair, ""] = found["Lstay"][pair, ""] = 1
        else:
            popped, pushed = ("R", "L") if move is Move.R else ("L", "R")
            found[f"{popped}pop"][pair, ""] = 1
            found[f"{pushed}push"][pair, ""] = 1 + digit / base
    return found


def move_readouts(neurons: Neurons) -> Affine:
    """Ind_L and Ind_R from the read-outs: where the head goes in the next step."""
    moves: dict[tuple[str, str], int] = {}
    for (q, s), action in neurons.rules.items():
        if action.move is not Move.S:
            moves[pair_label(q, s), action.move.value] = 1
    return Affine.of(readout_layout(neurons), Layout.of(move=("L", "R")), {("n", "move"): moves})
