"""What a token attends to in a layer that looks for a last visit, from the state before it."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from netwright.engine.transformer.arrays import BEFORE, FIRST_CELL, LATEST, VALUE
from netwright.engine.transformer.attention import LastVisitForm
from netwright.engine.transformer.program import LastVisit, Program
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector

State = Mapping[str, NDArray[np.int64]]
"""The arrays of `arrays.first_state`."""


class Visit:
    """The last visit that token t attends to in one layer, from the state before it."""

    def __init__(
        self,
        state: State,
        program: Program,
        attention: LastVisit,
        layer: int,
        t: int,
        q: Vector,
        k: Vector,
    ) -> None:
        self.form, self.layer, self.t, self.q = LastVisitForm(attention.places), layer, t, q
        self.layout = k.layout
        here, wanted = self.form.cell_of_key(k, t), self.form.cell_of_query(q, t)
        self.here, self.wanted = int(here.p), int(wanted.p)
        self.winner, self.winning_key = t, k
        self.value: Vector | None = None
        """That of the winner; None where that is token t itself."""
        kept, first = self._cells(state)
        place = self.wanted - first
        if wanted != here and 0 <= place < len(kept) and kept[place, LATEST]:
            self.winner = int(kept[place, LATEST])
            self.winning_key = self._key(self.winner, self.wanted)
            scales = program.vectors[attention.value]
            row = kept[place, VALUE:].tolist()
            self.value = Vector(
                k.layout,
                {
                    term.source: Rational(number, scales[term.source].D)
                    for term, number in zip(attention.terms, row, strict=False)
                },
            )

    def _cells(self, state: State) -> tuple[NDArray[np.int64], int]:
        """The rows of all cells, and the first cell."""
        return state["kept"][self.layer], int(state["clock"][FIRST_CELL])

    def _key(self, token: int, cell: int) -> Vector:
        return Vector(self.layout, self.form.key(token, cell * ONE))

    def rivals(self, state: State) -> dict[int, Vector]:
        """The tokens of which one comes second, with their keys, from the state before token t.

        The latest visits of other cells, of which floating point leaves the nearest, and the visit
        before the winner's to its own cell (see `attention`).
        """
        kept, first = self._cells(state)
        latest, before = kept[:, LATEST], kept[:, BEFORE]
        own = self.here if self.winner == self.t else self.wanted
        cells = np.flatnonzero(latest) + first
        cells = cells[(cells != own) & (cells != self.here)]
        times = latest[cells - first]
        if self.here != own:
            cells, times = np.append(cells, self.here), np.append(times, self.t)
        found = {}
        if cells.size:
            away = (self.wanted - cells).astype(float)
            distances = self.form.distances(self.t, away, times.astype(float))
            near = distances <= distances.min() * (1 + 1e-9)
            for cell, time in zip(cells[near].tolist(), times[near].tolist(), strict=True):
                found[time] = self._key(time, cell)
        if 0 <= own - first < len(kept):
            # Token t itself is not yet among the visits.
            again = int((latest if own == self.here else before)[own - first])
            if again:
                found[again] = self._key(again, own)
        return found
