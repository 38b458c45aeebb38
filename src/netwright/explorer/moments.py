"""A moment as plain data for the page: its vectors, and what is proved about them.

All data comes from the network's own vectors, except the tape, the last visits of cells and the
values of the proof, which come from the machine.
"""

from collections.abc import Sequence
from math import ceil, log2
from typing import Any

from netwright.engine.attended import ListedAttention
from netwright.errors import NetworkError
from netwright.exact.rational import ONE, ZERO, Rational, as_float
from netwright.exact.vector import Vector
from netwright.explorer.explored import Explored
from netwright.network.trace import Moment
from netwright.network.view import AppliedRule
from netwright.text import shortened

TAPE = 30
"""The number of cells shown on either side of the head."""
LONGEST_NUMBER = 80
MOST_VECTORS = 12
MANY = 10_000
"""The number of keys from which on winners are not looked for by comparing every score."""
LONGEST_TEXT = 30
STEP = "the machine's state and symbol"
"""The name of the claim about a moment of a kind that has no lemmas of moments."""
MOVES = {"L": -1, "R": 1, "S": 0}


def machine_data(explored: Explored, t: int) -> dict[str, Any]:
    """Return what the machine does at a time of the network: tape, head and rule.

    Before the machine starts, the tape is what the network reads, and the head where it reads.
    """
    timeline, time = explored.history.timeline, t - explored.lead
    data: dict[str, Any] = {"t": t, "step": None, "rule": None}
    if time < 0:
        return data | _reading_data(explored, t)
    now = timeline.at(time)
    if now is None:
        return data
    rule = AppliedRule.of(timeline.machine, now.state, now.symbol)
    first, last = now.head - TAPE, now.head + TAPE
    visits = timeline.visits(time, first, last)
    return data | {
        "step": now.step,
        "rule": rule._asdict(),
        "head": now.head,
        "next": now.head + MOVES[rule.move] if rule.move else None,
        "tape": {
            "first": first,
            "cells": timeline.cells(time, first, last),
            "visits": [None if v is None else v + explored.lead for v, _ in visits],
        },
    }


def _reading_data(explored: Explored, t: int) -> dict[str, Any]:
    """Symbol t of what is read, and its neighbours; beyond an input the tape is blank."""
    reads = explored.reads
    outside = explored.history.timeline.machine.blank if explored.reads_input else ""
    cells = range(t - 1 - TAPE, t + TAPE)
    return {
        "head": t - 1,
        "next": t if t < len(reads) else None,
        "tape": {
            "first": cells[0],
            "cells": [reads[c] if 0 <= c < len(reads) else outside for c in cells],
            "visits": [c + 1 if 0 <= c < t - 1 else None for c in cells],
        },
    }


def moment_data(explored: Explored, moment: Moment) -> dict[str, Any]:
    """Return all data that the page shows for a moment; the rule is the network's own."""
    network, kind = explored.network, explored.network.kind
    data = machine_data(explored, moment.t)
    own = data["rule"]
    data["vectors"] = _vectors_data(explored, moment)
    try:
        said = kind.look.rule(network.compiled, moment)
        data["rule"] = said and said._asdict()
    except NetworkError as error:
        data["rule"], data["lost"] = None, str(error)
    if text := kind.look.text(network.compiled, explored.tracing, moment.t):
        data["text"] = {
            "all": len(text.before),
            "before": text.before[-LONGEST_TEXT:],
            "after": text.after,
            "pointed": [[side, a, text.before[a:b]] for side, a, b in text.pointed],
        }
    if explored.view.drawn:
        data["attention"] = _attention_data(explored, moment, data.get("next"))
    if explored.view.asked:
        data["attended"] = _attended_data(explored, moment)
    if explored.view.gates:
        data["gates"] = {n: _gate_data(moment[n]) for n in moment if is_of(n, explored.view.gates)}
    data["lemmas"] = []
    for check in kind.proof.lemmas(network.compiled, explored.history, moment):
        holds = check.found == check.wanted
        lemma = {"statement": check.statement, "name": check.name, "holds": holds}
        if not holds:
            lemma["found"] = shortened(check.found, 200)
            lemma["wanted"] = shortened(check.wanted, 200)
        data["lemmas"].append(lemma)
    if not data["lemmas"] and data["step"] is not None:
        data["lemmas"].append(_step_lemma(network.kind.statement, own, data["rule"]))
    return data


def _step_lemma(statement: str, own: dict[str, Any] | None, found: dict[str, Any] | None) -> Any:
    """Whether the state and the symbol that the vectors show are the machine's at that time."""
    shown = [rule and f"{rule['state']} reading {rule['symbol']}" for rule in (found, own)]
    lemma = {"statement": statement, "name": STEP, "holds": shown[0] == shown[1]}
    return lemma if lemma["holds"] else lemma | {"found": shown[0], "wanted": shown[1]}


