"""Enumerate classes of machines: in tree normal form, every table, or random tables.

Machines are bbchallenge text. The order of a class is fixed, so its machines have numbers.

*Tree normal form* (Brady; Marxen and Buntrock) begins with the empty table on the blank tape. Where
a machine reaches a pair without a rule, it halts, and its children are the machines that have a
rule there: with a state and a symbol that were used already, or with the next new one, as the names
of new ones make no difference. The first move is to the right, as the mirror image makes none
either. The last rule of a table is left out: with it there is no place to halt.
"""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from string import ascii_uppercase
from typing import Any

Cell = tuple[int, int, int]
"""A rule: the symbol that it writes, its move as +1 or -1, and its state as a number."""
LONGEST_RUN = {(1, 2): 1, (2, 2): 6, (3, 2): 21, (4, 2): 107, (1, 3): 1, (2, 3): 38, (1, 4): 1}
"""The busy-beaver values S(n, m): a machine that runs longer on the blank tape never halts."""


def text_of(table: dict[tuple[int, int], Cell], states: int, symbols: int) -> str:
    """A table as bbchallenge text.

    >>> text_of({(0, 0): (1, 1, 1)}, 2, 2)
    '1RB---_------'
    """
    pairs = product(range(states), range(symbols))
    return _joined([_written(table.get(pair)) for pair in pairs], symbols)


def _written(cell: Cell | None) -> str:
    if cell is None:
        return "---"
    write, move, state = cell
    return f"{write}{'R' if move > 0 else 'L'}{ascii_uppercase[state]}"


def tree_normal_form(states: int, symbols: int, first: Cell | None = None) -> Iterator[str]:
    """All machines in tree normal form; with `first`, those that begin with this rule.

    >>> len(list(tree_normal_form(2, 2))), len(list(tree_normal_form(2, 2, (1, 1, 1))))
    (61, 41)
    """
    for table, _ in normal_tables(states, symbols, first):
        yield text_of(table, states, symbols)


def normal_tables(
    states: int, symbols: int, first: Cell | None = None
) -> Iterator[tuple[dict[tuple[int, int], Cell], bool]]:
    """The tables of the tree, parents before children, and whether each halts."""
    longest, cells = LONGEST_RUN[states, symbols], states * symbols
    table: dict[tuple[int, int], Cell] = {} if first is None else {(0, 0): first}
    used = (1, 1) if first is None else (first[2] + 1, first[0] + 1)
    # A child continues where its parent halted: tape, head, state, steps.
    branches: list[tuple[Any, ...]] = [(table, used, {}, 0, 0, 0)]
    while branches:
        table, (used_states, used_symbols), tape, head, state, steps = branches.pop()
        while steps <= longest and (cell := table.get((state, tape.get(head, 0)))) is not None:
            tape[head], move, state = cell
            head += move
            steps += 1
        here = (state, tape.get(head, 0))
        halts = here not in table
        yield table, halts
        if not halts or len(table) == cells - 1:
            continue
        rules = product(
            range(min(used_symbols + 1, symbols)),
            (1, -1) if table else (1,),
            range(min(used_states + 1, states)),
        )
        for rule in reversed([*rules]):
            used = max(used_states, rule[2] + 1), max(used_symbols, rule[0] + 1)
            branches.append(({**table, here: rule}, used, dict(tape), head, state, steps))


@cache
def _cells(states: int, symbols: int) -> list[str]:
    """The possible cells of a table: none, or any rule."""
    rules = product(range(symbols), (1, -1), range(states))
    return [_written(cell) for cell in (None, *rules)]


def every_table(states: int, symbols: int) -> Iterator[str]:
    """Every table with these numbers of states and symbols.

    >>> sum(1 for _ in every_table(1, 2)), next(every_table(2, 2))
    (25, '------_------')
    """
    for cells in product(_cells(states, symbols), repeat=states * symbols):
        yield _joined(cells, symbols)


def table_number(states: int, symbols: int, number: int) -> str:
    """The table with a number in the order of `every_table`.

    >>> table_number(2, 2, 6560) == list(every_table(2, 2))[6560]
    True
    """
    choices, cells = _cells(states, symbols), []
    for _ in range(states * symbols):
        number, digit = divmod(number, len(choices))
        cells.append(choices[digit])
    return _joined(cells[::-1], symbols)


def random_table(states: int, symbols: int, seed: int, number: int) -> str:
    """The random table with a number, drawn uniformly from all of `every_table`."""
    draw = random.Random(f"{seed} {number}")
    return _joined(draw.choices(_cells(states, symbols), k=states * symbols), symbols)


def _joined(cells: Sequence[str], symbols: int) -> str:
    return "_".join("".join(cells[k : k + symbols]) for k in range(0, len(cells), symbols))
