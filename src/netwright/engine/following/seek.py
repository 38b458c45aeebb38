"""Random access to the moments of a network's run: an engine and its follower, with bookmarks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from netwright.engine.following.drive import OngoingRun
from netwright.engine.moments import Codes, Place, SeekableEngine
from netwright.errors import NetworkError
from netwright.exact.snapshot import Snapshot
from netwright.machine.bookmarks import Bookmarks

if TYPE_CHECKING:
    from netwright.machine.simulate import Run

S = TypeVar("S", bound=SeekableEngine)
X = TypeVar("X")


class Bookmark(NamedTuple):
    """The engine and the follower at a moment; the follower is None if it lost the machine."""

    time: int
    engine: Place
    follower: Snapshot | None

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        arrays = self.follower.values() if self.follower is not None else ()
        return self.engine.bytes + sum(array.nbytes for array in arrays)


class Seeker(Generic[S]):
    """A run that can be moved to any moment up to its end."""

    def __init__(self, ongoing: OngoingRun[S]) -> None:
        self.ongoing = ongoing
        self.end: int | None = None
        """The last moment, once it is known."""
        self.lost: tuple[int, NetworkError] | None = None
        """The first moment that shows no machine, and the error it raises, once known."""
        self.result: Run | None = None
        """The run, once its end is known."""
        self._following = True
        self._moving = False
        """Whether a move is in progress, or was left unfinished by an exception."""
        self._marks = Bookmarks(self._bookmark())

    @property
    def moments(self) -> int:
        """The current moment."""
        return self.ongoing.moments.moments

    @property
    def _at_once(self) -> int:
        return self.ongoing.moments.most_at_once

    def nearest(self, moments: int) -> int:
        """The moment from which a move to `moments` would start."""
        mark = self._marks.last(moments).time
        return self.moments if mark <= self.moments <= moments and not self._moving else mark

    def reaches(self, moments: int, *, even_if_lost: bool = True) -> bool:
        """Move to a moment; return False, at any position, if the run or its limit ends before."""
        if moments > (self.ongoing.follower.most_moments if self.end is None else self.end):
            return False
        mark = self._marks.last(moments)
        if self._moving or not mark.time <= self.moments <= moments:
            self._go_to(mark)
        self._moving = True
        self._marks.set_out(self.moments, moments)
        while self.moments < moments and (self.end is None or self.end >= moments):
            if self.lost is not None and not even_if_lost:
                break
            count = self._marks.goal(self.moments, moments) - self.moments
            if self._following and not self._has_ended():
                # Not past the limit: the result is read off the engine at its current moment.
                count = min(count, max(1, self.ongoing.follower.remaining()))
            self._take(self.ongoing.moments.advance(min(count, self._at_once)))
            if self._has_ended():
                continue  # no bookmark: from one, the run would continue past its end
            self._marks.pass_by(self.moments, self._bookmark)
        self._moving = False
        return self.end is None or self.end >= moments

    def go_to_the_end(self) -> int:
        """Move to the last moment and return it; NetworkError if the machine is lost before."""
        while self.end is None:
            if self.lost is not None:
                raise self.lost[1]
            most = self.ongoing.follower.most_moments
            if self._following and not self._moving and self.moments >= most:
                self.ongoing.follower.remaining()  # raises NetworkError: no run is that long
            self.reaches(min(self.moments + self._at_once, most), even_if_lost=False)
        return self.end

    def advance_by(self, moment: Callable[[], tuple[X, Codes]]) -> X:
        """Call a function that makes the engine do one moment, and follow its codes."""
        self._moving = True
        found, codes = moment()
        self._take(codes)
        self._moving = False
        return found

    def _has_ended(self) -> bool:
        return self.ongoing.follower.outcome is not None

    def _take(self, codes: Codes) -> None:
        follower = self.ongoing.follower
        if not self._following or self._has_ended():
            return
        try:
            follower.take(codes)
        except NetworkError as error:
            self._following, self.lost = False, (follower.shown + 1, error)
        if self._has_ended() and self.end is None:
            try:
                self.result = self.ongoing.reached()
            except NetworkError as error:  # a tape that cannot be read
                self.lost = (follower.shown, error)
            self.end = follower.shown  # last: Ctrl-C may come before

    def _bookmark(self) -> Bookmark:
        follower = self.ongoing.follower.snapshot() if self._following else None
        return Bookmark(self.moments, self.ongoing.moments.place(), follower)

    def _go_to(self, mark: Bookmark) -> None:
        self.ongoing.moments.go_back(mark.engine)
        self._following = mark.follower is not None
        if mark.follower is not None:
            self.ongoing.follower.put(mark.follower)
            self.ongoing.follower.outcome = None
