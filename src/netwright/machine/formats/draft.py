"""What the readers and writers share: the source of a text, and the builder of a machine.

A reader adds its rules to a `Draft`, each with its place. `Draft.build` returns the machine, or
raises one error with every fault of the file and its place.

Directives in comments, for what a format cannot express: `$ACCEPT: ["q5"]`.

Morphett's text already has the sample input in a comment, `; $INITIAL_TAPE: …`. netwright writes
the rest of a machine the same way, as JSON: reading the file back gives an equal machine, and every
other tool sees a comment.
"""

import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from netwright.errors import FormatError, FormatWarning
from netwright.machine.turing_machine import Action, TuringMachine, find_faults

_WORDS = {
    **{"START": str, "BLANK": str},
    **{"ACCEPT": list, "SYMBOLS": list, "STATES": list, "INPUT_SYMBOLS": list},
}


def find_directives(text: str, comment: str, draft: "Draft") -> dict[str, Any]:
    """Parse the directives in the comments of a text; `comment` is what begins a comment."""
    pattern = re.compile(rf"^\s*{re.escape(comment)}\s*\$({'|'.join(_WORDS)}):\s*(\S.*)$")
    found: dict[str, Any] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if match := pattern.match(line.rstrip()):
            word, value = match.groups()
            try:
                found[word] = json.loads(value)
            except (ValueError, RecursionError):
                found[word] = None
            kind = _WORDS[word]
            strings = found[word] if kind is list else [found[word]]
            if not isinstance(found[word], kind) or not all(isinstance(s, str) for s in strings):
                example = '["q5"]' if kind is list else '"q5"'
                draft.fault(
                    f"line {number}", f"expected JSON such as {example} after ${word}:, got {value}"
                )
                del found[word]
    return found


def write_comments(
    machine: TuringMachine, comment: str, seen_states: Iterable[str], **words: str
) -> list[str]:
    """The comment lines for the description and for all that the rules, as written, do not show."""
    values: dict[str, str | list[str]] = {word.upper(): value for word, value in words.items()}
    if machine.accepting != accepting_by_name(machine.states, machine.delta):
        values["ACCEPT"] = sorted(machine.accepting)
    seen_symbols = {machine.blank, *machine.default_input}
    for (_, symbol), action in machine.delta.items():
        seen_symbols |= {symbol, action.write}
    if unseen := [symbol for symbol in machine.symbols if symbol not in seen_symbols]:
        values["SYMBOLS"] = unseen
    seen_states = set(seen_states)
    if unseen := [state for state in machine.states if state not in seen_states]:
        values["STATES"] = unseen
    if machine.input_symbols:
        values["INPUT_SYMBOLS"] = list(machine.input_symbols)
    directives = [f"${word}: {json.dumps(value)}" for word, value in values.items()]
    about = _one_line(machine.description)
    return [f"{comment} {line}" for line in ([about] if about else []) + directives]


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return "".join(c for c in text if c.isprintable() and c != "$")  # $ begins a directive


def first_comment(text: str, comment: str) -> str:
    r"""The comment at the top of a text, up to its first empty line, without directives.

    >>> first_comment("; Adds one. \n; $START: \"a\"\na 0 1 r a", ";")
    'Adds one.'
    """
    words: list[str] = []
    for line in text.lstrip("\n").split("\n"):
        content = line.strip().removeprefix(comment).strip()
        if not line.strip().startswith(comment) or not content:
            break
        if "$" not in content:
            words.append(content)
    return " ".join(words)


ACCEPTING_NAMES = frozenset({"accept", "accepted", "qaccept", "q_accept", "halt-accept", "yes"})
"""In formats without accepting states, a halting state with one of these names accepts."""
MOST_FAULTS = 18
"""The most that an error lists, so that it fits on a screen."""
MOST_PAIRS = 1_000_000
"""The most rules that wildcards may stand for."""


@dataclass(frozen=True)
class Source:
    """Where a text comes from, and what more the caller knows."""

    label: str = "text"
    part: str = ""
    """The PART of FILE:PART, which selects one of several machines in a file."""
    also: tuple[str, ...] = ()
    """Symbols of the input; a rule for any symbol covers them."""

    @property
    def number(self) -> int | None:
        """The part as a number, or None."""
        return int(self.part) if self.part.isdecimal() and len(self.part) < 19 else None


