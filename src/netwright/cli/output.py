"""What several verbs share: the machine with its word, JSON, words and counts, files."""

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from netwright.errors import FormatError, InputError
from netwright.files import check_output, write_whole
from netwright.machine.load import names_a_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.running import Source, load, machine_in

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

    source: Source
    machine: TuringMachine
    word: tuple[str, ...]


def load_with_word(
    argument: str, word: str | None, separator: str | None, format_name: str | None
) -> Loaded:
    """MACHINE with the word it is to run on, its default input if none is given."""
    given = split_word(word or "", separator)
    try:
        source = load(argument, format_name=format_name, also=given)
    except FormatError:
        if word is not None and names_a_machine(word) and not names_a_machine(argument):
            raise InputError(
                f"{argument[:60]!r} is no machine, but {word[:60]!r} is; MACHINE comes first, then "
                "INPUT: are they swapped?"
            ) from None
        raise
    machine = machine_in(source)
    symbols = machine.default_input if word is None else check_word(machine, given, separator)
    return Loaded(source, machine, symbols)


def check_word(
    machine: TuringMachine, word: tuple[str, ...], separator: str | None
) -> tuple[str, ...]:
    """A word of the machine's symbols; the message for another one knows of `--separator`."""
    try:
        return machine.check_word(word)
    except InputError as error:
        between = next((c for c in " ,;|" if c in word and c not in machine.symbols), None)
        if separator is not None or between is None:
            raise
        raise InputError(
            f"{error}; for symbols with {between!r} between them: --separator {between!r}"
        ) from None


def printable(text: str) -> str:
    r"""A text as a terminal can show it: whatever could steer the terminal is escaped.

    Everything that this program writes to a terminal passes through here. Line ends remain; a name
    inside a text is made `visible`, so that it cannot begin a line of its own.

    >>> printable("a\x1b[31m\n")
    'a\\x1b[31m\n'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def visible(name: str) -> str:
    r"""A name or symbol on one line, with nothing in it that a terminal does not show.

    >>> visible(" "), visible("a b"), visible("q\n")
    ('␣', 'a b', 'q\\n')
    """
    return "␣" if name == " " else printable(name).replace("\n", "\\n")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def say(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Write a text to standard output, or to standard error."""
    typer.echo(printable(text) + end, nl=False, err=err)


def console(*, stderr: bool = False) -> "Console":
    """The terminal for rich: it shows nothing that is not printable, and interprets no markup.

    A reader that goes away is an error for `main` to handle, not for rich.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                shown = segment.control or segment.text.isprintable()
                yield segment if shown else segment._replace(text=printable(segment.text))

    width = max(40, get_terminal_size().columns)
    return Terminal(highlight=False, markup=False, emoji=False, width=width, stderr=stderr)


def print_indented(out: "Console", text: str) -> None:
    """Print a text two columns to the right, the lines too into which it is broken."""
    for line in text.split("\n"):
        shown = textwrap.fill(line, out.width, initial_indent="  ", subsequent_indent="    ")
        out.print(shown, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output, without a character that could steer a terminal."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    say(text)


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


def listed(names: Sequence[str], width: int, separator: str = " ") -> str:
    """Names side by side, as many as fit, and how many more there are.

    >>> listed(["a", "b"], 20), listed(["state"] * 1000, 30)
    ('a b', 'state state … and 998 more')
    """
    shown: list[str] = []
    used = 0
    for n, name in enumerate(names):
        more = f" … and {len(names) - n:,} more"
        used += len(visible(name)) + len(separator)
        if used > width - (len(more) if n < len(names) - 1 else 0):
            return (separator.join(shown) + more).lstrip()
        shown.append(visible(name))
    return separator.join(shown)


def save_file(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file whole or not at all; one that exists is kept unless `force`."""
    check_output(path, force=force)
    write_whole(path, content)
