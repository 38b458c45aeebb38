"""The kind `transformer`: Theorem 3.4."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netwright.certificates.transformer import CHECKER
from netwright.engine.following.shown import Shown, normal_shown
from netwright.engine.moments import Watch
from netwright.engine.transformer.decoder import FastDecoder, LayerVectors
from netwright.exact.rational import ONE
from netwright.kind.decoder import (
    BLANKS,
    DecoderProof,
    DecoderReading,
    NormalConstruction,
    NormalLook,
    normal_facts,
)
from netwright.kind.record import Kind, Option, Options
from netwright.kind.transformer.checks import (
    LEMMAS,
    lemmas,
    transformer_checks,
    transformer_proposal,
)
from netwright.kind.transformer.construction import CompiledTransformer, compile_transformer
from netwright.kind.transformer.meanings import MEANINGS
from netwright.kind.transformer.proof_values import VECTORS, ProofValuesOf
from netwright.kind.transformer.scores import PAPER, SCORES
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, History, view_named
from netwright.verify.comparison import Check

if TYPE_CHECKING:
    from netwright.precision.laboratory import Experiment

MOST_WINNERS = 50  # of an attention that are compared


class TransformerConstruction(NormalConstruction[CompiledTransformer]):
    """A hard-attention Transformer with one encoder layer and three decoder layers."""

    name = "transformer"
    statement = "Theorem 3.4"
    of_the_paper = True
    options = (
        Option.choice(
            "score",
            SCORES,
            PAPER.name,
            "Queries and keys of Lemma B.4, the paper's or those whose margin shrinks more slowly.",
        ),
        BLANKS,
    )

    def construct(self, machine: TuringMachine, options: Options) -> CompiledTransformer:
        """Build Trans_M for the machine in normal form."""
        normal = normalize(machine, blanks_in_input=options["blanks"])
        return compile_transformer(normal, options["score"])

    def facts(self, compiled: CompiledTransformer) -> dict[str, Any]:
        """Dimension, layers, widths and weights."""
        return {
            **normal_facts(compiled.normal),
            "dimension": compiled.layout.dimension,
            "formula": f"2|Q| + 4|Σ| + {7 + len(compiled.score.positions)}, normalised",
            "score": compiled.score.name,
            **self.sizes(compiled),
        }


def _shown(compiled: CompiledTransformer, word: Sequence[str]) -> Shown:
    """The state in q1 of the output, the symbol in s2 of the last z, the move in x1."""
    watches = (Watch("y", "q1"), Watch("z", "s2"), Watch("y", "x1", sign=True))
    return normal_shown(compiled, word, watches)


class TransformerProof(DecoderProof[CompiledTransformer]):
    """Lemmas B.1 to B.5."""

    is_predicted = True
    formulae = {"vectors": VECTORS, "claims": LEMMAS}  # noqa: RUF012  # never changed

    def lemmas(
        self, compiled: CompiledTransformer, history: History, moment: Moment
    ) -> list[Check]:
        """Compare one token with Lemmas B.1 to B.5."""
        timeline, t = history.timeline, moment.t
        values = ProofValuesOf(compiled.normal, timeline.word, timeline, compiled.score)
        names = [f"decoder.{n}" for n in range(1, len(compiled.network.decoder) + 1)]
        layers = [LayerVectors(*(moment[f"{name}.{letter}"] for letter in "paz")) for name in names]
        winners = moment.attention[f"{names[-1]}.self"].winners
        attended = [winner - 1 for winner in winners[:MOST_WINNERS]]
        return [
            Check(t, *each, max(0, t - history.lead))
            for each in lemmas(values, t - 1, layers, attended, moment["y"])
        ]

    def laboratory(self, options: Options) -> "tuple[type[Experiment], dict[str, Any]]":
        """The experiment with hard attention or softmax."""
        from netwright.precision.laboratory import AttentionExperiment

        return AttentionExperiment, {name: options[name] for name in ("score", "blanks")}


class TransformerLook(NormalLook):
    """The look of the residual stream."""

    meanings = MEANINGS
    view = view_named("transformer")

    def rule(self, compiled: CompiledTransformer, moment: Moment) -> AppliedRule | None:
        """State and symbol of y_{t−1}, and what Lemma B.2 put into z¹."""
        y, z = moment["decoder.1.input"], moment["decoder.1.z"]
        state, symbol = y.label("q1"), y.label("s1")
        if state is None or symbol is None:
            return None
        move = {ONE: "R", -ONE: "L"}.get(z.number("x2"))
        return AppliedRule(state, symbol, z.label("s2"), move, z.label("q2"))


READING = DecoderReading[CompiledTransformer](_shown, FastDecoder)
PROOF = TransformerProof(READING, transformer_checks, CHECKER, transformer_proposal)
KIND = Kind(TransformerConstruction(), READING, PROOF, TransformerLook(READING))
