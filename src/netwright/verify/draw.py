"""Random machines and words, reproducible from a seed."""

import random
from collections.abc import Iterator, Sequence

from netwright.machine.turing_machine import Action, Move, TuringMachine


def random_machine(draw: random.Random, states: int, symbols: int) -> TuringMachine:
    """A random machine with some rules missing; it may have stay moves or an accepting state.

    >>> machine = random_machine(random.Random(1), 2, 3)
    >>> len(machine.states), len(machine.symbols)
    (2, 3)
    """
    names = [f"q{n}" for n in range(states)]
    alphabet = ["_", *(str(n) for n in range(1, symbols))]
    moves = [Move.L, Move.R] if draw.random() < 0.5 else [Move.L, Move.R, Move.S]
    delta = {
        (state, symbol): Action(draw.choice(names), draw.choice(alphabet), draw.choice(moves))
        for state in names
        for symbol in alphabet
        if draw.random() < 0.9
    }
    return TuringMachine(
        states=names,
        symbols=alphabet,
        blank="_",
        start=names[0],
        delta=delta,
        accepting=[draw.choice(names)] if states > 1 and draw.random() < 0.5 else [],
    )


def input_alphabet(machine: TuringMachine) -> tuple[str, ...]:
    """The declared input symbols and those of the default input, without the blank.

    If there are none, all symbols but the blank; if there is no other, the blank.

    >>> from netwright.machine.library import library_machine
    >>> input_alphabet(library_machine("anbncn"))
    ('a', 'b', 'c')
    """
    known = dict.fromkeys([*machine.input_symbols, *machine.default_input])
    letters = [symbol for symbol in known if symbol != machine.blank]
    others = [symbol for symbol in machine.symbols if symbol != machine.blank]
    return tuple(letters or others or [machine.blank])


def random_words(
    draw: random.Random,
    machine: TuringMachine,
    count: int,
    max_length: int,
    alphabet: Sequence[str] = (),
) -> Iterator[tuple[str, ...]]:
    """Random words over `alphabet`, by default the machine's input alphabet.

    Every other word consists of runs of about the same length in the order of the alphabet, such as
    aabbbcc: most machines soon reject a word whose symbols are drawn one by one.
    """
    letters = list(alphabet or input_alphabet(machine))
    for number in range(count):
        if number % 2:
            length = draw.randint(1, max(1, max_length // len(letters)))
            runs = [[letter] * (length + draw.choice((-1, 0, 0, 0, 1))) for letter in letters]
            yield tuple(symbol for run in runs for symbol in run)[:max_length]
        else:
            yield tuple(draw.choice(letters) for _ in range(draw.randint(0, max_length)))
