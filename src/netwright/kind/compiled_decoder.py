"""The results of decoder constructions: a Transformer, its seed, and its embedding."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Transformer
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.machine.normal_form import NormalMachine


@dataclass(frozen=True, kw_only=True)
class CompiledDecoder(ABC):
    """A Transformer whose decoder shows the run of a machine."""

    network: Transformer
    seed: Vector

    @property
    def layout(self) -> Layout:
        """The layout of the network's vectors."""
        return self.network.layout

    @abstractmethod
    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """The encoder's input for a word; InputError for a word it cannot take."""

    @abstractmethod
    def is_final(self, y: Vector) -> bool:
        """Whether an output is in the final set 𝔽."""


@dataclass(frozen=True, kw_only=True)
class CompiledNormalDecoder(CompiledDecoder):
    """The Transformer of one machine in normal form: block q1 of an output is its state."""

    normal: NormalMachine
    embedding: Mapping[str, Vector]
    final_states: frozenset[str]

    def is_final(self, y: Vector) -> bool:
        """𝔽 = {⟦q⟧ : q ∈ F} × ℚ^(d−|Q|): whether block q1 is the one-hot of a final state."""
        return any(y["q1"] == {state: ONE} for state in self.final_states)

    @property
    def recognizer(self) -> Recognizer:
        """The recognizer A = (Σ, f_pos, Trans_M, y_0, 𝔽)."""
        return Recognizer(
            self.normal.input_alphabet, self.embedding, self.network, self.seed, self.is_final
        )

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """f(w), symbol by symbol."""
        return self.recognizer.embed(word)


@dataclass(frozen=True, kw_only=True)
class CompiledUniversal(CompiledDecoder):
    """A universal Transformer with a machine as its prompt; block r of an output is its state."""

    def is_final(self, y: Vector) -> bool:
        """𝔽: whether r = 1, which no state's code is."""
        return y.number("r") == ONE
