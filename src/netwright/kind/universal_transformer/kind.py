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
from netwright.errors import FormatError
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
from netwright.kind.pointer_transformer.kind import ATTENTION, sum_of
from netwright.kind.pointer_transformer.meanings import UNIVERSAL
from netwright.kind.record import Kind, Option, Options
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.kind.universal_transformer.construction import (
    CompiledUniversalRules,
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
def coded_symbol(vector: str, block: str, symbols: int) -> Watch:
    """A watch for the number of the symbol whose code is in a block."""
    return Watch(vector, block, numbers={code_1(number): number for number in range(symbols)})


class UniversalConstruction(DecoderConstruction[U]):
    """Builds prompts for a constant network."""

    statement = "Linked visits"

    def check_loaded(self, written: Mapping[str, Any]) -> None:
        """Raise FormatError, naming the obligation, for a prompt that breaks one."""
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

    meanings = UNIVERSAL

    def rule(self, compiled: Any, moment: Moment) -> AppliedRule | None:
        """The machine's rule for the state and symbol whose codes are in y_{t−1}."""
        shown, machine = self.reading.shown(compiled, ()), compiled.machine
        y = moment["decoder.1.input"]
        state = shown.watches[0].code(y)
        number = (shown.watches[1].numbers or {}).get(y.number("s"))
        if not 0 <= state < shown.accepted or number is None:
            return None
        name = shown.states[state]
        if name not in machine.states:
            return None
        symbols = [machine.blank, *(s for s in machine.symbols if s != machine.blank)]
        return AppliedRule.of(machine, name, symbols[number])


class RulesConstruction(UniversalConstruction[CompiledUniversalRules]):
    """Builds prompts of one token for each rule (d = 21)."""

    name = "universal-transformer"
    takes_prompt = "rules"
    options = (
        Option.choice(
            "prompt",
            {"rules": "rules", "text": "text"},
            "rules",
            "A token for each rule; text is another name for --on universal-text.",
        ),
        ATTENTION,
        BLANKS,
    )
    aliases = {("prompt", "text"): "universal-text"}  # noqa: RUF012  # never changed

    def construct(self, machine: TuringMachine, options: Options) -> CompiledUniversalRules:
        """The constant network, with the machine as its prompt."""
        normal = normalize(machine, blanks_in_input=options["blanks"])
        return compile_universal_rules(normal, options["attention"])

    def facts(self, compiled: CompiledUniversalRules) -> dict[str, Any]:
        """The constant sizes, and the length of the prompt."""
        return self.constant_facts(
            compiled,
            prompt=self.takes_prompt,
            **normal_facts(compiled.normal),
            attention=compiled.attention.value,
            prompt_tokens=len(compiled.rules),
        )

    def prompt(self, compiled: CompiledUniversalRules, word: Sequence[str]) -> list[PromptToken]:
        """The tokens of the prompt, with their meanings."""
        X = iter(compiled.embed(word))
        tokens = [PromptToken.of(symbol, next(X)) for symbol in word]
        machine = compiled.machine
        for (state, symbol), vector in compiled.rules.items():
            action = machine.action(state, symbol)
            if state in machine.accepting:
                does = "accepted"
            elif action is None:
                does = "halts"
            else:
                does = f"{action.state} {action.write} {action.move.value}"
            tokens.append(PromptToken.of(f"{state} {symbol} → {does}", vector))
        return tokens


def _shown(compiled: CompiledUniversalRules, word: Sequence[str]) -> Shown:
    """As the pointer Transformer, in codes; layer 2 adds to w2, so z1 shows what is written."""
    normal, prompt = compiled.normal, compiled.prompt
    symbols = normal.check_word(word)
    return Shown(
        given=normal.given,
        watches=(
            coded_state(compiled.layout, len(prompt.states)),
            coded_symbol("z1", "w2", len(prompt.symbols)),
            Watch("z", "m3", sign=True),
        ),
        states=tuple(prompt.states),
        given_states=frozenset(filter(normal.is_given_state, prompt.states)),
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


READING = DecoderReading[CompiledUniversalRules](_shown, PointerEngine)
PROOF = DecoderProof(READING, rule_checks, RULES_CHECKER, rule_proposal)
KIND = Kind(RulesConstruction(), READING, PROOF, RulesLook(READING))
