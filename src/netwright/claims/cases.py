"""What experiments are made of, and the cases that several of them share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import network_for_word

Case = tuple[bool, str]
"""Whether it holds, and the message for the report if it does not."""


@dataclass(frozen=True)
class Experiment:
    """What is checked for a statement; `cases(thorough)` yields the cases."""

    checked: str
    cases: Callable[[bool], Iterator[Case]]


def some_runs(thorough: bool) -> list[tuple[TuringMachine, str, int]]:
    """Machines with words, and the number of steps to check."""
    some = [("palindrome", "abba"), ("palindrome", "ab"), ("binary-increment", "11"), ("copy", "")]
    more = [("anbncn", "aabbcc"), ("ww", "abab"), ("collatz", "11"), ("even-as", "abb")]
    chosen = [*some, *more] if thorough else some
    runs = [(library_machine(name), word, 60) for name, word in chosen]
    return [*runs, (library_machine("busy-beaver-4"), "", 400 if thorough else 60)]


def compared(on: str, thorough: bool, **options: str) -> Iterator[Case]:
    """Compare networks with machines at every step of `some_runs`: a case for each check."""
    for machine, word, steps in some_runs(thorough):
        network = network_for_word(machine, on, tuple(word), **options)
        found = network.compare(tuple(word), steps)
        yield from [(True, "")] * (found.checks - 1)
        yield found.difference is None, f"{machine.name} on {word!r}: {found.difference}"
