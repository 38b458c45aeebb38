"""`netwright precision`: where floats and softmax first go wrong, and why."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Force,
    FormatName,
    Head,
    Input,
    Machine,
    OnKind,
    Separator,
    load_with_word,
    read_count,
    with_kind_options,
    word_text,
)
from netwright.cli.output import Working
from netwright.cli.precision_report import draw_curves, report_of
from netwright.cli.report import check_plot, save_plot
from netwright.errors import InputError, StoppedError
from netwright.kind.registry import DEFAULT, kind_named
from netwright.machine.turing_machine import TuringMachine
from netwright.text import counted

EXAMPLE = """\b
Examples:
  netwright precision busy-beaver-5
  netwright precision busy-beaver-5 --bits 16,20,24 --score recency
  netwright precision sweeper --softmax 1e-6
  netwright precision sweeper --softmax schedule --dtype float64
  netwright precision sweeper --on rnn --base 4
  netwright precision busy-beaver-5 --plot precision.svg"""


def _read_outputs(value: str | int) -> int:
    count = read_count(value)
    if not 1 <= count <= 1_000_000:
        raise InputError(f"--max-steps is {count:,}; expected 1 to 1,000,000 here")
    return count


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    word: Input = None,
    on: OnKind = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Any of float64, float32, bfloat16, float16.  [all]",
        ),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option(metavar="N,…", help="Formats with N significant bits and any exponent."),
    ] = None,
    accumulate: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="Add up products in this format: a name, or N bits."),
    ] = None,
    softmax: Annotated[
        str | None,
        typer.Option(
            metavar="TAU",
            help="Softmax at temperature TAU: 1e-6, 1e-3/t2 (falling), or schedule (proved).",
        ),
    ] = None,
    snap: Annotated[
        bool | None,
        typer.Option(
            "--snap/--no-snap",
            help="Begin F with σ(2x − ½), or not.  [both for softmax, else not]",
            show_default=False,
        ),
    ] = None,
    max_steps: Annotated[
        int,
        typer.Option(metavar="N", parser=_read_outputs, help="Stop after N steps of the network."),
    ] = 10_000,
    search: Annotated[
        bool,
        typer.Option("--search", help="Search for possible failures, even if it takes seconds."),
    ] = False,
    growth: Annotated[
        bool, typer.Option("--growth", help="Also show how many bits the exact run takes.")
    ] = False,
    curves: Annotated[
        bool, typer.Option("--curves", help="Add the data of the plots to --json.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the four plots: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
    head: Head = 0,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Run a network in floating point, and with softmax, next to the exact run."""
    wants_curves = _wants_curves(plot, curves, force, as_json)
    source, turing, symbols = load_with_word(machine, word, separator, format_name, head)
    if not isinstance(source, TuringMachine):
        raise InputError(f"{machine} is a saved network; precision takes the machine it came from")
    kind = kind_named(on or DEFAULT)
    from netwright.precision.formats import read_format, read_formats
    from netwright.precision.softmax import attention_settings

    chosen = kind.construction.read_options(options)
    sums = None if accumulate is None else read_format(accumulate, "--accumulate")
    settings = {"formats": read_formats(dtype, bits, sums), "sums": sums, "steps": max_steps}
    settings |= attention_settings(softmax, snap, search, chosen.get("score"))
    experiment = kind.experiment(turing, symbols, chosen, settings)
    if wants_curves and "score" not in chosen:
        raise InputError(f"--plot and --curves are for the transformer, not for {kind.name}")
    texts = {option.name: option.written(chosen[option.name]) for option in kind.options}
    answer: dict[str, Any] = {
        "machine": machine,
        "input": word_text(turing, symbols, separator),
        "on": kind.name,
        "attention": experiment.has_attention,
        "score": texts.get("score"),
        "softmax": softmax,
        "accumulate": sums and sums.name,
        "base": texts.get("base"),
        "max_steps": max_steps,
        "results": [],
    }
    with Working() as work:
        answer["results"].extend(experiment.results(work.tell))
        if growth:
            work.tell("the exact run")
            answer["growth"] = experiment.growth()
        if wants_curves:
            from netwright.precision.curves import all_curves

            answer["curves"] = all_curves(turing, symbols, chosen["score"], max_steps, work.tell)
    answer["interrupted"] = work.interrupted
    report_of(answer).show(as_json=as_json)
    if work.interrupted:
        done = f"{len(answer['results'])} of {counted(experiment.rows, 'format')}"
        raise StoppedError(f"interrupted after {done}; --max-steps sets a lower limit")
    if plot is not None:
        draw = partial(draw_curves, answer["curves"])
        save_plot(plot, machine, draw, (10, 9.5), force=force, quiet=as_json)


def _wants_curves(plot: Path | None, curves: bool, force: bool, as_json: bool) -> bool:
    """Whether curves are needed; raise InputError where they could not be shown."""
    if plot is not None:
        check_plot(plot, force=force)
    if curves and not as_json:
        raise InputError("--curves is data for --json; --plot draws it")
    return curves or plot is not None
