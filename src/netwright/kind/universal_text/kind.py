"""The kind `universal-text`: one constant network for all machines; a word is its prompt."""

from collections.abc import Sequence
from typing import Any

from netwright.certificates.universal import TEXT_CHECKER
from netwright.engine.following.shown import Shown
from netwright.engine.moments import Watch
from netwright.engine.pointers.engine import PointerEngine
from netwright.kind.decoder import DecoderProof, DecoderReading
from netwright.kind.pointer_transformer.checks import text_checks
from netwright.kind.record import Kind, Option, Options
from netwright.kind.universal_text.construction import CompiledUniversalText, compile_universal_text
from netwright.kind.universal_transformer.kind import (
    UniversalConstruction,
    UniversalLook,
    coded_state,
    coded_symbol,
)
from netwright.machine.simulate import Engine
from netwright.machine.timeline import Timeline
from netwright.machine.turing_machine import TuringMachine
from netwright.network.view import History, view_named

LONG, SHORT = "long", "short"


class TextConstruction(UniversalConstruction[CompiledUniversalText]):
    """Builds prompts that are a word over eleven symbols (d = 37); inputs may have blanks."""

    name = "universal-text"
    takes_prompt = "text"
    options = (
        Option.choice(
            "form",
            {LONG: LONG, SHORT: SHORT},
            LONG,
            "Whether accepting configurations are shown, or only acceptance.",
        ),
    )

    def construct(self, machine: TuringMachine, options: Options) -> CompiledUniversalText:
        """The constant network, with the machine as the beginning of its prompt."""
        return compile_universal_text(machine, long=options["form"] == LONG)

    def facts(self, compiled: CompiledUniversalText) -> dict[str, Any]:
        """The constant sizes, and the length of the prompt."""
        form = LONG if compiled.prompt.long else SHORT
        tokens = len(compiled.rules) + 1
        about = {"prompt": self.takes_prompt, "form": form, "prompt_tokens": tokens}
        return self.constant_facts(compiled, **about)

    def prompt(self, compiled: CompiledUniversalText, word: Sequence[str]) -> str:
        """The prompt: machine and input as one word."""
        return compiled.text(word)


def _shown(compiled: CompiledUniversalText, word: Sequence[str]) -> Shown:
    """What to watch; the network writes the input itself, last symbol first."""
    prompt = compiled.prompt
    states, symbols = (prompt.start, *prompt.states), prompt.given.check_word(word)
    return Shown(
        given=prompt.given,
        watches=(
            coded_state(compiled.layout, len(states)),
            coded_symbol("z", "w3", len(prompt.symbols)),
            Watch("z", "m3", sign=True),
        ),
        states=states,
        given_states=frozenset(prompt.states) - prompt.pauses,
        final_states=frozenset(),
        symbols=tuple(prompt.symbols),
        blank=0,
        laid=(),
        cell=len(symbols) - 1,
        before=len(compiled.text(symbols)),
        stays=True,
        short=not prompt.long,
    )


class TextLook(UniversalLook):
    """The look of layer 2, which finds the rule, and layer 3, which follows the pointer."""

    view = view_named("universal-text")

    def reads(self, compiled: CompiledUniversalText, word: Sequence[str]) -> str:
        """The prompt: machine and input as one word."""
        return compiled.text(word)

    def history(self, compiled: CompiledUniversalText, word: Sequence[str], limit: int) -> History:
        """Token t takes y_{t−1}; the machine starts after the prompt."""
        lead = len(compiled.text(word)) + 1
        pauses = compiled.prompt.pauses  # after a stay, which are no steps of the given machine
        timeline = Timeline(
            compiled.machine, word, limit=limit + 1, counts=lambda state: state not in pauses
        )
        return History(timeline, lead, lead - 1)


class TextReading(DecoderReading[CompiledUniversalText]):
    """A reading by lookup tables alone; vector code cannot attend by the content of tokens."""

    engines = (Engine.AUTO, Engine.FAST, Engine.REFERENCE)
    has_tables = False


READING = TextReading(_shown, PointerEngine)
PROOF = DecoderProof(READING, text_checks, TEXT_CHECKER)
KIND = Kind(TextConstruction(), READING, PROOF, TextLook(READING))
