"""turingmachine.io's YAML: a document with its `source code`, or the bare machine in it.

    blank: '_'                      one character
    start state: right              a key of the table
    input: '1011'                   optional, a cell a character
    synonyms: {accept: {R: accept}} optional, not recursive
    table:                          state → symbol or [list, of, symbols] → instruction
      right: {[0, 1]: R, _: {write: 1, L: done}}
      done:                         no rules: the machine halts

An instruction is a move (L, R, and N for none), a synonym, or a map with one move, whose value is
the next state (none: the same), and optionally the symbol to `write`. In keys, `,,` is the comma.

Only the structure of the YAML is read, and no value is constructed from it. So `0`, `yes` and `on`
are the characters in the file, each rule keeps its line, and aliases of aliases do not blow up.
"""

import re
import warnings
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeAlias

from netwright.errors import FormatError, FormatWarning
from netwright.machine.formats.draft import (
    Draft,
    Source,
    find_directives,
    first_comment,
    require_fit,
    several_tapes,
    write_comments,
)
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "turingmachine.io"
_MOVES = {"L": Move.L, "R": Move.R, "N": Move.S}
_LETTERS = {move: letter for letter, move in _MOVES.items()}
LARGEST = 300_000
"""Characters of a file; parsing YAML takes up to 20 microseconds each."""
_NEEDED = ("blank", "start state", "table")
_LONGEST_KEY = 1024  # characters, in YAML
_KEYS = ("blank", "start state", "input", "synonyms", "table")
_Entries: TypeAlias = dict[str, tuple[Any, Any]]
"""The entries of a mapping, by the text of the key: the nodes of key and value."""


class _Instruction(NamedTuple):
    """An instruction; None means the symbol read, or the same state."""

    write: str | None
    move: Move
    target: str | None


def recognises(text: str) -> bool:
    """Whether a line begins with a key that only this format has."""
    return bool(re.search(r"""^["']?(table|source code|start state)["']?\s*:""", text, re.M))


def read(text: str, source: Source) -> TuringMachine:
    """Read the machine of a document or of a bare text.

    >>> read("{blank: _, start state: a, table: {a: {[_, ',']: R}}}", Source()).symbols
    ('_', ',')
    """
    reader = _Reader(source)
    keys = reader.mapping(reader.compose(text, 0), "the file")
    name = reader.scalar(keys["name"][1], "name") if "name" in keys else ""
    if "source code" not in keys:
        return reader.machine(keys, text, name)
    code = keys["source code"][1]
    text = reader.scalar(code, "source code")
    reader.draft.stop_at_faults()
    # A block of text begins on the line after its key.
    reader.offset = code.start_mark.line + (1 if code.style in ("|", ">") else 0)
    root = reader.compose(text, reader.offset)
    return reader.machine(reader.mapping(root, "the source code"), text, name)


