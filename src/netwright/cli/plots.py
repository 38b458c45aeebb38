"""Plots, drawn with matplotlib; the extra `plots` installs it."""

from io import BytesIO
from pathlib import Path
from typing import Any

from netwright.benchmark import DICTIONARY, Benchmark
from netwright.errors import InputError
from netwright.files import check_output

FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's, which colour-blind readers tell apart."""
MARKERS = "osD^vP"
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "netwright"}
"""Text stays text, and equal plots are equal files."""


def check_plot(path: Path, *, force: bool) -> None:
    """Refuse what cannot be drawn before the long work that it would show."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"--plot is {path}; expected a file that ends in {', '.join(FORMATS)}")
    check_output(path, force=force)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "--plot needs matplotlib: pip install matplotlib, or netwright with the extra plots"
        ) from None


def speed_plot(measured: Benchmark, machine: str, suffix: str) -> bytes:
    """Rates side by side, and the networks' cost of a step as runs grow."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
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
    rates.set_xlabel("steps a second")
    if DICTIONARY in measured.rates:
        rates.axvline(measured.rates[DICTIONARY].rate, color="black", linewidth=0.8, linestyle=":")
    title = f"{machine}, one core".encode(errors="replace").decode()
    rates.set_title(title, fontsize=10, parse_math=False)
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
    growth.set_ylabel("nanoseconds a step")
    growth.grid(alpha=0.3)
    growth.margins(y=0.15)
    growth.set_title("cost of a step as the run grows", fontsize=10)
    return drawn(figure, suffix)


def drawn(figure: Any, suffix: str) -> bytes:
    """A figure as the content of a file."""
    from matplotlib import rc_context

    content = BytesIO()
    with rc_context(_SVG):
        kind = suffix[1:].lower()
        without_date = {"metadata": {"Date": None}} if kind == "svg" else {}
        figure.savefig(content, format=kind, dpi=150, **without_date)
    return content.getvalue()
