"""How the tokens of a decoder show the run of a machine: what is watched, and what codes mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector
from netwright.machine.turing_machine import TuringMachine
from netwright.runtime.engine import ZERO_BLOCK, Watch
from netwright.theorems.beyond.pointers.codes import code_1, code_2
from netwright.theorems.beyond.pointers.pointer_transformer import CompiledPointerTransformer
from netwright.theorems.beyond.pointers.universal_rules import CompiledUniversalRules
from netwright.theorems.beyond.pointers.universal_text import CompiledUniversalText
from netwright.theorems.decoder import CompiledDecoder, CompiledNormalDecoder
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer

Watches = tuple[Watch, Watch, Watch]
"""The state of an output; the symbol that the token writes; and its move."""
RUNNING = 5
"""What is added to the code of a state while the network runs, to tell it from 1, accepted."""


@dataclass(frozen=True)
class TokenReading:
    """How the tokens of one run are read."""

    given: TuringMachine
    watches: Watches
    states: tuple[str, ...]
    """What the codes of the first watch stand for; the code after them says: accepted."""
    given_states: frozenset[str]
    """Those that stand for the given machine at a step."""
    final_states: frozenset[str]
    """Those that are final as soon as they are shown."""
    symbols: tuple[str, ...]
    """What the codes of the second watch stand for, in the given machine's names."""
    blank: int
    laid: Sequence[int]
    """The codes on the tape before the first token, from cell 0 on."""
    cell: int
    """Where the head begins."""
    tokens_before: int
    """How many tokens come before those of the given machine's steps."""
    stays: bool = False
    short: bool = False
    """Whether `accepted` comes in place of the accepting configuration, not after it."""

    @property
    def accepted(self) -> int:
        """The code of acceptance."""
        return len(self.states)


def _normal(
    compiled: CompiledNormalDecoder, word: Sequence[str], watches: Watches, *, stays: bool = False
) -> TokenReading:
    """One state and symbol in each output; the input is read, then the head goes back."""
    normal = compiled.normal
    machine, symbols = normal.machine, normal.check_word(word)
    return TokenReading(
        given=normal.given,
        watches=watches,
        states=machine.states,
        given_states=frozenset(filter(normal.is_given_state, machine.states)),
        final_states=compiled.final_states,
        symbols=tuple(map(normal.given_symbol, machine.symbols)),
        blank=machine.symbols.index(machine.blank),
        laid=[*map(machine.symbols.index, symbols)],
        cell=-1,
        tokens_before=2 * len(symbols) + 3,
        stays=stays,
    )


PAPER: Watches = (Watch("y", "q1"), Watch("z", "s2"), Watch("y", "x1", sign=True))


def _paper(compiled: CompiledTransformer, word: Sequence[str]) -> TokenReading:
    return _normal(compiled, word, PAPER)


def _pointers(compiled: CompiledPointerTransformer, word: Sequence[str]) -> TokenReading:
    if compiled.stays:
        weights = {"mR": 1, "mL": 2, "mS": 4}
        numbers = {ONE: 1, 2 * ONE: -1, 4 * ONE: 0}
        move = Watch("z", "shown", through=_sum(compiled.layout, weights), numbers=numbers)
    else:
        move = Watch("z", "m", sign=True)
    watches = (Watch("y", "q1"), Watch("z", "w"), move)
    return _normal(compiled, word, watches, stays=compiled.stays)


def _sum(layout: Layout, weights: Mapping[str, int]) -> Affine:
    """A number made of some blocks."""
    shown = Layout.of(shown="")
    entries = {(layout.index(block), 0): Rational(weight) for block, weight in weights.items()}
    return Affine(layout, shown, entries, Vector.zero(shown))


def _coded_state(layout: Layout, states: int) -> Watch:
    """The number of the state whose code is r, with on = 1; `accepted` for r = 1 and on = 0."""
    numbers = {RUNNING + code_2(number): number for number in range(states)}
    numbers |= {ZERO: ZERO_BLOCK, ONE: states}
    through = _sum(layout, {"r": 1, "on": RUNNING})
    return Watch("y", "shown", through=through, numbers=numbers)


def _coded_symbol(vector: str, block: str, symbols: int) -> Watch:
    return Watch(vector, block, numbers={code_1(number): number for number in range(symbols)})


def _rules(compiled: CompiledUniversalRules, word: Sequence[str]) -> TokenReading:
    """As the pointer Transformer, in codes; layer 2 adds to w2, so z1 tells what is written."""
    normal, prompt = compiled.normal, compiled.prompt
    symbols = normal.check_word(word)
    return TokenReading(
        given=normal.given,
        watches=(
            _coded_state(compiled.layout, len(prompt.states)),
            _coded_symbol("z1", "w2", len(prompt.symbols)),
            Watch("z", "m3", sign=True),
        ),
        states=tuple(prompt.states),
        given_states=frozenset(filter(normal.is_given_state, prompt.states)),
        final_states=frozenset(),
        symbols=tuple(map(normal.given_symbol, prompt.symbols)),
        blank=0,
        laid=[prompt.symbols[symbol] for symbol in symbols],
        cell=-1,
        tokens_before=2 * len(symbols) + 3,
    )


def _text(compiled: CompiledUniversalText, word: Sequence[str]) -> TokenReading:
    """The network lays the input down itself, from its end on; other symbols are stays."""
    prompt = compiled.prompt
    states, symbols = (prompt.start, *prompt.states), prompt.given.check_word(word)
    return TokenReading(
        given=prompt.given,
        watches=(
            _coded_state(compiled.layout, len(states)),
            _coded_symbol("z", "w3", len(prompt.symbols)),
            Watch("z", "m3", sign=True),
        ),
        states=states,
        given_states=frozenset(prompt.states) - prompt.pauses,
        final_states=frozenset(),
        symbols=tuple(prompt.symbols),
        blank=0,
        laid=(),
        cell=len(symbols) - 1,
        tokens_before=len(compiled.text(symbols)),
        stays=True,
        short=not prompt.long,
    )


READINGS: dict[type[CompiledDecoder], Callable[[Any, Sequence[str]], TokenReading]] = {
    CompiledTransformer: _paper,
    CompiledPointerTransformer: _pointers,
    CompiledUniversalRules: _rules,
    CompiledUniversalText: _text,
}
"""By what a construction gives."""


def reading_of(compiled: CompiledDecoder, word: Sequence[str]) -> TokenReading:
    """How the tokens on a word are read; InputError for a word that the network cannot take."""
    return READINGS[type(compiled)](compiled, word)
