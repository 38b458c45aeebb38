"""A moment as plain data for the page: what the vectors say, and what is proved of them.

Everything here is read off the network's own vectors, but for the tape, the cells' last visits and
the values of the proof, which are the machine's.
"""

from math import ceil, log2
from typing import Any

from netwright.errors import NetworkError
from netwright.exact.rational import ZERO, Rational, as_float
from netwright.exact.vector import Vector
from netwright.explorer.explored import Explored
from netwright.network.trace import Moment
from netwright.text import shortened

TAPE = 30
"""How many cells are shown on either side of the head."""
LONGEST_NUMBER = 80
MOST_VECTORS = 12


def moment_data(explored: Explored, moment: Moment) -> dict[str, Any]:
    """All that the page shows of a moment."""
    network, kind = explored.network, explored.network.kind
    t, timeline = moment.t, explored.history.timeline
    data: dict[str, Any] = {
        "t": t,
        "vectors": _vectors_data(explored, moment),
    }
    try:
        said = kind.look.rule(network.compiled, moment)
        data["rule"] = said and said._asdict()
    except NetworkError as error:
        data["rule"], data["lost"] = None, str(error)
    time = t - explored.lead
    now = timeline.at(max(0, time))
    if now is not None:
        data["step"] = now.step if time >= 0 else None
        data["head"] = now.head
        after = timeline.at(time + 1) if time >= 0 else None
        data["next"] = after.head if after else now.head
        first, last = now.head - TAPE, now.head + TAPE
        visits = timeline.visits(now.time, first, last)
        data["tape"] = {
            "first": first,
            "cells": timeline.cells(now.time, first, last),
            "visits": [None if v is None else v + explored.lead for v, _ in visits],
        }
    if explored.view.drawn:
        data["attention"] = _attention_data(explored, moment, data.get("next"))
    data["lemmas"] = [
        {
            "statement": check.statement,
            "name": check.name,
            "holds": check.found == check.wanted,
            **({} if check.found == check.wanted else _difference(check.found, check.wanted)),
        }
        for check in kind.proof.lemmas(network.compiled, explored.history, moment)
    ]
    return data


def _vectors_data(explored: Explored, moment: Moment) -> list[dict[str, Any]]:
    """The vectors in the order in which they are computed; from the second one on, what changed.

    Where the kind names no parts, every vector of the moment, as it is.
    """
    view = explored.view
    parts = view.parts
    found, before = [], Vector.zero(explored.network.layout)
    every = [name for name in moment if not view.vectors or name.split(".")[0] in view.vectors]
    for name in [part.vector for part in parts] or every[:MOST_VECTORS]:
        vector = moment[name]
        each: dict[str, Any] = {"name": name}
        if vector.layout == before.layout:
            changed = {**before.entries, **vector.entries} if parts else vector.entries
            each["entries"] = [
                (k, number_text(vector.entries.get(k, ZERO)))
                for k in sorted(changed)
                if not parts or vector.entries.get(k) != before.entries.get(k)
            ]
            before = vector
        else:
            each["entries"] = [(k, number_text(x)) for k, x in sorted(vector.entries.items())]
            each["names"] = [str(vector.layout.coordinates[k]) for k, _ in each["entries"]]
        found.append(each)
    return found


def number_text(x: Rational) -> str:
    """A number, exactly; or, where that is long, about how large it is.

    >>> number_text(Rational(-7, 2)), number_text(Rational(1, 3**400))
    ('-7/2', '≈ 1.4174e-191')
    """
    # To write a million digits takes long; whether there are so many is known at once.
    text = str(x) if x.height_bits() <= 4 * LONGEST_NUMBER else ""
    return text if 0 < len(text) <= LONGEST_NUMBER else f"≈ {as_float(x):.5g}"


def _attention_data(explored: Explored, moment: Moment, ahead: int | None) -> dict[str, Any]:
    """The winner and the one that comes second, with their cells; `ahead` is where the head goes.

    In networks that follow pointers NULL is token 1, for cells that nobody has visited.
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
        lower = attention.score - margin
        data["second_score"] = number_text(lower)
        # What is added up in ⟨q, k⟩ cancels; so many bits of its largest part reach to the margin.
        key = moment[f"{drawn}.k"]
        parts = [abs(x * key.entries.get(k, ZERO)) for k, x in attention.q.entries.items()]
        largest = max(parts, default=ZERO)
        data["bits"] = max(1, ceil(log2(as_float(largest / margin)))) if largest else 1
    return data


def _difference(found: object, wanted: object) -> dict[str, str]:
    return {"found": shortened(found, 200), "wanted": shortened(wanted, 200)}
