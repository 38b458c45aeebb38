"""Theorem 3.4: the Transformer Trans_M of a machine M in normal form, and its recognizer.

One encoder layer, three decoder layers, hard attention with the score −|⟨q, k⟩|:

| layer     | self attention                          | feed-forward                        |
|-----------|-----------------------------------------|-------------------------------------|
| encoder   | none; then keys (i, −1), values ⟦s_i⟧ i | none                                |
| decoder 1 | none                                    | O₁: the transition function (B.2)   |
| decoder 2 | equal: the head's position (B.3)        | O₂: cancels the external attention  |
| decoder 3 | the last visit of the next cell (B.4)   | O₃: the same                        |
| after     |                                         | F: the next symbol (B.5, B.6)       |

The third layer may have another query and key than the paper's: `scores` has them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netwright.exact.feed_forward import FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.machine.normal_form import NormalMachine, normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.recognizer import Recognizer
from netwright.nets.transformer import Layer, Transformer
from netwright.theorems.theorem_3_4_transformer import (
    lemma_b1_encoder_attention,
    lemma_b2_transition,
    lemma_b3_head_position,
    lemma_b5_next_symbol,
    vectors,
)
from netwright.theorems.theorem_3_4_transformer.scores import PAPER, Score, read_score


@dataclass(frozen=True)
class CompiledTransformer:
    """A machine in normal form and the Transformer that simulates it."""

    normal: NormalMachine
    network: Transformer
    embedding: Mapping[str, Vector]
    seed: Vector
    final_states: frozenset[str]
    score: Score = PAPER
    """Which queries and keys its third layer was made with."""

    @property
    def layout(self) -> Layout:
        """The layout of the network's vectors."""
        return self.network.layout

    def is_final(self, y: Vector) -> bool:
        """𝔽 = {⟦q⟧ : q ∈ F} × ℚ^(d−|Q|): whether block q1 is the one-hot of a final state."""
        return any(y["q1"] == {state: ONE} for state in self.final_states)

    @property
    def recognizer(self) -> Recognizer:
        """The recognizer A = (Σ, f_pos, Trans_M, y_0, 𝔽)."""
        return Recognizer(
            self.normal.input_alphabet, self.embedding, self.network, self.seed, self.is_final
        )

    def networks(self) -> dict[str, FeedForward]:
        """Every feed-forward network, by its place: `encoder.1.Q`, …, `decoder.3.O`, `F`."""
        found: dict[str, object] = {}
        for side, layers in (("encoder", self.network.encoder), ("decoder", self.network.decoder)):
            for number, layer in enumerate(layers, start=1):
                for letter in "QKVO":
                    found[f"{side}.{number}.{letter}"] = getattr(layer, letter)
        found |= {"encoder.K": self.network.K, "encoder.V": self.network.V, "F": self.network.F}
        return {name: net for name, net in found.items() if isinstance(net, FeedForward)}

    def with_network(self, name: str, network: FeedForward) -> "CompiledTransformer":
        """The same with another network in one of the places that `networks` names."""
        place, _, letter = name.rpartition(".")
        changes: dict[str, Any] = {letter: network}
        if place not in ("", "encoder"):
            side, number = place.split(".")
            layers = list(getattr(self.network, side))
            layers[int(number) - 1] = replace(layers[int(number) - 1], **changes)
            changes = {side: tuple(layers)}
        return replace(self, network=replace(self.network, **changes))


def compile_transformer(
    normal: NormalMachine, score: Score | str | None = None
) -> CompiledTransformer:
    """Trans_M, with the paper's score unless another is named.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.machine.normal_form import normalize
    >>> compiled = compile_transformer(normalize(library_machine("even-as")))
    >>> compiled.layout.dimension  # 2·7 + 4·3 + 11
    37
    >>> compiled.recognizer.accepts_at("abab", 100)
    16
    """
    score = read_score(score)
    machine = normal.machine
    layout = vectors.vector_layout(normal, score.positions)
    nothing = affine_network(layout)
    transition_layer = Layer(
        Q=nothing,
        K=nothing,
        V=nothing,  # with V = 0 the attention is 0, and p¹ = y + pos by the residual connection
        O=lemma_b2_transition.transition_network(layout, machine),
    )
    network = Transformer(
        layout=layout,
        encoder=(lemma_b1_encoder_attention.encoder_layer(layout),),
        K=lemma_b1_encoder_attention.keys(layout),
        V=lemma_b1_encoder_attention.values(layout),
        decoder=(
            transition_layer,
            lemma_b3_head_position.head_position_layer(layout),
            score.layer(layout),
        ),
        F=lemma_b5_next_symbol.next_symbol_network(layout, machine),
        pos=ReciprocalPositions(layout, score.positions),
    )
    return CompiledTransformer(
        normal=normal,
        network=network,
        embedding={symbol: vectors.embedding(layout, symbol) for symbol in normal.input_alphabet},
        seed=vectors.seed(layout, normal),
        final_states=machine.accepting,
        score=score,
    )


def to_transformer(
    machine: TuringMachine, word: Iterable[str] = (), score: Score | str | None = None
) -> CompiledTransformer:
    """The Transformer of a machine; if the word has blanks in it, one that takes such words."""
    normal = normalize(machine, blanks_in_input=machine.blank in tuple(word))
    return compile_transformer(normal, score)
