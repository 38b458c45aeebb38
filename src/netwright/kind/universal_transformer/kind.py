"""The kind `universal-transformer`: one constant network for all machines; rules are its prompt.

`network.universal` has the network without a machine. Parts that `universal-text` shares, whose
prompt is a word, are here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from netwright.certificates.universal import RULES_CHECKER, prompt_obligations, weights_digest
from netwright.engine.following.shown import Shown
from netwright.engine.moments import ZERO_BLOCK, Watch
from netwright.engine.pointers.engine import PointerEngine
from netwright.errors import FormatError, InputError
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledUniversal
from netwright.kind.decoder import (
    BLANKS,
    DecoderConstruction,
    DecoderLook,
    DecoderProof,
    DecoderReading,
    NormalLook,
    normal_facts,
)
from netwright.kind.pointer_transformer.checks import rule_checks, rule_proposal
from netwright.kind.pointer_transformer.construction import Attention
from netwright.kind.pointer_transformer.kind import ATTENTION, sum_of
from netwright.kind.pointer_transformer.meanings import UNIVERSAL
from netwright.kind.record import Kind, Option, Options
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.kind.universal_transformer.construction import (
    CompiledUniversalRules,
    compile_small_rules,
    compile_universal_rules,
)
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.network.trace import Moment
from netwright.network.tree import to_data
from netwright.network.view import AppliedRule, view_named

U = TypeVar("U", bound=CompiledUniversal)
RUNNING = 5
"""Added to the code of a state while the network runs, so that it differs from 1, accepted."""
MOVES = {ONE: 1, ZERO: -1}
"""The moves that 1 and 0 stand for."""


@dataclass(frozen=True)
class PromptToken:
    """A token of a prompt of rules: its meaning, and its nonzero coordinates."""

    means: str
    coordinates: Mapping[str, str]

    @staticmethod
    def of(means: str, vector: Vector) -> "PromptToken":
        """The token of a vector."""
        names = vector.layout.coordinates
        shown = {str(names[k]): str(number) for k, number in sorted(vector.entries.items())}
        return PromptToken(means, shown)


@cache
def coded_state(layout: Layout, states: int) -> Watch:
    """A watch for the number of the state whose code is r; `states` for r = 1 and on = 0."""
    numbers = {RUNNING + code_2(number): number for number in range(states)}
    numbers |= {ZERO: ZERO_BLOCK, ONE: states}
    through = sum_of(layout, {"r": 1, "on": RUNNING})
    return Watch("y", "shown", through=through, numbers=numbers)


@cache
def coded_pair(states: int, symbols: int, accepted: int) -> tuple[Watch, Watch]:
    """Watches for the numbers of the state and of the symbol whose codes have the sum x.

    x = 1 is `accepted`, and states from there on show that the machine has halted.
    """
    pairs = {code_2(q) + code_1(a): (q, a) for q in range(states) for a in range(symbols)}
    state = {x: q if q < accepted else ZERO_BLOCK for x, (q, _) in pairs.items()}
    symbol = {x: a for x, (_, a) in pairs.items()}
    return Watch("y", "x", numbers=state | {ONE: accepted}), Watch("y", "x", numbers=symbol)


@cache
def coded_symbol(vector: str, block: str, symbols: int) -> Watch:
    """A watch for the number of the symbol whose code is in a block."""
    return Watch(vector, block, numbers={code_1(number): number for number in range(symbols)})


class UniversalConstruction(DecoderConstruction[U]):
    """Builds prompts for a constant network."""

    statement = "Linked visits"

    def check_loaded(self, written: Mapping[str, Any]) -> None:
        """Raise FormatError, naming the obligation, for a prompt that breaks one."""
        if written["network"]["pos"] is None:
            return  # without positions a prompt has no order
        for each in prompt_obligations(written):
            if each.failure is not None:
                raise FormatError(f"{each.name}: {each.failure}")

    def constant_facts(self, compiled: U, **about: Any) -> dict[str, Any]:
        """The constant sizes and the digest of the weights, with `about` between them."""
        facts = {"dimension": compiled.layout.dimension, "formula": "constant", **about}
        digest = weights_digest(to_data(compiled))
        return {**facts, **self.sizes(compiled), "weights_digest": digest}


class UniversalLook(DecoderLook[Any]):
    """The look of a network whose states and symbols are codes."""

    meanings, reader = UNIVERSAL, "coded"

    def rule(self, compiled: Any, moment: Moment) -> AppliedRule | None:
        """The machine's rule for the state and symbol whose codes are in y_{t−1}."""
        shown, machine = self.reading.shown(compiled, ()), compiled.machine
        y = moment["decoder.1.input"]
        state, number = shown.watches[0].code(y), self.symbol(compiled, shown).code(y)
        if not 0 <= state < shown.accepted or number < 0:
            return None
        name = shown.states[state]
        if name not in machine.states:
            return None
        symbols = [machine.blank, *(s for s in machine.symbols if s != machine.blank)]
        return AppliedRule.of(machine, name, symbols[number])

    def symbol(self, compiled: Any, shown: Shown) -> Watch:
        """A watch for the number of the symbol under the head."""
        return coded_symbol("y", "s", len(shown.symbols))


