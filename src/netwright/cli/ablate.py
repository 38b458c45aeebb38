"""`netwright ablate`: leave out every part of a network in turn, and see which lemma goes."""

from itertools import chain
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    FormatName,
    Machine,
    MaxSteps,
    OnKind,
    Separator,
    check_word,
    load,
    split_word,
    with_kind_options,
)
from netwright.cli.output import Working
from netwright.cli.report import Report
from netwright.errors import InputError, StoppedError
from netwright.network.ablation import Ablation, as_data
from netwright.network.running import machine_in, network_of
from netwright.text import counted, shortened

EXAMPLE = """\b
Examples:
  netwright ablate palindrome abba
  netwright ablate palindrome abba --heads
  netwright ablate palindrome abba --part residual:decoder.2.self --json
  netwright ablate palindrome abba --on rnn --weights"""


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT…", help="Input words.  [the machine's own]"),
    ] = None,
    on: OnKind = None,
    parts: Annotated[
        list[str] | None,
        typer.Option("--part", metavar="PART", help="Leave out this part.  [all; repeatable]"),
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Leave out the attentions only.")] = False,
    residuals: Annotated[
        bool, typer.Option("--residuals", help="Leave out the residual connections only.")
    ] = False,
    weights: Annotated[
        bool, typer.Option("--weights", help="Flip a weight into each block instead.")
    ] = False,
    max_steps: MaxSteps = 100,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Leave out every part of a network in turn, and show what breaks.

    fails: the first statement of the proof that fails, and at which token, from 0 on; output: the
    first y_t that is not the whole network's; certificate: the obligation that fails.
    """
    _check_one(parts, heads, residuals, weights)
    given = [split_word(text, separator) for text in inputs or ()]
    source = load(machine, format_name=format_name, also=chain.from_iterable(given))
    turing = machine_in(source)
    words = [check_word(turing, word, separator) for word in given] or [turing.default_input]
    network = network_of(source, on, chain.from_iterable(words), **options)
    kind = "attention:" if heads else "residual:" if residuals else ""
    names = parts or [part for part in network.parts if part.startswith(kind)]
    each_alone: list[list[str] | None] = [None] if weights or not names else [[n] for n in names]
    found: list[Ablation] = []
    with Working() as work:
        for only in each_alone:
            found += network.ablate(
                *words, parts=only, weights=weights, max_steps=max_steps, notify=work.tell
            )
    report = Report({"machine": machine, "on": network.kind.name, "max_steps": max_steps})
    report.facts |= {"results": list(map(as_data, found)), "interrupted": work.interrupted}
    _tell(report, found, weights)
    report.show(as_json=as_json)
    if work.interrupted:
        raise StoppedError(f"interrupted after {counted(len(found), 'part')}")


def _check_one(*chosen: object) -> None:
    if sum(map(bool, chosen)) > 1:
        raise InputError("--part, --heads, --residuals and --weights: name one of them")


def _tell(report: Report, found: list[Ablation], weights: bool) -> None:
    report.table(
        ("flipped" if weights else "without", "fails", "token", "output", "answer", "certificate"),
        [_row(each) for each in found],
        right=("token", "output"),
        whole=("without", "flipped", "fails"),
    )
    breaks = sum(each.breaks for each in found)
    done = f"{counted(len(found), 'weight')} flipped" if weights else f"{len(found)} parts left out"
    report.line(f"{done}, one at a time: {breaks} of {len(found)} break something here")


def _row(found: Ablation) -> tuple[Any, ...]:
    at = found.difference and found.difference.time
    output = None if found.output is None else f"y_{found.output}"
    obligation = shortened((found.obligation or "holds").partition(":")[0], 20)
    return found.part, found.statement or "nothing", at, output, found.answer, obligation
