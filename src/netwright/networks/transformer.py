"""The kind `transformer`: Theorem 3.4."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from netwright.errors import FormatError
from netwright.exact.rational import ONE
from netwright.following.from_machine import JumpingTracing
from netwright.following.transformer import run_transformer, transformer_course
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import Engine, Run
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.transformer import Transformer
from netwright.networks.decoder import (
    NormalDecoderKind,
    rebuilt_ends,
    written_ends,
)
from netwright.networks.kind import Following, Option, Options, read_flag
from netwright.networks.trace import Moment
from netwright.networks.transformer_view import VIEW
from netwright.networks.view import History, Says
from netwright.networks.writing import Reading, Writing
from netwright.runtime.transformer.decoder import FastDecoder, LayerVectors
from netwright.runtime.transformer.tokens import TokenEngine
from netwright.theorems.theorem_3_4_transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)
from netwright.theorems.theorem_3_4_transformer.meanings import MEANINGS
from netwright.theorems.theorem_3_4_transformer.proof_values import ProofValuesOf
from netwright.theorems.theorem_3_4_transformer.scores import PAPER, SCORES, read_score
from netwright.verify.certificate.transformer import CHECKER
from netwright.verify.comparison import Check
from netwright.verify.transformer import lemmas, transformer_checks

if TYPE_CHECKING:
    from netwright.precision.laboratory import AttentionExperiment

MOST_WINNERS = 50  # of an attention, to be compared


class TransformerKind(NormalDecoderKind[CompiledTransformer]):
    """A hard-attention Transformer with one encoder layer and three decoder layers."""

    name = "transformer"
    statement = "Theorem 3.4"
    meanings = MEANINGS
    checker = CHECKER
    positions = ReciprocalPositions
    has_tables = True
    view = VIEW
    benchmark_steps = 10**7
    options = (
        Option(
            "score",
            read_score,
            PAPER,
            "Queries and keys of Lemma B.4, the paper's or those whose margin shrinks more slowly.",
            metavar=f"[{'|'.join(SCORES)}]",
            choices=tuple(SCORES),
        ),
        Option("blanks", read_flag, False, "Take inputs with blanks in them.", is_flag=True),
    )

    def construct(self, machine: TuringMachine, options: Options) -> CompiledTransformer:
        """Trans_M for the machine in normal form."""
        normal = normalize(machine, blanks_in_input=options["blanks"])
        return compile_transformer(normal, options["score"])

    def run(self, compiled: CompiledTransformer, word: Sequence[str], following: Following) -> Run:
        """By the definition where a part is left out: engines know whole networks."""
        is_whole = type(compiled.network) is Transformer
        make = partial(FastDecoder, tables=following.engine is not Engine.FULL)
        faster = following.faster(make, FastDecoder.SHORT) if is_whole else None
        return run_transformer(compiled, word, *following.beside, faster)

    def checks(
        self, compiled: CompiledTransformer, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Lemmas B.1 to B.5 for every token."""
        return transformer_checks(compiled, word, max_steps)

    def jumping(
        self,
        compiled: CompiledTransformer,
        history: History,
        word: Sequence[str],
        max_steps: int,
    ) -> JumpingTracing | None:
        """From the machine's run, where the network is whole."""
        if type(compiled.network) is not Transformer:
            return None
        course = transformer_course(compiled, word, max_steps, TokenEngine)
        X = compiled.embed(word)
        return JumpingTracing(course, compiled, X, history.timeline)

    def lemmas(
        self, compiled: CompiledTransformer, history: History, moment: Moment
    ) -> list[Check]:
        """Lemmas B.1 to B.5 for a token."""
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

    def says(self, compiled: CompiledTransformer, moment: Moment) -> Says | None:
        """The state and symbol of y_{t−1}; what z¹ has of Lemma B.2."""
        y, z = moment["decoder.1.input"], moment["decoder.1.z"]
        state, symbol = y.label("q1"), y.label("s1")
        if state is None or symbol is None:
            return None
        move = {ONE: "R", -ONE: "L"}.get(z.number("x2"))
        return Says(state, symbol, z.label("s2"), move, z.label("q2"))

    def beside(self, writing: Writing, compiled: CompiledTransformer) -> dict[str, Any]:
        """Machine, normal form, embedding, final set, and the score of layer 3."""
        return {**written_ends(writing, compiled), "score": compiled.score.name}

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledTransformer:
        """From what `written` gave."""
        reading = Reading(written)
        if written["score"] != options["score"].name:
            raise FormatError("it was made with another score")
        return CompiledTransformer(
            network=self.rebuilt_network(reading, written),
            score=options["score"],
            **rebuilt_ends(reading, written, machine),
        )

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "AttentionExperiment":
        """With hard attention or softmax."""
        from netwright.precision.laboratory import AttentionExperiment

        chosen = {"score": options["score"], "blanks": options["blanks"]}
        return AttentionExperiment(machine, word, **chosen, **settings)

    def facts(self, compiled: CompiledTransformer) -> dict[str, Any]:
        """Dimension, layers, widths and weights."""
        return {
            **self.normal_facts(compiled),
            "dimension": compiled.layout.dimension,
            "formula": f"2|Q| + 4|Σ| + {7 + len(compiled.score.positions)}, normalised",
            "score": compiled.score.name,
            **self.sizes(compiled),
        }
