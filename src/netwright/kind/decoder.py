"""The parts that all kinds of Transformers share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from netwright.certificates.reading import Checker
from netwright.definitions.transformer import Positions, Transformer, dot_product, score_phi
from netwright.definitions.without import TransformerWithout
from netwright.engine.following.shown import Shown
from netwright.engine.following.tracing import TransformerTracing, transformer_names
from netwright.engine.moments import ReferenceEngine, watched
from netwright.engine.pointers.engine import PointerEngine
from netwright.engine.transformer.decoder import FastDecoder
from netwright.engine.transformer.tokens import TokenEngine
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledDecoder, CompiledNormalDecoder
from netwright.kind.record import (
    Construction,
    Option,
    Options,
    Proof,
    ShownLook,
    ShownReading,
    count_weights,
)
from netwright.machine.normal_form import NormalMachine
from netwright.machine.simulate import Engine
from netwright.machine.timeline import normal_timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.tensors import VECTOR, NamedTensors, name_of_function, tensor_of
from netwright.network.tree import feed_forwards
from netwright.network.view import History
from netwright.verify.comparison import Check
from netwright.verify.proposal import Proposal

D = TypeVar("D", bound=CompiledDecoder)
N = TypeVar("N", bound=CompiledNormalDecoder)
BLANKS = Option.flag("blanks", "Accept inputs with blanks in them.")


class DecoderConstruction(Construction[D]):
    """Builds Transformers that show a machine's run token by token."""

    def for_word(self, given: Options, machine: TuringMachine, word: Sequence[str]) -> Options:
        """Set `blanks` for a word with blanks, if the kind has that option."""
        needs = BLANKS in self.options and machine.blank in word
        return {**given, "blanks": True} if needs else given

    def parts(self, compiled: D) -> dict[str, Callable[[], D]]:
        """The residual connections, the attentions, and the positions."""
        network, names = compiled.network, []
        for n in range(1, len(network.encoder) + 1):
            names += [f"encoder.{n}.self", f"encoder.{n}.O"]
        for n in range(1, len(network.decoder) + 1):
            names += [f"decoder.{n}.self", f"decoder.{n}.external", f"decoder.{n}.O"]
        attentions = [f"attention:{name}" for name in names if not name.endswith(".O")]
        parts = [*(f"residual:{name}" for name in names), *attentions, "positions"]
        return {part: partial(_without, compiled, part) for part in parts}

    def sizes(self, compiled: D) -> dict[str, Any]:
        """Layers, widths and weights."""
        networks: Mapping[str, FeedForward] = feed_forwards(compiled.network)
        widths = {n: list(net.hidden_widths) for n, net in networks.items() if net.hidden_widths}
        return {
            "encoder_layers": len(compiled.network.encoder),
            "decoder_layers": len(compiled.network.decoder),
            "hidden_widths": widths,
            **count_weights(compiled.network),
        }


def _without(compiled: D, part: str) -> D:
    return replace(compiled, network=TransformerWithout.of(compiled.network, part))


class NormalConstruction(DecoderConstruction[N]):
    """Builds a Transformer from each machine in normal form."""

    def tensors(self, compiled: N, meanings: Meanings) -> NamedTensors:
        """Embedding, seed, positions, every map, and y ↦ q1[q] + s1[s] − 1 to read it."""
        layout, machine, network = compiled.layout, compiled.normal.machine, compiled.network
        named = NamedTensors.of(self, compiled.normal.given, network, meanings)
        named.embedding(compiled.embedding, ())
        named.tensors["seed"] = tensor_of(compiled.seed)
        blocks = network.pos.blocks if isinstance(network.pos, Positions) else ()
        without = network.without if isinstance(network, TransformerWithout) else ()
        score = SCORES[network.score]
        named.names |= {
            "score": score,
            "layers": {"encoder": len(network.encoder), "decoder": len(network.decoder)},
            "positions": [layout.index(block) for block in blocks],
            **({"without": sorted(without)} if without else {}),
            "networks": {
                name: name_of_function(net.activation)
                for name, net in feed_forwards(network).items()
            },
            "activations": {
                name: {"columns": columns, "meaning": meaning}
                for name, columns, meaning in _activations(network, score)
            },
        }
        pairs = [(q, s) for q in machine.states for s in machine.symbols]
        columns = Layout.of(pair=[f"{q!r}, {s!r}" for q, s in pairs])
        ones = {
            (layout.index(block, label), n): ONE
            for n, (q, s) in enumerate(pairs)
            for block, label in (("q1", q), ("s1", s))
        }
        bias = Vector(columns, dict.fromkeys(range(len(pairs)), -ONE))
        named.readout(Affine(layout, columns, ones, bias), pairs, compiled.final_states)
        return named


