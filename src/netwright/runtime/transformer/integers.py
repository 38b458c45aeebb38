"""A Transformer's decoder in 64-bit integers: its state, and the machine code that runs it.

Of all tokens that visited a cell only the value of the latest is kept: Lemma B.4 shows that an
older one loses against it for every query of the form that is checked, exactly, at every token. So
memory grows with the cells, not with the tokens. (The number of the visit before is kept too: it
may be the one that comes second.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.engine.moments import UnsuitableError, Watch
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.transformer import native
from netwright.runtime.transformer.arrays import (
    STATUS,
    TOKENS,
    WANTED_CELL,
    Integers,
    checked_state,
    first_state,
    vector_of,
    with_more_cells,
)
from netwright.runtime.transformer.program import OUTPUT, STREAM, External, Program

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
        self.state = first_state(program, seed)
        """All that a run from here on depends on."""
        self._rows = _external_rows(program)

    has_stream = True
    """Whether z is known: it is stored at every token."""

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return int(self.state["clock"][TOKENS])

    def snapshot(self) -> Snapshot:
        """The state, copied."""
        return {name: array.copy() for name, array in self.state.items()}

    def restore(self, state: Snapshot) -> None:
        """Go on from another state of the same decoder; FormatError if that is none."""
        found = checked_state(self.program, state)
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
            raise UnsuitableError(f"token {self.moments + 1}: {_REASONS[int(clock[STATUS])]}")
        return codes[:done]

    def _make_room(self, cell: int) -> None:
        """More cells, at least as many again, on the side where one is missing."""
        found = with_more_cells(self.state["clock"], self.state["kept"], cell)
        if found is None:
            raise UnsuitableError(f"token {self.moments + 1}: its cells are too far apart")
        self.state["kept"] = found

    @property
    def y(self) -> Vector:
        """The newest output."""
        numbers = self.state["output"]
        return vector_of(self.program, OUTPUT, numbers, self.moments, self.network.layout)

    @property
    def z(self) -> Vector:
        """What the last layer made of the newest token."""
        numbers = self.state["stream"]
        return vector_of(self.program, STREAM, numbers, self.moments, self.network.layout)


def _external_rows(program: Program) -> NDArray[Any]:
    """What the external attentions add, as the code expects it."""
    parts: list[Integers] = []
    for each in program.instructions:
        if isinstance(each, External):
            columns = [each.columns[k][1] for k, _ in native.external_columns(each)]
            parts.append(np.array(columns, dtype=np.int64).T.ravel())
    return np.concatenate(parts) if parts else np.zeros(1, dtype=np.int64)
