"""What several verbs share: the machine with its word, JSON, words and counts, files."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from netwright import pipeline
from netwright.errors import InputError
from netwright.files import check_output, write_whole
from netwright.machine.turing_machine import TuringMachine

if TYPE_CHECKING:
    from rich.console import Console


def split_word(text: str, separator: str | None = None) -> tuple[str, ...]:
    """INPUT as symbols: one a character, or what stands between separators.

    >>> split_word("ab"), split_word("on;off", ";"), split_word("", ";")
    (('a', 'b'), ('on', 'off'), ())
    """
    if separator == "":
        raise InputError("--separator is empty; leave it out for one symbol a character")
    symbols = tuple(text.split(separator) if separator and text else text)
    if "" in symbols:
        place = symbols.index("") + 1
        raise InputError(f"input symbol {place} is empty: two separators {separator!r} in a row")
    return symbols


class Loaded(NamedTuple):
    """What MACHINE and INPUT name: a machine or a saved network, the machine, and the word."""

    source: pipeline.Source
    machine: TuringMachine
    word: tuple[str, ...]


def load_with_word(
    argument: str, word: str | None, separator: str | None, format_name: str | None
) -> Loaded:
    """MACHINE with the word it is to run on, its default input if none is given."""
    given = split_word(word or "", separator)
    source = pipeline.load(argument, format_name=format_name, also=given)
    machine = source if isinstance(source, TuringMachine) else source.normal.given
    return Loaded(
        source, machine, machine.check_word(machine.default_input if word is None else given)
    )


def console() -> "Console":
    """The terminal; a reader that goes away is an error for `main` to handle, not for rich."""
    from rich.console import Console

    class PipeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return PipeConsole(highlight=False, width=max(40, get_terminal_size().columns))


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(value, ensure_ascii=not utf8))


def word_text(machine: TuringMachine, word: Sequence[str], separator: str | None = None) -> str:
    """A word or tape as one string: symbols side by side, or with something between long ones."""
    if separator is None:
        separator = "" if all(len(symbol) == 1 for symbol in machine.symbols) else ","
    return separator.join(word)


def counted(number: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "step"), counted(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def shortened(text: str, width: int) -> str:
    """The text, or its two ends where it is wider.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    half = max(1, (width - 1) // 2)
    return text if len(text) <= width else f"{text[:half]}…{text[-half:]}"


def visible(symbol: str) -> str:
    """A symbol as a terminal can show it: a space, and what cannot be printed, made visible."""
    if symbol == " ":
        return "␣"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in symbol)


def save_file(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file whole or not at all; one that exists is kept unless `force`."""
    check_output(path, force=force)
    write_whole(path, content)
