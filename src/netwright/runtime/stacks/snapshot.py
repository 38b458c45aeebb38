"""The arrays of a run in `stacks.arithmetic`, checked before its loops see them.

The loops look up nodes, slots and coordinates by numbers that stand in these arrays, without a
test. So everything that such a number may be is checked here, once, by walking over all of it.
"""

import numpy as np
from numpy.typing import NDArray

from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.runtime.stacks import arithmetic

Integers = NDArray[np.int64]
CHANGING = ("v", "is_listed", "listed", "count", "clock", "grid")
"""What changes during a run, beside the nodes."""


def checked_stacks(state: Snapshot, work: arithmetic.Work, cells: int) -> dict[str, Integers]:
    """The arrays of a snapshot; FormatError if they are not those of a run of this network."""
    largest = arithmetic.LARGEST
    slots, width, _ = work.v.shape
    nodes = checked_array(state, "nodes", (None, 8), -FARTHEST, FARTHEST)
    v = checked_array(state, "v", work.v.shape, -largest, max(largest, len(nodes)))
    found = {
        "nodes": nodes,
        "v": v,
        "is_listed": checked_array(state, "is_listed", (slots, width), 0, 1),
        "listed": checked_array(state, "listed", (slots, width), 0, width - 1),
        "count": checked_array(state, "count", (slots,), 0, width),
        "clock": checked_array(state, "clock", work.clock.shape, 0, FARTHEST),
        "grid": checked_array(state, "grid", work.grid.shape, 0, FARTHEST),
    }
    _check_nodes(nodes, work.L)
    tails = v[:, :, 2]
    require_consistent(tails.min() >= 0 and tails.max() < len(nodes), "stacks without their nodes")
    require_consistent((abs(v[:, :, :2]) < largest).all(), "numbers that are too large")
    _check_lists(found)
    clock, grid = found["clock"], found["grid"]
    require_consistent(
        clock[arithmetic.STATUS] <= arithmetic.STOPPED, f"status {clock[arithmetic.STATUS]}"
    )
    require_consistent(clock[arithmetic.NODES] == len(nodes), f"{clock[arithmetic.NODES]} nodes")
    require_consistent(clock[arithmetic.FULL] <= 1, "neither full nor not")
    require_consistent(clock[arithmetic.UNIT] < work.L, f"a unit of {clock[arithmetic.UNIT]}")
    shape = slice(arithmetic.HEIGHT, arithmetic.NEWEST)
    require_consistent((grid[shape] == work.grid[shape]).all(), "a grid of another shape")
    require_consistent(
        grid[arithmetic.NEWEST] in (0, cells), f"newest cell {grid[arithmetic.NEWEST]}"
    )
    newest = v[grid[arithmetic.NEWEST] : grid[arithmetic.NEWEST] + cells]
    a, b = newest[:, :, 0], newest[:, :, 1]
    is_output = ((b == 0) & ((a == 0) | (a == 1))) | ((a == 0) & (b == 1))
    require_consistent(is_output.all(), "numbers that σ does not give")
    return found


def _check_nodes(nodes: Integers, L: int) -> None:
    """Every node's next is before it, and its bounds hold for itself and for its next."""
    require_consistent(len(nodes), "no nodes")
    a, b, following = (nodes[:, column] for column in (arithmetic.A, arithmetic.B, arithmetic.NEXT))
    in_order = (following >= 0) & (following < np.maximum(1, np.arange(len(nodes))))
    require_consistent(in_order.all(), "stacks that do not end")
    require_consistent((abs(a) < arithmetic.LARGEST_DIGIT).all(), "digits that are too large")
    require_consistent(((b >= 0) & (b < L)).all(), "stacks that are no stacks")
    require_consistent(
        nodes[0, : arithmetic.MOVED].tolist() == [0, 0, 0, 0, 1, 0, 1], "an empty stack"
    )
    last = following == 0
    over = L - np.where(last, 0, b)
    for column, over_column, sign in (
        (arithmetic.LOW, arithmetic.LOW_OVER, 1),
        (arithmetic.HIGH, arithmetic.HIGH_OVER, -1),
    ):
        bound, bound_over = nodes[:, column], nodes[:, over_column]
        sizes = (abs(bound) < arithmetic.LARGEST_DIGIT) & (bound_over > 0) & (bound_over <= L)
        require_consistent(sizes.all(), "bounds that are too large")
        # τ(n) is a mean of f_n and τ(next n), and a_n/L at the end: by induction along the stack.
        own = sign * bound * over <= sign * a * bound_over
        deeper = sign * bound * bound_over[following] <= sign * bound[following] * bound_over
        require_consistent((own & (deeper | last)).all(), "bounds of other stacks")


def _check_lists(found: dict[str, Integers]) -> None:
    """The list of a vector has each coordinate once that may be other than 0, and marks it."""
    v, is_listed, listed, count = (found[name] for name in CHANGING[:4])
    on_list = np.arange(listed.shape[1]) < count[:, None]
    marked = np.zeros_like(is_listed)
    slots = np.nonzero(on_list)[0]
    np.add.at(marked, (slots, listed[on_list]), 1)
    require_consistent((marked == is_listed).all(), "lists of other coordinates")
    require_consistent(not v[is_listed == 0].any(), "numbers that are on no list")
