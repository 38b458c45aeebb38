"""`netwright bench`: how fast the networks run, as ratios within one run."""

from pathlib import Path
from typing import Annotated

import typer

from netwright.benchmark import AUTOMATA, DICTIONARY, Benchmark, measure
from netwright.cli.arguments import AsJson, Force, FormatName, Input, Separator
from netwright.cli.given import load_with_word
from netwright.cli.output import console, print_json, save_file, say
from netwright.cli.progress import Working
from netwright.errors import StoppedError
from netwright.text import counted

EXAMPLE = """\b
Examples:
  netwright bench
  netwright bench --json
  netwright bench binary-counter --plot speed.png"""


def command(
    machine: Annotated[
        str, typer.Argument(metavar="MACHINE", help="What is run; as for `netwright run`.")
    ] = "busy-beaver-5",
    word: Input = None,
    separator: Separator = None,
    format_name: FormatName = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it: a .png, .svg or .pdf file.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure all networks and simulators on a machine (a minute or so)."""
    if plot is not None:
        from netwright.cli.plots import check_plot

        check_plot(plot, force=force)
    _, turing, symbols = load_with_word(machine, word, separator, format_name)
    options = [("--separator", separator), ("--format", format_name)]
    given = [f"{name}={value}" for name, value in options if value is not None]
    arguments = [*given, "--", machine, *([word] if word is not None else [])]
    measured = Benchmark()
    with Working() as work:
        for name in measure(measured, turing, symbols, arguments):
            work.tell(name)
    if plot is not None and not work.interrupted:
        from netwright.cli.plots import speed_plot

        save_file(plot, speed_plot(measured, machine, plot.suffix), force=force)
    if as_json:
        done = {"interrupted": work.interrupted}
        print_json({"machine": machine, **measured.as_json(), **done})
    else:
        _print(measured)
    if work.interrupted:
        raise StoppedError(f"interrupted after {counted(len(measured.rates), 'measurement')}")
    if plot is not None and not as_json:
        say(f"\nwrote {plot}")


def _print(measured: Benchmark) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    for heading in ("", "steps/s", "× dictionary", "× automata-lib", "memory"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, each in measured.rates.items():
        memory = measured.memory.get(name)
        table.add_row(
            name,
            f"{each.rate:,.0f}",
            _ratio(measured.ratio(name, DICTIONARY)),
            _ratio(measured.ratio(name, AUTOMATA)),
            f"{memory / 1e6:,.0f} MB" if memory else "",
        )
    out.print(table)
    out.print()
    table = Table(box=None, pad_edge=False)
    columns = sorted({each.steps for row in measured.growth.values() for each in row})
    table.add_column("ns a step, for so many steps")
    for steps in columns:
        table.add_column(f"{steps:,}", justify="right")
    for name, row in measured.growth.items():
        found = {each.steps: each.nanoseconds for each in row}
        costs = (found.get(steps) for steps in columns)
        table.add_row(name, *("" if cost is None else f"{cost:,.0f}" for cost in costs))
    out.print(table)
    out.print()
    table = Table(box=None, pad_edge=False)
    for heading in ("1,000 steps each", "machines/s", "first run of a process"):
        table.add_column(heading, justify="left" if heading[0] == "1" else "right")
    for name, rate in measured.machines.items():
        first = measured.first.get(name)
        table.add_row(name, f"{rate:,.0f}", "" if first is None else f"{first:.2f} s")
    out.print(table)


def _ratio(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if number >= 100 else f"{number:.2f}"