def normal_facts(normal: NormalMachine) -> dict[str, Any]:
    """The size of a machine in normal form."""
    counts = {"states": len(normal.machine.states), "symbols": len(normal.machine.symbols)}
    return {"normalized": counts, "takes_blanks": normal.takes_blanks}


class DecoderReading(ShownReading[D]):
    """A reading whose moments are tokens."""

    engines: tuple[Engine, ...] = (Engine.AUTO, Engine.FAST, Engine.FULL, Engine.REFERENCE)
    has_tables = True
    benchmark_steps = 10**7

    def __init__(
        self,
        shown: Callable[[D, Sequence[str]], Shown],
        fast: type[FastDecoder | PointerEngine],
        defined: type[Transformer] = Transformer,
        tokens: type[TokenEngine] = TokenEngine,
    ) -> None:
        """`fast` runs networks of the class `defined`, and `tokens` explains their tokens."""
        self._shown, self._fast, self._defined, self._tokens = shown, fast, defined, tokens
        if fast.accelerates:
            self.engines = (*self.engines[:-1], Engine.ACCELERATED, self.engines[-1])

    @property
    def traced_by(self) -> list[Engine]:
        """Accelerated for networks of pointers, where tokens are those of a decoder as defined."""
        has_it = self._fast.accelerates and self._tokens is TokenEngine
        return [Engine.AUTO, *([Engine.ACCELERATED] if has_it else [])]

    def shown(self, compiled: D, word: Sequence[str]) -> Shown:
        """What to watch in a token, as the kind defines it."""
        return self._shown(compiled, word)

    def moments(self, compiled: D, word: Sequence[str]) -> Iterator[Mapping[str, Vector]]:
        """The tokens of Equation 13: y, and the z of each layer."""
        return map(watched, compiled.network.tokens(compiled.embed(word), compiled.seed))

    def engine(self, compiled: D, word: Sequence[str], shown: Shown, engine: Engine) -> Any:
        """The fast engine; the definition for networks without a part, which others cannot run."""
        if engine is Engine.REFERENCE or type(compiled.network) is not self._defined:
            return ReferenceEngine(self.moments(compiled, word), shown.watches)
        short = self._fast.SHORT if engine is Engine.AUTO else 0
        options: dict[str, Any] = {"tables": engine is not Engine.FULL}
        if engine is Engine.ACCELERATED:
            options["accelerated"] = True
        run = compiled.network, compiled.embed(word), compiled.seed, shown.watches
        return self._fast(*run, reference_steps=short, **options)

    def trace(
        self, compiled: D, word: Sequence[str], max_steps: int, *, accelerated: bool = False
    ) -> TransformerTracing:
        """A trace of all tokens."""
        X = compiled.embed(word)

        def tokens(shown: Shown) -> TokenEngine:
            given = compiled.network, X, compiled.seed, shown.watches
            options: dict[str, Any] = {"accelerated": True} if accelerated else {}
            return self._tokens(*given, **options)

        ongoing = self.run_by(tokens, compiled, word, max_steps)
        return TransformerTracing(ongoing, compiled.network, X)

    def accelerated_trace(
        self, compiled: D, word: Sequence[str], max_steps: int
    ) -> TransformerTracing:
        """A trace of all tokens, many of them at once."""
        return self.trace(compiled, word, max_steps, accelerated=True)

    def vectors(self, compiled: D) -> list[str]:
        """Input, q, k, v, p, a and z of every decoder layer, and the output."""
        return [*transformer_names(compiled.network)]


