"""Theorem 2.3: the RNN of a machine, and its recognizer.

R = 0, b₁ = b₂ = 0, O is the identity, f₁ = f₂ = σ. g_t is the machine's configuration at time t.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.rnn import RNN
from netwright.exact.rational import ONE, Number
from netwright.exact.vector import Vector
from netwright.kind.rnn import encoder, update
from netwright.kind.rnn.neurons import Neurons
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True)
class CompiledRNN:
    """A machine and the RNN that simulates it."""

    neurons: Neurons
    network: RNN
    embedding: Mapping[str, Vector]
    final_states: frozenset[str]

    @property
    def machine(self) -> TuringMachine:
        """The given machine."""
        return self.neurons.machine

    def is_final(self, y: Vector) -> bool:
        """𝔽: the vectors with S_q = 1 for a final state q."""
        return any(y.number("S", state) == ONE for state in self.final_states)

    def embed(self, word: Sequence[str]) -> list[Vector]:
        """The tokens of a word, and of the blank that ends it."""
        return [self.embedding[symbol] for symbol in (*word, self.machine.blank)]

    @property
    def recognizer(self) -> Recognizer:
        """The recognizer; its words end with a blank."""
        seed = Vector.zero(self.neurons.layout)
        return Recognizer(self.machine.symbols, self.embedding, self.network, seed, self.is_final)


def compile_rnn(machine: TuringMachine, base: Number | None = None) -> CompiledRNN:
    """The RNN of a machine.

    >>> from netwright.machine.library import library_machine
    >>> compiled = compile_rnn(library_machine("even-as"))
    >>> compiled.recognizer.accepts_at("abab_", 100)
    5
    """
    neurons = Neurons.of(machine, base)
    final_states = machine.accepting or frozenset(machine.halting_states)
    network = RNN(
        layout=neurons.layout,
        W=encoder.input_matrix(neurons),
        V=encoder.state_matrix(neurons),
        U=update.update_matrix(neurons, final_states),
    )
    embedding = {symbol: encoder.token(neurons, symbol) for symbol in machine.symbols}
    return CompiledRNN(neurons, network, embedding, final_states)
