"""The arguments and options that several verbs share."""

import re
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from netwright.errors import InputError
from netwright.exact.rational import Number
from netwright.machine.formats import FORMATS, seed_database
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer, Scoring


class Kind(StrEnum):
    """The kinds of network."""

    TRANSFORMER = "transformer"
    RNN = "rnn"
    NEURAL_GPU = "neural-gpu"


def _check_steps(steps: int) -> int:
    if steps < 0:
        raise InputError(f"--max-steps is {steps}; expected a number of steps, 0 or more")
    return steps


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
        callback=_check_steps,
        help="Stop after N steps of the machine.",
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="For rnn and neural-gpu: the base of the stacks, above |Σ|, such as 4 or 7/2.",
    ),
]


Score = Annotated[
    Scoring | None,
    typer.Option(
        help="For transformer: queries and keys of Lemma B.4, the paper's (the default) or those "
        "whose margin shrinks more slowly."
    ),
]


def check_score(score: Scoring | None, on: str, source: object = None) -> None:
    """Refuse --score where nothing is compiled into a Transformer."""
    if score is None:
        return
    if on != Kind.TRANSFORMER:
        raise InputError(f"--score is for Transformers; --on {on} has none")
    if isinstance(source, CompiledTransformer):
        raise InputError(f"--score: this network is compiled already, with score {source.scoring}")


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
