"""What the readers share: where a machine comes from, and a machine under construction.

A reader hands its rules to a `Draft` with the place of each. `Draft.build` reports every fault of
the file at once, each with its place, or returns the machine.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from netwright.errors import FormatError, FormatWarning
from netwright.machine.turing_machine import Action, TuringMachine, find_faults

ACCEPTING_NAMES = frozenset({"accept", "accepted", "qaccept", "q_accept", "halt-accept", "yes"})
"""In formats without accepting states, a halting state with one of these names accepts."""


MOST_FAULTS = 18
"""How many are listed, so that a refusal fits on a screen."""
MOST_PAIRS = 1_000_000
"""Wildcards are written out for each state and symbol; a file that means more is refused."""


@dataclass(frozen=True)
class Source:
    """Where a text comes from, and what the caller knows beside it."""

    label: str = "text"
    part: str = ""
    """Which of several machines in one file: the PART of FILE:PART."""
    also: tuple[str, ...] = ()
    """Symbols that the input brings; a rule that holds for any symbol holds for them."""

    @property
    def number(self) -> int | None:
        """The part as a number; None if it is none."""
        return int(self.part) if self.part.isdecimal() and len(self.part) < 19 else None


class Draft:
    """The parts of a machine as a reader finds them, with its faults and doubts."""

    def __init__(self, source: Source, format_name: str) -> None:
        self.source = source
        self.format_name = format_name
        self.delta: dict[tuple[str, str], Action] = {}
        self.places: dict[tuple[str, str] | str, str] = {}
        self.faults: list[str] = []
        self.doubts: list[str] = []

    def fault(self, place: str, message: str) -> None:
        """Remember something that keeps this from being a machine."""
        self.faults.append(f"{place}: {message}" if place else message)

    def doubt(self, place: str, message: str) -> None:
        """Remember something that its author may not have meant, to warn of it in the end."""
        self.doubts.append(f"{self.source.label}: {place}: {message}")

    def rule(self, place: str, state: str, symbol: str, action: Action) -> None:
        """Add a rule; a second one for the same pair makes the file nondeterministic."""
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
        """The machine, or a `FormatError` with every fault; no `accepting` means by name."""
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
        """Raise a `FormatError` if there are faults so far."""
        if self.faults:
            shown = self.faults[:MOST_FAULTS]
            if len(self.faults) > len(shown):
                shown.append(f"… and {len(self.faults) - len(shown)} more")
            raise FormatError(
                "\n  ".join([f"{self.source.label} is not a {self.format_name} machine:", *shown])
            )


def several_tapes(number: int | str) -> str:
    """The fault of a machine with more than one tape.

    >>> several_tapes(3)
    'a machine with three tapes; netwright reads machines with one tape'
    """
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
    count = words.get(int(number), str(number)) if str(number).isdecimal() else str(number)
    return f"a machine with {count} tapes; netwright reads machines with one tape"


def accepting_by_name(states: Iterable[str], delta: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The states without rules whose names say that they accept."""
    leaving = {state for state, _ in delta}
    return frozenset(
        state for state in states if state not in leaving and state.lower() in ACCEPTING_NAMES
    )
