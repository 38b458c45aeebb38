"""Bookmarks of a run: at equal distances, which double when there are too many, and near a goal.

So going on is cheap, going back a little is cheap, and going anywhere else costs a fraction of the
run. The runs of machines (`timeline`) and of networks (`engine.following.seek`) use the same.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

FIRST_DISTANCE = 1 << 14
MOST_BOOKMARKS = 64
MOST_BYTES = 1 << 28  # of all bookmarks at equal distances
BEHIND = (1024, 32)  # distances before a far goal at which a bookmark is kept
NEAR_BOOKMARKS = 16


class Mark(Protocol):
    """A place of a run."""

    @property
    def time(self) -> int:
        """When that was."""

    @property
    def bytes(self) -> int:
        """How much memory it takes."""


M = TypeVar("M", bound=Mark)


class Bookmarks(Generic[M]):
    """Some places of a run, from its beginning on."""

    def __init__(self, first: M) -> None:
        self._marks = [first]
        self._near: deque[M] = deque(maxlen=NEAR_BOOKMARKS)
        self._distance = FIRST_DISTANCE
        self._stops: list[int] = []

    def last(self, time: int) -> M:
        """The last bookmark that is not beyond a time."""
        far = self._marks[bisect_right(self._marks, time, key=lambda mark: mark.time) - 1]
        near = (mark for mark in self._near if mark.time <= time)
        return max([far, *near], key=lambda mark: mark.time)

    def set_out(self, now: int, time: int) -> None:
        """Before a way from one time to another: where to keep bookmarks near its end."""
        stops = [time - each for each in BEHIND if time - each > now]
        self._stops = stops if time - now > BEHIND[0] else []

    def goal(self, now: int, time: int) -> int:
        """How far to go on this way before the next bookmark."""
        grid = (now // self._distance + 1) * self._distance
        return min([time, grid, *self._stops[:1]])

    def pass_by(self, now: int, mark: Callable[[], M]) -> None:
        """Keep a bookmark of now, if there is to be one."""
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
