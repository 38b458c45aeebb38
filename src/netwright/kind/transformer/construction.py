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

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from netwright.definitions.transformer import Layer, Positions, Transformer
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.kind.compiled_decoder import CompiledNormalDecoder
from netwright.kind.transformer import (
    lemma_b1_encoder_attention,
    lemma_b2_transition,
    lemma_b3_head_position,
    lemma_b5_next_symbol,
    vectors,
)
from netwright.kind.transformer.scores import PAPER, Score, read_score
from netwright.machine.normal_form import NormalMachine, normalize
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True, kw_only=True)
class CompiledTransformer(CompiledNormalDecoder):
    """A machine in normal form and the Transformer that simulates it."""

    score: Score = PAPER
    """Which queries and keys its third layer was made with."""


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
    network = _without_transitions(layout, machine.blank, score)
    first, *others = network.decoder
    first = replace(first, O=lemma_b2_transition.transition_network(layout, machine))
    network = replace(network, decoder=(first, *others))
    return CompiledTransformer(
        normal=normal,
        network=network,
        embedding={symbol: vectors.embedding(layout, symbol) for symbol in normal.input_alphabet},
        seed=vectors.seed(layout, normal),
        final_states=machine.accepting,
        score=score,
    )


@lru_cache(maxsize=256)
def _without_transitions(layout: Layout, blank: str, score: Score) -> Transformer:
    """Trans_M but for O₁: all that machines with the same states and symbols have in common."""
    nothing = affine_network(layout)
    # With V = 0 the attention is 0, and p¹ = y + pos by the residual connection.
    transition_layer = Layer(Q=nothing, K=nothing, V=nothing, O=nothing)
    return Transformer(
        layout=layout,
        encoder=(lemma_b1_encoder_attention.encoder_layer(layout),),
        K=lemma_b1_encoder_attention.keys(layout),
        V=lemma_b1_encoder_attention.values(layout),
        decoder=(
            transition_layer,
            lemma_b3_head_position.head_position_layer(layout),
            score.layer(layout),
        ),
        F=lemma_b5_next_symbol.next_symbol_network(layout, blank),
        pos=Positions.reciprocal(layout, score.positions),
    )


def to_transformer(
    machine: TuringMachine, word: Iterable[str] = (), score: Score | str | None = None
) -> CompiledTransformer:
    """The Transformer of a machine; if the word has blanks in it, one that takes such words."""
    normal = normalize(machine, blanks_in_input=machine.blank in tuple(word))
    return compile_transformer(normal, score)
