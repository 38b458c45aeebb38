"""Random machines and words, the same ones for the same seed."""

import random
from collections.abc import Iterator

from netwright.machine.turing_machine import Action, Move, TuringMachine


def random_machine(draw: random.Random, states: int, symbols: int) -> TuringMachine:
    """A machine with some rules missing, at times one that stays or accepts.

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


def random_words(
    draw: random.Random, machine: TuringMachine, count: int, max_length: int
) -> Iterator[tuple[str, ...]]:
    """Words over all symbols but the blank; if there are no others, over the blank."""
    letters = [symbol for symbol in machine.symbols if symbol != machine.blank]
    for _ in range(count):
        length = draw.randint(0, max_length)
        yield tuple(draw.choice(letters or [machine.blank]) for _ in range(length))
