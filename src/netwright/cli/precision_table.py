"""What `netwright precision` prints: first failures by format, and why."""

from fractions import Fraction
from typing import Any

from rich.table import Table

from netwright.cli.output import console, counted, visible

_HEADINGS = (
    *("", "wrong\nindex", "wrong\noutput", "wrong\ndecoded"),
    *("proved\nright to", "possibly\nwrong at", "\noutputs"),
)
_STACK_HEADINGS = (
    *("", "not\nexact", "wrong\ndecoded"),
    *("deepest\nstack", "cells that\nfit", "\nsteps"),
)


def print_answer(answer: dict[str, Any]) -> None:
    """The table, what happened to each format, and the bits of the exact run."""
    out = console()
    of_transformer = answer["on"] == "transformer"
    about = f"{answer['on']} of {answer['machine']}"
    if of_transformer:
        attention = f"softmax at {answer['softmax']}" if answer["softmax"] else "hard attention"
        about += f", score {answer['score']}, {attention}"
    out.print(f"{about}; up to {answer['max_steps']:,} steps", markup=False)
    table = Table(box=None, pad_edge=False)
    headings = _HEADINGS if of_transformer else _STACK_HEADINGS
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
        several = " and ".join(map(str, attended[:4])) + (" alike" if len(attended) > 1 else "")
        lines.append(f"wrong index at token {index['token']}, {index['place']}")
        lines.append(f"it attends to {several}; right is {right}")
        scores = index["exact_scores"], index["rounded_scores"]
        for token, exact, rounded in zip((right, index["instead"]), *scores, strict=True):
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


def _number(text: str | None) -> str:
    """A rational in short: as it is, or to ten digits."""
    if text is None:
        return "no number any more"
    if len(text) <= 14:
        return text
    numerator, _, denominator = text.partition("/")
    return f"{int(numerator) / int(denominator or 1):.10g}"


def _print_growth(rows: list[dict[str, Any]], out: Any) -> None:
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
