"""Random words are over the input alphabet, and most are not rejected at once."""

import random

import pytest

from netwright.machine.library import library_machine
from netwright.machine.load import load_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.verify.draw import input_alphabet, random_words


def words_of(machine: TuringMachine, count: int = 200) -> list[tuple[str, ...]]:
    return list(random_words(random.Random(1), machine, count, 6))


@pytest.mark.parametrize("name", ["anbncn", "palindrome", "ww", "matching-brackets", "more-as"])
def test_most_words_take_more_than_one_step(name: str) -> None:
    machine = library_machine(name)
    words = words_of(machine)
    longer = sum(simulate(machine, word, 5).steps > 1 for word in words)
    assert 2 * longer >= len(words)


def test_words_are_over_the_input_alphabet() -> None:
    anbncn = library_machine("anbncn")
    assert len(anbncn.symbols) > 4  # it marks what it has seen
    assert {symbol for word in words_of(anbncn) for symbol in word} == set("abc")
    assert input_alphabet(load_machine("1RB1LB_1LA1RZ")) == ("1",)
    assert input_alphabet(load_machine("0RA")) == ("0",)
    declared = TuringMachine("q", "_01x", "_", "q", {}, input_symbols="01")
    assert input_alphabet(declared) == ("0", "1")
    given = TuringMachine("q", "_01x", "_", "q", {}, default_input="x_")
    assert input_alphabet(given) == ("x",)


def test_another_alphabet_can_be_given() -> None:
    machine = library_machine("anbncn")
    words = random_words(random.Random(1), machine, 50, 6, "ab")
    assert {symbol for word in words for symbol in word} == set("ab")