class _Reader:
    """Reads nodes of the YAML into a `Draft`."""

    def __init__(self, source: Source) -> None:
        self.draft = Draft(source, "turingmachine.io")
        self.offset = 0

    def compose(self, text: str, offset: int) -> Any:
        """Parse a YAML text, which begins on line `offset` of the file, into a tree of nodes."""
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        label = self.draft.source.label
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # ruamel warns about anchors used twice
                root = YAML(typ="safe", pure=True).compose(text)
        except MarkedYAMLError as error:
            line = offset + error.problem_mark.line + 1 if error.problem_mark else "?"
            raise FormatError(f"{label}: line {line}: not YAML: {error.problem}") from None
        except (YAMLError, ValueError, OverflowError) as error:
            reason = str(error).split("\n")[0]
            raise FormatError(f"{label}: not YAML: {reason}") from None
        except RecursionError:
            raise FormatError(f"{label}: nested too deeply to be a machine") from None
        if root is None:
            raise FormatError(f"{label}: the YAML is empty; expected {', '.join(_KEYS)}")
        return root

    def place(self, node: Any) -> str:
        """The line of a node."""
        return f"line {self.offset + node.start_mark.line + 1}"

    def mapping(self, node: Any, what: str) -> _Entries:
        """The entries of a mapping by the text of their keys; a list as a key is a fault."""
        entries: _Entries = {}
        if node.id != "mapping":
            self.draft.fault(self.place(node), f"{what}: expected a mapping, got a {node.id}")
            self.draft.stop_at_faults()
        for key, value in node.value:
            text = self.scalar(key, f"key of {what}")
            if text in entries:
                self.draft.fault(self.place(key), f"{what}: {text!r} occurs a second time")
            entries[text] = (key, value)
        return entries

    def scalar(self, node: Any, what: str) -> str:
        """The characters of a scalar as they are in the file."""
        if node.id != "scalar":
            self.draft.fault(self.place(node), f"{what}: expected a plain value, got a {node.id}")
            return ""
        return str(node.value)

    def character(self, node: Any, what: str) -> str:
        """A scalar of one character; `,,` is the comma."""
        text = self.scalar(node, what)
        if text == ",,":
            return ","
        if len(text) != 1 and node.id == "scalar":
            self.draft.fault(self.place(node), f"{what}: expected one character, got {text!r}")
        return text

    def machine(self, keys: _Entries, text: str, name: str) -> TuringMachine:
        """Build the machine from its entries."""
        draft = self.draft
        self.check_tapes(keys)
        missing = self.check_keys(keys)
        blank = self.character(keys["blank"][1], "blank") if "blank" not in missing else "_"
        table = self.mapping(keys["table"][1], "table")
        start = next(iter(table), "")
        if "start state" not in missing:
            start = self.scalar(keys["start state"][1], "start state")
            draft.places["start"] = self.place(keys["start state"][1])
        given = "input" in keys and not _is_null(keys["input"][1])
        word = self.scalar(keys["input"][1], "input") if given else ""
        symbols = self.rules(table, self.synonyms(keys))
        words = find_directives(text, "#", draft)
        for word_of, key in (("START", "start state"), ("BLANK", "blank")):
            if word_of in words:
                draft.doubt(f"${word_of}", f"the comment is left out: {key!r} is a key of the file")
        return draft.build(
            blank=blank,
            start=start,
            states=table,
            symbols=[blank, *symbols, *word, *words.get("SYMBOLS", [])],
            accepting=words.get("ACCEPT"),
            default_input=word,
            input_symbols=words.get("INPUT_SYMBOLS", ()),
            name=name,
            description=first_comment(text, "#"),
        )

    def check_keys(self, keys: _Entries) -> list[str]:
        """Record missing and unknown keys as faults or doubts; return the missing ones.

        A misspelt key is not missing: its entry is added under the right key, to be checked too.
        """
        missing = [key for key in _NEEDED if key not in keys or _is_null(keys[key][1])]
        for unknown in [key for key in keys if key not in _KEYS]:
            place = self.place(keys[unknown][0])
            close = get_close_matches(unknown, missing, n=1)
            if close:
                missing.remove(close[0])
                self.draft.fault(place, f"unknown key {unknown!r}; did you mean {close[0]!r}?")
                keys[close[0]] = keys[unknown]
            else:
                self.draft.doubt(place, f"unknown key {unknown!r} is left out")
        for key in missing:
            self.draft.fault("", f"no {key!r}; a machine needs blank, start state and table")
        if "table" in missing:
            self.draft.stop_at_faults()
        return missing

    def rules(self, table: _Entries, synonyms: dict[str, _Instruction]) -> list[str]:
        """Add the rules of the table; return the symbols they read and write, in order."""
        symbols: list[str] = []
        for state, (_, rules) in table.items():
            if _is_null(rules):
                continue
            if rules.id != "mapping":
                place = self.place(rules)
                self.draft.fault(place, f"state {state}: expected symbols and instructions")
                continue
            for key, value in rules.value:
                instruction = self.instruction(value, synonyms, f"state {state}")
                for symbol in self.read_symbols(key, state):
                    symbols.append(symbol)
                    if instruction:
                        write, move, target = instruction
                        action = Action(target or state, write or symbol, move)
                        symbols.append(action.write)
                        self.draft.rule(self.place(key), state, symbol, action)
        return symbols

    def check_tapes(self, keys: _Entries) -> None:
        """Raise FormatError for a machine with several tapes, as other tools write them."""
        for name, (key, node) in keys.items():
            tapes = 0
            if name in ("blank", "input", "tapes") and node.id == "sequence":
                tapes = len(node.value)
            elif "tapes" in name.lower().replace("_", " ").split() and node.id == "scalar":
                tapes = int(node.value) if node.value.isdecimal() and len(node.value) < 9 else 0
            if tapes > 1:
                self.draft.fault(self.place(key), several_tapes(tapes))
                self.draft.stop_at_faults()

    def synonyms(self, keys: _Entries) -> dict[str, _Instruction]:
        """The instructions that abbreviations stand for."""
        if "synonyms" not in keys or _is_null(keys["synonyms"][1]):
            return {}
        entries = self.mapping(keys["synonyms"][1], "synonyms")
        found = {
            name: self.instruction(node, {}, f"synonym {name}")
            for name, (_, node) in entries.items()
        }
        return {name: instruction for name, instruction in found.items() if instruction}

    def instruction(
        self, node: Any, synonyms: dict[str, _Instruction], what: str
    ) -> _Instruction | None:
        """Read an instruction; None after a fault."""
        if node.id != "scalar":
            return self.written_out(node, what)
        if node.value in _MOVES and (node.value != "N" or "N" not in synonyms):
            return _Instruction(None, _MOVES[node.value], None)
        if node.value not in synonyms:
            fault = f"{what}: {node.value!r} is neither a move (L, R, N) nor a synonym"
            self.draft.fault(self.place(node), fault)
        return synonyms.get(node.value)

    def written_out(self, node: Any, what: str) -> _Instruction | None:
        """Read an instruction that is a mapping; None after a fault."""
        place, draft = self.place(node), self.draft
        entries = self.mapping(node, what)
        for unknown in (key for key in entries if key not in ("write", *_MOVES)):
            hint = "; did you mean 'write'?" if get_close_matches(unknown, ["write"]) else ""
            draft.fault(place, f"{what}: {unknown!r}; expected write and one of L, R, N{hint}")
        moves = [letter for letter in _MOVES if letter in entries]
        if len(moves) != 1:
            draft.fault(place, f"{what}: expected one move (L, R or N), got {len(moves)}")
            return None
        if "write" in entries and entries["write"][1].id == "sequence":
            draft.fault(place, several_tapes(len(entries["write"][1].value)))
            return None
        write = self.character(entries["write"][1], "write") if "write" in entries else None
        target = entries[moves[0]][1]
        return _Instruction(
            write, _MOVES[moves[0]], None if _is_null(target) else self.scalar(target, what)
        )

    def read_symbols(self, key: Any, state: str) -> Iterator[str]:
        """The symbols of a key: one, a list, or several separated by commas."""
        what = f"symbol read in state {state}"
        if key.id == "sequence":
            for item in key.value:
                yield self.character(item, what)
        elif key.id == "scalar" and re.fullmatch(r"(,,|[^,])(,(,,|[^,]))+", key.value, re.S):
            yield from (m[1][0] for m in re.finditer(r"(,,|[^,])(,|$)", key.value, re.S))
        else:
            yield self.character(key, what)


