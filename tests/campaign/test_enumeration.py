"""Classes of machines have the published sizes, with each machine once."""

from itertools import islice

import pytest
from tests.repetition import repeated

from netwright.campaign.enumeration import (
    every_table,
    normal_tables,
    random_table,
    table_number,
    text_of,
    tree_normal_form,
)
from netwright.machine.load import machine_of_text
from netwright.machine.simulate import Outcome

FIRST = (1, 1, 1)  # 1RB
PUBLISHED = [
    (2, 2, None, 61, 19),
    (3, 2, None, 5_417, 1_772),
    (2, 3, None, 3_013, 909),
    (2, 2, FIRST, 41, 15),
    (3, 2, FIRST, 4_057, 1_379),
]
LARGE = [(4, 2, None, 858_909, 249_693), (4, 2, FIRST, 620_261, 183_983)]


@pytest.mark.parametrize(
    ("states", "symbols", "first", "machines", "halting"),
    [*PUBLISHED, *(pytest.param(*row, marks=pytest.mark.thorough) for row in LARGE)],
)
def test_tree_normal_form_has_the_published_counts(
    states: int, symbols: int, first: tuple[int, int, int] | None, machines: int, halting: int
) -> None:
    found = [(text_of(t, states, symbols), h) for t, h in normal_tables(states, symbols, first)]
    assert len(found) == len(dict(found)) == machines
    assert sum(halts for _, halts in found) == halting


def test_who_is_said_to_halt_halts() -> None:
    for table, halts in islice(normal_tables(3, 2), 0, None, repeated(1, 10)):
        text = text_of(table, 3, 2)
        machine = machine_of_text(text) if table else None
        if machine is not None:
            outcome = machine.run((), 1000).outcome
            assert (outcome is Outcome.HALTED) == halts, text


def test_every_table_is_there_once() -> None:
    assert len(set(every_table(2, 2))) == 9**4
    assert len(set(every_table(1, 3))) == 7**3
    assert set(tree_normal_form(2, 2)) < set(every_table(2, 2))
    assert [table_number(2, 2, n) for n in range(9**4)] == list(every_table(2, 2))


def test_random_tables_are_the_same_for_the_same_seed() -> None:
    first, again, other = ([random_table(5, 2, seed, n) for n in range(200)] for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 200
    assert any("---" in text for text in first)
    assert any("---" not in text for text in first)
