"""The Turing machine of the paper, M = (Q, Σ, δ, q_init, F), on a two-way infinite tape.

| here         | paper  | meaning                                               |
|--------------|--------|-------------------------------------------------------|
| `states`     | Q      | any strings                                           |
| `symbols`    | Σ      | any strings; Σ contains the blank                     |
| `blank`      | #      | the symbol of every unwritten cell                    |
| `start`      | q_init | the state at time 0                                   |
| `delta`      | δ      | partial: (state, symbol) → (state, symbol, move)      |
| `accepting`  | F      | may be empty; a run ends where it enters one of these |

`input_symbols` is the declared input alphabet, if any; an input may still contain any symbol.

Wider than the paper's: δ is partial, the head may stay, and the head starts on the first symbol
of the input, which occupies cell 0 and the cells to its right.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from netwright.errors import InputError, MachineError
from netwright.html import table
from netwright.text import printable, shortened

if TYPE_CHECKING:
    from netwright.machine.configuration import Configuration
    from netwright.machine.simulate import Run


class Move(StrEnum):
    """Where the head goes: left, right, or nowhere."""

    L = "L"
    R = "R"
    S = "S"

    @property
    def offset(self) -> int:
        """The change of the head's cell: −1, +1 or 0."""
        return {"L": -1, "R": 1, "S": 0}[self.value]


class Action(NamedTuple):
    """The right-hand side of a rule: δ(q, s) = (state, write, move)."""

    state: str
    write: str
    move: Move


class Fault(NamedTuple):
    """A validation error; `subject` is a rule's (state, symbol) or the name of a part."""

    subject: tuple[str, str] | str
    message: str


MOST_SHOWN = 200  # rules shown in a notebook


