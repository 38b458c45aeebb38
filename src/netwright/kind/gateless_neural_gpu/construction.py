"""Gates are not essential: S^t = σ(K * S^{t−1}) with a kernel of shape (2, 1) runs every machine.

In the paper's form (Equation 14) the gates are constants, U = 0 and R = 1, and F has no bias. A
cell holds the machine itself; its channels are the neurons of the RNN of Theorem 2.3 but for sc and
e, and two more:

| channel                | in cell i at time t                                                   |
|------------------------|-----------------------------------------------------------------------|
| u                      | 1                                                                     |
| f                      | 1 while t < i: the cell still loads its stack                         |
| dig                    | dig(w_{i−t})/B while t < i: the digit that came down to it, else 0     |
| Rpush                  | while t < i the stack w_{i−t}, …, w_i, the first one on top           |
| Rpop … Lstay, S, P     | from t = i on: M's configuration at time t − i on the word w_1 … w_i  |

So *every* cell simulates M, on its prefix of the input. The word is followed by a blank, as for the
RNN and for Theorem 4.1; the last cell has all of it, and shows M's time t − n − 1 at time t.

Proof, by induction on t. A cell for a symbol a begins with u = f = 1 and dig = Rpush = dig(a)/B,
which is the table at t = 0. With f_{i−1}, dig_{i−1} for channels of the cell above, and all else of
the cell itself, the lines are those of the RNN (`kind.rnn.update`) with these terms:

    f'        = σ(f_{i−1})
    dig'      = σ(dig_{i−1})
    Rpush'    = σ((X_R + Wr_L)/B − (u − Ind_L) + dig_{i−1} + f_{i−1})
    S_q₀'     = σ(N_{q₀,R} + N_{q₀,L} + N_{q₀,S} + f − f_{i−1})
    P[q₀,R,a]' = σ((B·X_R − a·u)/gap + u − M·(u − N_{q₀,R} − (f − f_{i−1})))
    Rpop'     = σ(X_R − (u − Ind_R − (f − f_{i−1})))

- f is 1 for t < i: f_i' = f_{i−1}, and above the first cell there are zeros. Likewise dig_i at time
  t is w_{i−t}, and 0 from t = i on.
- Loading, t < i − 1: f = f_{i−1} = 1. No S or P is on, so N = Ind = Wr = 0 and X_R = Rpush. Rpush'
  = X_R/B + dig_{i−1} pushes w_{i−1−t}, and is in [0, τ]. All other lines have no f in them, or f −
  f_{i−1} = 0: they are σ(X − 1) = 0 or σ(T − M) = 0, as for a step that does not apply.
- The start, t = i − 1: f = 1, f_{i−1} = dig_{i−1} = 0. f − f_{i−1} = 1 is one state more, which
  enters q₀ by a move to the right: it pops w_1, as N_{q₀,R} = 1 does in the proof of the RNN. The
  left stack is empty. That is the configuration at time 0, with the head on w_1.
- From t = i on f, f_{i−1} and dig_{i−1} are 0: the lines are the RNN's, and so is their proof. In
  particular no cell depends any more on the one above it. QED.

The final set is S_q = 1 for an accepting q; no S is on while a cell loads, and after the halt all
but u is 0. So acceptance shows at one time, which is n + 1 at least.
"""

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.exact.feed_forward import Affine, LinearMap, linear
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, Number
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import CompiledNeuralGPU
from netwright.kind.rnn.neurons import Neurons
from netwright.kind.rnn.update import update_matrix
from netwright.machine.turing_machine import Move, TuringMachine

ENCODER = ("sc", "e")
"""The neurons of the RNN that its encoder alone needs."""


class CompiledGateless(CompiledNeuralGPU):
    """A machine, and the Neural GPU whose cells run it."""

    def is_final(self, y: Vector) -> bool:
        """𝔽: the cells with S_q = 1 for a final state q."""
        return any(y.number("S", state) == ONE for state in self.final_states)


def cell_layout(neurons: Neurons) -> Layout:
    """The channels of a cell: the decoder's neurons, f and dig."""
    own = [block for block in neurons.layout.blocks if block[0] not in ENCODER]
    return Layout((*own, ("f", ("",)), ("dig", ("",))))


def core_of(neurons: Neurons) -> Affine:
    """From a cell to the neurons of the RNN, with 0 in the encoder's."""
    return Affine.of(cell_layout(neurons), neurons.layout, _shared(neurons))


def _shared(neurons: Neurons) -> dict[tuple[str, str], int]:
    """The identity between a cell and the RNN, on the blocks that both have."""
    return {(name, name): 1 for name, _ in neurons.layout.blocks if name not in ENCODER}


def compile_gateless(machine: TuringMachine, base: Number | None = None) -> CompiledGateless:
    """The Neural GPU of a machine.

    >>> from netwright.machine.library import library_machine
    >>> compiled = compile_gateless(library_machine("palindrome"))
    >>> compiled.network.layout.dimension
    31
    >>> compiled.recognizer.accepts_at("abba_", 100)
    20
    """
    neurons = Neurons.of(machine, base)
    cell, core = cell_layout(neurons), core_of(neurons)
    into = Affine.of(neurons.layout, cell, _shared(neurons))
    # Without the loop by which the RNN keeps a start state that accepts: acceptance at time 0 shows
    # in an output anyway.
    update = update_matrix(neurons, frozenset())
    own = [(core, *term, into) for term in update.terms]
    own.append((_from_f(neurons, cell, 1),))
    # From the cell above: f and dig, which Rpush takes in; and f − f_{i−1} is 0 while f_{i−1} = 1.
    down = Affine.of(
        cell,
        cell,
        {("f", "f"): 1, ("dig", "dig"): 1, ("f", "Rpush"): 1, ("dig", "Rpush"): 1},
    )
    above = [(down,), (_from_f(neurons, cell, -1),)]
    none = (linear(cell, cell, {}),)
    ones = Vector(cell, dict.fromkeys(range(cell.dimension), ONE))
    network = NeuralGPU(
        layout=cell,
        U=Convolution((none, none)),
        R=Convolution((none, none), bias=(ones,)),
        F=Convolution(
            ((LinearMap(cell, cell, tuple(above)),), (LinearMap(cell, cell, tuple(own)),))
        ),
    )
    embedding = {symbol: _cell(neurons, cell, symbol) for symbol in machine.symbols}
    final_states = machine.accepting or frozenset(machine.halting_states)
    return CompiledGateless(neurons, network, embedding, final_states)


def _from_f(neurons: Neurons, cell: Layout, sign: int) -> Affine:
    """± f as one state more, which enters q₀ by a move to the right."""
    start = neurons.machine.start
    tops = [neurons.label(start, Move.R, a) for a in range(1, neurons.k)]
    return Affine.of(
        cell,
        cell,
        {
            ("f", "S"): {("", start): sign},
            ("f", "P"): {("", label): sign * neurons.M for label in tops},
            ("f", "Rpop"): sign,
        },
    )


def _cell(neurons: Neurons, cell: Layout, symbol: str) -> Vector:
    """f(s): u = f = 1, and the digit, which is on the stack already."""
    digit = neurons.digits[symbol] / neurons.base
    return Vector.of(cell, u=1, f=1, dig=digit, Rpush=digit)
