"""The text of a St Andrews course (`.tm` files).

states 3            then a line for each state, the first is the start state:
A                   a name, followed by + if it accepts or - if it rejects
B +
C -
alphabet 2 a b      the symbols without the blank, which is _
A a C b R           a rule: state, symbol read, next state, symbol written, L, R or N
"""

import re

from netwright.machine.formats.draft import Draft, Source
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "st-andrews"
_MOVES = {"L": Move.L, "R": Move.R, "N": Move.S}


def recognises(text: str) -> bool:
    """Whether there are lines `states N` and `alphabet K …`."""
    patterns = (r"^[ \t]*states[ \t]+[0-9]+[ \t]*$", r"^[ \t]*alphabet[ \t]+[0-9]+\b")
    return all(re.search(pattern, text, re.M) for pattern in patterns)


def read(text: str, source: Source) -> TuringMachine:
    r"""Read the machine of a text.

    >>> machine = read("states 2\nA\nB +\nalphabet 1 a\nA a A a R\nA _ B _ N\n", Source())
    >>> machine.start, sorted(machine.accepting), machine.delta["A", "_"].move.value
    ('A', ['B'], 'S')
    """
    draft = Draft(source, "St Andrews")
    lines = [(f"line {n}", line.split()) for n, line in enumerate(text.split("\n"), start=1)]
    lines = [(place, words) for place, words in lines if words]
    states, accepting, rest = _read_states(lines, draft)
    draft.stop_at_faults()
    symbols = _read_alphabet(rest, draft)
    for place, words in rest[1:]:
        match words:
            case [state, symbol, target, write, "L" | "R" | "N" as move]:
                draft.rule(place, state, symbol, Action(target, write, _MOVES[move]))
            case _:
                got = " ".join(words)[:60]
                draft.fault(place, f"expected 'state symbol state symbol L, R or N', got {got!r}")
    return draft.build(
        blank="_",
        start=states[0],
        states=states,
        symbols=["_", *symbols],
        accepting=accepting,
        input_symbols=symbols,
    )


def _read_states(
    lines: list[tuple[str, list[str]]], draft: Draft
) -> tuple[list[str], list[str], list[tuple[str, list[str]]]]:
    """The names of the states, those that accept, and the lines that follow."""
    place, words = lines[0]
    if len(words) != 2 or words[0] != "states" or not words[1].isdecimal():
        draft.fault(place, "expected 'states N' first, with the number of states")
        return [], [], []
    count = int(words[1]) if len(words[1]) < 9 else 0
    states, accepting = [], []
    for place, words in lines[1 : 1 + count]:
        if not 1 <= len(words) <= 2 or words[1:] not in ([], ["+"], ["-"]):
            got = " ".join(words)[:60]
            draft.fault(place, f"expected a state's name, perhaps with + or -, got {got!r}")
            continue
        if words[0] in states:
            draft.fault(place, f"a second state {words[0]!r}")
        states.append(words[0])
        accepting += words[:1] if words[1:] == ["+"] else []
    if not count or len(states) < count:
        draft.fault("", f"{len(states)} states of {count}; a machine has one at least")
    return states, accepting, lines[1 + count :]


def _read_alphabet(rest: list[tuple[str, list[str]]], draft: Draft) -> list[str]:
    place, words = rest[0] if rest else ("the end", [])
    if words[:1] != ["alphabet"] or len(words) < 2 or not words[1].isdecimal():
        draft.fault(place, "expected 'alphabet K' and K symbols after the states")
    elif len(words[1]) > 9 or len(words) != 2 + int(words[1]):
        draft.fault(place, f"{len(words) - 2} symbols; the line says {words[1]}")
    return [symbol for symbol in words[2:] if symbol != "_"]
