"""Wolfram's numbers of Turing machines: `wolfram:596440,2,3` is rule 596440, 2 states, 3 colours.

The number in base 2sk has sk digits, the most significant first: state 1 with colours k − 1 to 0,
then state 2, and so on. A digit d goes to state ⌊d/2k⌋ + 1, writes ⌊d/2⌋ mod k, and moves to the
right if it is odd. Such a machine never halts.
"""

import re
from string import ascii_uppercase

from netwright.errors import FormatError
from netwright.machine.turing_machine import Action, Move, TuringMachine

_NUMBER = re.compile(r"wolfram:([0-9]{1,400}),([0-9]{1,2}),([0-9]{1,2})")
MOST_STATES, MOST_COLOURS = 26, 10


def is_number(text: str) -> bool:
    """Whether a text has the form of such a number."""
    return text.startswith("wolfram:")


def read(text: str) -> TuringMachine:
    """The machine of a number.

    >>> from netwright.machine.formats import write_text
    >>> write_text(read("wolfram:596440,2,3"), "bbchallenge").strip()
    '1RB2LA1LA_2LA2RB0RA'
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise FormatError(f"{text[:60]!r}: expected wolfram:NUMBER,STATES,COLOURS")
    number, states, colours = map(int, match.groups())
    if not (1 <= states <= MOST_STATES and 2 <= colours <= MOST_COLOURS):
        raise FormatError(f"{text[:60]}: expected 1 to {MOST_STATES} states, 2 to 10 colours")
    base, names = 2 * states * colours, ascii_uppercase[:states]
    if number >= base ** (states * colours):
        raise FormatError(
            f"{text[:60]}: there are {base}^{states * colours} machines of {states} states and "
            f"{colours} colours, numbered from 0"
        )
    delta: dict[tuple[str, str], Action] = {}
    for state in reversed(names):
        for colour in range(colours):
            number, digit = divmod(number, base)
            target, write = names[digit // (2 * colours)], str(digit // 2 % colours)
            delta[state, str(colour)] = Action(target, write, Move.R if digit % 2 else Move.L)
    ordered = {(q, str(c)): delta[q, str(c)] for q in names for c in range(colours)}
    symbols = tuple(map(str, range(colours)))
    return TuringMachine(tuple(names), symbols, "0", "A", ordered, name=text)