class RulesConstruction(UniversalConstruction[CompiledUniversalRules]):
    """Builds prompts of one token for each rule (d = 21, or 16)."""

    name = "universal-transformer"
    takes_prompt = "rules"
    options = (
        Option.choice(
            "prompt",
            {"rules": "rules", "text": "text"},
            "rules",
            "A token for each rule; text is another name for --on universal-text.",
        ),
        Option.choice(
            "size",
            {"21": 21, "16": 16},
            "21",
            "The dimension; with 16 a dead state shows a halt that does not accept.",
        ),
        ATTENTION,
        BLANKS,
    )
    aliases = {("prompt", "text"): "universal-text"}  # noqa: RUF012  # never changed

    def read_options(self, given: Options) -> dict[str, Any]:
        """Parse options; raise InputError for dot products with 16 coordinates."""
        options = super().read_options(given)
        if options["size"] == 16 and options["attention"] is not Attention.ABSOLUTE:
            raise InputError(
                "size=16 has attention=absolute only: its form with dot products is not known; "
                "take size=21"
            )
        return options

    def construct(self, machine: TuringMachine, options: Options) -> CompiledUniversalRules:
        """The constant network, with the machine as its prompt."""
        normal = normalize(machine, blanks_in_input=options["blanks"])
        if options["size"] == 16:
            return compile_small_rules(normal)
        return compile_universal_rules(normal, options["attention"])

    def facts(self, compiled: CompiledUniversalRules) -> dict[str, Any]:
        """The constant sizes, and the length of the prompt."""
        return self.constant_facts(
            compiled,
            prompt=self.takes_prompt,
            **normal_facts(compiled.normal),
            attention=compiled.attention.value,
            prompt_tokens=len(compiled.embed(())),
        )

    def prompt(self, compiled: CompiledUniversalRules, word: Sequence[str]) -> list[PromptToken]:
        """The tokens of the prompt, with their meanings."""
        X = iter(compiled.embed(word))
        tokens = [PromptToken.of(symbol, next(X)) for symbol in word]
        machine = compiled.machine
        for (state, symbol), vector in zip(compiled.rules, X, strict=False):
            action = machine.action(state, symbol)
            if state in machine.accepting:
                does = "accepted"
            elif action is None:
                does = "halts" if compiled.design.halts else compiled.prompt.dead
            else:
                does = f"{action.state} {action.write} {action.move.value}"
            tokens.append(PromptToken.of(f"{state} {symbol} → {does}", vector))
        return tokens + [PromptToken.of("accepted → accepted", vector) for vector in X]


def _shown(compiled: CompiledUniversalRules, word: Sequence[str]) -> Shown:
    """As the pointer Transformer, in codes; layer 2 adds to w2, so z1 shows what is written."""
    normal, prompt = compiled.normal, compiled.prompt
    states, symbols = normal.machine.states, normal.check_word(word)
    if compiled.design.halts:
        state = coded_state(compiled.layout, len(states))
        move = Watch("z", "m3", sign=True)
    else:
        state = coded_pair(len(prompt.states), len(prompt.symbols), len(states))[0]
        move = Watch("z", "m3", numbers=MOVES)
    return Shown(
        given=normal.given,
        watches=(state, coded_symbol("z1", "w2", len(prompt.symbols)), move),
        states=states,
        given_states=frozenset(filter(normal.is_given_state, states)),
        final_states=frozenset(),
        symbols=tuple(map(normal.given_symbol, prompt.symbols)),
        blank=0,
        laid=[prompt.symbols[symbol] for symbol in symbols],
        cell=-1,
        before=2 * len(symbols) + 3,
    )


class RulesLook(UniversalLook, NormalLook):
    """The look of a network that shows the machine from its first token on."""

    view = view_named("universal-transformer")

    def symbol(self, compiled: CompiledUniversalRules, shown: Shown) -> Watch:
        """A watch for the number of the symbol, which may share its coordinate with the state."""
        if compiled.design.halts:
            return super().symbol(compiled, shown)
        return coded_pair(shown.accepted + 1, len(shown.symbols), shown.accepted)[1]


READING = DecoderReading[CompiledUniversalRules](_shown, PointerEngine)
PROOF = DecoderProof(READING, rule_checks, RULES_CHECKER, rule_proposal)
KIND = Kind(RulesConstruction(), READING, PROOF, RulesLook(READING))
