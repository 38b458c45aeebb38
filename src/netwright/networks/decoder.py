"""What the kinds have in common whose networks are Transformers: their weights, and files."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from netwright.exact.feed_forward import Affine, FeedForward, count_parameters
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.following.tracing import TransformerTracing, transformer_names
from netwright.following.transformer import transformer_course
from netwright.machine.normal_form import NormalMachine
from netwright.machine.timeline import normal_timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.attention import dot_product, hardmax, score_phi
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.transformer import Layer, Transformer
from netwright.networks.kind import Kind, Options
from netwright.networks.plain import Plain
from netwright.networks.transformer_plain import plain_transformer
from netwright.networks.view import History
from netwright.networks.weight import weights_by_name
from netwright.networks.without import TransformerWithout
from netwright.networks.writing import Reading, Writing, machine_of, name_of_function
from netwright.runtime.transformer.tokens import TokenEngine
from netwright.theorems.beyond.pointers.positions import Positions
from netwright.theorems.decoder import CompiledDecoder, CompiledNormalDecoder

D = TypeVar("D", bound=CompiledDecoder)
N = TypeVar("N", bound=CompiledNormalDecoder)
FUNCTIONS: dict[str, Any] = {
    "score_phi": score_phi,
    "dot_product": dot_product,
    "hardmax": hardmax,
}
POSITIONS = (ReciprocalPositions, Positions)


class DecoderKind(Kind[D]):
    """A kind of Transformer that shows a machine's run token by token."""

    positions: type[ReciprocalPositions] | type[Positions] = Positions
    """Of what class the positions of its networks are."""

    def trace(self, compiled: D, word: Sequence[str], max_steps: int) -> TransformerTracing:
        """Token by token."""
        course = transformer_course(compiled, word, max_steps, TokenEngine)
        return TransformerTracing(course, compiled.network, compiled.embed(word))

    def score_of(self, compiled: D) -> str:
        """−|⟨q, k⟩| or ⟨q, k⟩."""
        return "⟨q, k⟩" if compiled.network.score == dot_product else super().score_of(compiled)

    def outputs(self, compiled: D, word: Sequence[str]) -> Iterator[Vector]:
        """y_1, y_2, … of Equation 13."""
        return compiled.network.outputs(compiled.embed(word), compiled.seed)

    @abstractmethod
    def beside(self, writing: Writing, compiled: D) -> dict[str, Any]:
        """What is written of a network beside its weights, seed and positions."""

    def written(self, compiled: D) -> dict[str, Any]:
        """What the network is for, its maps, positions and seed."""
        writing, network = Writing(), compiled.network
        networks = {
            name: {
                "activation": name_of_function(net.activation),
                "maps": [writing.affine(affine) for affine in net.maps],
            }
            for name, net in compiled.networks().items()
        }
        layout, pos = writing.layout(compiled.layout), network.pos
        known = isinstance(pos, self.positions) and pos.layout == compiled.layout
        names = {function: name for name, function in FUNCTIONS.items()}
        beside = self.beside(writing, compiled)
        return {
            **beside,
            "networks": networks,
            "layout": layout,
            "layouts": writing.layouts,
            "encoder_layers": len(network.encoder),
            "decoder_layers": len(network.decoder),
            "attention": [names.get(f, "another") for f in (network.score, network.rho)],
            "positions": list(pos.blocks) if isinstance(pos, POSITIONS) and known else [],
            "seed": writing.vector(compiled.seed),
        }

    def rebuilt_network(self, reading: Reading, written: Mapping[str, Any]) -> Transformer:
        """The Transformer that is written down."""
        nets = {name: reading.network(net) for name, net in written["networks"].items()}

        def layers(side: str) -> tuple[Layer, ...]:
            numbers = range(1, written[f"{side}_layers"] + 1)
            return tuple(
                Layer(**{letter: nets[f"{side}.{n}.{letter}"] for letter in "QKVO"})
                for n in numbers
            )

        score, rho = (FUNCTIONS[name] for name in written["attention"])
        return Transformer(
            layout=reading.layout,
            encoder=layers("encoder"),
            K=nets["encoder.K"],
            V=nets["encoder.V"],
            decoder=layers("decoder"),
            F=nets["F"],
            score=score,
            rho=rho,
            pos=self.positions(reading.layout, tuple(written["positions"])),
        )

    def unwritable(self, compiled: D) -> str | None:
        """Parts that are left out, and functions that have no name here."""
        if type(compiled.network) is not Transformer:
            return "a part is left out"
        written = self.written(compiled)
        activations = {net["activation"] for net in written["networks"].values()}
        if "another" in (*written["attention"], *activations) or not written["positions"]:
            return "its attention, activations or positions are not those of the theorem"
        return None

    def matrices(self, compiled: D) -> dict[str, Affine]:
        """The maps of every feed-forward network, numbered."""
        return {
            f"{name}#{n}": affine
            for name, network in compiled.networks().items()
            for n, affine in enumerate(network.maps)
        }

    def with_matrix(self, compiled: D, name: str, affine: Affine) -> D:
        """With another map in one of the networks."""
        place, _, number = name.partition("#")
        network = compiled.networks()[place]
        maps = list(network.maps)
        maps[int(number)] = affine
        return compiled.with_network(place, FeedForward(tuple(maps), network.activation))

    def parts(self, compiled: D) -> dict[str, Callable[[], D]]:
        """Residual connections, attentions, and the positions."""
        network, names = compiled.network, []
        for n in range(1, len(network.encoder) + 1):
            names += [f"encoder.{n}.self", f"encoder.{n}.O"]
        for n in range(1, len(network.decoder) + 1):
            names += [f"decoder.{n}.self", f"decoder.{n}.external", f"decoder.{n}.O"]
        attentions = [f"attention:{name}" for name in names if not name.endswith(".O")]
        parts = [*(f"residual:{name}" for name in names), *attentions, "positions"]
        return {part: partial(_without, compiled, part) for part in parts}

    def vectors(self, compiled: D) -> list[str]:
        """Input, q, k, v, p, a and z of every decoder layer, and the output."""
        return [*transformer_names(compiled.network)]

    def layout(self, compiled: D) -> Layout:
        """The layout of all its vectors."""
        return compiled.layout

    def sizes(self, compiled: D) -> dict[str, Any]:
        """Layers, widths and weights."""
        networks = compiled.networks()
        parameters, nonzeros = count_parameters(networks.values())
        widths = {n: list(net.hidden_widths) for n, net in networks.items() if net.hidden_widths}
        return {
            "encoder_layers": len(compiled.network.encoder),
            "decoder_layers": len(compiled.network.decoder),
            "hidden_widths": widths,
            "parameters": parameters,
            "nonzeros": nonzeros,
        }

    def description(self, compiled: D) -> dict[str, Any]:
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


