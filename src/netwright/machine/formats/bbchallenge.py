"""bbchallenge standard text: `1RB1LB_1LA1RZ`.

Row i is state A, B, C, …; column j is the symbol j it reads. A cell is symbol, move, next state,
or `---` where there is no rule. A letter past the last row halts. Files hold one machine a line.
"""

import re
from string import ascii_uppercase

from netwright.errors import FormatError
from netwright.machine.formats.draft import Draft, Source
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "bbchallenge"


def recognises(text: str) -> bool:
    """Whether the first line begins with something that can only be meant as this text."""
    first = next((line.split()[0] for line in _lines(text)), "")
    # A lone --- begins a YAML document.
    return bool(
        re.fullmatch(r"[0-9A-Z_-]{3,}", first)
        and re.search(r"[0-9][LR][A-Z]|---", first)
        and first != "---"
    )


def read(text: str, source: Source) -> TuringMachine:
    """The machine of a line; the part of the source chooses among several lines.

    >>> read("1RB1LB_1LA1RZ", Source()).halting_states
    ('Z',)
    """
    machines = _lines(text)
    if not machines:
        raise FormatError(f"{source.label}: no machine in it; expected text such as 1RB1LB_1LA1RZ")
    if not source.part and len(machines) == 1:
        return _read_line(machines[0], source)
    if not source.part:
        raise FormatError(
            f"{source.label} holds {len(machines)} machines; "
            f"name one of them: {source.label}:0 to {source.label}:{len(machines) - 1}"
        )
    if source.number is None or source.number >= len(machines):
        raise FormatError(
            f"{source.label} has no machine {source.part!r}; "
            f"expected a number from 0 to {len(machines) - 1}"
        )
    return _read_line(machines[source.number], source)


def _lines(text: str) -> list[str]:
    """The lines that are neither empty nor comments."""
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def _read_line(line: str, source: Source) -> TuringMachine:
    draft = Draft(source, "bbchallenge")
    line, *remarks = line.split()  # such as: Halt 107 13
    if remarks and re.match(r"[0-9][LR][A-Z]|---|\.\.\.", remarks[0]):
        draft.fault("", f"a space after {line}; rows are joined by _ alone, as in 1RB1LB_1LA1RZ")
    rows = line.split("_")
    states = list(ascii_uppercase[: len(rows)])
    columns = len(rows[0]) // 3
    if len(rows) > len(ascii_uppercase):
        draft.fault("", f"{len(rows)} rows; this text has letters for 26 states")
    if columns > 10:
        draft.fault("", f"{columns} columns; this text has digits for 10 symbols")
    draft.stop_at_faults()
    for state, row in zip(states, rows, strict=True):
        if len(row) % 3 or not row:
            draft.fault(f"row {state}", f"{row!r} is not made of groups of three, such as 1RB")
        elif len(row) != 3 * columns:
            draft.fault(
                f"row {state}",
                f"{len(row) // 3} rules, but row A has {columns}; all rows need the same number",
            )
        for symbol, cell in enumerate(re.findall("...", row)):
            place = f"row {state}, column {symbol}"
            if match := re.fullmatch(r"([0-9])([LR])([A-Z])", cell):
                write, move, target = match.groups()
                if int(write) >= columns:
                    draft.fault(place, f"{cell} writes {write}, but there are {columns} columns")
                draft.rule(place, state, str(symbol), Action(target, write, Move(move)))
            elif cell != "---":
                draft.fault(place, f"expected a rule such as 1RB, or ---, got {cell}")
    draft.stop_at_faults()
    halting = sorted({action.state for action in draft.delta.values()}.difference(states))
    return draft.build(
        blank="0",
        start="A",
        states=[*states, *halting],
        symbols=map(str, range(columns)),
        name=line,
    )


def write(machine: TuringMachine) -> str:
    """The machine as a line of text; only machines with the format's own names fit."""
    symbols = len(machine.symbols)
    misfits = []
    if symbols > 10 or set(machine.symbols) != set(map(str, range(symbols))):
        misfits.append(f"its symbols are {' '.join(machine.symbols)}, not 0 to {symbols - 1}")
    if machine.blank != "0":
        misfits.append(f"its blank is {machine.blank!r}, not 0")
    if not set(machine.states) <= set(ascii_uppercase):
        misfits.append(f"its states are {' '.join(machine.states)}, not letters from A on")
    if machine.start != "A":
        misfits.append(f"its start state is {machine.start!r}, not A")
    if any(action.move is Move.S for action in machine.delta.values()):
        misfits.append("a rule leaves the head where it is; moves are L and R")
    if machine.default_input:
        misfits.append("it has a default input; busy beavers start on the blank tape")
    if machine.accepting:
        misfits.append("it has accepting states; busy beavers have none")
    if misfits:
        raise FormatError("does not fit into bbchallenge text:\n  " + "\n  ".join(misfits))
    rows = _count_rows(machine)

    def cell(state: str, symbol: str) -> str:
        action = machine.delta.get((state, symbol))
        return f"{action.write}{action.move}{action.state}" if action else "---"

    lines = ("".join(cell(q, str(s)) for s in range(symbols)) for q in ascii_uppercase[:rows])
    return "_".join(lines) + "\n"


def _count_rows(machine: TuringMachine) -> int:
    """The fewest rows that show all states: those without a row must be some rule's target."""
    states = set(machine.states)
    targets = {action.state for action in machine.delta.values()}
    fewest = max([ascii_uppercase.index(state) + 1 for state, _ in machine.delta], default=1)
    for rows in range(fewest, len(ascii_uppercase) + 1):
        letters = set(ascii_uppercase[:rows])
        if letters <= states and states - letters <= targets:
            return rows
    names = " ".join(machine.states)
    raise FormatError(
        f"does not fit into bbchallenge text:\n  its states are {names}, with letters left out"
    )
