"""Morphett's text (and its French dialect): `state symbol new-symbol direction new-state`.

`;` begins a comment, `_` is the blank. `*` means any symbol or state on the left of a rule and
"unchanged" on the right; the most specific rule applies, in the order (q, s), (q, *), (*, s),
(*, *). Of two rules for the same pair the last one wins. States named `halt…` halt. The machine
starts in state 0. The French dialect starts in q0, also has g and d, and halts in `stop…` too.
"""

from typing import NamedTuple, TypeAlias

from netwright.machine.formats.draft import (
    MOST_PAIRS,
    Draft,
    Source,
    find_directives,
    first_comment,
    require_fit,
    write_comments,
)
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "morphett"
_MOVES = {"l": Move.L, "g": Move.L, "r": Move.R, "d": Move.R, "*": Move.S}


class _Line(NamedTuple):
    place: str
    write: str
    move: Move
    target: str


_Lines: TypeAlias = dict[tuple[str, str], _Line]
"""The lines with a rule, by state and symbol read."""


def recognises(text: str) -> bool:
    """Whether most lines with a rule have five fields and a direction in the fourth."""
    rules = [fields for line in text.split("\n") if (fields := line.split(";")[0].split())]
    good = sum(len(fields) in (5, 6) and fields[3].lower() in _MOVES for fields in rules)
    return good > 0 and 2 * good >= len(rules)


def read(text: str, source: Source) -> TuringMachine:
    r"""Read the machine; wildcards are expanded over its alphabet and that of the input.

    >>> machine = read("0 * * r 0\n0 _ a * halt", Source(also=("x",)))
    >>> sorted(machine.delta)
    [('0', '_'), ('0', 'a'), ('0', 'x')]
    """
    draft = Draft(source, "Morphett")
    words = find_directives(text, ";", draft)
    lines, french = _read_lines(text, draft)
    named_states = [name for (state, _), line in lines.items() for name in (state, line.target)]
    start = words.get("START") or _find_start(lines, draft)
    if "START" in words and start not in named_states:
        draft.doubt("$START", f"no rule mentions the state {start!r}")
    states = dict.fromkeys([start, *named_states, *words.get("STATES", [])])
    states.pop("*", None)

    tape = _read_tape(text, draft)
    # In the file `_` is the blank; a directive gives the machine's own name for it.
    blank = words.get("BLANK", "_")
    symbols = _find_symbols(lines, tape, [s for s in source.also if s != blank])
    names = {symbol: blank if symbol == "_" else symbol for symbol in symbols}
    _add_rules(draft, lines, list(states), names, ("halt", "stop") if french else ("halt",))
    return draft.build(
        blank=blank,
        start=start,
        states=states,
        symbols=[*names.values(), *words.get("SYMBOLS", [])],
        accepting=words.get("ACCEPT"),
        default_input=[names[symbol] for symbol in tape],
        input_symbols=words.get("INPUT_SYMBOLS", ()),
        description=first_comment(text, ";"),
    )


def _find_symbols(lines: _Lines, tape: list[str], also: list[str]) -> list[str]:
    """The symbols of rules and tape; those of the input only if a rule reads any symbol.

    A space in the input means the blank, and `;` begins a comment: neither is a symbol.
    """
    named = [name for (_, symbol), line in lines.items() for name in (symbol, line.write)]
    if any(symbol == "*" for _, symbol in lines):
        tape = [*tape, *(s for s in also if not s.isspace() and s != ";")]
    return [s for s in dict.fromkeys(["_", *named, *tape]) if s != "*"]


def _add_rules(
    draft: Draft, lines: _Lines, states: list[str], names: dict[str, str], halting: tuple[str, ...]
) -> None:
    """Add the rules of each state that does not halt, with wildcards expanded.

    `names` maps the symbols of the file to those of the machine.
    """
    read_in: dict[str, list[str]] = {}
    for state, symbol in lines:
        read_in.setdefault(state, []).append(symbol)
    wild = "*" in read_in or any(symbol == "*" for _, symbol in lines)
    if wild and len(states) * len(names) > MOST_PAIRS:
        draft.fault("", f"wildcards over {len(states):,} states and {len(names):,} symbols")
        draft.stop_at_faults()
    for state in states:
        if state.lower().startswith(halting):
            if state in read_in:
                draft.doubt(f"state {state}", "the machine halts here; its rules are never used")
            continue
        for symbol in names if wild else read_in.get(state, []):
            if line := _find_line(lines, state, symbol):
                target = state if line.target == "*" else line.target
                write = names[symbol if line.write == "*" else line.write]
                draft.rule(line.place, state, names[symbol], Action(target, write, line.move))