class NormalDecoderKind(DecoderKind[N]):
    """A kind that makes a Transformer of each machine in normal form."""

    def for_word(self, given: Options, machine: TuringMachine, word: Sequence[str]) -> Options:
        """A word with blanks needs a network that takes such words."""
        return {**given, "blanks": True} if machine.blank in word else given

    def machine_of(self, compiled: N) -> TuringMachine:
        """The machine in normal form."""
        return compiled.normal.machine

    def history(
        self, compiled: N, machine: TuringMachine, word: Sequence[str], limit: int
    ) -> History:
        """Token t takes y_{t−1}, which shows the normal machine at time t − 1; none the last."""
        return normal_history(compiled.normal, word, limit)

    def was_made_with(self, compiled: N, options: Options) -> bool:
        """With blanks or without; and every symbol of an input has its vector."""
        normal = compiled.normal
        symbols = set(compiled.embedding) == set(normal.input_alphabet)
        return symbols and bool(options["blanks"] == normal.takes_blanks)

    def plain(self, compiled: N) -> Plain:
        """Embedding, seed, positions and maps."""
        weights = weights_by_name(self.matrices(compiled))
        return plain_transformer(self.name, self.statement, compiled, weights, self.meanings)

    def normal_facts(self, compiled: N) -> dict[str, Any]:
        """The size of the machine in normal form."""
        machine = compiled.normal.machine
        return {
            "normalized": {"states": len(machine.states), "symbols": len(machine.symbols)},
            "takes_blanks": compiled.normal.takes_blanks,
        }


def normal_history(normal: NormalMachine, word: Sequence[str], limit: int) -> History:
    """The run of a machine in normal form, where token t takes y_{t−1}."""
    times = 2 * len(word) + 3 + limit + 1
    return History(normal_timeline(normal, word, limit=times), 1, 0)


def written_normal(writing: Writing, normal: NormalMachine) -> dict[str, Any]:
    """A machine in normal form."""
    return {
        "given": writing.machine(normal.given),
        "normal": writing.machine(normal.machine),
        "names": [normal.q_init, normal.q_read, normal.q_rewind],
        "pauses": sorted(normal.pauses),
    }


def rebuilt_normal(written: Mapping[str, Any], machine: TuringMachine) -> NormalMachine:
    """The normal form of a machine that is written down."""
    normal = machine_of(written["normal"])
    q_init, q_read, q_rewind = written["names"]
    return NormalMachine(machine, normal, q_init, q_read, q_rewind, frozenset(written["pauses"]))


def written_ends(writing: Writing, compiled: CompiledNormalDecoder) -> dict[str, Any]:
    """Machine and normal form, embedding and final set."""
    return {
        **written_normal(writing, compiled.normal),
        "embedding": [[s, writing.vector(v)] for s, v in compiled.embedding.items()],
        "final_states": sorted(compiled.final_states),
    }


def rebuilt_ends(
    reading: Reading, written: Mapping[str, Any], machine: TuringMachine
) -> dict[str, Any]:
    """What `written_ends` wrote, and the seed, as a network of one machine takes them."""
    return {
        "normal": rebuilt_normal(written, machine),
        "embedding": {s: reading.vector(v, reading.layout) for s, v in written["embedding"]},
        "seed": reading.vector(written["seed"], reading.layout),
        "final_states": frozenset(written["final_states"]),
    }


def _without(compiled: D, part: str) -> D:
    return replace(compiled, network=TransformerWithout.of(compiled.network, part))
