"""The four plots of `netwright precision`: horizons, sizes, margins, softmax."""

from collections.abc import Sequence
from typing import Any

from netwright.cli.output import visible
from netwright.cli.plots import COLOURS, MARKERS, drawn
from netwright.kind.transformer.scores import SCORES

_NAMES = {name: score.title for name, score in SCORES.items()}


def precision_plot(curves: dict[str, Any], machine: str, suffix: str) -> bytes:
    """All four in one figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 9.5), layout="constrained")
    axes = figure.subplots(2, 2)
    title = visible(machine.encode(errors="replace").decode())
    figure.suptitle(f"the Transformer of {title}", parse_math=False)
    _horizon(axes[0, 0], curves["horizon_by_bits"], curves["outputs"])
    _margin(axes[0, 1], curves["margin_by_step"])
    _sizes(axes[1, 0], curves["bits_by_step"])
    _softmax(axes[1, 1], curves["softmax_by_temperature"], curves)
    for panel in axes.flat:
        panel.grid(alpha=0.3)
        if panel.get_legend_handles_labels()[0]:  # below, where it covers nothing
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
            panel.legend(fontsize=8, ncols=2, frameon=False, **place)
    return drawn(figure, suffix)


def _horizon(panel: Any, horizons: dict[str, list[dict[str, Any]]], outputs: int) -> None:
    for (name, rows), colour, marker in zip(horizons.items(), COLOURS, MARKERS, strict=False):
        label = _NAMES[name]
        safe = [(row["bits"], row["safe_until"]) for row in rows if row["safe_until"] > 1]
        _draw(panel, safe, colour, f"{label}: proved right until", linestyle="--")
        _draw(panel, _points(rows, "bits", "first_possible"), colour, f"{label}: first possible")
        measured = _points(rows, "bits", "first_wrong_index")
        _draw(panel, measured, colour, f"{label}: this machine", marker=marker, linestyle="")
        right = [(row["bits"], outputs) for row in rows if row["first_wrong_index"] is None]
        _draw(panel, right, colour, None, marker=marker, linestyle="", fillstyle="none")
    label = f"end of the runs, {outputs:,}; hollow: right"
    panel.axhline(outputs, color="black", linewidth=0.8, linestyle=":", label=label)
    panel.set_yscale("log")
    panel.set_ylim(2, 100 * outputs)
    panel.set_xlabel("significant bits of the format")
    panel.set_ylabel("first token that attends wrongly")
    panel.set_title("horizon against bits, hard attention", fontsize=10)


def _margin(panel: Any, margins: dict[str, list[dict[str, Any]]]) -> None:
    for (name, rows), colour, marker in zip(margins.items(), COLOURS, MARKERS, strict=False):
        label = _NAMES[name]
        found = _points(rows, "token", "margin")
        _draw(panel, found, colour, label, marker=marker, markersize=3, linestyle="")
        _draw(panel, _points(rows, "token", "least"), colour, f"{label}: least", linestyle="--")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("token")
    panel.set_ylabel("score of the winner less the next")
    panel.set_title("margin of the attention in layer 3, exact", fontsize=10)


def _sizes(panel: Any, sizes: dict[str, list[dict[str, Any]]]) -> None:
    blocks = {"x4": "c/(i+1), x4", "x11": "1/(i+1)², x11", "score": "products of query and key"}
    for (block, label), colour, marker in zip(blocks.items(), COLOURS, MARKERS, strict=False):
        rows = [row for row in sizes["transformer"] if row["block"] == block]
        total = [(row["time"] + 1, row["numerator"] + row["denominator"]) for row in rows]
        bound = [
            (row["time"] + 1, row["numerator_bound"] + row["denominator_bound"]) for row in rows
        ]
        _draw(panel, total, colour, label, marker=marker, markersize=3)
        _draw(panel, bound, colour, None, linestyle="--")
    rows = sizes["rnn"]
    stacks = [(row["time"] + 1, row["numerator"] + row["denominator"]) for row in rows]
    bound = [(row["time"] + 1, row["numerator_bound"] + row["denominator_bound"]) for row in rows]
    _draw(panel, stacks, COLOURS[3], "RNN: the larger stack", marker=MARKERS[3], markersize=3)
    _draw(panel, bound, COLOURS[3], None, linestyle="--")
    panel.set_xscale("log")
    panel.set_xlabel("step")
    panel.set_ylabel("bits of numerator and denominator")
    panel.set_title("size of numbers in the exact run (dashed: bounds)", fontsize=10)


def _softmax(panel: Any, rows: list[dict[str, Any]], curves: dict[str, Any]) -> None:
    kinds = {
        "snapped_not_exact": "snapped: first output not exact",
        "snapped_wrong": "snapped: first wrong symbol",
        "plain_wrong": "plain: first wrong symbol",
    }
    for (name, label), colour, marker in zip(kinds.items(), COLOURS, MARKERS, strict=False):
        _draw(panel, _points(rows, "temperature", name), colour, label, marker=marker)
    end = curves["outputs_with_softmax"]
    label = f"end of the runs, {end:,}"
    panel.axhline(end, color="black", linewidth=0.8, linestyle=":", label=label)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylim(1, 3 * end)
    panel.invert_xaxis()
    panel.set_xlabel("temperature τ of softmax")
    panel.set_ylabel("first such output")
    panel.set_title(f"softmax in float64, {_NAMES[curves['score']]}", fontsize=10)


def _points(rows: Sequence[dict[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows if row[y]]


def _draw(
    panel: Any, points: Sequence[tuple[float, float]], colour: str, label: str | None, **how: Any
) -> None:
    if points:
        x, y = zip(*points, strict=True)
        panel.plot(x, y, color=colour, label=label, **how)
