"""The arguments and options that several verbs share."""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.verb import ADVANCED
from netwright.errors import InputError, unknown
from netwright.machine.formats import FORMATS, seed_database
from netwright.machine.library import library_names


def read_count(value: str | int, option: str = "--max-steps", things: str = "steps") -> int:
    """A number of steps or other things as people write it.

    >>> read_count("1e6"), read_count("1_000"), read_count("1,000")
    (1000000, 1000, 1000)
    """
    text = str(value)
    if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})*|[0-9][0-9_]{0,40}", text):
        return int(text.replace(",", "").replace("_", ""))
    if match := re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?[eE]\+?([0-9]{1,2})", text):
        whole, part, exponent = match[1], match[2] or "", int(match[3])
        if exponent >= len(part):
            return int(whole + part) * int(10 ** (exponent - len(part)))
    raise InputError(
        f"{option} is {text[:40]}; expected a number of {things}, 0 or more, such as 1000000 or 1e6"
    )


def one_of(option: str, choices: Iterable[str]) -> Callable[[str], str]:
    """A parser for one of some names, which suggests what a misspelt one may mean.

    The members of an enumeration of strings are returned as such.
    """
    known = {str(choice): choice for choice in choices}

    def read(value: str) -> str:
        if value not in known:
            raise InputError(f"{option}: {unknown('value', value, list(known))}")
        return known[value]

    return read


def choice_of(option: str, choices: Iterable[str], help_text: str) -> Any:
    """An option whose values are some names."""
    choices = list(choices)
    names = "|".join(map(str, choices))
    return typer.Option(
        option,
        parser=one_of(option, choices),
        metavar=f"[{names}]",
        help=help_text,
        autocompletion=completer(map(str, choices)),
    )


def completer(names: Iterable[str]) -> Callable[[str], list[str]]:
    """A completion callback for the shell: the names that begin as the incomplete word does."""
    known = list(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def complete_machine(incomplete: str) -> list[str]:
    """Complete MACHINE for the shell: names from the library, and files."""
    folder, slash, start = incomplete.rpartition("/")
    names = [] if slash else [name for name in library_names() if name.startswith(start)]
    shown = []
    with suppress(OSError):  # no such folder, or none that may be read
        for path in sorted(Path(folder + slash).iterdir()):
            fits = path.name.startswith(start) and (start or not path.name.startswith("."))
            if fits and path.name.isprintable():
                shown.append(f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}")
    return [*names, *shown]


Machine = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE",
        help="A library name, a file (FILE:PART for one of several), or bbchallenge text.",
        show_default=False,
        autocompletion=complete_machine,
    ),
]
Input = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="The input word, one symbol a character; '' is the empty word.  [the machine's own]",
        show_default=False,
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="Read MACHINE in this format, such as jflap.",
        rich_help_panel=ADVANCED,
        autocompletion=completer([*FORMATS, seed_database.NAME]),
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="Separator between the symbols of INPUT.",
        rich_help_panel=ADVANCED,
    ),
]
MaxSteps = Annotated[
    int,
    typer.Option(
        "--max-steps",
        metavar="N",
        parser=read_count,
        help="Stop after N steps of the machine, such as 1e6.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite FILE if it exists.", rich_help_panel=ADVANCED),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Broken = Annotated[
    list[str] | None,
    typer.Option(
        "--break",
        metavar="LAYER.BLOCK",
        help="Flip the sign of a weight into a block first.  [repeatable]",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="PART",
        help="Leave out a part: residual:…, attention:…, gate:….  [repeatable]",
    ),
]
