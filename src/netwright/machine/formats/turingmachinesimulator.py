"""turingmachinesimulator.com's text with one tape.

    name: palindrome        init: q0        accept: qAccept, qYes       (a line each)
    q0,a                    state and symbol read
    q1,_,>                  next state, symbol to write, move: > < or -

`//` begins a comment, `_` is the blank. Where no rule applies the machine rejects.
"""

import re

from netwright.machine.formats.draft import Draft, Source, several_tapes
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "turingmachinesimulator"
_MOVES = {">": Move.R, "<": Move.L, "-": Move.S}


def recognises(text: str) -> bool:
    """Whether a line names the initial state and some line ends in a move."""
    return bool(
        re.search(r"^[ \t]*init[ \t]*:", text, re.M | re.I) and re.search(r",[ \t]*[<>-]", text)
    )


def read(text: str, source: Source) -> TuringMachine:
    r"""Read the machine of a text.

    >>> read("init: a\naccept: b\na,0\nb,1,>", Source()).delta["a", "0"]
    Action(state='b', write='1', move=<Move.R: 'R'>)
    """
    draft = Draft(source, "turingmachinesimulator.com")
    header, lines = _read_lines(text, draft)
    _add_rules(lines, draft)
    start = header["init"]
    if not start:
        draft.fault("", "no 'init:' line with the initial state")
    if start not in [state for state, _ in draft.delta]:
        draft.doubt("init", f"no rule for the initial state {start!r}")
    accepting = [state.strip() for state in header["accept"].split(",") if state.strip()]
    rules = draft.delta.items()
    return draft.build(
        blank="_",
        start=start,
        states=[start, *(q for (state, _), to in rules for q in (state, to.state)), *accepting],
        symbols=["_", *(s for (_, symbol), to in rules for s in (symbol, to.write))],
        accepting=accepting,
        name=header["name"],
    )


def _add_rules(lines: list[tuple[str, list[str]]], draft: Draft) -> None:
    for (place, left), (below, right) in zip(lines[::2], lines[1::2], strict=False):
        tapes = len(left) - 1
        if tapes > 1:
            draft.fault(place, several_tapes(tapes))
            draft.stop_at_faults()
        if tapes < 1 or len(right) != 3 or right[2] not in _MOVES:
            draft.fault(place, f"expected 'state,symbol' here and 'state,symbol,move' on {below}")
            continue
        (state, symbol), (target, write, letter) = left, right
        draft.check_characters(place, symbol, write)
        draft.rule(place, state, symbol, Action(target, write, _MOVES[letter]))
    if len(lines) % 2:
        draft.fault(lines[-1][0], "a rule's first line without the second")


def _read_lines(text: str, draft: Draft) -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    """Return the header, and the fields of every other line with its place."""
    header = {"name": "", "init": "", "accept": ""}
    lines = []
    for number, content in enumerate(text.split("\n"), start=1):
        line = content.split("//")[0].strip()
        if match := re.fullmatch(r"(name|init|accept)\s*:(.*)", line, re.I):
            word = match[1].lower()
            if header[word]:
                draft.fault(f"line {number}", f"a second '{word}:' line")
            header[word] = match[2].strip()
        elif line:
            lines.append((f"line {number}", [field.strip() for field in line.split(",")]))
    return header, lines
