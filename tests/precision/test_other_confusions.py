"""Failures other than the order of visits come later: all of them tried, in the types themselves.

A token that goes to a fresh cell may attend to an earlier token than itself, and one that goes back
to a cell may attend to a visit of another cell.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.precision.types_of_numpy import TYPES

from netwright.kind.transformer.scores import PAPER, RECENCY, Score
from netwright.precision.formats import FORMATS
from netwright.precision.horizon import first_possible


def sizes(i: int, wanted: int, kind: Any, score: Score) -> NDArray[np.float64]:
    """|χ| of token i for every token j (rows) on every cell from −i to i (columns)."""
    n = np.arange(1, i + 2, dtype=np.float64)
    first, second, cube = (
        (1 / n).astype(kind),
        (1 / n**2).astype(kind),
        (1 / n**3).astype(kind),
    )
    keys = (np.arange(-i, i + 1)[None, :] / n[:, None]).astype(kind)
    query, third = (np.array(x).astype(kind) for x in (wanted / (i + 1), 1 / 3))
    products = query * first[:, None] + first[i] * -keys
    if score is RECENCY:
        products = products + second[i] * third
        products = products + (cube[i] * -third) * (n - 1).astype(kind)[:, None]
    else:
        products = products + (second[i] * third) * second[:, None]
    found: NDArray[np.float64] = np.abs(products).astype(np.float64)
    return found


def first_confusions(kind: Any, last: int, score: Score) -> tuple[int | None, int | None]:
    """The first tokens at which a fresh cell, and another cell, can be mistaken."""
    fresh = other = None
    for i in range(1, last + 1):
        j, cell = np.arange(i + 1)[:, None], np.arange(-i, i + 1)[None, :]
        reachable = (abs(cell) <= j) & ((cell - j) % 2 == 0)
        for here in range(-i, i + 1, 2):
            reaches_here = reachable & (abs(here - cell) <= i - j)
            for wanted in (here - 1, here + 1):
                found = sizes(i, wanted, kind, score)
                # All cells so far are on one side of a fresh one, cell 0 of token 0 too.
                is_fresh = (wanted - here) * wanted >= 1
                one_side = (wanted - here) * (wanted - cell) >= 1
                earlier = reaches_here & one_side & (j < i)
                if fresh is None and is_fresh and (found[earlier] <= found[i, here + i]).any():
                    fresh = i
                for visit in range(abs(wanted), i, 2) if other is None else ():
                    elsewhere = reaches_here & (cell != wanted)
                    elsewhere &= abs(cell - wanted) <= abs(j - visit)
                    if (found[elsewhere] <= found[visit, wanted + i]).any():
                        other = i
        if fresh is not None and other is not None:
            break
    return fresh, other


@pytest.mark.parametrize(
    ("score", "name", "wanted"),
    [
        (PAPER, "bfloat16", (20, 57)),
        (PAPER, "float16", (49, None)),
        (RECENCY, "bfloat16", (20, 52)),
        (RECENCY, "float16", (49, None)),
    ],
)
def test_other_failures_come_later(score: Score, name: str, wanted: tuple[int, int | None]) -> None:
    visits = first_possible(FORMATS[name], score, 60, two_way=True)
    assert visits is not None
    assert visits.token < wanted[0]
    assert first_confusions(TYPES[name], 60, score) == wanted
