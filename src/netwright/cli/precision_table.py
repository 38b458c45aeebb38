"""What `netwright precision` prints: first failures by format, and why."""

from fractions import Fraction
from typing import Any

from rich.table import Table

from netwright.cli.output import console, visible
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


def print_answer(answer: dict[str, Any]) -> None:
    """The table, what happened to each format, and the bits of the exact run."""
    out = console()
    of_attention = answer["attention"]
    about = f"{answer['on']} of {visible(answer['machine'])}"
    if of_attention:
        tau = "by schedule" if answer["softmax"] == "schedule" else f"at {answer['softmax']}"
        attention = f"softmax {tau}" if answer["softmax"] else "hard attention"
        score = f"score {answer['score']}, " if answer["score"] else ""
        about += f", {score}{attention}"
    out.print(about)
    sums = f", sums in {answer['accumulate']}" if answer["accumulate"] else ""
    limit = counted(answer["max_steps"], "output" if of_attention else "step")
    out.print(f"limit: {limit}{sums}")
    table = Table(box=None, pad_edge=False)
    headings = _HEADINGS if of_attention else _STACK_HEADINGS
    for heading in headings:
        table.add_column(heading, justify="right" if heading else "left")
    for row in answer["results"]:
        table.add_row(row["name"], *(_cells if of_attention else _stack_cells)(row))
    out.print(table)
    for row in answer["results"]:
        lines = (_details if of_attention else _stack_details)(row)
        if lines:
            out.print("\n  ".join([f"\n{row['name']}", *lines]))
    not_searched = [row for row in answer["results"] if _not_searched(row)]
    if not_searched:
        out.print("\n?  not searched; --search does")
    if "growth" in answer:
        _print_growth(answer["growth"], out)


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
        return "no number any more", _decimal(exact)
    if max(len(rounded), len(exact)) <= SHORT:
        return rounded, exact
    return _decimal(rounded), _decimal(exact)


def _decimal(text: str) -> str:
    return f"{float(Fraction(text)):.10g}"


def _print_growth(rows: list[dict[str, Any]], out: Any) -> None:
    last = max(row["time"] for row in rows)
    out.print(f"\nbits in the exact run at time {last:,} (and what the proof allows)")
    table = Table(box=None, pad_edge=False)
    for heading in ("block", "what it is", "numerator", "denominator"):
        table.add_column(heading, justify="left" if heading in ("block", "what it is") else "right")
    for row in (row for row in rows if row["time"] == last):
        parts = ("numerator", "denominator")
        sizes = (f"{row[name]} (≤ {row[name + '_bound']})" for name in parts)
        table.add_row(row["block"], _MEANINGS[row["block"]], *sizes)
    out.print(table)
