"""Turing-machine files in the formats people already have: one module per format.

A module has a `NAME`, a `recognises` and a `read`, and a `write` where netwright writes the format.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from netwright.errors import FormatError, FormatWarning
from netwright.machine.formats import (
    automata_lib,
    automata_python,
    bbchallenge,
    jflap,
    markdown,
    morphett,
    st_andrews,
    turingmachine_io,
    turingmachinesimulator,
)
from netwright.machine.formats.draft import Source
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True)
class Format:
    """A file format: its name, and how to recognise, read and write it."""

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[str, Source], TuringMachine]
    write: Callable[[TuringMachine], str] | None
    has_parts: bool
    """Whether a file may hold several machines, one of them named by FILE:PART."""
    largest: int
    """The most characters: such a file takes at most ten seconds to read."""


def _format(module: Any, *, has_parts: bool = False, largest: int = 5_000_000) -> Format:
    write = getattr(module, "write", None)
    return Format(module.NAME, module.recognises, module.read, write, has_parts, largest)


# In the order in which they are tried: the most distinctive first.
FORMATS = {
    format_.name: format_
    for format_ in (
        _format(jflap),
        _format(automata_python, has_parts=True),
        _format(automata_lib, has_parts=True),
        _format(bbchallenge, has_parts=True, largest=10_000_000),
        _format(markdown, has_parts=True),  # after bbchallenge, which reads lists in fences itself
        _format(st_andrews),
        _format(turingmachine_io, largest=turingmachine_io.LARGEST),
        _format(turingmachinesimulator),
        _format(morphett),
    )
}
_OTHERS = {
    r"^[^;#\n]*,[^;#\n]*->[^;#\n]*,[^;#\n]*,[^\n]*[<>LRSNlrsn*-]": "rules like q0,0 -> q1,1,>",
    r"^[ \t]*#[QSGBFN](?:[ \t]*=|[ \t]*\{|[ \t]*$)": "with lines #Q, #S, #G and so on",
    r"^[ \t]*STATES?\b(?!.*:.*\|)": "with lines that begin with STATE",
    r"^[ \t]*#![ \t]*(?:start|end|fill|write|wildcard)\b": "tursi's",
    r"^[ \t]*(?:states|input_alphabet|delta)[ \t]*=": "with lines such as states = {…}",
}
"""Patterns of formats that are not read here, with a description for the error message."""
WRITABLE = tuple(name for name, format_ in FORMATS.items() if format_.write)


def read_text(text: str, source: Source, format_name: str | None = None) -> TuringMachine:
    """Read a machine from a text, in the named format or in the one that is recognised."""
    if not text.strip():
        raise FormatError(f"{source.label} is empty; expected a Turing machine")
    format_ = _named(format_name) if format_name is not None else recognised(text)
    if format_ is None:
        if other := _other_format(text):
            raise FormatError(
                f"{source.label} is in another format, {other}; netwright reads "
                f"{', '.join(FORMATS)}"
            )
        raise FormatError(
            f"{source.label}: not in a format netwright knows ({', '.join(FORMATS)}); "
            "if it is in one of them, name it with --format to see what is wrong with it"
        )
    if source.part and not format_.has_parts:
        raise FormatError(f"{source.label} holds one machine; leave out ':{source.part}'")
    if len(text) > format_.largest:
        raise FormatError(
            f"{source.label} has {len(text):,} characters; netwright reads {format_.name} files "
            f"of at most {format_.largest:,}"
        )
    return format_.read(text, source)


def write_text(machine: TuringMachine, format_name: str) -> str:
    r"""Write a machine in a format; reading the text gives an equal machine.

    >>> from netwright.machine.library import library_machine
    >>> write_text(library_machine("busy-beaver-2"), "bbchallenge")
    '1RB1LB_1LA1RZ\n'
    """
    format_ = _named(format_name)
    if format_.write is None:
        raise FormatError(
            f"netwright reads {format_name} and does not write it; it writes {', '.join(WRITABLE)}"
        )
    text = format_.write(machine)
    if format_.read(text, Source("the written text")) != machine:
        raise FormatError(
            f"does not fit into {format_name}: the file would be read as another machine"
        )
    if recognised(text) is not format_:
        warnings.warn(
            f"the text cannot be recognised as {format_name}; read it with --format {format_name}",
            FormatWarning,
            stacklevel=2,
        )
    return text


def recognised(text: str, but: str = "") -> Format | None:
    """Recognise the format of a text by its content; None if it looks like one of `_OTHERS`."""
    tried = (format_ for format_ in FORMATS.values() if format_.name != but)
    found = next((format_ for format_ in tried if format_.recognises(text)), None)
    is_vague = found is not None and found.name in (morphett.NAME, turingmachinesimulator.NAME)
    return None if is_vague and _other_format(text) else found


def _other_format(text: str) -> str | None:
    begin = text[:100_000]
    return next((name for p, name in _OTHERS.items() if re.search(p, begin, re.M)), None)


def _named(format_name: str) -> Format:
    if format_name not in FORMATS:
        raise FormatError(
            f"unknown format {format_name!r}; there are {', '.join(FORMATS)} "
            f"(and {', '.join(WRITABLE)} can be written)"
        )
    return FORMATS[format_name]
