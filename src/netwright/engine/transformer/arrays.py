"""The state of a decoder in 64-bit integers: layout of its arrays, initial values, snapshots.

For each cell only the value of its latest visit is kept: Lemma B.4 shows that an older one loses
against it for every query of the form that is checked, exactly, at every token. So memory grows
with the cells, not with the tokens. (The number of the visit before is kept too: it may have the
second-best score.)
"""

import numpy as np

from netwright.engine.transformer.program import OUTPUT, LastVisit, Mean, Program
from netwright.exact.arrays import IntArray
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector

FIRST_CELLS = 64
MOST_CELLS = 1 << 27
FAR = 1 << 61
"""The lowest cell, and minus the highest, before any visit."""

DONE, OTHER_FORM, TOO_LARGE, MORE_CELLS = range(4)
"""Why the loop ended: tokens done, attention of no known form, overflow, a cell out of range."""
# Fields of clock: tokens done, why the loop ended, the first cell, the number of cells, a cell that
# may be out of range, and one number for the engine's own use.
TOKENS, STATUS, FIRST_CELL, CELLS, WANTED_CELL, OWN = range(6)
# Fields of visits, per layer: the lowest and the highest cell visited.
LOWEST, HIGHEST = range(2)
# Fields of a row of kept: the token of the latest visit of a cell, that of the visit before, and
# the value of the latest.
LATEST, BEFORE, VALUE = range(3)


def kept_width(program: Program) -> int:
    """The length of a cell's row: two visits, and a value."""
    lengths = (len(each.terms) for each in program.instructions if isinstance(each, LastVisit))
    return VALUE + max(lengths, default=0)


def first_state(program: Program, seed: Vector) -> dict[str, IntArray]:
    """The state of a run before its first token."""
    means = [each for each in program.instructions if isinstance(each, Mean)]
    layers = sum(isinstance(each, LastVisit) for each in program.instructions)
    output = np.zeros(program.dimension, dtype=np.int64)
    for k, number in seed.entries.items():
        output[k] = int((number * program.vectors[OUTPUT][k].D).p)
    return {
        "clock": np.array([0, 0, -FIRST_CELLS // 2, FIRST_CELLS, 0, 0], dtype=np.int64),
        "stream": np.zeros(program.dimension, dtype=np.int64),
        "output": output,
        "total": np.zeros(sum(len(each.terms) for each in means), dtype=np.int64),
        "visits": np.tile(np.array([FAR, -FAR]), (layers, 1)),
        "kept": np.zeros((layers, FIRST_CELLS, kept_width(program)), dtype=np.int64),
    }


def checked_state(program: Program, state: Snapshot) -> dict[str, IntArray]:
    """The arrays of a snapshot; raise FormatError if no run of this program can have them.

    Machine code accesses `kept` in the cells that the clock claims, and the other arrays at
    constant places.
    """
    first_arrays = first_state(program, Vector(Layout(()), {}))
    most = (1 << 63) - 1
    shapes = {name: array.shape for name, array in first_arrays.items()}
    layers, _, width = shapes.pop("kept")
    found = {name: checked_array(state, name, shape, -most, most) for name, shape in shapes.items()}
    found["kept"] = checked_array(state, "kept", (layers, None, width), -most, most)
    clock, kept = found["clock"], found["kept"]
    first, cells = int(clock[FIRST_CELL]), int(clock[CELLS])
    require_consistent(1 <= cells == kept.shape[1] <= MOST_CELLS, f"{cells} cells")
    require_consistent(abs(first) <= FARTHEST, f"a first cell {first}")
    require_consistent(0 < clock[TOKENS] <= FARTHEST, "no tokens")
    latest, before = kept[:, :, LATEST], kept[:, :, BEFORE]
    in_order = (before >= 0) & (before <= latest) & (latest <= clock[TOKENS])
    require_consistent(in_order.all(), "visits at no time of its run")
    visits = found["visits"]
    never = (visits == (FAR, -FAR)).all(axis=1)
    inside = (visits >= first) & (visits < first + cells)
    require_consistent((never | inside.all(axis=1)).all(), "visits outside of its cells")
    for k, bound in program.output_bound.items():
        require_consistent(abs(int(found["output"][k])) <= bound, "an output that is too large")
    return found


def with_more_cells(clock: IntArray, old: IntArray, cell: int) -> IntArray | None:
    """`kept` with at least twice the cells, so that `cell` is among them; update the clock.

    Return None if the cells are too far apart.
    """
    layers, cells, width = old.shape
    first = int(clock[FIRST_CELL])
    to_the_left = cell < first
    missing = first - cell if to_the_left else cell - (first + cells) + 1
    added = max(cells, missing)
    at = added if to_the_left else 0
    try:
        if cells + added > MOST_CELLS:
            return None
        kept = np.zeros((layers, cells + added, width), dtype=np.int64)
    except MemoryError:
        return None
    kept[:, at : at + cells] = old
    clock[FIRST_CELL], clock[CELLS] = first - at, cells + added
    return kept


def vector_of(
    program: Program, number: int, numbers: IntArray, tokens: int, layout: Layout
) -> Vector:
    """A vector of a program in rationals, at the position `tokens`."""
    entries: dict[int, Rational] = {}
    for k in np.flatnonzero(numbers).tolist():
        scale = program.vectors[number][k]
        entries[k] = Rational(int(numbers[k]), scale.D * tokens**scale.e)
    return Vector(layout, entries)