def _vectors_data(explored: Explored, moment: Moment) -> list[dict[str, Any]]:
    """Return the vectors in order of computation, each as the changes since the one before.

    If the kind names no parts, return every vector of the moment in full.
    """
    view, parts = explored.view, explored.view.parts
    found, before = [], Vector.zero(explored.network.layout)
    every = [name for name in moment if not view.vectors or is_of(name, view.vectors)]
    digits = explored.network.kind.look.digits
    for name in [part.vector for part in parts] or every[:MOST_VECTORS]:
        vector = moment[name]
        is_stream, shown = vector.layout == before.layout, set(vector.entries)
        if is_stream and parts:
            every_key = shown | set(before.entries)
            shown = {k for k in every_key if vector.entries.get(k) != before.entries.get(k)}
        keys = sorted(shown)
        entries = [(k, number_text(vector.entries.get(k, ZERO))) for k in keys]
        each: dict[str, Any] = {"name": name, "entries": entries}
        if is_stream:
            before = vector
        else:
            each["names"] = [str(vector.layout.coordinates[k]) for k in keys]
        if view.stacks:
            blocks = [(k, vector.layout.coordinates[k].block.split(" ")[-1]) for k in keys]
            stacks = [k for k, block in blocks if block in view.stacks]
            each["digits"] = {
                k: digits(explored.network.compiled, vector.entries[k]) for k in stacks
            }
        found.append(each)
    return found


def is_of(name: str, vectors: Sequence[str]) -> bool:
    """Whether a vector is one of those of that name, such as `cell.3` of `cell`."""
    return name.split(".")[0] in vectors


def _attended_data(explored: Explored, moment: Moment) -> dict[str, Any]:
    """Return the winner, and the number of winners, of each attention that a figure shows."""
    asked, found = explored.view.asked, moment.attention
    names = list(found) if "" in asked else [name for name in asked if name in found]
    names = [n for n in names if not isinstance(found[n], ListedAttention) or len(found[n]) < MANY]
    return {n: {"winner": found[n].winner, "winners": len(found[n].winners)} for n in names}


def _gate_data(gate: Vector) -> dict[str, Any]:
    """Return the blocks in which a gate is 1 throughout, and its other numbers by name."""
    ones = [b for b, labels in gate.layout.blocks if [*gate[b].values()] == [ONE] * len(labels)]
    names = gate.layout.coordinates
    rest = [k for k in sorted(gate.entries) if names[k].block not in ones]
    return {"ones": ones, "rest": [[str(names[k]), number_text(gate.entries[k])] for k in rest]}


def number_text(x: Rational) -> str:
    """Format a number exactly; or approximately if that would be long.

    >>> number_text(Rational(-7, 2)), number_text(Rational(1, 3**400))
    ('-7/2', '≈ 1.4174e-191')
    """
    # Writing a million digits is slow; the height in bits bounds their number at no cost.
    text = str(x) if x.height_bits() <= 4 * LONGEST_NUMBER else ""
    return text if 0 < len(text) <= LONGEST_NUMBER else f"≈ {as_float(x):.5g}"


def _attention_data(explored: Explored, moment: Moment, ahead: int | None) -> dict[str, Any]:
    """Return the winner and the runner-up with their cells; `ahead` is the cell ahead of the head.

    In networks that follow pointers, NULL is token 1, for cells that were never visited.
    """
    timeline, lead = explored.history.timeline, explored.lead
    drawn = explored.view.drawn
    attention = moment.attention[drawn]

    def cell_of(token: int | None) -> int | None:
        now = timeline.at(token - lead) if token is not None and token >= lead else None
        return now.head if now else None

    winner, second, margin = attention.winner, attention.runner_up, attention.margin
    data: dict[str, Any] = {
        "winner": winner,
        "null": explored.view.has_null and winner == 1 and cell_of(1) != ahead,
        "winners": len(attention.winners),
        "cell": cell_of(winner),
        "score": None if attention.score is None else number_text(attention.score),
        "second": second,
        "second_cell": cell_of(second),
        "margin": None if margin is None else number_text(margin),
    }
    if margin and attention.score is not None:
        data["second_score"] = number_text(attention.score - margin)
        # The summands of ⟨q, k⟩ cancel; the margin is this many bits below the largest of them.
        key = moment[f"{drawn}.k"]
        parts = [abs(x * key.entries.get(k, ZERO)) for k, x in attention.q.entries.items()]
        largest = max(parts, default=ZERO)
        data["bits"] = max(1, ceil(log2(as_float(largest / margin)))) if largest else 1
    return data
