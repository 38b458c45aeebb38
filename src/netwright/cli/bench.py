"""`netwright bench`: how fast the networks run, as ratios within one run."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.benchmark import AUTOMATA, DICTIONARY, Benchmark, measure
from netwright.cli.arguments import AsJson, Force, FormatName, Input, Separator, load_with_word
from netwright.cli.output import Working
from netwright.cli.report import COLOURS, MARKERS, Report, check_plot, save_plot
from netwright.errors import InputError, StoppedError
from netwright.machine.simulate import simulate
from netwright.text import counted

EXAMPLE = """\b
Examples:
  netwright bench
  netwright bench --json
  netwright bench binary-counter --plot speed.png"""


FEWEST = 10_000  # steps of a run whose rates are worth a plot


def command(
    machine: Annotated[
        str, typer.Argument(metavar="MACHINE", help="The machine to run.")
    ] = "busy-beaver-5",
    word: Input = None,
    separator: Separator = None,
    format_name: FormatName = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the rates: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure all networks and simulators on a machine (a minute or so)."""
    if plot is not None:
        check_plot(plot, force=force)
    _, turing, symbols = load_with_word(machine, word, separator, format_name)
    if plot is not None and (steps := simulate(turing, symbols, FEWEST).steps) < FEWEST:
        raise InputError(
            f"--plot draws rates, and {machine} halts after {counted(steps, 'step')}, too few to "
            f"measure; take a machine that runs for {FEWEST:,} steps or more"
        )
    options = [("--separator", separator), ("--format", format_name)]
    given = [f"{name}={value}" for name, value in options if value is not None]
    arguments = [*given, "--", machine, *([word] if word is not None else [])]
    measured = Benchmark()
    with Working() as work:
        for name in measure(measured, turing, symbols, arguments):
            work.tell(name)
    report = Report({"machine": machine, **measured.as_json(), "interrupted": work.interrupted})
    _tell(report, measured)
    report.show(as_json=as_json)
    if work.interrupted:
        raise StoppedError(f"interrupted after {counted(len(measured.rates), 'measurement')}")
    if plot is not None:
        save_plot(plot, machine, partial(_draw, measured), force=force, quiet=as_json)


def _tell(report: Report, measured: Benchmark) -> None:
    """Rates with memory, the cost of a step by length, and machines a second."""
    right = ("steps/s", "× dictionary", "× automata-lib", "memory", "first run of a process")
    rows = []
    for name, each in measured.rates.items():
        memory = measured.memory.get(name)
        ratios = (_ratio(measured.ratio(name, peer)) for peer in (DICTIONARY, AUTOMATA))
        rows.append((name, round(each.rate), *ratios, f"{memory / 1e6:,.0f} MB" if memory else ""))
    report.table(("", *right[:4]), rows, right=right)
    report.line()
    lengths = sorted({each.steps for row in measured.growth.values() for each in row})
    rows = []
    for name, row in measured.growth.items():
        cost = {each.steps: each.nanoseconds and round(each.nanoseconds) for each in row}
        rows.append((name, *map(cost.get, lengths)))
    headings = ("ns per step, by the steps of the run", *(f"{steps:,}" for steps in lengths))
    report.table(headings, rows)
    report.line()
    first = {name: f"{seconds:.2f} s" for name, seconds in measured.first.items()}
    rows = [(name, round(rate), first.get(name, "")) for name, rate in measured.machines.items()]
    report.table(("1,000 steps each", "machines/s", right[-1]), rows, right=right)


def _ratio(number: float | None) -> str:
    if number is None:
        return "–"
    return f"{number:,.0f}" if number >= 100 else f"{number:.2f}"


def _draw(measured: Benchmark, figure: Any, machine: str) -> None:
    """Rates side by side, and the networks' cost of a step as runs grow."""
    rates, growth = figure.subplots(1, 2)
    names = list(measured.rates)
    numbers = [measured.rates[name].rate for name in names]
    networks = [name.partition(",")[0] in measured.growth for name in names]
    for name, number, is_network in zip(names, numbers, networks, strict=True):
        colour = COLOURS[0] if is_network else "#666666"
        rates.plot([number], [name], "o", color=colour)
        rates.annotate(
            f" {number:,.0f}",
            (number, name),
            fontsize=7,
            va="center",
            xytext=(4, 0),
            textcoords="offset points",
        )
    rates.grid(alpha=0.3)
    rates.margins(x=0.4, y=0.1)
    rates.invert_yaxis()
    rates.set_xscale("log")
    rates.set_xlabel("steps per second")
    if DICTIONARY in measured.rates:
        rates.axvline(measured.rates[DICTIONARY].rate, color="black", linewidth=0.8, linestyle=":")
    rates.set_title(f"{machine}, one core", fontsize=10, parse_math=False)
    for (name, row), colour, marker in zip(measured.growth.items(), COLOURS, MARKERS, strict=False):
        steps = [each.steps for each in row if each.steps]
        cost = [each.nanoseconds for each in row if each.steps]
        growth.plot(steps, cost, color=colour, marker=marker)
        if steps:
            place = (steps[0], cost[0])
            growth.annotate(
                name, place, color=colour, fontsize=8, xytext=(6, 6), textcoords="offset points"
            )
    growth.set_xscale("log")
    growth.set_yscale("log")
    growth.set_xlabel("steps of the run")
    growth.set_ylabel("nanoseconds per step")
    growth.grid(alpha=0.3)
    growth.margins(y=0.15)
    growth.set_title("cost of a step as the run grows", fontsize=10)