class DecoderProof(Proof[D]):
    """The claims of every token."""

    def __init__(
        self,
        reading: DecoderReading[D],
        checks: Callable[[D, Shown, Sequence[str], int], Iterator[Check]],
        checker: Checker,
        proposal: Callable[[D, Shown, Sequence[str]], Proposal] | None = None,
    ) -> None:
        self.reading, self._checks, self.checker = reading, checks, checker
        self._proposal, self.is_vectorised = proposal, proposal is not None

    def checks(self, compiled: D, word: Sequence[str], max_steps: int) -> Iterator[Check]:
        """Check every vector of every token, and what it attends to."""
        return self._checks(compiled, self.reading.shown(compiled, word), word, max_steps)

    def proposal(self, compiled: D, word: Sequence[str]) -> Proposal | None:
        """The machine's run with the claims of every token; None if the kind has no proposal."""
        if self._proposal is None:
            return None
        return self._proposal(compiled, self.reading.shown(compiled, word), word)


class DecoderLook(ShownLook[D]):
    """The look of a decoder's tokens."""

    def score(self, compiled: D) -> str:
        """−|⟨q, k⟩| or ⟨q, k⟩."""
        return "⟨q, k⟩" if compiled.network.score == dot_product else super().score(compiled)


class NormalLook(DecoderLook[Any]):
    """The look of a decoder that runs a machine in normal form."""

    reader = "shown"

    def history(self, compiled: Any, word: Sequence[str], limit: int) -> History:
        """Token t takes y_{t−1}, which shows the normal machine at time t − 1."""
        times = 2 * len(word) + 3 + limit + 1
        return History(normal_timeline(compiled.normal, word, limit=times), 1, 0)


SCORES: dict[Any, str] = {score_phi: "-|<q, k>|", dot_product: "<q, k>"}
TOKENS, SYMBOLS = "tokens so far", "symbols of the input"
"""What the last axis of an attention counts."""


def _activations(network: Transformer, score: str) -> Iterator[tuple[str, str, str]]:
    """The name of every vector, what its last axis counts, and its meaning."""
    for n in range(1, len(network.encoder) + 1):
        yield f"encoder.{n}.input", VECTOR, "the input's symbols with their positions"
        yield from _self_attention(f"encoder.{n}.self", "x", SYMBOLS, score)
        yield f"encoder.{n}.a", VECTOR, "Att(Q(x), K(X), V(X)) + x (Equation 6)"
        yield f"encoder.{n}.z", VECTOR, "O(a) + a (Equation 7)"
    yield "encoder.K", VECTOR, "the keys of the external attention (Equation 8)"
    yield "encoder.V", VECTOR, "its values (Equation 8)"
    for n in range(1, len(network.decoder) + 1):
        yield f"decoder.{n}.input", VECTOR, "y + pos, or z of the layer before"
        yield from _self_attention(f"decoder.{n}.self", "y", TOKENS, score)
        yield f"decoder.{n}.p", VECTOR, "Att(Q(y), K(Y), V(Y)) + y (Equation 9)"
        yield f"decoder.{n}.external.q", VECTOR, "p, as the query of the external attention"
        yield f"decoder.{n}.external.scores", SYMBOLS, score
        yield f"decoder.{n}.external.pattern", SYMBOLS, "1/r for the r greatest scores, else 0"
        yield f"decoder.{n}.a", VECTOR, "Att(p, K, V of the encoder) + p (Equation 10)"
        yield f"decoder.{n}.z", VECTOR, "O(a) + a (Equation 11)"
    yield "y", VECTOR, "F(z): state, symbol and move of the next moment (Equation 12)"


def _self_attention(name: str, x: str, counted: str, score: str) -> Iterator[tuple[str, str, str]]:
    yield f"{name}.q", VECTOR, f"Q({x})"
    yield f"{name}.k", VECTOR, f"K({x})"
    yield f"{name}.v", VECTOR, f"V({x})"
    yield f"{name}.scores", counted, score
    yield f"{name}.pattern", counted, "1/r for the r greatest scores, else 0"
