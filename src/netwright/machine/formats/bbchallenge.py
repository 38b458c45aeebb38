"""bbchallenge standard text: `1RB1LB_1LA1RZ`, and the lists that people keep of such machines.

Row i is state A, B, C, …; column j is the symbol j it reads. A cell is symbol, move, next state,
or `---` for no rule. A letter past the last row halts. Files hold one machine per line.

A line may have columns before the machine and annotations after it, separated by commas or white
space: `47176870 4098 1RB1LC_…`, `1RB1LC_…,halt,47176870`. *Spaced* text is read too: `1RB 1LC  1RC
1RB`, one space between the rules of a state and more between states, with `---` or `...` for no
rule.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from string import ascii_uppercase

from netwright.errors import FormatError
from netwright.machine.formats.draft import Draft, Source, clipped, require_fit
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.text import counted, shortened

NAME = "bbchallenge"
MOST_MACHINES = 100_000
"""The most in a list that is read whole, in about seven seconds."""
_CELL = r"(?:[0-9][LR][A-Z]|---)"
_SPACED_CELL = rf"(?:{_CELL}|\.\.\.)"
_TEXT = re.compile(rf"{_CELL}+(?:_{_CELL}+)*")
_SPACED = re.compile(rf"(?<!\S){_SPACED_CELL}(?:[ \t]+{_SPACED_CELL})+(?!\S)")
_BORDER = r'[\s,;|"]'
_COLUMN = re.compile(rf"(?<![^\s,;|\"]){_TEXT.pattern}(?![^\s,;|\"])")
_ROW_BEGINS = re.compile(rf"(?:(?<=^)|(?<={_BORDER})|(?<=_))(?:[0-9][LR][A-Z]|\.\.\.|(?:---){{2}})")
"""The beginning of a column that could be a row of a machine."""
_ORNAMENT = re.compile(r"(?:```|~~~)\w*|(?!(?:---)+$)[`~|:=+*\s-]+")
"""A Markdown fence, or the ruling of a Markdown table."""
_RULE = re.compile(r"[0-9][LR][A-Z]")


def is_text(argument: str) -> bool:
    """Whether an argument can only be meant as a machine, even if it begins with `-`.

    >>> is_text("---0LB_0RB1LA"), is_text("---"), is_text("--json")
    (True, False, False)
    """
    return bool(_TEXT.fullmatch(argument)) and argument.strip("-") != ""


def recognises(text: str) -> bool:
    """Whether the first line has a machine, or something that is almost one."""
    first = next((line for _, line in _lines(text)), "")
    if _has_machine(first):
        return True
    # This format explains best what is wrong with a text that is almost a machine.
    begin = first.split()[0] if first else ""
    is_almost = re.fullmatch(r"[0-9A-Z_-]{3,}", begin) and re.search(_CELL, begin)
    return bool(is_almost and begin != "---")  # --- begins a YAML document


def read(text: str, source: Source) -> TuringMachine:
    """Read the machine of a line; the part of the source selects one of several lines.

    >>> read("1RB1LB_1LA1RZ", Source()).halting_states
    ('Z',)
    """
    machines = _lines(text)
    if not machines:
        raise FormatError(f"{source.label}: no machine in it; expected text such as 1RB1LB_1LA1RZ")
    if not source.part:
        if len(machines) == 1:
            return _read_line(machines[0][1], source)
        raise FormatError(
            f"{source.label} holds {len(machines)} machines; "
            f"name one of them: {source.label}:0 to {source.label}:{len(machines) - 1}"
        )
    if source.number is None or source.number >= len(machines):
        raise FormatError(
            f"{source.label} has no machine {source.part!r}; "
            f"expected a number from 0 to {len(machines) - 1}"
        )
    return _read_line(machines[source.number][1], source)


def read_list(text: str, label: str) -> Iterator[TuringMachine]:
    """Read all machines of a text, one per line."""
    lines = _lines(text)
    if len(lines) > MOST_MACHINES:
        raise FormatError(
            f"{label} holds {len(lines):,} machines; at most {MOST_MACHINES:,} of a list are read"
        )
    for number, line in lines:
        yield _read_line(line, Source(f"{label}:{number}"))


def find_in_line(line: str, label: str) -> tuple[str, str]:
    """The standard text of the machine on a line of a list, and the rest of the line.

    Machines in later columns belong to the rest. A line is never cut inside a machine: raise
    FormatError, with the label, if the text before or after the machine may be a row of it.

    >>> find_in_line("12,1RB1LB_1LA1RZ,halt", "")
    ('1RB1LB_1LA1RZ', '12,,halt')
    >>> find_in_line("6 4 1RB 1LB  1LA 1RZ", "")
    ('1RB1LB_1LA1RZ', '6 4')
    """
    columns_found = (each for each in _COLUMN.finditer(line) if "_" in each[0] or is_text(each[0]))
    match = next(columns_found, None)
    if match is not None and not _may_be_cut(line, match):
        text = match[0]
        columns = len(text.partition("_")[0]) // 3
        if columns <= 10 and _whole(columns).fullmatch(text):
            rest = line[: match.start()] + line[match.end() :]
            return text, " ".join(rest.split())
    draft = Draft(Source(label), "bbchallenge")
    text = _machine_text(line, draft)
    draft.stop_at_faults()
    _check_rows(text.split("_"), draft)
    return text, _SPACED.sub("", line, count=1).strip()


def _may_be_cut(line: str, match: re.Match[str]) -> bool:
    """Whether there may be more of a machine before or after the match."""
    before, after = line[: match.start()], line[match.end() :]
    if _RULE.search(before) or _ROW_BEGINS.search(before):
        return True
    if "_" not in match[0]:
        return bool(_ROW_BEGINS.search(after))
    return bool(_ROW_BEGINS.match(re.sub(rf"^(?:{_BORDER}|_)+", "", after)))


def may_have_machine(line: str) -> bool:
    """Whether a line has something that is meant as a machine, correct or not.

    >>> may_have_machine("id2,machine"), may_have_machine("------_------"), may_have_machine("1RB")
    (False, True, True)
    """
    return bool(_RULE.search(line) or re.search(r"---_|_---|\.\.\.", line))


def lists_machines(text: str) -> bool:
    """Whether a text is a list of machines, by its first lines."""
    found = _lines(text)[:20]
    return any(_COLUMN.search(line) or _SPACED.search(line) for _, line in found)


@cache
def _whole(columns: int) -> re.Pattern[str]:
    """The pattern of texts with this many columns in every row, and no symbol beyond them."""
    row = rf"(?:(?:[0-{columns - 1}][LR][A-Z])|---){{{columns}}}"
    return re.compile(rf"{row}(?:_{row}){{0,{len(ascii_uppercase) - 1}}}")


def machine_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines that should have a machine, with their numbers from 1 on.

    Comments, empty lines and the fences and rulings of Markdown are left out, and so are column
    headings: a first line without a machine before a line with one.

    >>> list(machine_lines(["machine,steps", "", "1RB1LB_1LA1RZ,6  # the champion"]))
    [(3, '1RB1LB_1LA1RZ,6')]
    """
    first: tuple[int, str] | None = None
    begun = False
    for number, line in enumerate(lines, start=1):
        content = line.partition("#")[0].strip()
        if not content or _ORNAMENT.fullmatch(content):
            continue
        if not begun and first is None and not may_have_machine(content):
            first = number, content
            continue
        if first is not None and not may_have_machine(content):
            yield first
        first, begun = None, True
        yield number, content
    if first is not None:
        yield first


