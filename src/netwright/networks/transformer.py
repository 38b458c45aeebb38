"""The kind `transformer`: Theorem 3.4."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from netwright.errors import FormatError
from netwright.exact.feed_forward import Affine, FeedForward, count_parameters
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.following.from_machine import JumpingTracing
from netwright.following.tracing import TransformerTracing, transformer_names
from netwright.following.transformer import run_transformer, transformer_course
from netwright.machine.normal_form import NormalMachine, normalize
from netwright.machine.simulate import Engine, Run
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.attention import hardmax, score_phi
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.transformer import Layer, Transformer
from netwright.networks.kind import Following, Kind, Option, Options, read_flag
from netwright.networks.plain import Plain
from netwright.networks.trace import Moment
from netwright.networks.transformer_plain import plain_transformer
from netwright.networks.transformer_view import VIEW
from netwright.networks.view import History, Says
from netwright.networks.weight import weights_by_name
from netwright.networks.without import TransformerWithout
from netwright.networks.writing import Reading, Writing, machine_of, name_of_function
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
FUNCTIONS = {"score_phi": score_phi, "hardmax": hardmax}


class TransformerKind(Kind[CompiledTransformer]):
    """A hard-attention Transformer with one encoder layer and three decoder layers."""

    name = "transformer"
    statement = "Theorem 3.4"
    meanings = MEANINGS
    checker = CHECKER
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

    def for_word(self, given: Options, machine: TuringMachine, word: Sequence[str]) -> Options:
        """A word with blanks needs a network that takes such words."""
        return {**given, "blanks": True} if machine.blank in word else given

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

    def trace(
        self, compiled: CompiledTransformer, word: Sequence[str], max_steps: int
    ) -> TransformerTracing:
        """Token by token."""
        course = transformer_course(compiled, word, max_steps, TokenEngine)
        return TransformerTracing(course, compiled.network, compiled.recognizer.embed(word))

    def outputs(self, compiled: CompiledTransformer, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, … of Equation 13."""
        return compiled.network.outputs(compiled.recognizer.embed(word), compiled.seed)

    def checks(
        self, compiled: CompiledTransformer, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Lemmas B.1 to B.5 for every token."""
        return transformer_checks(compiled, word, max_steps)

    def machine_of(self, compiled: CompiledTransformer) -> TuringMachine:
        """The machine in normal form."""
        return compiled.normal.machine

    def history(
        self,
        compiled: CompiledTransformer,
        machine: TuringMachine,
        word: Sequence[str],
        limit: int,
    ) -> History:
        """Token t takes y_{t−1}, which shows the normal machine at time t − 1; none the last."""
        times = 2 * len(word) + 3 + limit + 1
        return History(ProofValuesOf.timeline_of(compiled.normal, word, limit=times), 1, 0)

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
        X = compiled.recognizer.embed(word)
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

    def written(self, compiled: CompiledTransformer) -> dict[str, Any]:
        """Machine, normal form, networks, positions, seed, embedding and final set."""
        writing, normal, network = Writing(), compiled.normal, compiled.network
        networks = {
            name: {
                "activation": name_of_function(net.activation),
                "maps": [writing.affine(affine) for affine in net.maps],
            }
            for name, net in compiled.networks().items()
        }
        layout, pos = writing.layout(compiled.layout), network.pos
        known = type(pos) is ReciprocalPositions and pos.layout == compiled.layout
        names = {function: name for name, function in FUNCTIONS.items()}
        return {
            "given": writing.machine(normal.given),
            "normal": writing.machine(normal.machine),
            "names": [normal.q_init, normal.q_read, normal.q_rewind],
            "pauses": sorted(normal.pauses),
            "networks": networks,
            "layout": layout,
            "layouts": writing.layouts,
            "encoder_layers": len(network.encoder),
            "decoder_layers": len(network.decoder),
            "attention": [names.get(f, "another") for f in (network.score, network.rho)],
            "score": compiled.score.name,
            "positions": list(pos.blocks) if isinstance(pos, ReciprocalPositions) and known else [],
            "seed": writing.vector(compiled.seed),
            "embedding": [[s, writing.vector(v)] for s, v in compiled.embedding.items()],
            "final_states": sorted(compiled.final_states),
        }

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledTransformer:
        """From what `written` gave."""
        reading = Reading(written)
        nets = {name: reading.network(net) for name, net in written["networks"].items()}

        def layers(side: str) -> tuple[Layer, ...]:
            numbers = range(1, written[f"{side}_layers"] + 1)
            return tuple(
                Layer(**{letter: nets[f"{side}.{n}.{letter}"] for letter in "QKVO"})
                for n in numbers
            )

        score, rho = (FUNCTIONS[name] for name in written["attention"])
        network = Transformer(
            layout=reading.layout,
            encoder=layers("encoder"),
            K=nets["encoder.K"],
            V=nets["encoder.V"],
            decoder=layers("decoder"),
            F=nets["F"],
            score=score,  # type: ignore[arg-type]  # the first of the two names is a score's
            rho=rho,  # type: ignore[arg-type]  # and the second a normaliser's
            pos=ReciprocalPositions(reading.layout, tuple(written["positions"])),
        )
        normal = machine_of(written["normal"])
        q_init, q_read, q_rewind = written["names"]
        if written["score"] != options["score"].name:
            raise FormatError("it was made with another score")
        return CompiledTransformer(
            NormalMachine(machine, normal, q_init, q_read, q_rewind, frozenset(written["pauses"])),
            network,
            {s: reading.vector(v, reading.layout) for s, v in written["embedding"]},
            reading.vector(written["seed"], reading.layout),
            frozenset(written["final_states"]),
            options["score"],
        )

    def unwritable(self, compiled: CompiledTransformer) -> str | None:
        """Parts that are left out, and functions that have no name here."""
        if type(compiled.network) is not Transformer:
            return "a part is left out"
        written = self.written(compiled)
        activations = {net["activation"] for net in written["networks"].values()}
        if "another" in (*written["attention"], *activations) or not written["positions"]:
            return "its attention, activations or positions are not those of the theorem"
        return None

    def was_made_with(self, compiled: CompiledTransformer, options: Options) -> bool:
        """Score and blanks; and every symbol of an input has its vector."""
        normal = compiled.normal
        symbols = set(compiled.embedding) == set(normal.input_alphabet)
        return symbols and options["blanks"] == normal.takes_blanks

    def plain(self, compiled: CompiledTransformer) -> Plain:
        """Embedding, seed, positions and maps."""
        weights = weights_by_name(self.matrices(compiled))
        return plain_transformer(self.name, self.statement, compiled, weights)

    def matrices(self, compiled: CompiledTransformer) -> dict[str, Affine]:
        """The maps of every feed-forward network, numbered."""
        return {
            f"{name}#{n}": affine
            for name, network in compiled.networks().items()
            for n, affine in enumerate(network.maps)
        }

    def with_matrix(
        self, compiled: CompiledTransformer, name: str, affine: Affine
    ) -> CompiledTransformer:
        """With another map in one of the networks."""
        place, _, number = name.partition("#")
        network = compiled.networks()[place]
        maps = list(network.maps)
        maps[int(number)] = affine
        return compiled.with_network(place, FeedForward(tuple(maps), network.activation))

    def experiment(
        self, machine: TuringMachine, word: tuple[str, ...], options: Options, settings: Options
    ) -> "AttentionExperiment":
        """With hard attention or softmax."""
        from netwright.precision.laboratory import AttentionExperiment

        chosen = {"score": options["score"], "blanks": options["blanks"]}
        return AttentionExperiment(machine, word, **chosen, **settings)

    def parts(self, compiled: CompiledTransformer) -> dict[str, Callable[[], CompiledTransformer]]:
        """Residual connections, attentions, and the positions."""
        network, names = compiled.network, []
        for n in range(1, len(network.encoder) + 1):
            names += [f"encoder.{n}.self", f"encoder.{n}.O"]
        for n in range(1, len(network.decoder) + 1):
            names += [f"decoder.{n}.self", f"decoder.{n}.external", f"decoder.{n}.O"]
        attentions = [f"attention:{name}" for name in names if not name.endswith(".O")]
        parts = [*(f"residual:{name}" for name in names), *attentions, "positions"]
        return {part: partial(_without, compiled, part) for part in parts}

    def vectors(self, compiled: CompiledTransformer) -> list[str]:
        """Input, q, k, v, p, a and z of every decoder layer, and the output."""
        return [*transformer_names(compiled.network)]

    def layout(self, compiled: CompiledTransformer) -> Layout:
        """The layout of all its vectors."""
        return compiled.layout

    def facts(self, compiled: CompiledTransformer) -> dict[str, Any]:
        """Dimension, layers, widths and weights."""
        normal, networks = compiled.normal.machine, compiled.networks()
        parameters, nonzeros = count_parameters(networks.values())
        widths = {n: list(net.hidden_widths) for n, net in networks.items() if net.hidden_widths}
        return {
            "normalized": {"states": len(normal.states), "symbols": len(normal.symbols)},
            "takes_blanks": compiled.normal.takes_blanks,
            "dimension": compiled.layout.dimension,
            "formula": f"2|Q| + 4|Σ| + {7 + len(compiled.score.positions)}, normalised",
            "score": compiled.score.name,
            "encoder_layers": len(compiled.network.encoder),
            "decoder_layers": len(compiled.network.decoder),
            "hidden_widths": widths,
            "parameters": parameters,
            "nonzeros": nonzeros,
        }

    def description(self, compiled: CompiledTransformer) -> dict[str, Any]:
        """Layers with their maps, attention, positions."""
        written = self.written(compiled)
        networks = {
            name: {
                "activation": net["activation"],
                "widths": [len(compiled.networks()[name].maps[0].input.coordinates)]
                + [affine.output.dimension for affine in compiled.networks()[name].maps],
            }
            for name, net in written["networks"].items()
        }
        score, normaliser = written["attention"]
        return {
            "layers": {
                "encoder": written["encoder_layers"],
                "decoder": written["decoder_layers"],
            },
            "networks": networks,
            "score": score,
            "normaliser": normaliser,
            "positions": written["positions"],
        }


def _without(compiled: CompiledTransformer, part: str) -> CompiledTransformer:
    return replace(compiled, network=TransformerWithout.of(compiled.network, part))
