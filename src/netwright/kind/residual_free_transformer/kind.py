"""The kind `residual-free-transformer`: no residual connections, past the paper."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from netwright.certificates.residual_free_transformer import CHECKER
from netwright.definitions.residual_free import Head
from netwright.definitions.transformer import Transformer
from netwright.engine.following.shown import Shown
from netwright.engine.moments import ReferenceEngine, Watch, watched
from netwright.engine.pointers.heads import HeadsEngine, HeadsTrace
from netwright.exact.feed_forward import affine_network
from netwright.exact.meanings import Meanings
from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.kind import shown_rule, sum_of
from netwright.kind.pointer_transformer.meanings import LOOK_UP_Q, POINTER_TRANSFORMER, ZERO
from netwright.kind.record import Construction, Kind, Options, ShownLook, ShownProof, ShownReading
from netwright.kind.residual_free_transformer.checks import residual_free_checks
from netwright.kind.residual_free_transformer.construction import (
    CompiledResidualFree,
    compile_residual_free,
)
from netwright.kind.residual_free_transformer.tracing import HeadsTracing, heads_names
from netwright.machine.simulate import Engine
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule, History, view_named
from netwright.verify.comparison import Check

STATEMENT = "No residual connections"
KEY = "1 and 1/(j+1)"


class ResidualFreeConstruction(Construction[CompiledResidualFree]):
    """A decoder-only hard-attention Transformer of two layers with no residual connection."""

    name = "residual-free-transformer"
    statement = STATEMENT

    def construct(self, machine: TuringMachine, options: Options) -> CompiledResidualFree:
        """Build the network for the machine without stays, with two states for the prompt."""
        return compile_residual_free(machine)

    def parts(
        self, compiled: CompiledResidualFree
    ) -> Mapping[str, Callable[[], CompiledResidualFree]]:
        """The heads, and the positions."""
        network = compiled.network
        names = [(n, h) for n in range(len(network.decoder)) for h in range(2)]
        heads = {
            f"attention:decoder.{n + 1}.head.{h + 1}": partial(_without, compiled, n, h)
            for n, h in names
        }
        return {**heads, "positions": lambda: replace(compiled, network=replace(network, pos=None))}

    def facts(self, compiled: CompiledResidualFree) -> dict[str, Any]:
        """Dimension, layers, heads and weights."""
        machine = compiled.prompted.machine
        counts = {"states": len(machine.states), "symbols": len(machine.symbols)}
        return {
            "prompted": counts,
            **super().facts(compiled),
            "formula": "2|Q| + 3|Σ| + 9, with the prompt's two states",
            "decoder_layers": len(compiled.network.decoder),
            "heads": 2,
        }


def _without(compiled: CompiledResidualFree, n: int, h: int) -> CompiledResidualFree:
    layers = [*compiled.network.decoder]
    heads, nothing = [*layers[n].heads], affine_network(compiled.layout)
    heads[h] = Head(heads[h].Q, heads[h].K, nothing)
    layers[n] = replace(layers[n], heads=tuple(heads))
    return replace(compiled, network=replace(compiled.network, decoder=tuple(layers)))


class ResidualFreeReading(ShownReading[CompiledResidualFree]):
    """A reading whose moments are tokens."""

    engines = (Engine.AUTO, Engine.FAST, Engine.ACCELERATED, Engine.REFERENCE)
    benchmark_steps = 10**7

    def moments(
        self, compiled: CompiledResidualFree, word: Sequence[str]
    ) -> Iterator[Mapping[str, Vector]]:
        """The tokens: y, and the z of each layer."""
        return map(watched, compiled.network.tokens(compiled.embed(word), compiled.seed))

    def shown(self, compiled: CompiledResidualFree, word: Sequence[str]) -> Shown:
        """The state in q1 of the output; the symbol in w of z¹ and the move of z²."""
        prompted, machine = compiled.prompted, compiled.prompted.machine
        move = sum_of(compiled.layout, {"mR": 1, "mL": 2})
        given = prompted.given
        return Shown(
            given=given,
            watches=(
                Watch("y", "q1"),
                Watch("z1", "w"),
                Watch("z", "shown", through=move, numbers={ONE: 1, 2 * ONE: -1}),
            ),
            states=machine.states,
            given_states=frozenset(filter(prompted.is_given_state, machine.states)),
            final_states=compiled.final_states,
            symbols=machine.symbols,
            blank=machine.symbols.index(machine.blank),
            laid=[*map(machine.symbols.index, given.check_word(word))],
            cell=len(word),
            before=len(word) + 2,
        )

    def engine(
        self, compiled: CompiledResidualFree, word: Sequence[str], shown: Shown, engine: Engine
    ) -> Any:
        """The fast engine, or the definition."""
        if engine is Engine.REFERENCE:
            return ReferenceEngine(self.moments(compiled, word), shown.watches)
        short = HeadsEngine.SHORT if engine is Engine.AUTO else 0
        network = cast(Transformer, compiled.network)
        run = network, compiled.embed(word), compiled.seed, shown.watches
        accelerated = engine is Engine.ACCELERATED
        return HeadsEngine(*run, reference_steps=short, accelerated=accelerated)

    def trace(
        self, compiled: CompiledResidualFree, word: Sequence[str], max_steps: int
    ) -> HeadsTracing:
        """A trace of all tokens."""

        def tokens(shown: Shown) -> HeadsTrace:
            network = cast(Transformer, compiled.network)
            return HeadsTrace(network, compiled.embed(word), compiled.seed, shown.watches)

        ongoing = self.run_by(tokens, compiled, word, max_steps)
        return HeadsTracing(ongoing, compiled.network)

    def vectors(self, compiled: CompiledResidualFree) -> list[str]:
        """Input, q, k and v of each head, a and z of every layer, and the output."""
        return [*heads_names(compiled.network)]


class ResidualFreeProof(ShownProof[CompiledResidualFree]):
    """The claims of every token."""

    checker = CHECKER

    def checks(
        self, compiled: CompiledResidualFree, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Check every vector of every token, and what its heads attend to."""
        shown = self.reading.shown(compiled, word)
        return residual_free_checks(compiled, shown, word, max_steps)


