"""Load a machine from what a user types: a library name, a path, or bbchallenge text."""

import difflib
import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from netwright.errors import FormatError, FormatWarning
from netwright.files import open_regular, read_file
from netwright.machine.formats import (
    FORMATS,
    automata_python,
    bbchallenge,
    read_text,
    recognised,
    seed_database,
    wolfram,
)
from netwright.machine.formats.draft import Source, clipped
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine

LARGEST_FILE = 10_000_000


def load_machine(
    argument: str | os.PathLike[str] | object,
    *,
    format_name: str | None = None,
    also: Iterable[str] = (),
) -> TuringMachine:
    """Load the machine that MACHINE names on the command line.

    Args:
        argument: a name from the library, a path (with `:PART` for one of several machines in a
            file), bbchallenge text, `wolfram:NUMBER,STATES,COLOURS`, the text of a machine file,
            or a DTM object of automata-lib.
        format_name: the format of the file or text; None means that its content decides.
        also: symbols of the input; rules of the file for any symbol cover them.

    >>> load_machine("palindrome").start
    'start'
    >>> load_machine("1RB1LB_1LA1RZ").states
    ('A', 'B', 'Z')
    """
    if not isinstance(argument, str | os.PathLike):
        if automata_python.is_dtm(argument):
            return automata_python.from_object(argument)
        raise FormatError(f"expected a name, a path or a text of a machine; got {argument!r}")
    is_text = isinstance(argument, str) and "\n" in argument and not os.path.lexists(argument)
    argument = os.fspath(argument)
    if format_name not in (None, seed_database.NAME, *FORMATS):
        known = ", ".join([*FORMATS, seed_database.NAME])
        raise FormatError(f"unknown format {format_name!r}; there are {known}")
    if is_text:
        return read_text(argument, Source("the text", "", tuple(also)), format_name)
    if format_name is None and argument in library_names():
        return library_machine(argument)
    path, _, part = argument.rpartition(":")
    if os.path.lexists(argument):
        path, part = argument, ""
    if path and os.path.lexists(path):
        return _load_file(Path(path), Source(path, part, tuple(also)), format_name)
    if (found := _one_line(argument, format_name)) is not None:
        return found
    if argument in library_names():
        raise FormatError(f"{argument} is a machine of the library; leave out --format")
    hint = _hint(argument, "netwright machines lists them")
    raise FormatError(
        f"{clipped(argument)!r} is not a file here, not bbchallenge text, and not a machine of "
        f"the library ({hint})"
    )


def machine_of_text(text: str) -> TuringMachine:
    """Load a machine from a library name, bbchallenge text, or the text of a machine file.

    No file is ever opened, so the text may come from a stranger.

    >>> machine_of_text("1RB1LB_1LA1RZ").states
    ('A', 'B', 'Z')
    """
    if text in library_names():
        return library_machine(text)
    if "\n" in text:
        return read_text(text, Source("the text"))
    if (found := _one_line(text, None)) is not None:
        return found
    hint = _hint(text, "see the list of machines")
    raise FormatError(
        f"{clipped(text)!r} is not a machine of the library and not bbchallenge text ({hint})"
    )


def _one_line(text: str, format_name: str | None) -> TuringMachine | None:
    """The machine of a number, bbchallenge text or a file of one line; None if it is neither."""
    if format_name is None and wolfram.is_number(text):
        return wolfram.read(text)
    looks_right = format_name is None and bbchallenge.recognises(text)
    if looks_right or format_name == bbchallenge.NAME:
        return bbchallenge.read(text, Source(clipped(text)))
    if format_name is None and recognised(text) is not None:
        return read_text(text, Source("the text"))
    return None


def _hint(name: str, otherwise: str) -> str:
    close = difflib.get_close_matches(name, library_names(), n=3)
    return f"did you mean {' or '.join(close)}?" if close else otherwise


def names_a_machine(argument: str) -> bool:
    """Whether a text could be MACHINE: a name from the library, a file, or bbchallenge text."""
    is_file = os.path.isfile(argument)  # noqa: PTH113  # a long text is not a path
    known = argument in library_names() or wolfram.is_number(argument)
    return known or is_file or bbchallenge.is_text(argument)


def _load_file(path: Path, source: Source, format_name: str | None) -> TuringMachine:
    if format_name in (None, seed_database.NAME):
        with open_regular(path, "Turing machine") as file:
            machines = seed_database.count_machines(file)
            if machines is not None:
                return seed_database.read_record(file, machines, source)
        if format_name is not None:
            raise FormatError(f"{path} does not have the header of a bbchallenge seed database")
    return read_text(read_text_file(path), source, format_name)


def read_text_file(path: Path) -> str:
    """Read a file with Turing machines; raise FormatError if it is not text."""
    data = read_file(path, LARGEST_FILE, "Turing machine")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("latin-1")
        if _is_text(text):
            message = f"{path}: not UTF-8 (byte {error.start}), read as Latin-1"
            warnings.warn(message, FormatWarning, stacklevel=2)
    if not _is_text(text):
        saved = "; netwright.load reads saved networks" if path.suffix == ".safetensors" else ""
        raise FormatError(f"{path} is a binary file; expected text (or a seed database){saved}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_text(text: str) -> bool:
    controls = set(map(chr, [*range(32), *range(127, 160)])) - set("\t\n\r\f")
    return controls.isdisjoint(text)