def _lines(text: str) -> list[tuple[int, str]]:
    return list(machine_lines(text.split("\n")))


def _has_machine(line: str) -> bool:
    """Whether a line is a machine, possibly after columns of numbers."""
    rest = re.sub(r"^(?:(?:[0-9][0-9_.eE+-]*|---)[,;\s]+)*", "", line)
    begin = _fields(rest)[:1] if not rest.startswith((",", ";")) else []
    return bool(_SPACED.match(rest)) or any(map(is_text, begin))


def _fields(line: str) -> list[str]:
    return [field for field in re.split(rf"{_BORDER}+", line) if field]


def _machine_text(line: str, draft: Draft) -> str:
    """The standard text of the machine on a line; "" or a wrong text after a fault."""
    texts = _machine_fields(line)
    whole = any("_" in each for each in texts)
    spaced = [match[0] for match in _SPACED.finditer(line) if match[0].strip("- \t")]
    if spaced:
        if len(spaced) > 1 or whole:
            draft.fault("", f"more than one machine on a line: {clipped(line)}")
        return _join_spaced(spaced[0], clipped(line), draft)
    if not texts:
        seen = clipped(line)
        draft.fault("", f"no machine in the line {seen!r}; expected text such as 1RB1LB_1LA1RZ")
        return ""
    if len(texts) > 1 and not whole:
        draft.fault(
            "",
            f"{texts[0]} and {texts[1]} side by side: the rows of one machine are joined by _, as "
            f"in {shortened('_'.join(texts), 90)}; the machine {texts[0]} alone takes no "
            "row next to it",
        )
    elif len(texts) > 1:
        draft.fault("", f"two machines on a line, {texts[0]} and {texts[1]}; expected one")
    return texts[0]


