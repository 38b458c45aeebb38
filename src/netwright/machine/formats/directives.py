"""Directives in comments, for what a format cannot express: `$ACCEPT: ["q5"]`.

Morphett's text already has the sample input in a comment, `; $INITIAL_TAPE: …`. netwright writes
the rest of a machine the same way, as JSON: reading the file back gives an equal machine, and every
other tool sees a comment.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from netwright.machine.formats.draft import Draft, accepting_by_name
from netwright.machine.turing_machine import TuringMachine

_WORDS = {
    **{"START": str, "BLANK": str},
    **{"ACCEPT": list, "SYMBOLS": list, "STATES": list, "INPUT_SYMBOLS": list},
}


def find_directives(text: str, comment: str, draft: Draft) -> dict[str, Any]:
    """Parse the directives in the comments of a text; `comment` is what begins a comment."""
    pattern = re.compile(rf"^\s*{re.escape(comment)}\s*\$({'|'.join(_WORDS)}):\s*(\S.*)$")
    found: dict[str, Any] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if match := pattern.match(line.rstrip()):
            word, value = match.groups()
            try:
                found[word] = json.loads(value)
            except (ValueError, RecursionError):
                found[word] = None
            kind = _WORDS[word]
            strings = found[word] if kind is list else [found[word]]
            if not isinstance(found[word], kind) or not all(isinstance(s, str) for s in strings):
                example = '["q5"]' if kind is list else '"q5"'
                draft.fault(
                    f"line {number}", f"expected JSON such as {example} after ${word}:, got {value}"
                )
                del found[word]
    return found


def write_comments(
    machine: TuringMachine, comment: str, seen_states: Iterable[str], **words: str
) -> list[str]:
    """The comment lines for the description and for all that the rules, as written, do not show."""
    values: dict[str, str | list[str]] = {word.upper(): value for word, value in words.items()}
    if machine.accepting != accepting_by_name(machine.states, machine.delta):
        values["ACCEPT"] = sorted(machine.accepting)
    seen_symbols = {machine.blank, *machine.default_input}
    for (_, symbol), action in machine.delta.items():
        seen_symbols |= {symbol, action.write}
    if unseen := [symbol for symbol in machine.symbols if symbol not in seen_symbols]:
        values["SYMBOLS"] = unseen
    seen_states = set(seen_states)
    if unseen := [state for state in machine.states if state not in seen_states]:
        values["STATES"] = unseen
    if machine.input_symbols:
        values["INPUT_SYMBOLS"] = list(machine.input_symbols)
    directives = [f"${word}: {json.dumps(value)}" for word, value in values.items()]
    about = _one_line(machine.description)
    return [f"{comment} {line}" for line in ([about] if about else []) + directives]


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return "".join(c for c in text if c.isprintable() and c != "$")  # $ begins a directive


def first_comment(text: str, comment: str) -> str:
    r"""The comment at the top of a text, up to its first empty line, without directives.

    >>> first_comment("; Adds one. \n; $START: \"a\"\na 0 1 r a", ";")
    'Adds one.'
    """
    words: list[str] = []
    for line in text.lstrip("\n").split("\n"):
        content = line.strip().removeprefix(comment).strip()
        if not line.strip().startswith(comment) or not content:
            break
        if "$" not in content:
            words.append(content)
    return " ".join(words)
