"""A Transformer's decoder in 64-bit integers: its state, and the machine code that runs it.

Of all tokens that visited a cell only the value of the latest is kept: Lemma B.4 shows that an
older one loses against it for every query of the form that is checked, exactly, at every token. So
memory grows with the cells, not with the tokens. (The number of the visit before is kept too: it
may be the one that comes second.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.exact.rational import Rational
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.engine import Watch
from netwright.runtime.transformer import native
from netwright.runtime.transformer.arrays import (
    BEFORE,
    CELLS,
    FIRST_CELL,
    LATEST,
    STATUS,
    TOKENS,
    WANTED_CELL,
    kept_width,
)
from netwright.runtime.transformer.program import OUTPUT, STREAM, External, LastVisit, Mean, Program
from netwright.runtime.unsuitable import UnsuitableError

Integers = NDArray[np.int64]
MOST_CELLS = 1 << 27
_FIRST_CELLS = 1024
_FAR = 1 << 61
_REASONS = {
    native.OTHER_FORM: "no form of attention fits",
    native.TOO_LARGE: "too large for 64 bits",
}


class IntegerTransformer:
    """A decoder that runs a program: it does what the definition does, or `UnsuitableError`."""

    def __init__(
        self,
        network: Transformer,
        program: Program,
        seed: Vector,
        watches: tuple[Watch, ...] = (),
    ) -> None:
        self.network, self.program = network, program
        self._watches = len(watches)
        self._advance = native.native_code(program, network, watches)
        means = [each for each in program.instructions if isinstance(each, Mean)]
        layers = sum(isinstance(each, LastVisit) for each in program.instructions)
        self.state: dict[str, Integers] = {
            "clock": np.array([0, 0, -_FIRST_CELLS // 2, _FIRST_CELLS, 0, 0], dtype=np.int64),
            "stream": np.zeros(program.dimension, dtype=np.int64),
            "output": np.zeros(program.dimension, dtype=np.int64),
            "total": np.zeros(sum(len(each.terms) for each in means), dtype=np.int64),
            "visits": np.tile(np.array([_FAR, -_FAR]), (layers, 1)),
            "kept": np.zeros((layers, _FIRST_CELLS, kept_width(program)), dtype=np.int64),
        }
        """All that a run from here on depends on."""
        for k, number in seed.entries.items():
            self.state["output"][k] = int((number * program.vectors[OUTPUT][k].D).p)
        self._rows = _external_rows(program)

    @property
    def tokens(self) -> int:
        """How many tokens are done."""
        return int(self.state["clock"][TOKENS])

    def restore(self, state: Snapshot) -> None:
        """Go on from another state of the same decoder; FormatError if that is none.

        The code reads and writes `kept` between the first cell and as many as the clock says, and
        the other arrays at constant places.
        """
        most = (1 << 63) - 1
        shapes = {name: array.shape for name, array in self.state.items()}
        layers, _, width = shapes.pop("kept")
        found = {
            name: checked_array(state, name, shape, -most, most) for name, shape in shapes.items()
        }
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
        never = (visits == (_FAR, -_FAR)).all(axis=1)
        inside = (visits >= first) & (visits < first + cells)
        require_consistent((never | inside.all(axis=1)).all(), "visits outside of its cells")
        for k, bound in self.program.output_bound.items():
            require_consistent(abs(int(found["output"][k])) <= bound, "an output that is too large")
        self.state = {name: found[name].copy() for name in self.state}

    def advance(self, tokens: int) -> Integers:
        """Do so many tokens: the watches' codes for each; fewer only before `UnsuitableError`."""
        codes = np.empty((tokens, self._watches), dtype=np.int64)
        done, clock = 0, self.state["clock"]
        while done < tokens:
            names = ("stream", "output", "total", "visits", "kept")
            arrays = (*(self.state[name] for name in names), self._rows, clock)
            addresses = [array.ctypes.data for array in (*arrays, codes[done:])]
            done += self._advance(*addresses, tokens - done)
            if clock[STATUS] == native.MORE_CELLS:
                self._make_room(int(clock[WANTED_CELL]))
            elif clock[STATUS] != native.DONE:
                break
        if not done and tokens:
            raise UnsuitableError(f"token {self.tokens + 1}: {_REASONS[int(clock[STATUS])]}")
        return codes[:done]

    def _make_room(self, cell: int) -> None:
        """More cells, at least as many again, on the side where one is missing."""
        clock, old = self.state["clock"], self.state["kept"]
        layers, cells, width = old.shape
        first = int(clock[FIRST_CELL])
        to_the_left = cell < first
        missing = first - cell if to_the_left else cell - (first + cells) + 1
        added = max(cells, missing)
        at = added if to_the_left else 0
        try:
            if cells + added > MOST_CELLS:
                raise MemoryError
            kept = np.zeros((layers, cells + added, width), dtype=np.int64)
        except MemoryError:
            too_far = f"token {self.tokens + 1}: its cells are too far apart"
            raise UnsuitableError(too_far) from None
        kept[:, at : at + cells] = old
        self.state["kept"] = kept
        clock[FIRST_CELL], clock[CELLS] = first - at, cells + added

    @property
    def y(self) -> Vector:
        """The newest output."""
        return self._vector(OUTPUT, self.state["output"])

    @property
    def z(self) -> Vector:
        """What the last layer made of the newest token."""
        return self._vector(STREAM, self.state["stream"])

    def _vector(self, number: int, numbers: Integers) -> Vector:
        entries: dict[int, Rational] = {}
        for k in np.flatnonzero(numbers).tolist():
            scale = self.program.vectors[number][k]
            entries[k] = Rational(int(numbers[k]), scale.D * self.tokens**scale.e)
        return Vector(self.network.layout, entries)


def _external_rows(program: Program) -> NDArray[Any]:
    """What the external attentions add, as the code expects it."""
    parts: list[Integers] = []
    for each in program.instructions:
        if isinstance(each, External):
            places = {column: n for n, column in enumerate(native.external_columns(each))}
            table = np.zeros((len(each.rows), len(places)), dtype=np.int64)
            for number, row in enumerate(each.rows):
                for term in row:
                    table[number, places[term.target, term.power]] = term.factor
            parts.append(table.ravel())
    return np.concatenate(parts) if parts else np.zeros(1, dtype=np.int64)
