"""Snapshots of a run at equal distances, which double when there are too many, and near a goal.

So continuing is cheap, going back a little is cheap, and a jump elsewhere costs a fraction of the
run. Runs of machines (`timeline`) and of networks (`engine.following.seek`) share this.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

FIRST_DISTANCE = 1 << 14
MOST_BOOKMARKS = 64
MOST_BYTES = 1 << 28  # for all bookmarks at equal distances
BEHIND = (1024, 32)  # distances before a far goal at which a bookmark is kept
NEAR_BOOKMARKS = 16


class Mark(Protocol):
    """A snapshot of a run."""

    @property
    def time(self) -> int:
        """The time of the snapshot."""

    @property
    def bytes(self) -> int:
        """Its size in memory."""


M = TypeVar("M", bound=Mark)


class Bookmarks(Generic[M]):
    """A sparse, bounded cache of snapshots, the first from the beginning of the run."""

    def __init__(self, first: M) -> None:
        self._marks = [first]
        self._near: deque[M] = deque(maxlen=NEAR_BOOKMARKS)
        self._distance = FIRST_DISTANCE
        self._stops: list[int] = []

    def last(self, time: int) -> M:
        """The last bookmark at or before a time."""
        far = self._marks[bisect_right(self._marks, time, key=lambda mark: mark.time) - 1]
        near = (mark for mark in self._near if mark.time <= time)
        return max([far, *near], key=lambda mark: mark.time)

    def set_out(self, now: int, time: int) -> None:
        """Plan the bookmarks near the end of a move from one time to another."""
        stops = [time - each for each in BEHIND if time - each > now]
        self._stops = stops if time - now > BEHIND[0] else []

    def goal(self, now: int, time: int) -> int:
        """The time at which the move should pause for the next bookmark."""
        grid = (now // self._distance + 1) * self._distance
        return min([time, grid, *self._stops[:1]])

    def pass_by(self, now: int, mark: Callable[[], M]) -> None:
        """Keep a bookmark if one is due; `mark` makes the snapshot."""
        if self._stops and now == self._stops[0]:
            self._near.append(mark())
            self._stops.pop(0)
        if now % self._distance == 0 and now > self._marks[-1].time:
            self._marks.append(mark())
            while len(self._marks) > 2 and self._are_too_many():
                self._distance *= 2
                self._marks = [each for each in self._marks if each.time % self._distance == 0]

    def _are_too_many(self) -> bool:
        size = sum(mark.bytes for mark in self._marks)
        return len(self._marks) > MOST_BOOKMARKS or size > MOST_BYTES
