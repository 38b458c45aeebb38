"""`netwright precision`: where floats and softmax first go wrong, and why."""

from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Force,
    FormatName,
    Input,
    Machine,
    Separator,
    read_count,
)
from netwright.cli.given import load_with_word, word_text
from netwright.cli.kind_options import OnKind, with_kind_options
from netwright.cli.output import print_json, save_file, say
from netwright.cli.plots import check_plot
from netwright.cli.progress import Working
from netwright.errors import InputError, StoppedError
from netwright.kind.registry import DEFAULT, kind_named
from netwright.kind.transformer.scores import read_score
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
            help="Formats, with commas: float64, float32, bfloat16, float16.  [default: all]",
        ),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help="Formats of so many bits and any exponent, with commas."
        ),
    ] = None,
    accumulate: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="Add up products in this format: a name, or bits."),
    ] = None,
    softmax: Annotated[
        str | None,
        typer.Option(
            metavar="TAU",
            help="Softmax at temperature TAU: 1e-6, or 1e-3/t2 for one that falls with the square "
            "of the step, or a provable schedule.",
        ),
    ] = None,
    snap: Annotated[
        bool | None,
        typer.Option(
            "--snap/--no-snap",
            help="Let F begin with σ(2x − ½), or not.  [default: both for softmax, else not]",
            show_default=False,
        ),
    ] = None,
    max_steps: Annotated[
        int,
        typer.Option(
            metavar="N", parser=_read_outputs, help="Stop after N steps of the network, up to 1e6."
        ),
    ] = 10_000,
    search: Annotated[
        bool,
        typer.Option("--search", help="Search possible failures also where it takes some seconds."),
    ] = False,
    growth: Annotated[
        bool, typer.Option("--growth", help="Also how many bits the exact run takes.")
    ] = False,
    curves: Annotated[
        bool, typer.Option("--curves", help="Also the data of the plots, for --json.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the four plots: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Run a network in floating point, and with softmax, beside the exact run."""
    if plot is not None:
        check_plot(plot, force=force)
    source, turing, symbols = load_with_word(machine, word, separator, format_name)
    if not isinstance(source, TuringMachine):
        raise InputError(f"{machine} is a saved network; precision takes the machine it came from")
    kind = kind_named(on or DEFAULT)
    if curves and not as_json:
        raise InputError("--curves is data for --json; --plot draws it")
    from netwright.precision.formats import read_format, read_formats
    from netwright.precision.softmax import read_temperature

    chosen = kind.construction.read_options(options)
    sums = read_format(accumulate, "--accumulate") if accumulate is not None else None
    # What only networks with attention have; the kind refuses what it has not.
    attention: dict[str, Any] = {}
    if softmax is not None:
        attention["temperature"] = read_temperature(softmax, read_score(chosen.get("score")))
    if snap is not None or softmax is not None:
        attention["snapping"] = (True, False) if snap is None else (snap,)
    if search:
        attention["search"] = True
    experiment = kind.experiment(
        turing,
        symbols,
        chosen,
        {
            "formats": read_formats(dtype, bits, sums),
            "sums": sums,
            "steps": max_steps,
            **attention,
        },
    )
    if (curves or plot is not None) and "score" not in chosen:
        raise InputError(f"--plot and --curves are of the transformer, not of {kind.name}")
    texts = {option.name: option.written(chosen[option.name]) for option in kind.options}
    answer: dict[str, Any] = {
        "machine": machine,
        "input": word_text(turing, symbols, separator),
        "on": kind.name,
        "attention": experiment.has_attention,
        "score": texts.get("score"),
        "softmax": softmax,
        "accumulate": sums.name if sums is not None else None,
        "base": texts.get("base"),
        "max_steps": max_steps,
    }
    answer["results"] = []
    with Working() as work:
        for row in experiment.results(work.tell):
            answer["results"].append(row)
        if growth:
            work.tell("the exact run")
            answer["growth"] = experiment.growth()
        if curves or plot is not None:
            from netwright.precision.curves import all_curves

            answer["curves"] = all_curves(turing, symbols, chosen["score"], max_steps, work.tell)
    if as_json:
        print_json({**answer, "interrupted": work.interrupted})
    else:
        from netwright.cli.precision_table import print_answer

        print_answer(answer)
    if work.interrupted:
        done = f"{len(answer['results'])} of {counted(experiment.rows, 'format')}"
        raise StoppedError(f"interrupted after {done}; --max-steps sets a lower limit")
    if plot is not None:
        from netwright.cli.precision_plots import precision_plot

        save_file(plot, precision_plot(answer["curves"], machine, plot.suffix), force=force)
        if not as_json:
            say(f"\nwrote {plot}")
