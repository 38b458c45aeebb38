"""Networks with stacks, moment by moment: by the definition, or in `stacks.arithmetic`.

All that such a network is at a moment is the vectors of its cells, so either way can take over from
the other at any moment. A run begins by the definition, goes on in `stacks.arithmetic` while every
number is 0, 1 or a stack, and by the definition, in big numbers, from the moment on where one is
not.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector
from netwright.runtime.engine import DefinitionFirst, Watch
from netwright.runtime.unsuitable import UnsuitableError

if TYPE_CHECKING:
    from netwright.runtime.stacks.network import StackNetwork


class StackPlace(NamedTuple):
    """Where an engine stands: its moments, its cells, and the arrays of its stacks."""

    moments: int
    cells: Sequence[Vector]
    before: Sequence[Vector]
    reason: str | None
    arrays: Snapshot | None

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        return 0 if self.arrays is None else sum(each.nbytes for each in self.arrays.values())


class StackEngine(ABC):
    """The cells at times 0, 1, 2, …, the watches being on cells by their numbers.

    The first `reference_steps` moments are by the definition, unless the loops are compiled already
    or half a second has passed, so that a short run waits for nothing. Rows of codes end with a
    moment where the last watch has a code in `stops`, or a negative one.
    """

    loop: str
    """The name of the loop that `_stacks` needs, in `stacks.loops`."""
    earliest = 0
    """How many moments there must be before stacks can take over."""

    def __init__(
        self,
        cells: Sequence[Vector],
        watches: Sequence[Watch],
        stops: Sequence[int],
        reference_steps: int,
    ) -> None:
        self.watches, self.stops = tuple(watches), tuple(stops)
        self.by_definition = DefinitionFirst(0 if self._is_compiled() else reference_steps)
        self.moments = 0
        self.compile_seconds = 0.0
        self.reason: str | None = None
        """Why its numbers are big ones."""
        self._stack: StackNetwork | None = None
        self._made: StackNetwork | None = None
        """What `_stack` is when there are stacks; it is made once."""
        self._cells: Sequence[Vector] = cells
        self._before: Sequence[Vector] = cells

    @abstractmethod
    def _step(self, cells: Sequence[Vector]) -> Sequence[Vector]:
        """The cells at the next moment, by the definition."""

    def _is_compiled(self) -> bool:
        """Whether the loop is at hand in this process; asking does not import the compiler."""
        loops = sys.modules.get("netwright.runtime.stacks.loops")
        if loops is None:
            return False
        from netwright.jit import is_compiled

        return is_compiled(getattr(loops, self.loop))

    @abstractmethod
    def _stacks(self) -> "StackNetwork":
        """The network in `stacks.arithmetic`."""

    @property
    def fast(self) -> bool:
        """Whether the first moments are over."""
        return self.moments > self.by_definition.moments or not self.by_definition.moments

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """The vector of the cell with this number, now or one moment before."""
        number = int(name)
        if self._stack is not None:
            return self._stack.cell(number, before=before)
        return (self._before if before else self._cells)[number]

    def advance(self, count: int) -> NDArray[np.int64]:
        """The codes of the next moments."""
        begun = self._stack is not None or self.reason is not None
        if not begun and self.by_definition.is_over(self.moments - 1, self.earliest):
            self.by_definition.end(self.moments - 1)
            self._begin_with_stacks()
        if self._stack is not None:
            try:
                codes = self._stack.advance(count)
                self.moments += len(codes)
                return codes
            except UnsuitableError as unsuitable:
                self._cells = [self._stack.cell(number) for number in range(len(self._cells))]
                self._stack, self.reason = None, str(unsuitable)
        if self.moments:
            self._before, self._cells = self._cells, self._step(self._cells)
        self.moments += 1
        row = [watch.code(self._cells[int(watch.vector)]) for watch in self.watches]
        return np.array([row], dtype=np.int64)

    def _begin_with_stacks(self) -> None:
        try:
            stack = self._prepared()
            stack.set_cells(self._cells)
            self._stack = stack
        except UnsuitableError as unsuitable:
            self.reason = str(unsuitable)

    def _prepared(self) -> "StackNetwork":
        if self._made is None:
            started = perf_counter()
            try:
                self._made = self._stacks()
            finally:
                self.compile_seconds += perf_counter() - started
        return self._made

    def cells(self) -> list[Vector]:
        """The vectors of all cells."""
        return [self.vector(str(number)) for number in range(len(self._cells))]

    def place(self) -> StackPlace:
        """A bookmark for `go_back`."""
        arrays = None if self._stack is None else self._stack.snapshot()
        return StackPlace(self.moments, self._cells, self._before, self.reason, arrays)

    def go_back(self, place: StackPlace) -> None:
        """Stand where the engine stood."""
        self.moments, self._cells, self._before, self.reason, arrays = place
        self._stack = None
        if arrays is not None:
            self._stack = self._prepared()
            self._stack.put(arrays)

    def snapshot(self) -> Snapshot:
        """The stacks, or only how many moments there were."""
        state = dict(self._stack.snapshot()) if self._stack is not None else {}
        return {"moments": np.array([self.moments]), **state}

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot."""
        moments = int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])
        if len(state) > 1:
            try:
                stack = self._prepared()
            except UnsuitableError as unsuitable:
                require_consistent(False, f"it has stacks, but {unsuitable}")
            stack.restore(state)
            self.moments, self._stack = moments, stack
        while self.moments < moments:
            self.advance(moments - self.moments)