def _is_null(node: Any) -> bool:
    return node.id == "scalar" and node.style is None and node.value in ("", "~", "null")


def write(machine: TuringMachine) -> str:
    """Write the machine as bare YAML, with every halting state declared."""
    misfits = [
        f"symbol {symbol!r} has {len(symbol)} characters, and a cell holds one"
        for symbol in machine.symbols
        if len(symbol) != 1
    ]
    misfits += [
        f"state {state[:20]!r}… has {len(state):,} characters, and a key of YAML at most 1,024"
        for state in machine.states
        if len(_quote(state)) > _LONGEST_KEY
    ]
    require_fit(NAME, misfits)
    if any(action.move is Move.S for action in machine.delta.values()):
        warnings.warn(
            "the head stays in place in some rules: they are written as N, which netwright and "
            "newer versions of turingmachine.io read",
            FormatWarning,
            stacklevel=2,
        )
    lines = write_comments(machine, "#", machine.states)
    if machine.default_input:
        lines.append(f"input: {_quote(''.join(machine.default_input))}")
    lines += [f"blank: {_quote(machine.blank)}", f"start state: {_quote(machine.start)}", "table:"]
    for state in machine.states:
        lines.append(f"  {_quote(state)}:")
        for instruction, symbols in _grouped(machine, state).items():
            key = symbols[0] if len(symbols) == 1 else f"[{', '.join(symbols)}]"
            lines.append(f"    {key}: {instruction}")
    return "\n".join(lines) + "\n"


def _grouped(machine: TuringMachine, state: str) -> dict[str, list[str]]:
    """The instructions of a state, each with the symbols to which it applies."""
    groups: dict[str, list[str]] = {}
    for (from_state, symbol), (target, written, move) in machine.delta.items():
        if from_state != state:
            continue
        parts = [] if written == symbol else [f"write: {_quote(written)}"]
        parts.append(_LETTERS[move] + ("" if target == state else f": {_quote(target)}"))
        text = parts[0] if parts[0] in _MOVES else "{" + ", ".join(parts) + "}"
        if symbol == ",":
            groups[f"{text}  # the comma"] = ["',,'"]  # a list with a comma in it is ambiguous
        else:
            groups.setdefault(text, []).append(_quote(symbol))
    return groups


def _quote(text: str) -> str:
    """A YAML scalar that every parser reads as exactly these characters."""
    words = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text) and text.lower() not in words:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    escaped = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return '"' + "".join(escaped) + '"'
