"""What constructions of decoders give: a Transformer, its seed, and what an input is for it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from netwright.exact.feed_forward import FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.machine.normal_form import NormalMachine
from netwright.nets.recognizer import Recognizer
from netwright.nets.transformer import Transformer


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
        """What the encoder takes for a word; InputError if it cannot."""

    @abstractmethod
    def is_final(self, y: Vector) -> bool:
        """Whether an output is in the final set 𝔽."""

    def networks(self) -> dict[str, FeedForward]:
        """Every feed-forward network, by its place: `encoder.1.Q`, …, `decoder.3.O`, `F`."""
        found: dict[str, object] = {}
        for side, layers in (("encoder", self.network.encoder), ("decoder", self.network.decoder)):
            for number, layer in enumerate(layers, start=1):
                for letter in "QKVO":
                    found[f"{side}.{number}.{letter}"] = getattr(layer, letter)
        found |= {"encoder.K": self.network.K, "encoder.V": self.network.V, "F": self.network.F}
        return {name: net for name, net in found.items() if isinstance(net, FeedForward)}

    def with_network(self, name: str, network: FeedForward) -> Self:
        """The same with another network in one of the places that `networks` names."""
        place, _, letter = name.rpartition(".")
        changes: dict[str, Any] = {letter: network}
        if place not in ("", "encoder"):
            side, number = place.split(".")
            layers = list(getattr(self.network, side))
            layers[int(number) - 1] = replace(layers[int(number) - 1], **changes)
            changes = {side: tuple(layers)}
        return replace(self, network=replace(self.network, **changes))


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
