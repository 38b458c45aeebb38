"""`netwright precision`: where floats and softmax first go wrong, and why."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Base,
    Force,
    FormatName,
    Input,
    Machine,
    Score,
    Separator,
    read_base,
)
from netwright.cli.output import (
    console,
    counted,
    load_with_word,
    print_json,
    save_file,
    visible,
    word_text,
)
from netwright.cli.plots import check_plot
from netwright.cli.progress import Working
from netwright.errors import InputError
from netwright.machine.turing_machine import TuringMachine
from netwright.pipeline import Target
from netwright.theorems.theorem_3_4_transformer.construction import Scoring

EXAMPLE = """\b
Examples:
  netwright precision busy-beaver-5
  netwright precision busy-beaver-5 --bits 16,20,24 --score recency
  netwright precision sweeper --softmax 1e-6
  netwright precision sweeper --softmax schedule --dtype float64
  netwright precision sweeper --on rnn --base 4
  netwright precision busy-beaver-5 --plot precision.svg"""


def command(
    machine: Machine,
    word: Input = None,
    on: Annotated[Target, typer.Option(help="Which network.")] = Target.TRANSFORMER,
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
    score: Score = None,
    softmax: Annotated[
        str | None,
        typer.Option(
            metavar="TAU",
            help="Softmax at temperature TAU, or at one that falls by a provable `schedule`.",
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
        int, typer.Option(metavar="N", min=1, help="Stop after N outputs of the network.")
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
    base: Base = None,
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
    _check_options(on, score, softmax, snap, search, plot, curves, base)
    from netwright.precision.laboratory import Experiment

    experiment = Experiment(
        turing,
        symbols,
        on=on,
        formats=_formats(dtype, bits),
        sums=_format(accumulate) if accumulate is not None else None,
        score=score or Scoring.PAPER,
        temperature=_temperature(softmax),
        snapping=(softmax is not None, False) if snap is None and softmax else (bool(snap),),
        steps=max_steps,
        search=search,
        base=read_base(base),
    )
    answer: dict[str, Any] = {
        "machine": machine,
        "input": word_text(turing, symbols, separator),
        "on": on.value,
        "score": experiment.score.value if on is Target.TRANSFORMER else None,
        "softmax": softmax,
        "max_steps": max_steps,
    }
    with Working() as tell:
        answer["results"] = experiment.results(tell)
        if growth:
            tell("the exact run")
            answer["growth"] = experiment.growth()
        if curves or plot is not None:
            from netwright.precision.curves import all_curves

            answer["curves"] = all_curves(turing, symbols, experiment.score, max_steps, tell)
    if plot is not None:
        from netwright.cli.precision_plots import precision_plot

        save_file(plot, precision_plot(answer["curves"], machine, plot.suffix), force=force)
    if as_json:
        print_json(answer)
    else:
        _print(answer)


def _check_options(
    on: Target,
    score: Scoring | None,
    softmax: str | None,
    snap: bool | None,
    search: bool,
    plot: Path | None,
    curves: bool,
    base: str | None,
) -> None:
    if on is Target.MACHINE:
        raise InputError("a machine has no numbers; --on transformer, rnn or neural-gpu")
    if on is Target.TRANSFORMER:
        if base is not None:
            raise InputError("--base is for the stacks of rnn and neural-gpu")
        return
    given = {
        "--score": score,
        "--softmax": softmax,
        "--snap": snap,
        "--search": search or None,
        "--plot": plot,
        "--curves": curves or None,
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is for Transformers; --on {on} has no attention")


def _formats(dtype: str | None, bits: str | None) -> list[Any]:
    """The formats that are asked for; the four with names if none are."""
    from netwright.precision.formats import FORMATS

    if dtype is None and bits is None:
        return list(FORMATS.values())
    names = [] if dtype is None else dtype.split(",")
    numbers = [] if bits is None else bits.split(",")
    for name in names:
        if name.strip() not in FORMATS:
            raise InputError(f"--dtype: no format {name!r}; there are {', '.join(FORMATS)}")
    for number in numbers:
        if not re.fullmatch(r"\s*\d{1,4}\s*", number):
            raise InputError(f"--bits is {number!r}; expected a number such as 24")
    return [_format(name) for name in (*names, *numbers)]


def _format(text: str) -> Any:
    """A format by its name, or by its bits."""
    from netwright.precision.formats import FORMATS, binary

    name = text.strip()
    if name in FORMATS:
        return FORMATS[name]
    if not re.fullmatch(r"\d{1,4}", name) or not 2 <= int(name) <= 1000:
        raise InputError(f"{text!r} is no format; expected {', '.join(FORMATS)}, or 2 to 1000 bits")
    return binary(int(name))


def _temperature(softmax: str | None) -> "float | str | None":
    if softmax is None or softmax == "schedule":
        return softmax
    try:
        tau = float(softmax)
    except ValueError:
        tau = 0.0
    if not 1e-300 < tau < 1e300:
        raise InputError(
            f"--softmax is {softmax!r}; expected a temperature such as 1e-6, or schedule"
        )
    return tau


def _print(answer: dict[str, Any]) -> None:
    from rich.table import Table

    out = console()
    of_transformer = answer["on"] == "transformer"
    about = f"{answer['on']} of {answer['machine']}"
    if of_transformer:
        attention = f"softmax at {answer['softmax']}" if answer["softmax"] else "hard attention"
        about += f", score {answer['score']}, {attention}"
    out.print(f"{about}; up to {answer['max_steps']:,} steps", markup=False)
    table = Table(box=None, pad_edge=False)
    headings = (
        ("", "index", "output", "decoded", "safe", "possible", "steps")
        if of_transformer
        else ("", "not exact", "wrong", "deepest stack", "cells held", "steps")
    )
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for row in answer["results"]:
        table.add_row(row["name"], *(_cells if of_transformer else _stack_cells)(row))
    out.print(table)
    for row in answer["results"]:
        lines = (_details if of_transformer else _stack_details)(row)
        if lines:
            out.print("\n  ".join([f"\n{row['name']}", *lines]), markup=False)
    if "growth" in answer:
        _print_growth(answer["growth"], out)


def _shown(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _cells(row: dict[str, Any]) -> list[str]:
    first = [row[name] and row[name][key] for name, key in _FIRSTS]
    possible = row["predicted"]["first_possible"]
    predicted = [row["predicted"]["safe_until"], possible and possible["token"]]
    end = " (halted)" if row["halted"] else ""
    return [*map(_shown, (*first, *predicted)), f"{row['outputs']:,}{end}"]


_FIRSTS = (("index", "token"), ("vector", "output"), ("decoded", "output"))


def _stack_cells(row: dict[str, Any]) -> list[str]:
    first = [row[name] and row[name]["time"] for name in ("vector", "decoded")]
    end = " (halted)" if row["halted"] else ""
    cells = [*map(_shown, first), f"{row['depth']:,}", f"{row['cells_held']:,}"]
    return [*cells, f"{row['steps']:,}{end}"]


def _details(row: dict[str, Any]) -> list[str]:
    index, vector, decoded = row["index"], row["vector"], row["decoded"]
    lines = []
    if index is not None:
        right, attended = index["right"], index["attended"]
        other = next((j for j in attended if j != right), right)
        several = " and ".join(map(str, attended[:4])) + (" alike" if len(attended) > 1 else "")
        lines.append(f"wrong index at token {index['token']}, {index['place']}")
        lines.append(f"it attends to {several}; right is {right}")
        pairs = zip((right, other), index["exact_scores"], index["rounded_scores"], strict=True)
        for token, exact, rounded in pairs:
            lines.append(f"score of {token}: exactly {_number(exact)}, here {_number(rounded)}")
        lines.append(f"margin: {_number(index['margin'])}")
    if vector is not None:
        lines.append(
            f"y_{vector['output']} is not exact: {vector['block']} of {vector['vector']} is "
            f"{_against(vector)}"
        )
    if decoded is not None:
        lines.append(
            f"y_{decoded['output']} shows the {decoded['what']} {visible(decoded['found'])}; "
            f"right is {visible(decoded['expected'])}"
        )
    worst = row["predicted"]["worst_machine"]
    if worst is not None:
        lines.append(
            f"worst machine: {counted(worst['states'], 'state')}, {worst['input_length']} symbols "
            f"of input, wrong at y_{worst['wrong_output']}"
        )
    return lines


def _stack_details(row: dict[str, Any]) -> list[str]:
    vector, decoded = row["vector"], row["decoded"]
    lines = []
    if vector is not None:
        lines.append(
            f"g_{vector['time']} is not exact, with {counted(vector['depth'], 'cell')} on a stack"
        )
        lines.append(f"{vector['block']} is {_against(vector)}")
    if decoded is not None:
        lines.append(
            f"g_{decoded['time']} shows {visible(decoded['found'])}; right is "
            f"{visible(decoded['expected'])}, with {counted(decoded['depth'], 'cell')} on a stack"
        )
    return lines


def _against(vector: dict[str, Any]) -> str:
    """A number and what it should be; by how much it is off, if the two look alike."""
    rounded, exact = (_number(vector[name]) for name in ("rounded", "exact"))
    if rounded != exact:
        return f"{rounded}, exactly {exact}"
    off = Fraction(vector["rounded"]) - Fraction(vector["exact"])
    return f"{rounded}, off by {float(off):.3g}"


def _number(text: str) -> str:
    """A rational in short: as it is, or to ten digits."""
    if len(text) <= 14:
        return text
    numerator, _, denominator = text.partition("/")
    return f"{int(numerator) / int(denominator or 1):.10g}"


def _print_growth(rows: list[dict[str, Any]], out: Any) -> None:
    from rich.table import Table

    last = max(row["time"] for row in rows)
    out.print(f"\nbits in the exact run at time {last:,} (and what the proof allows)")
    table = Table(box=None, pad_edge=False)
    headings = ("block", "numerator", "denominator")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "block" else "right")
    for row in rows:
        if row["time"] == last:
            pairs = (
                f"{row[name]} (≤ {row[name + '_bound']})" for name in ("numerator", "denominator")
            )
            table.add_row(row["block"], *pairs)
    out.print(table, markup=False)
