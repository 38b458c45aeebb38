"""What the readers and writers share: the source of a text, and the builder of a machine.

A reader adds its rules to a `Draft`, each with its place. `Draft.build` returns the machine, or
raises one error with every fault of the file and its place.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from netwright.errors import FormatError, FormatWarning
from netwright.machine.turing_machine import Action, TuringMachine, find_faults

ACCEPTING_NAMES = frozenset({"accept", "accepted", "qaccept", "q_accept", "halt-accept", "yes"})
"""In formats without accepting states, a halting state with one of these names accepts."""
MOST_FAULTS = 18
"""The most that an error lists, so that it fits on a screen."""
MOST_PAIRS = 1_000_000
"""The most rules that wildcards may stand for."""


@dataclass(frozen=True)
class Source:
    """Where a text comes from, and what else the caller knows."""

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
