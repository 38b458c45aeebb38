"""What experiments are made of, and the runs that several of them look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine

Case = tuple[bool, str]
"""Whether it holds, and what it is, for the report if it does not."""


@dataclass(frozen=True)
class Experiment:
    """What is checked for a statement: a row of cases, more of them if one asks for it."""

    checked: str
    cases: Callable[[bool], Iterator[Case]]


def some_runs(thorough: bool) -> list[tuple[TuringMachine, str, int]]:
    """Machines with words, and how many steps of them are looked at."""
    some = [("palindrome", "abba"), ("palindrome", "ab"), ("binary-increment", "11"), ("copy", "")]
    more = [("anbncn", "aabbcc"), ("ww", "abab"), ("collatz", "11"), ("even-as", "abb")]
    runs = [
        (library_machine(name), word, 60) for name, word in (*some, *(more if thorough else ()))
    ]
    steps = 400 if thorough else 60
    return [*runs, (library_machine("busy-beaver-4"), "", steps)]