def _find_line(lines: _Lines, state: str, symbol: str) -> _Line | None:
    """The most specific rule for a pair."""
    keys = ((state, symbol), (state, "*"), ("*", symbol), ("*", "*"))
    return next((lines[key] for key in keys if key in lines), None)


def _read_lines(text: str, draft: Draft) -> tuple[_Lines, bool]:
    """Return the lines with a rule, and whether the dialect is French."""
    lines: _Lines = {}
    letters = set()
    for number, content in enumerate(text.split("\n"), start=1):
        place = f"line {number}"
        fields = content.split(";")[0].split()
        if len(fields) == 6 and fields[5] == "!":
            fields.pop()  # a breakpoint
        if not fields:
            continue
        if len(fields) != 5:
            draft.fault(
                place,
                "expected five fields (state, symbol, new symbol, direction, new state), "
                f"got {len(fields)}: {' '.join(fields)[:60]}",
            )
            continue
        state, symbol, write, letter, target = fields
        draft.check_characters(place, symbol, write)
        if letter.lower() not in _MOVES:
            draft.fault(place, f"direction {letter!r}; expected l, r, * (or g, d)")
            continue
        if (state, symbol) in lines:
            earlier = lines[state, symbol].place
            draft.doubt(place, f"replaces the rule for ({state}, {symbol}) of {earlier}")
        letters.add(letter.lower())
        lines[state, symbol] = _Line(place, write, _MOVES[letter.lower()], target)
    if not lines:
        draft.fault("", "no rule in it")
    draft.stop_at_faults()
    from_states = {state for state, _ in lines}
    return lines, bool(letters & {"g", "d"}) or ("0" not in from_states and "q0" in from_states)


def _find_start(lines: _Lines, draft: Draft) -> str:
    from_states = [state for state, _ in lines]
    for start in ("0", "q0"):
        if start in from_states:
            return start
    if "*" in from_states:
        return "0"
    draft.doubt("start state", f"no rule for 0 or q0; starting with the first, {from_states[0]}")
    return from_states[0]


def _read_tape(text: str, draft: Draft) -> list[str]:
    marked = (line for line in text.split("\n") if "$INITIAL_TAPE" in line.partition(";")[2])
    given = next(marked, "").partition("$INITIAL_TAPE")[2]
    tape = given.removeprefix(":").strip().replace(" ", "_")
    if "*" in tape:
        draft.doubt(
            "$INITIAL_TAPE",
            f"the head's mark * at position {tape.index('*') + 1} is left out: runs start on the "
            f"first symbol; --head {tape.index('*')} begins there",
        )
    return [symbol for symbol in tape if symbol != "*"]


def write(machine: TuringMachine) -> str:
    """Write the machine as Morphett's text, with comments for what the format cannot express."""
    require_fit("Morphett's text", _misfits(machine))
    in_file = {symbol: "_" if symbol == machine.blank else symbol for symbol in machine.symbols}
    words = {"start": machine.start}
    if machine.blank != "_":
        words["blank"] = machine.blank
    seen_states = {machine.start}
    for (state, _), action in machine.delta.items():
        seen_states |= {state, action.state}
    lines = write_comments(machine, ";", seen_states, **words)
    if machine.default_input:
        tape = "".join(in_file[symbol] for symbol in machine.default_input)
        lines.append(f"; $INITIAL_TAPE: {tape}")
    letters = {Move.L: "l", Move.R: "r", Move.S: "*"}
    for (state, symbol), (target, written, move) in machine.delta.items():
        lines.append(f"{state} {in_file[symbol]} {in_file[written]} {letters[move]} {target}")
    return "\n".join(lines) + "\n"


def _misfits(machine: TuringMachine) -> list[str]:
    misfits = [
        f"symbol {symbol!r} is not one printable character other than ; * _ and the space"
        for symbol in machine.symbols
        if symbol != machine.blank
        and (len(symbol) != 1 or symbol in ";*_ " or not symbol.isprintable())
    ]
    leaving = {state for state, _ in machine.delta}
    for state in machine.states:
        if state == "*" or " " in state or ";" in state or not state.isprintable():
            misfits.append(
                f"state {state!r} is *, or contains a space, a ; or an unprintable character"
            )
        elif state.lower().startswith(("halt", "stop")) and state in leaving:
            misfits.append(f"state {state!r} has rules, but a state of that name halts at once")
    return misfits if machine.delta else [*misfits, "it has no rule"]
