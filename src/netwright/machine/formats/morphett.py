"""Morphett's text (and its French dialect): `state symbol new-symbol direction new-state`.

`;` begins a comment, `_` is the blank. `*` stands for any symbol or state on the left of a rule and
for "unchanged" on the right; the most exact rule applies, in the order (q, s), (q, *), (*, s),
(*, *). Of two rules for the same pair the last one wins. States named `halt…` halt. The machine
starts in state 0. The French dialect starts in q0, also writes g and d, and halts in `stop…`.
"""

from typing import NamedTuple

from netwright.errors import FormatError
from netwright.machine.formats.directives import (
    comment_lines,
    find_directives,
    first_comment,
    write_directives,
)
from netwright.machine.formats.draft import MOST_PAIRS, Draft, Source
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "morphett"
_MOVES = {"l": Move.L, "g": Move.L, "r": Move.R, "d": Move.R, "*": Move.S}


class _Line(NamedTuple):
    place: str
    write: str
    move: Move
    target: str


def recognises(text: str) -> bool:
    """Whether most lines with a rule have five fields and a direction in the fourth."""
    rules = [fields for line in text.split("\n") if (fields := line.split(";")[0].split())]
    good = sum(len(fields) in (5, 6) and fields[3].lower() in _MOVES for fields in rules)
    return good > 0 and 2 * good >= len(rules)


def read(text: str, source: Source) -> TuringMachine:
    r"""The machine, its wildcards written out over its alphabet and that of the input.

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
        draft.doubt("$START", f"no rule speaks of the state {start!r}")
    states = [s for s in [start, *named_states, *words.get("STATES", [])] if s != "*"]

    tape = _read_tape(text, draft)
    named_symbols = [name for (_, symbol), line in lines.items() for name in (symbol, line.write)]
    any_symbol = any(symbol == "*" for _, symbol in lines)
    # In the file `_` is the blank; a directive tells what the machine itself calls it. A space in
    # the input means the blank too, and is no symbol of its own.
    blank = words.get("BLANK", "_")
    also = [s for s in source.also if s != blank and not s.isspace() and s != ";"]
    symbols = ["_", *named_symbols, *tape, *(also if any_symbol else [])]
    symbols = [s for s in dict.fromkeys(symbols) if s != "*"]
    names = {symbol: blank if symbol == "_" else symbol for symbol in symbols}
    halting = ("halt", "stop") if french else ("halt",)
    read_in: dict[str, list[str]] = {}
    for state, symbol in lines:
        read_in.setdefault(state, []).append(symbol)
    wild = any_symbol or "*" in read_in
    if wild and len(set(states)) * len(symbols) > MOST_PAIRS:
        draft.fault("", f"wildcards over {len(set(states)):,} states and {len(symbols):,} symbols")
        draft.stop_at_faults()
    for state in dict.fromkeys(states):
        if state.lower().startswith(halting):
            if state in read_in:
                draft.doubt(f"state {state}", "the machine halts here; its rules are never used")
            continue
        for symbol in symbols if wild else read_in.get(state, []):
            keys = ((state, symbol), (state, "*"), ("*", symbol), ("*", "*"))
            line = next((lines[key] for key in keys if key in lines), None)
            if line:
                target = state if line.target == "*" else line.target
                write = names[symbol if line.write == "*" else line.write]
                draft.rule(line.place, state, names[symbol], Action(target, write, line.move))
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


def _read_lines(text: str, draft: Draft) -> tuple[dict[tuple[str, str], _Line], bool]:
    """The rules by what stands on their left, and whether the dialect is French."""
    lines: dict[tuple[str, str], _Line] = {}
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
        for name in (symbol, write):
            if len(name) != 1:
                draft.fault(place, f"symbol {name!r} has {len(name)} characters; expected one")
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


def _find_start(lines: dict[tuple[str, str], _Line], draft: Draft) -> str:
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
            f"the head's mark * at position {tape.index('*') + 1} is left out: "
            "runs start on the first symbol",
        )
    return [symbol for symbol in tape if symbol != "*"]


def write(machine: TuringMachine) -> str:
    """The machine as Morphett's text, with what the format cannot say in comments."""
    misfits = [
        f"symbol {symbol!r} is not one printable character other than ; * _ and the space"
        for symbol in machine.symbols
        if symbol != machine.blank
        and (len(symbol) != 1 or symbol in ";*_ " or not symbol.isprintable())
    ]
    leaving = {state for state, _ in machine.delta}
    for state in machine.states:
        if state == "*" or " " in state or ";" in state or not state.isprintable():
            misfits.append(f"state {state!r} is *, or contains a space, a ; or the unprintable")
        elif state.lower().startswith(("halt", "stop")) and state in leaving:
            misfits.append(f"state {state!r} has rules, but a state of that name halts at once")
    if not machine.delta:
        misfits.append("it has no rule")
    if misfits:
        raise FormatError("does not fit into Morphett's text:\n  " + "\n  ".join(misfits))

    in_file = {symbol: "_" if symbol == machine.blank else symbol for symbol in machine.symbols}
    words = {"start": machine.start}
    if machine.blank != "_":
        words["blank"] = machine.blank
    actions = machine.delta.values()
    seen_states = {machine.start, *leaving, *(action.state for action in actions)}
    seen_symbols = {machine.blank, *machine.default_input}
    seen_symbols.update(symbol for _, symbol in machine.delta)
    seen_symbols.update(action.write for action in actions)
    lines = comment_lines(machine, ";")
    lines += write_directives(machine, ";", seen_states, seen_symbols, **words)
    if machine.default_input:
        tape = "".join(in_file[symbol] for symbol in machine.default_input)
        lines.append(f"; $INITIAL_TAPE: {tape}")
    letters = {Move.L: "l", Move.R: "r", Move.S: "*"}
    for (state, symbol), (target, written, move) in machine.delta.items():
        lines.append(f"{state} {in_file[symbol]} {in_file[written]} {letters[move]} {target}")
    return "\n".join(lines) + "\n"