class ResidualFreeLook(ShownLook[CompiledResidualFree]):
    """The look of the tokens."""

    view, reader = view_named("residual-free-transformer"), "shown"
    meanings = Meanings(
        blocks={
            **POINTER_TRANSFORMER.blocks_but(("al", "be", "n", "e2", "m", "mS")),
            "mR": "1 if the step moves right",
            "mL": "1 if the step moves left",
        },
        hidden={
            "decoder.1.O": {
                **POINTER_TRANSFORMER.hidden["decoder.1.O"],
                **{name: f"a copy of {name}" for name in ("R", "L", "one", "e")},
            },
            "decoder.2.O": {
                name: f"a copy of {name}" for name in ("q2", "v", "mR", "mL", "e", "RR", "LL")
            },
            "F": {
                "q": "the next state",
                "s": "the next symbol: what was found",
                "R": "the next R: what was found, or this token",
                "L": "the next L: the same",
            },
        },
        weights={
            "decoder.1.head.1.Q": "asks for the token itself: 1/(i+1) - 1/(j+1) is 0 there alone",
            "decoder.1.head.1.K": KEY,
            "decoder.1.head.1.V": "all of the token, as a residual connection would hand it on",
            "decoder.1.head.2.Q": ZERO,
            "decoder.1.head.2.K": ZERO,
            "decoder.1.head.2.V": ZERO,
            "decoder.1.O": "the rule, the pointer to follow, and copies of what is still needed",
            "decoder.2.head.1.Q": "asks for the token itself",
            "decoder.2.head.1.K": KEY,
            "decoder.2.head.1.V": "the next state, the move and the position",
            "decoder.2.head.2.Q": LOOK_UP_Q.replace("sel (j+1) - 1", "sel - 1/(j+1)"),
            "decoder.2.head.2.K": KEY,
            "decoder.2.head.2.V": POINTER_TRANSFORMER.weights["decoder.2.V"],
            "decoder.2.O": "copies of both heads",
            "F": POINTER_TRANSFORMER.weights["F"],
        },
    )

    def rule(self, compiled: CompiledResidualFree, moment: Moment) -> AppliedRule | None:
        """State and symbol of the token, and the rule in z¹; None while it loads."""
        found = shown_rule(moment)
        return None if found and found.state == compiled.prompted.load else found

    def history(self, compiled: CompiledResidualFree, word: Sequence[str], limit: int) -> History:
        """Token n + 2 takes y_{n+1}, which shows state `run` left of the input."""
        prompted, lead = compiled.prompted, len(word) + 2
        whole, load = prompted.machine, prompted.load  # the tokens of `load` are the prompt
        machine = replace(
            whole,
            states=tuple(state for state in whole.states if state != load),
            start=prompted.run,
            delta={at: rule for at, rule in whole.delta.items() if at[0] != load},
        )
        counts = prompted.is_given_state
        timeline = Timeline(machine, tuple(word), -1, limit=limit + 2, counts=counts)
        return History(timeline, lead, lead - 1)

    def reads(self, compiled: CompiledResidualFree, word: Sequence[str]) -> Sequence[str]:
        """The blank after the input, then the input from its end."""
        return (compiled.prompted.machine.blank, *reversed(word))


READING = ResidualFreeReading()
KIND = Kind(
    ResidualFreeConstruction(),
    READING,
    ResidualFreeProof(READING, STATEMENT),
    ResidualFreeLook(READING),
)
