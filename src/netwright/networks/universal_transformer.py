"""The kind `universal-transformer`: one constant network for all machines; the machine is a prompt.

`universal` gives the network without a machine, and `of` one with a machine as its prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netwright.errors import FormatError, InputError, unknown
from netwright.exact.vector import Vector
from netwright.following.token_reading import reading_of
from netwright.machine.normal_form import normalize
from netwright.machine.simulate import Run
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.decoder import DecoderKind, normal_history, rebuilt_normal, written_normal
from netwright.networks.kind import Following, Option, Options
from netwright.networks.pointer_transformer import (
    ATTENTION,
    BLANKS,
    ENGINES,
    run_by_pointers,
)
from netwright.networks.trace import Moment
from netwright.networks.view import History, Says, View
from netwright.networks.writing import Reading, Writing, machine_of
from netwright.theorems.beyond.pointers.meanings import UNIVERSAL
from netwright.theorems.beyond.pointers.pointer_transformer import Attention
from netwright.theorems.beyond.pointers.universal import CompiledUniversal
from netwright.theorems.beyond.pointers.universal_rules import (
    WORKING,
    CompiledUniversalRules,
    compile_universal_rules,
)
from netwright.theorems.beyond.pointers.universal_text import (
    CompiledUniversalText,
    TextPrompt,
    compile_universal_text,
)
from netwright.verify.certificate.universal import CHECKER, prompt_obligations, weights_digest
from netwright.verify.comparison import Check
from netwright.verify.pointers import rule_checks, text_checks

RULES, TEXT = "rules", "text"
LONG, SHORT = "long", "short"


def _choice(name: str, help_text: str, *choices: str) -> Option:
    """An option that is one of some words, the first unless another is chosen."""

    def read(value: object) -> str:
        if str(value) not in choices:
            raise InputError(unknown(name, str(value), choices))
        return str(value)

    metavar = f"[{'|'.join(choices)}]"
    return Option(name, read, choices[0], help_text, metavar=metavar, choices=choices)


class UniversalTransformerKind(DecoderKind[CompiledUniversal]):
    """One hard-attention Transformer of constant size, whose prompt is a machine and its input."""

    name = "universal-transformer"
    statement = "Linked visits"
    meanings = UNIVERSAL
    checker = CHECKER
    engines = ENGINES
    view = View(drawn="decoder.2.self", drawing="Layer 2", has_null=True)
    benchmark_steps = 10**7
    options = (
        _choice(
            "prompt",
            "A token for each rule (d = 21), or a word over eleven symbols (d = 37).",
            RULES,
            TEXT,
        ),
        ATTENTION,
        BLANKS,
        _choice(
            "form",
            "With --prompt text: whether accepting configurations are shown, or acceptance alone.",
            LONG,
            SHORT,
        ),
    )

    def read_options(self, given: Options) -> dict[str, Any]:
        """Options that are for one of the prompts are refused with the other."""
        found = super().read_options(given)
        if found["prompt"] == TEXT and found["attention"] is not Attention.ABSOLUTE:
            raise InputError("attention=dot-product is for prompt=rules; text has absolute alone")
        if found["prompt"] == RULES and found["form"] != LONG:
            raise InputError("form=short is for prompt=text; rules show every configuration")
        return found

    def for_word(self, given: Options, machine: TuringMachine, word: Sequence[str]) -> Options:
        """A word with blanks needs rules that take such words; a text takes them as they are."""
        if given.get("prompt", RULES) == RULES and machine.blank in word:
            return {**given, "blanks": True}
        return given

    def construct(self, machine: TuringMachine, options: Options) -> CompiledUniversal:
        """The constant network, with the machine as its prompt."""
        if options["prompt"] == TEXT:
            return compile_universal_text(machine, long=options["form"] == LONG)
        normal = normalize(machine, blanks_in_input=options["blanks"])
        return compile_universal_rules(normal, options["attention"])

    def run(self, compiled: CompiledUniversal, word: Sequence[str], following: Following) -> Run:
        """By the engine that follows pointers."""
        return run_by_pointers(compiled, word, following)

    def checks(
        self, compiled: CompiledUniversal, word: Sequence[str], max_steps: int
    ) -> Iterator[Check]:
        """Every vector and pointer of every token."""
        if isinstance(compiled, CompiledUniversalText):
            return text_checks(compiled, word, max_steps)
        assert isinstance(compiled, CompiledUniversalRules)
        return rule_checks(compiled, word, max_steps)

    def machine_of(self, compiled: CompiledUniversal) -> TuringMachine:
        """The machine in normal form, or without stays."""
        if isinstance(compiled, CompiledUniversalText):
            return compiled.prompt.machine
        assert isinstance(compiled, CompiledUniversalRules)
        return compiled.normal.machine

    def history(
        self,
        compiled: CompiledUniversal,
        machine: TuringMachine,
        word: Sequence[str],
        limit: int,
    ) -> History:
        """Token t takes y_{t−1}: at once with rules, once it is read with a text."""
        if isinstance(compiled, CompiledUniversalText):
            lead = len(compiled.text(word)) + 1
            timeline = Timeline(compiled.prompt.machine, word, limit=limit + 1)
            return History(timeline, lead, lead - 1)
        assert isinstance(compiled, CompiledUniversalRules)
        return normal_history(compiled.normal, word, limit)

    def view_of(self, compiled: CompiledUniversal) -> View:
        """With a text layer 2 finds the rule, and layer 3 follows the pointer."""
        if isinstance(compiled, CompiledUniversalText):
            return replace(self.view, drawn="decoder.3.self", drawing="Layer 3")
        return self.view

    def says(self, compiled: CompiledUniversal, moment: Moment) -> Says | None:
        """What the codes of y_{t−1} stand for; the rule is the machine's."""
        reading = reading_of(compiled, ())
        y = moment["decoder.1.input"]
        state = reading.watches[0].code(y)
        number = _symbol_codes(compiled).get(y.number("s"))
        machine = self.machine_of(compiled)
        if not 0 <= state < reading.accepted or number is None:
            return None
        name = reading.states[state]
        if name not in machine.states:
            return None
        symbols = [machine.blank, *(s for s in machine.symbols if s != machine.blank)]
        return Says.of(machine, name, symbols[number])

    # Weights and files.

    def beside(self, writing: Writing, compiled: CompiledUniversal) -> dict[str, Any]:
        """The prompt."""
        if isinstance(compiled, CompiledUniversalText):
            prompt = compiled.prompt
            return {
                "prompt": TEXT,
                "form": LONG if prompt.long else SHORT,
                "given": writing.machine(prompt.given),
                "moving": writing.machine(prompt.machine),
                "pauses": sorted(prompt.pauses),
                "states": list(prompt.states),
                "symbols": list(prompt.symbols),
                "alphabet": [[s, writing.vector(v)] for s, v in compiled.embedding.items()],
                "rules": compiled.rules,
            }
        assert isinstance(compiled, CompiledUniversalRules)
        return {
            "prompt": RULES,
            **written_normal(writing, compiled.normal),
            "symbols": [[s, writing.vector(v)] for s, v in compiled.symbols.items()],
            "rules": [[q, a, writing.vector(v)] for (q, a), v in compiled.rules.items()],
        }

    def rebuilt(
        self, written: Mapping[str, Any], machine: TuringMachine, options: Options
    ) -> CompiledUniversal:
        """From what `written` gave; a prompt that breaks an obligation is refused, naming it."""
        for each in prompt_obligations(written):
            if each.failure is not None:
                raise FormatError(f"{each.name}: {each.failure}")
        reading = Reading(written)
        network = self.rebuilt_network(reading, written)
        seed = reading.vector(written["seed"], reading.layout)
        if written["prompt"] != options["prompt"]:
            raise FormatError("it was made with another prompt")

        def vector(entries: Any) -> Vector:
            return reading.vector(entries, reading.layout)

        if written["prompt"] == TEXT:
            prompt = TextPrompt(machine, long=written["form"] == LONG)
            numbered = written["moving"], written["states"], written["symbols"]
            moving = machine_of(numbered[0])
            names = (list(prompt.states), list(prompt.symbols))
            if (moving.delta, *names) != (prompt.machine.delta, *numbered[1:]):
                raise FormatError("its machine without stays is another one")
            alphabet = {symbol: vector(v) for symbol, v in written["alphabet"]}
            return CompiledUniversalText(
                network=network,
                seed=seed,
                prompt=prompt,
                embedding=alphabet,
                rules=written["rules"],
            )
        if tuple(written["positions"]) != WORKING[options["attention"]]:
            raise FormatError("it was made with another attention")
        return CompiledUniversalRules(
            network=network,
            seed=seed,
            normal=rebuilt_normal(written, machine),
            attention=options["attention"],
            symbols={symbol: vector(v) for symbol, v in written["symbols"]},
            rules={(q, a): vector(v) for q, a, v in written["rules"]},
        )

    def was_made_with(self, compiled: CompiledUniversal, options: Options) -> bool:
        """Blanks, or the form; and every symbol of an input has its vector."""
        if isinstance(compiled, CompiledUniversalText):
            return compiled.prompt.long is (options["form"] == LONG)
        assert isinstance(compiled, CompiledUniversalRules)
        normal = compiled.normal
        symbols = set(compiled.symbols) == set(normal.input_alphabet)
        return symbols and bool(options["blanks"] == normal.takes_blanks)

    def facts(self, compiled: CompiledUniversal) -> dict[str, Any]:
        """What is constant, and how long the prompt is."""
        facts: dict[str, Any] = {"dimension": compiled.layout.dimension, "formula": "constant"}
        if isinstance(compiled, CompiledUniversalText):
            facts["prompt"] = TEXT
            facts["form"] = LONG if compiled.prompt.long else SHORT
            facts["prompt_tokens"] = len(compiled.rules) + 1
        elif isinstance(compiled, CompiledUniversalRules):
            normal = compiled.normal.machine
            counts = {"states": len(normal.states), "symbols": len(normal.symbols)}
            facts |= {"prompt": RULES, "normalized": counts}
            facts["takes_blanks"] = compiled.normal.takes_blanks
            facts["attention"] = compiled.attention.value
            facts["prompt_tokens"] = len(compiled.rules)
        digest = weights_digest(self.written(compiled))
        return {**facts, **self.sizes(compiled), "weights_digest": digest}

    def prompt(self, compiled: CompiledUniversal, word: Sequence[str]) -> "str | list[PromptToken]":
        """The prompt for a word: the text, or what each token stands for and has."""
        if isinstance(compiled, CompiledUniversalText):
            return compiled.text(word)
        assert isinstance(compiled, CompiledUniversalRules)
        X = iter(compiled.embed(word))
        tokens = [PromptToken(symbol, _shown(next(X))) for symbol in word]
        machine = compiled.normal.machine
        for (state, symbol), vector in compiled.rules.items():
            action = machine.action(state, symbol)
            if state in machine.accepting:
                does = "accepted"
            elif action is None:
                does = "halts"
            else:
                does = f"{action.state} {action.write} {action.move.value}"
            tokens.append(PromptToken(f"{state} {symbol} → {does}", _shown(vector)))
        return tokens


@dataclass(frozen=True)
class PromptToken:
    """A token of a prompt of rules: what it stands for, and its coordinates that are not 0."""

    means: str
    coordinates: Mapping[str, str]


def _shown(vector: Vector) -> dict[str, str]:
    names = vector.layout.coordinates
    return {str(names[k]): str(number) for k, number in sorted(vector.entries.items())}


def _symbol_codes(compiled: CompiledUniversal) -> Mapping[Any, int]:
    numbers = reading_of(compiled, ()).watches[1].numbers
    assert numbers is not None
    return numbers
