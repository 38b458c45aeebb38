"""What `netwright precision` reports: first failures by format, and why; four plots."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from netwright.cli.output import visible
from netwright.cli.report import COLOURS, MARKERS, Report
from netwright.kind.transformer.scores import SCORES
from netwright.text import counted

SHORT = 14  # characters of a fraction that is shown as such
_MEANINGS = {
    "x4": "c^(i+1)/(i+1)",
    "x5": "c^(i)/(i+1)",
    "x6": "β^(i+1)",
    "x7": "ℓ(i+1)",
    "x9": "i+1",
    "x10": "1/(i+1)",
    "x11": "1/(i+1)²",
    "x12": "1/(i+1)³",
    "score": "⟨q, k⟩ of layer 3, all keys",
    "stack": "the larger stack",
    "pointer": "1/(j+1), the larger one",
}
_HEADINGS = (
    *("", "wrong\nindex", "wrong\noutput", "wrong\nreading"),
    *("proved\nright to", "may swap\nvisits at", "\noutputs"),
)
_STACK_HEADINGS = (
    *("", "not\nexact", "wrong\nreading"),
    *("deepest\nstack", "digits that\nfit exactly", "\nsteps"),
)


def report_of(answer: dict[str, Any]) -> Report:
    """The table, what happened to each format, and the bits of the exact run."""
    report, of_attention = Report(answer), answer["attention"]
    report.line(_about(answer))
    sums = f", sums in {answer['accumulate']}" if answer["accumulate"] else ""
    limit = counted(answer["max_steps"], "output" if of_attention else "step")
    report.line(f"limit: {limit}{sums}")
    headings = _HEADINGS if of_attention else _STACK_HEADINGS
    cells, details = (_cells, _details) if of_attention else (_stack_cells, _stack_details)
    rows = answer["results"]
    report.table(headings, [(row["name"], *cells(row)) for row in rows], right=headings[1:])
    for row in rows:
        if lines := details(row):
            report.line("\n  ".join([f"\n{row['name']}", *lines]))
    if any(map(_not_searched, rows)):
        report.line("\n?  not searched; --search does")
    if "growth" in answer:
        _tell_growth(report, answer["growth"])
    return report


def _about(answer: dict[str, Any]) -> str:
    about = f"{answer['on']} of {visible(answer['machine'])}"
    if not answer["attention"]:
        return about
    tau = "by schedule" if answer["softmax"] == "schedule" else f"at {answer['softmax']}"
    attention = f"softmax {tau}" if answer["softmax"] else "hard attention"
    score = f"score {answer['score']}, " if answer["score"] else ""
    return f"{about}, {score}{attention}"


def _shown(number: int | None) -> str:
    return "–" if number is None else f"{number:,}" if number < 10**12 else f"{number:.1e}"


def _not_searched(row: dict[str, Any]) -> bool:
    """Whether --search would tell more."""
    predicted = row.get("predicted")
    return bool(predicted and predicted["searchable"] and not predicted["searched"])


def _cells(row: dict[str, Any]) -> list[str]:
    first = [row[name] and row[name][key] for name, key in _FIRSTS]
    safe, possible = (row["predicted"][name] for name in ("safe_until", "first_possible"))
    swap = "?" if _not_searched(row) else _shown(possible and possible["token"])
    end = " (halted)" if row["halted"] else ""
    return [*map(_shown, (*first, safe)), swap, f"{row['outputs']:,}{end}"]


_FIRSTS = (("index", "token"), ("vector", "output"), ("reading", "output"))


def _stack_cells(row: dict[str, Any]) -> list[str]:
    first = [row[name] and row[name]["time"] for name in ("vector", "reading")]
    end = " (halted)" if row["halted"] else ""
    cells = [*map(_shown, (*first, row["depth"], row["digits_held"]))]
    return [*cells, f"{row['steps']:,}{end}"]


def _details(row: dict[str, Any]) -> list[str]:
    index, vector, reading = row["index"], row["vector"], row["reading"]
    lines = []
    if index is not None:
        right, attended = index["right"], index["attended"]
        several = " and ".join(map(str, attended[:4])) + (" alike" if len(attended) > 1 else "")
        lines.append(f"wrong index at token {index['token']}, {index['place']}")
        lines.append(f"it attends to {several}; right is {right}")
        scores = index["exact_scores"], index["rounded_scores"]
        for token, exact, rounded in zip((right, index["instead"]), *scores, strict=True):
            found, wanted = _alike(rounded, exact)
            lines.append(f"score of {token}: exactly {wanted}, here {found}")
        margin = index["margin"]
        lines.append(f"margin: {margin if len(margin) <= SHORT else _decimal(margin)}")
    if vector is not None:
        where = f"{visible(vector['block'])} of {vector['vector']}"
        lines.append(f"y_{vector['output']} is not exact: {where} is {_against(vector)}")
    if reading is not None:
        lines.append(
            f"y_{reading['output']} shows the {reading['what']} {visible(reading['found'])} "
            f"instead of {visible(reading['expected'])}"
        )
    worst = row["predicted"]["worst_machine"]
    if worst is not None:
        machine = f"{counted(worst['states'], 'state')}, on a^{worst['input_length']}"
        wrong = f"wrong at y_{worst['wrong_output']}"
        lines.append(f"worst machine, on a tape with an end: {machine}, {wrong}")
    return lines


def _stack_details(row: dict[str, Any]) -> list[str]:
    vector, reading = row["vector"], row["reading"]
    lines = []
    if vector is not None:
        lines.append(
            f"g_{vector['time']} is not exact, with {counted(vector['depth'], 'digit')} on a stack"
        )
        lines.append(f"{visible(vector['block'])} is {_against(vector)}")
    if reading is not None:
        lines.append(
            f"g_{reading['time']} shows {visible(reading['found'])} instead of "
            f"{visible(reading['expected'])}, with {counted(reading['depth'], 'digit')} on a stack"
        )
    return lines


def _against(vector: dict[str, Any]) -> str:
    """A number and what it should be; by how much it is off, if the two look alike."""
    rounded, exact = _alike(vector["rounded"], vector["exact"])
    if rounded != exact:
        return f"{rounded}, exactly {exact}"
    off = Fraction(vector["rounded"]) - Fraction(vector["exact"])
    return f"{rounded}, off by {float(off):.3g}"


def _alike(rounded: str | None, exact: str) -> tuple[str, str]:
    """Two rationals in short: as they are, or both to ten digits."""
    if rounded is None:
        return "no longer a number", _decimal(exact)
    if max(len(rounded), len(exact)) <= SHORT:
        return rounded, exact
    return _decimal(rounded), _decimal(exact)


def _decimal(text: str) -> str:
    return f"{float(Fraction(text)):.10g}"


def _tell_growth(report: Report, rows: list[dict[str, Any]]) -> None:
    last = max(row["time"] for row in rows)
    report.line(f"\nbits in the exact run at time {last:,} (and what the proof allows)")
    parts = ("numerator", "denominator")
    found = [
        (
            row["block"],
            _MEANINGS[row["block"]],
            *(f"{row[name]} (≤ {row[name + '_bound']})" for name in parts),
        )
        for row in rows
        if row["time"] == last
    ]
    report.table(("block", "what it is", *parts), found, right=parts)


def draw_curves(curves: dict[str, Any], figure: Any, machine: str) -> None:
    """Four plots: horizons, margins, sizes, softmax."""
    axes = figure.subplots(2, 2)
    figure.suptitle(f"the Transformer of {machine}", parse_math=False)
    _horizon(axes[0, 0], curves["horizon_by_bits"], curves["outputs"])
    _margin(axes[0, 1], curves["margin_by_step"])
    _sizes(axes[1, 0], curves["bits_by_step"])
    _softmax(axes[1, 1], curves["softmax_by_temperature"], curves)
    for panel in axes.flat:
        panel.grid(alpha=0.3)
        if panel.get_legend_handles_labels()[0]:  # below, where it covers nothing
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
            panel.legend(fontsize=8, ncols=2, frameon=False, **place)


def _horizon(panel: Any, horizons: dict[str, list[dict[str, Any]]], outputs: int) -> None:
    for (name, rows), colour, marker in zip(horizons.items(), COLOURS, MARKERS, strict=False):
        label = SCORES[name].title
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
        label = SCORES[name].title
        found = _points(rows, "token", "margin")
        _draw(panel, found, colour, label, marker=marker, markersize=3, linestyle="")
        _draw(panel, _points(rows, "token", "least"), colour, f"{label}: least", linestyle="--")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("token")
    panel.set_ylabel("score of the winner minus the next")
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
    panel.set_title(f"softmax in float64, {SCORES[curves['score']].title}", fontsize=10)


def _points(rows: Sequence[dict[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows if row[y]]


def _draw(
    panel: Any, points: Sequence[tuple[float, float]], colour: str, label: str | None, **how: Any
) -> None:
    if points:
        x, y = zip(*points, strict=True)
        panel.plot(x, y, color=colour, label=label, **how)