def _machine_fields(line: str) -> list[str]:
    """The fields that look like a row, or like a machine: these without duplicates."""
    fields = [each for each in _fields(line) if _RULE.search(each) or _TEXT.fullmatch(each)]
    if len(fields) > 1:
        fields = [each for each in fields if each != "---"]  # a column without a value
    return list(dict.fromkeys(fields)) if any("_" in each for each in fields) else fields


def _join_spaced(spaced: str, seen: str, draft: Draft) -> str:
    """Convert spaced text to standard text."""
    rows = re.split(r"[ \t]{2,}", spaced)
    if len(rows) == 1:
        draft.fault(
            "",
            f"one space between all rules of {seen}: which belong to one state? expected two "
            "between states, as in 1RB 1LB  1LA 1RZ, or 1RB1LB_1LA1RZ",
        )
    return "_".join(re.sub(r"[ \t]", "", row).replace("...", "---") for row in rows)


def _read_line(line: str, source: Source) -> TuringMachine:
    text, _ = find_in_line(line, source.label)
    rows = text.split("_")
    states = list(ascii_uppercase[: len(rows)])
    draft = Draft(source, "bbchallenge")
    for state, row in zip(states, rows, strict=True):
        for symbol, cell in enumerate(re.findall("...", row)):
            if cell != "---":
                place = f"row {state}, column {symbol}"
                draft.rule(place, state, str(symbol), Action(cell[2], cell[0], Move(cell[1])))
    halting = sorted({action.state for action in draft.delta.values()}.difference(states))
    return draft.build(
        blank="0",
        start="A",
        states=[*states, *halting],
        symbols=map(str, range(len(rows[0]) // 3)),
        name=text,
    )


def _check_rows(rows: list[str], draft: Draft) -> None:
    """Raise FormatError with every fault of the rows of a machine."""
    columns = len(rows[0]) // 3
    if len(rows) > len(ascii_uppercase):
        draft.fault("", f"{len(rows)} rows; this text has letters for 26 states")
    if columns > 10:
        draft.fault("", f"{columns} columns; this text has digits for 10 symbols")
    draft.stop_at_faults()
    for state, row in zip(ascii_uppercase, rows, strict=False):
        if len(row) % 3 or not row:
            draft.fault(f"row {state}", f"{row!r} is not made of groups of three, such as 1RB")
        elif len(row) != 3 * columns:
            draft.fault(
                f"row {state}",
                f"{len(row) // 3} rules, but row A has {columns}; all rows need the same number",
            )
        for symbol, cell in enumerate(re.findall("...", row)):
            place = f"row {state}, column {symbol}"
            if match := re.fullmatch(r"([0-9])[LR][A-Z]", cell):
                if int(match[1]) >= columns:
                    highest = f"the highest symbol is {columns - 1}, as row A has"
                    many = f"{highest} {counted(columns, 'column')}"
                    draft.fault(place, f"{cell} writes {match[1]}, but {many}")
            elif cell != "---":
                draft.fault(place, f"expected a rule such as 1RB, or ---, got {cell}")
    draft.stop_at_faults()


def write(machine: TuringMachine) -> str:
    """Write the machine as a line of text; only machines with the format's names fit."""
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
    require_fit("bbchallenge text", misfits)
    rows = _count_rows(machine)

    def cell(state: str, symbol: str) -> str:
        action = machine.delta.get((state, symbol))
        return f"{action.write}{action.move}{action.state}" if action else "---"

    lines = ("".join(cell(q, str(s)) for s in range(symbols)) for q in ascii_uppercase[:rows])
    return "_".join(lines) + "\n"


def _count_rows(machine: TuringMachine) -> int:
    """The fewest rows that show all states: a state without a row must be a rule's target."""
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
