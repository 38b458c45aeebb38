"""The tape of a run, kept up from the symbols that a network says it writes."""

import numpy as np
from numpy.typing import NDArray

from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.machine.configuration import Tape


class WrittenTape:
    """A tape of codes that grows where it is written."""

    def __init__(self, blank: int, symbols: int) -> None:
        self.blank, self.symbols = blank, symbols
        self.origin = 0
        self.codes = np.full(0, blank, dtype=np.int64)
        self.lowest, self.highest = 0, -1

    @property
    def cells(self) -> int:
        """How many cells there are from the first to the last that was written."""
        return self.highest - self.lowest + 1

    def write(self, cells: NDArray[np.int64], codes: NDArray[np.int64]) -> None:
        """Write some codes, in order: the last one stays where a cell is written twice."""
        if not cells.size:
            return
        lowest, highest = int(cells.min()), int(cells.max())
        fresh = self.cells == 0
        self.lowest = lowest if fresh else min(self.lowest, lowest)
        self.highest = highest if fresh else max(self.highest, highest)
        self.reach(lowest, highest)
        self.codes[cells - self.origin] = codes

    def reach(self, lowest: int, highest: int) -> None:
        """Make room for some cells."""
        size = self.codes.size
        end = self.origin + size
        if self.origin <= lowest and highest < end:
            return
        room = size + 64
        first = min(self.origin, lowest - room) if lowest < self.origin else self.origin
        last = max(end, highest + room) if highest >= end else end
        larger = np.full(last - first, self.blank, dtype=np.int64)
        larger[self.origin - first : end - first] = self.codes
        self.codes, self.origin = larger, first

    def tape(self, symbols: list[str], blank: str) -> Tape:
        """What stands there; several codes may stand for the blank."""
        blanks = [code for code, symbol in enumerate(symbols) if symbol == blank]
        written = np.flatnonzero(~np.isin(self.codes, blanks))
        if not written.size:
            return Tape(0, ())
        first, last = int(written[0]), int(written[-1])
        cells = map(symbols.__getitem__, self.codes[first : last + 1].tolist())
        return Tape(self.origin + first, tuple(cells))

    def snapshot(self) -> Snapshot:
        """The tape."""
        place = [self.origin, self.lowest, self.highest]
        return {"tape_place": np.array(place, dtype=np.int64), "tape": self.codes.copy()}

    def restore(self, state: Snapshot) -> None:
        """The tape of a snapshot."""
        place = checked_array(state, "tape_place", (3,), -FARTHEST, FARTHEST)
        self.codes = checked_array(state, "tape", (None,), 0, self.symbols - 1).copy()
        self.origin, self.lowest, self.highest = place.tolist()
        lowest, end = self.lowest, self.highest + 1
        inside = self.origin <= lowest <= end <= self.origin + self.codes.size
        require_consistent(inside, "its tape ends before its cells do")
