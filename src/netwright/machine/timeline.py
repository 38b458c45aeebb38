"""Random access to a machine's run on a word: where the head was, and what it wrote.

    timeline = Timeline(machine, word)
    timeline.end                      the time at which it halts, once that is reached
    timeline.at(10**7)                state, symbol, head and step
    timeline.visits(10**7, -5, 5)     the last two visits of these cells before that time
    timeline.diagram(...)             tape and head over time, as an image

Snapshots (`bookmarks`) make going back cheap. A time is that of the machine: time t is the
configuration after t steps.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.arrays import IntArray
from netwright.machine.bookmarks import Bookmarks
from netwright.machine.normal_form import NormalMachine
from netwright.machine.packed import Cells, rule_table
from netwright.machine.turing_machine import Action, TuringMachine

ROW, HEAD, TIME, STEPS = range(4)
AT_ONCE = 1 << 22  # steps between two checks whether to stop: about 30 ms
SHORT = 1 << 14  # steps that take Python less time than loading the compiler
MOST_CELLS = 1 << 22


class Instant(NamedTuple):
    """A moment of a run."""

    time: int
    state: str
    symbol: str
    head: int
    step: int
    """The number of counted steps; −1 before the first configuration that counts."""


class Diagram(NamedTuple):
    """Tape and head over time, for a picture."""

    image: NDArray[np.uint8]
    """Shades by column and row: 0 if all cells are blank, up to 255."""
    lowest: IntArray
    """By column: the lowest cell that the head visited."""
    highest: IntArray


class _Place(NamedTuple):
    """A configuration in arrays: the tape, and for each cell 1 + its last two visits, or 0."""

    origin: int
    position: IntArray
    tape: Cells
    latest: IntArray
    before: IntArray

    @property
    def time(self) -> int:
        """The time of the configuration."""
        return int(self.position[TIME])

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return sum(array.nbytes for array in self[1:])

    def copy(self) -> "_Place":
        return _Place(self.origin, *(array.copy() for array in self[1:]))

    def within(self, first: int, last: int, blank: int) -> "_Place":
        """A copy with room for all cells from `first` to `last`."""
        end = self.origin + self.tape.size
        if first >= self.origin and last < end:
            return self.copy()
        first, last = min(first, self.origin), max(last + 1, end)
        at = slice(self.origin - first, end - first)
        found = _Place(
            first,
            self.position.copy(),
            np.full(last - first, blank, dtype=self.tape.dtype),
            np.zeros(last - first, dtype=np.int64),
            np.zeros(last - first, dtype=np.int64),
        )
        for larger, array in zip(found[2:], self[2:], strict=True):
            larger[at] = array
        found.position[HEAD] += self.origin - first
        return found


def _advance(
    rules: Any, counted: Any, position: Any, tape: Any, latest: Any, before: Any, limit: int
) -> None:
    """Step until the machine halts, the head is off either end, or `limit` is reached."""
    row, head, time, steps = position
    cells = tape.size
    while time < limit and 0 <= head < cells:
        rule = rules[row + tape[head]]
        if rule < 0:
            break
        time += 1
        before[head] = latest[head]
        latest[head] = time
        tape[head] = (rule >> 2) & 0x3FFFFFFF
        head += (rule & 3) - 1
        row = rule >> 32
        steps += counted[row]
    position[0], position[1], position[2], position[3] = row, head, time, steps


def _draw(
    rules: Any,
    position: Any,
    tape: Any,
    times: Any,
    edges: Any,
    levels: Any,
    image: Any,
    heads: Any,
) -> None:
    """Draw columns: the tape at each of `times`, and the head's range up to the next."""
    row, head, time, steps = position
    outside = levels[levels.size - 1]
    for column in range(image.shape[0]):
        for y in range(image.shape[1]):
            first, last = edges[y], edges[y + 1]
            stride = max(1, (last - first) // 16)
            total, seen, cell = 0, 0, first
            while cell < last:
                total += levels[tape[cell]] if 0 <= cell < tape.size else outside
                seen += 1
                cell += stride
            image[column, y] = total // max(1, seen)
        low = high = head
        while time < times[column + 1]:
            rule = rules[row + tape[head]]
            if rule < 0:
                time = times[column + 1]
                break
            time += 1
            tape[head] = (rule >> 2) & 0x3FFFFFFF
            head += (rule & 3) - 1
            row = rule >> 32
            if time < times[column + 1]:
                low = min(low, head)
                high = max(high, head)
        heads[column, 0], heads[column, 1] = low, high
    position[0], position[1], position[2], position[3] = row, head, time, steps


class Timeline:
    """The run of a machine on a word, explored on demand."""

    def __init__(
        self,
        machine: TuringMachine,
        word: Sequence[str],
        head: int = 0,
        *,
        limit: int = 100_000_000,
        counts: Callable[[str], bool] = lambda state: True,
    ) -> None:
        self.word = symbols = machine.check_word(word)
        self.machine, self.limit, self.start, self.counts = machine, limit, head, counts
        self.lock = RLock()
        """Held while the timeline moves, so that threads may share it."""
        self.cut = ""
        """Why `limit` was lowered, if it was."""
        self.end: int | None = None
        """The time at which the machine halts, once that is reached."""
        self._rules, states, indices = rule_table(machine)
        self._width, self._blank = len(indices), indices[machine.blank]
        self._counted = np.repeat(
            np.array([counts(state) for state in machine.states], dtype=np.int64), self._width
        )
        dtype = np.uint8 if self._width <= 256 else np.int32
        tape = np.array([indices[symbol] for symbol in symbols], dtype=dtype)
        row, never = states[machine.start] * self._width, np.zeros(tape.size, dtype=np.int64)
        position = np.array([row, head, 0, int(self._counted[row]) - 1], dtype=np.int64)
        first, last = min(0, head) - 64, max(tape.size, head) + 63
        self._here = _Place(0, position, tape, never, never).within(first, last, self._blank)
        self._marks = Bookmarks(self._here.copy())
        self.at = lru_cache(maxsize=4096)(self._at)
        """Return the configuration at a time, or None past the end or the limit; cached."""
        self.reached = 0
        """The latest time explored."""
        self.lowest = min(head, 0 if symbols else head)
        """With `highest`: the range of the cells of the input and those that the head visited."""
        self.highest = max(head, len(symbols) - 1)

    # Moving.

    def explore(self, time: int, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Explore up to a time, the end or the limit; return False if `go_on` returned False."""
        with self.lock:
            while self.reached < min(time, self.limit) and self.end is None:
                if not go_on():
                    return False
                self._go(min(time, self.reached + AT_ONCE))
        return True

    def _go(self, time: int) -> None:
        """Move to a time, or to the last one before it."""
        mark = self._marks.last(time)
        if not mark.time <= self._here.time <= time:
            self._here = mark.within(self.lowest - 1, self.highest + 1, self._blank)
        self._marks.set_out(self._here.time, time)
        while (now := self._here.time) < min(time, self.limit):
            goal = min(self._marks.goal(now, time), self.limit)
            if now < SHORT:
                goal = min(goal, SHORT)
            arguments = (self._rules, self._counted, *self._here[1:])
            self._loop(_advance, now + 1, *arguments, now)(*arguments, goal)
            head, found = map(int, self._here.position[[HEAD, TIME]])
            if not 0 <= head < self._here.tape.size:
                self._make_room()
            elif found < goal:
                self.end = found
                break
            self._marks.pass_by(found, self._here.copy)
        self._know()

    def _know(self) -> None:
        """Update `reached`, `lowest` and `highest`."""
        time, head = int(self._here.position[TIME]), int(self._here.position[HEAD])
        if time <= self.reached and time:
            return
        self.reached = time
        visited = np.flatnonzero(self._here.latest)
        inside = [head, *(visited[[0, -1]].tolist() if visited.size else [])]
        self.lowest = min(self.lowest, min(inside) + self._here.origin)
        self.highest = max(self.highest, max(inside) + self._here.origin)

    def _make_room(self) -> None:
        place = self._here
        size, to_the_left = place.tape.size, int(place.position[HEAD]) < 0
        if size > MOST_CELLS:
            self.limit, self.cut = int(place.position[TIME]), "its tape becomes too long for more"
        first = place.origin - (size if to_the_left else 0)
        last = place.origin + size - 1 + (0 if to_the_left else size)
        self._here = place.within(first, last, self._blank)

    @staticmethod
    def _loop(function: Callable[..., None], work: int, *sample: Any) -> Callable[..., None]:
        """Return the function, compiled if there is much work."""
        if work <= SHORT:
            return function
        from netwright.jit import compiled

        return compiled(function, *sample).loop

    # Looking.

    def _stand(self, time: int) -> bool:
        """Move to a time; return False if the end or the limit comes first."""
        if time < 0:
            raise InputError(f"a machine has no time {time}")
        self._go(time)
        return int(self._here.position[TIME]) == time

    def _at(self, time: int) -> Instant | None:
        with self.lock:
            if not self._stand(time):
                return None
            row, head, _, step = map(int, self._here.position)
            inside = 0 <= head < self._here.tape.size
            symbol = int(self._here.tape[head]) if inside else self._blank
            return Instant(
                time,
                self.machine.states[row // self._width],
                self.machine.symbols[symbol],
                head + self._here.origin,
                step,
            )

    def action(self, time: int) -> Action | None:
        """Return the rule applied at a time, or None."""
        now = self.at(time)
        return self.machine.action(now.state, now.symbol) if now else None

    def cells(self, time: int, first: int, last: int) -> list[str]:
        """The symbols of cells `first` to `last` at a time, or at the last one before it."""
        with self.lock:
            self._stand(time)
            codes = self._part(self._here.tape, first, last, self._blank)
            return [self.machine.symbols[code] for code in codes]

    def visits(self, time: int, first: int, last: int) -> list[tuple[int | None, int | None]]:
        """The last two visits of each cell before a time, the latest first."""
        with self.lock:
            self._stand(time)
            latest, before = (
                [code - 1 if code else None for code in self._part(array, first, last, 0)]
                for array in (self._here.latest, self._here.before)
            )
            return list(zip(latest, before, strict=True))

    def _part(self, array: NDArray[Any], first: int, last: int, outside: int) -> list[int]:
        start, stop = first - self._here.origin, last - self._here.origin + 1
        inside: list[int] = array[max(0, start) : max(0, stop)].tolist()
        left = min(max(0, -start), stop - start)
        return [outside] * left + inside + [outside] * (stop - start - left - len(inside))

    # Pictures.

    def diagram(
        self, start: int, stop: int, columns: int, first: int, last: int, rows: int
    ) -> Diagram:
        """Draw times `start` to `stop` (exclusive) and cells `first` to `last`.

        Symbols are shades in the machine's order, the blank 0. A row that covers several cells has
        their mean.
        """
        with self.lock:
            self.explore(stop)
            self._stand(start)
            place = self._here.within(self.lowest - 1, self.highest + 1, self._blank)
            times = start + (stop - start) * np.arange(columns + 1, dtype=np.int64) // columns
            edges = first + (last + 1 - first) * np.arange(rows + 1, dtype=np.int64) // rows
            edges[1:] = np.maximum(edges[1:], edges[:-1] + 1)
            image = np.zeros((columns, rows), dtype=np.uint8)
            heads = np.zeros((columns, 2), dtype=np.int64)
            arguments = (self._rules, place.position, place.tape)
            more = (times, edges - place.origin, self.levels(), image, heads)
            empty = (*more[:-2], image[:0], heads[:0])
            work = stop - start + columns * rows
            self._loop(_draw, work, *arguments, *empty)(*arguments, *more)
            return Diagram(image, *(heads.T + place.origin))

    def levels(self) -> IntArray:
        """A shade for each symbol; the last is the blank's, for cells outside the array."""
        others = [n for n in range(self._width) if n != self._blank]
        levels = np.zeros(self._width + 1, dtype=np.int64)
        for place, n in enumerate(others, start=1):
            levels[n] = 255 * (place + 1) // (len(others) + 1)
        return levels


def normal_timeline(normal: NormalMachine, word: Sequence[str], **options: int) -> Timeline:
    """The timeline of a machine in normal form; it counts steps of the given machine."""
    counts = normal.is_given_state
    return Timeline(normal.machine, normal.check_word(word), -1, counts=counts, **options)