@dataclass(frozen=True, init=False, eq=False, repr=False)
class TuringMachine:
    """A deterministic one-tape Turing machine: immutable, and validated when it is made.

    >>> flip = TuringMachine(
    ...     states=["flip", "end"], symbols="01_", blank="_", start="flip",
    ...     delta={("flip", "0"): ("flip", "1", "R"), ("flip", "1"): ("flip", "0", "R"),
    ...            ("flip", "_"): ("end", "_", "L")})
    >>> flip.action("flip", "0")
    Action(state='flip', write='1', move=<Move.R: 'R'>)

    Equality ignores the name, the description, the input symbols, and the order of states and
    symbols.
    """

    states: tuple[str, ...]
    symbols: tuple[str, ...]
    blank: str
    start: str
    delta: Mapping[tuple[str, str], Action]
    accepting: frozenset[str]
    default_input: tuple[str, ...]
    input_symbols: tuple[str, ...]
    name: str
    description: str

    def __init__(
        self,
        states: Iterable[str],
        symbols: Iterable[str],
        blank: str,
        start: str,
        delta: Mapping[tuple[str, str], tuple[str, str, str]],
        accepting: Iterable[str] = (),
        default_input: Iterable[str] = (),
        input_symbols: Iterable[str] = (),
        name: str = "",
        description: str = "",
    ) -> None:
        parts: dict[str, Any] = {
            "states": _in_order(states),
            "symbols": _in_order(symbols),
            "blank": blank,
            "start": start,
            "delta": dict(delta),
            "accepting": frozenset(accepting),
            "default_input": tuple(default_input),
            "input_symbols": _in_order(input_symbols),
            "name": name,
            "description": description,
        }
        if faults := [fault.message for fault in find_faults(**parts)]:
            raise MachineError(f"not a Turing machine: {name or 'unnamed'}", faults)
        parts["delta"] = MappingProxyType(
            {
                key: Action(q, v, m if type(m) is Move else Move(m))
                for key, (q, v, m) in parts["delta"].items()
            }
        )
        for part, value in parts.items():
            object.__setattr__(self, part, value)

    def action(self, state: str, symbol: str) -> Action | None:
        """Return δ(state, symbol), or None if the machine halts: no rule, or an accepting state."""
        return None if state in self.accepting else self.delta.get((state, symbol))

    @property
    def halting_states(self) -> tuple[str, ...]:
        """The states in which the machine halts whatever it reads."""
        leaving = {state for state, _ in self.delta} - self.accepting
        return tuple(state for state in self.states if state not in leaving)

    @property
    def digest(self) -> str:
        """SHA-256 of the machine's behaviour: everything but its words and its default input.

        Machines that differ in the order of their states or rules alone have the same digest.
        """
        rules = [[*key, q, v, move.value] for key, (q, v, move) in self.delta.items()]
        names = [sorted(self.states), sorted(self.symbols), sorted(self.accepting)]
        parts = [*names, self.blank, self.start, sorted(rules)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def check_word(self, word: Iterable[str]) -> tuple[str, ...]:
        """Return the word as a tuple; raise InputError at the first symbol not in the alphabet."""
        if not isinstance(word, Iterable):
            raise InputError(f"a word is a string or a list of symbols; got {word!r}")
        symbols, known = tuple(word), set(self.symbols)
        for place, symbol in enumerate(symbols):
            if not isinstance(symbol, str) or symbol not in known:
                alphabet = " ".join(map(repr, self.symbols[:40]))
                shown = shortened(repr(symbol), 60)
                raise InputError(
                    f"input symbol {shown} at position {place + 1} (cell {place}) is not in the "
                    f"machine's alphabet: {alphabet} (blank: {self.blank!r})"
                )
        return symbols

    def run(
        self,
        word: Iterable[str] | None = None,
        max_steps: int = 10_000_000,
        *,
        engine: str = "auto",
    ) -> "Run":
        """Run the machine until it halts, or for `max_steps` steps.

        Args:
            word: a string, one symbol a character, or any iterable of symbols; None means the
                default input.
            max_steps: the step limit, after which the outcome is undecided.
            engine: `auto`, `fast` or `reference`; all give the same answer.
        """
        from netwright.machine.simulate import simulate

        return simulate(self, word, max_steps, engine=engine)

    def accepts(self, word: Iterable[str], max_steps: int = 10_000_000) -> bool:
        """Whether the machine accepts a word; raise InputError if the run does not end."""
        return self.run(word, max_steps).verdict

    def configurations(self, word: Iterable[str] | None = None) -> "Iterator[Configuration]":
        """Iterate over state, head and tape at times 0, 1, 2, …: the definition of a run."""
        from netwright.machine.simulate import configurations

        return configurations(self, word)

    def __repr__(self) -> str:
        name = f" {shortened(printable(self.name), 60)}" if self.name else ""
        return f"<Turing machine{name}: {len(self.states)} states, {len(self.symbols)} symbols>"

    def _repr_html_(self) -> str:
        rows = [(*key, write, move, state) for key, (state, write, move) in self.delta.items()]
        header = ["state", "reads", "writes", "moves", "goes to"]
        return table(f"{repr(self)[1:-1]}, starts in {self.start}", header, rows[:MOST_SHOWN])

    def __reduce__(self) -> tuple[Any, ...]:
        # A mapping proxy cannot be pickled; the constructor's arguments can.
        parts = [getattr(self, field.name) for field in fields(self)]
        return TuringMachine, tuple(dict(p) if isinstance(p, Mapping) else p for p in parts)

    def _key(self) -> tuple[object, ...]:
        sets = map(frozenset, (self.states, self.symbols, self.delta.items()))
        return *sets, self.accepting, self.blank, self.start, self.default_input

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, TuringMachine) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Remove duplicates and keep the order; a set is sorted."""
    return tuple(dict.fromkeys(sorted(names) if isinstance(names, set | frozenset) else names))


def find_faults(
    states: tuple[str, ...],
    symbols: tuple[str, ...],
    blank: str,
    start: str,
    delta: Mapping[Any, Any],
    accepting: frozenset[str],
    default_input: tuple[str, ...],
    input_symbols: tuple[str, ...],
    **words: object,
) -> list[Fault]:
    """Return every reason why these parts are not a Turing machine."""
    faults: list[Fault] = []
    known_states, known_symbols = set(states), set(symbols)

    def require(holds: bool, subject: str, message: str) -> None:
        if not holds:
            faults.append(Fault(subject, message))

    for part, names in (("state", states), ("symbol", symbols)):
        for each in names:
            fine = isinstance(each, str) and each != ""
            require(fine, part, f"{part} {each!r}: not a nonempty string")
    for part, text in words.items():
        require(isinstance(text, str), part, f"its {part} is {str(text)[:40]!r}, which is not text")
    require(start in known_states, "start", f"start state {start!r} is not among the states")
    require(blank in known_symbols, "blank", f"blank {blank!r} is not among the symbols")
    for state in sorted(accepting - known_states, key=str):
        require(False, "accepting", f"accepting state {state!r} is not among the states")
    for symbol in input_symbols:
        require(symbol in known_symbols, "input", f"input symbol {symbol!r} is not a symbol")
    for symbol in dict.fromkeys(default_input):
        require(symbol in known_symbols, "input", f"default input has {symbol!r}, not a symbol")
    return [*faults, *_rule_faults(delta, known_states, known_symbols)]


def _rule_faults(delta: Mapping[Any, Any], states: set[str], symbols: set[str]) -> Iterator[Fault]:
    moves = set(Move)
    for key, value in delta.items():
        if not (isinstance(key, tuple) and len(key) == 2):
            yield Fault("delta", f"rule for {key!r}: expected a pair (state, symbol)")
            continue
        state, symbol = key
        rule = f"rule for ({state}, {symbol})"
        if state not in states:
            yield Fault(key, f"{rule}: {state!r} is not a declared state")
        if symbol not in symbols:
            yield Fault(key, f"{rule}: {symbol!r} is not a declared symbol")
        if not (isinstance(value, tuple) and len(value) == 3):
            yield Fault(key, f"{rule}: expected (state, write, move), got {value!r}")
            continue
        target, write, move = value
        if target not in states:
            yield Fault(key, f"{rule}: goes to {target!r}, not a declared state")
        if write not in symbols:
            yield Fault(key, f"{rule}: writes {write!r}, not a declared symbol")
        if move not in moves:
            yield Fault(key, f"{rule}: moves {move!r}; a move is L, R or S")
