"""The arguments and options that several verbs share."""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.errors import InputError, unknown
from netwright.exact.rational import Number
from netwright.machine.formats import FORMATS, seed_database
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.scores import SCORES


class Kind(StrEnum):
    """The kinds of network."""

    TRANSFORMER = "transformer"
    RNN = "rnn"
    NEURAL_GPU = "neural-gpu"


def read_count(value: str | int) -> int:
    """A number of steps as people write it.

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
        f"--max-steps is {text[:40]}; expected a number of steps, 0 or more, such as 1000000 or 1e6"
    )


def one_of(option: str, choices: Iterable[str]) -> Callable[[str], str]:
    """A reader of one of some names, which says what a misspelt one may mean.

    The members of an enumeration of strings are read as such.
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
        option, parser=one_of(option, choices), metavar=f"[{names}]", help=help_text
    )


Machine = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE",
        help="A name from the library, a file (FILE:PART for one of several), or bbchallenge text.",
        show_default=False,
    ),
]
Input = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="The input word, a symbol a character; none is the machine's own default input, "
        "'' the empty word.",
        show_default=False,
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Read MACHINE as {', '.join([*FORMATS, seed_database.NAME])}.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What stands between the symbols of INPUT and of the tape."),
]
MaxSteps = Annotated[
    int,
    typer.Option(
        "--max-steps",
        metavar="N",
        parser=read_count,
        help="Stop after N steps of the machine, such as 1000000 or 1e6.",
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="For rnn and neural-gpu: the base of the stacks, above |Σ|, such as 4 or 7/2.",
    ),
]


ScoreName = Annotated[
    str | None,
    choice_of(
        "--score",
        SCORES,
        "For transformer: queries and keys of Lemma B.4, the paper's (the default) or those "
        "whose margin shrinks more slowly.",
    ),
]


def check_score(score: str | None, on: str, source: object = None) -> None:
    """Refuse --score where nothing is compiled into a Transformer."""
    if score is None:
        return
    if on != Kind.TRANSFORMER:
        raise InputError(f"--score is for Transformers; --on {on} has none")
    if isinstance(source, CompiledTransformer):
        raise InputError(f"--score: this network is compiled already, with score {source.score}")


def read_base(text: str | None) -> Number | None:
    """The base as a number."""
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,18}(/0*[1-9]\d{0,17})?", text):
        raise InputError(f"--base is {text[:40]!r}; expected a number such as 4 or 7/2")
    return Fraction(text)


Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