class Draft:
    """The builder of a machine: its rules so far, with faults (errors) and doubts (warnings)."""

    def __init__(self, source: Source, format_name: str) -> None:
        self.source = source
        self.format_name = format_name
        self.delta: dict[tuple[str, str], Action] = {}
        self.places: dict[tuple[str, str] | str, str] = {}
        self.faults: list[str] = []
        self.doubts: list[str] = []

    def fault(self, place: str, message: str) -> None:
        """Record an error."""
        self.faults.append(f"{place}: {message}" if place else message)

    def doubt(self, place: str, message: str) -> None:
        """Record something that the author may not have meant; `build` warns of it."""
        self.doubts.append(f"{self.source.label}: {place}: {message}")

    def check_characters(self, place: str, *symbols: str) -> None:
        """Record a fault for each symbol that is not one character."""
        for name in symbols:
            if len(name) != 1:
                self.fault(place, f"symbol {name!r} has {len(name)} characters; expected one")

    def rule(self, place: str, state: str, symbol: str, action: Action) -> None:
        """Add a rule; a second one for the same pair is a fault: the file is nondeterministic."""
        if (state, symbol) in self.delta:
            self.fault(
                place,
                f"a second rule for ({state}, {symbol}), after {self.places[state, symbol]}: the "
                "file is nondeterministic; netwright reads deterministic machines",
            )
            return
        self.delta[state, symbol] = action
        self.places[state, symbol] = place

    def build(
        self,
        *,
        blank: str,
        start: str,
        states: Iterable[str] = (),
        symbols: Iterable[str] = (),
        accepting: Iterable[str] | None = None,
        default_input: Iterable[str] = (),
        input_symbols: Iterable[str] = (),
        name: str = "",
        description: str = "",
    ) -> TuringMachine:
        """Return the machine, or raise FormatError with every fault; warn of every doubt.

        If `accepting` is None, the names of the states decide (`ACCEPTING_NAMES`).
        """
        states = tuple(dict.fromkeys(states))
        if accepting is None:
            accepting = accepting_by_name(states, self.delta)
        parts = {
            "states": states,
            "symbols": tuple(dict.fromkeys(symbols)),
            "blank": blank,
            "start": start,
            "accepting": frozenset(accepting),
            "default_input": tuple(default_input),
            "input_symbols": tuple(input_symbols),
            "name": name or self.source.label,
            "description": description,
        }
        for fault in find_faults(delta=self.delta, **parts):  # type: ignore[arg-type]  # one dict
            self.fault(self.places.get(fault.subject, ""), fault.message)
        self.stop_at_faults()
        for doubt in self.doubts:
            warnings.warn(doubt, FormatWarning, stacklevel=3)
        return TuringMachine(delta=self.delta, **parts)  # type: ignore[arg-type]  # as above

    def stop_at_faults(self) -> None:
        """Raise FormatError if there are faults so far."""
        if self.faults:
            shown = self.faults[:MOST_FAULTS]
            if len(self.faults) > len(shown):
                shown.append(f"… and {len(self.faults) - len(shown)} more")
            raise FormatError(
                "\n  ".join([f"{self.source.label} is not a {self.format_name} machine:", *shown])
            )


def several_tapes(number: int | str) -> str:
    """The message for a machine with more than one tape.

    >>> several_tapes(3)
    'a machine with three tapes; netwright reads machines with one tape'
    """
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
    count = words.get(int(number), str(number)) if str(number).isdecimal() else str(number)
    return f"a machine with {count} tapes; netwright reads machines with one tape"


def accepting_by_name(states: Iterable[str], delta: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The states without rules whose names are in `ACCEPTING_NAMES`."""
    leaving = {state for state, _ in delta}
    return frozenset(
        state for state in states if state not in leaving and state.lower() in ACCEPTING_NAMES
    )


def require_fit(format_name: str, misfits: list[str]) -> None:
    """Raise FormatError if there are reasons why a machine cannot be written in a format."""
    if misfits:
        raise FormatError(f"does not fit into {format_name}:\n  " + "\n  ".join(misfits))


def clipped(text: str) -> str:
    """The first characters of a text, for messages."""
    return text if len(text) <= 60 else f"{text[:57]}…"
