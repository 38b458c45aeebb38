"""What several verbs share in printing: words, JSON, tables of a terminal's width, files."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from netwright.errors import OutputError
from netwright.machine.turing_machine import TuringMachine


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(value, ensure_ascii=not utf8))


def word_text(machine: TuringMachine, word: Sequence[str], separator: str | None = None) -> str:
    """A word or tape as one string: symbols side by side, or with something between long ones."""
    if separator is None:
        separator = "" if all(len(symbol) == 1 for symbol in machine.symbols) else ","
    return separator.join(word)


def visible(symbol: str) -> str:
    """A symbol as a terminal can show it: a space, and what cannot be printed, made visible."""
    if symbol == " ":
        return "␣"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in symbol)


def save_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all; one that exists is kept unless `force`."""
    if path.exists() and not force:
        raise OutputError(f"{path} exists; name another file, or overwrite it with --force")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
