"""Stacks as runs of equal digits, and a loop that does a whole run at once.

An entry (see `entries`) depends only on the digits that it reads. Suppose that the next entry is
looked up where this one was, and that the digits read are the same after it. Then it is followed by
itself. `_repetitions` says how often that holds for certain, one stack at a time: each stack either
stays as it is, or grows or shrinks by one digit of the run on its top. So all of these moments are
done by changing one count of each stack: a *move*. The loop knows no network and no machine.

The same holds for a short cycle of entries. It removes the p digits on top of a stack and none
below them, and reads at most `DEPTH` digits at a time, so it depends only on the `window`: the
p + DEPTH digits on top (more than there are, if it empties the stack).
If it leads back to its first entry with the same windows, it does the same again. `_cycles` looks
for stacks in which one run has become longer or shorter and all else in the window is the same; the
next cycles do the same to it as long as the window ends inside of that run.

An entry may do several moments, if it is one of blocks of digits (`exact.blocks`). Its code is that
of a piece of the run: `Pieces` has the codes, and followers know what a piece does.

The loop is compiled. Counts that may not fit in 64 bits are Python's integers, and the same loop is
then interpreted.
"""

from collections.abc import Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.exact.entries import (
    ALL,
    BASE,
    BY_HAND,
    CODE,
    DONE,
    EMITS,
    EMITTED,
    EMPTY,
    FLAGS,
    GROWS,
    MULTIPLES,
    PART,
    POPS,
    PUSHED,
    REPEATS,
    ROW,
    STATUS,
    TOPS,
    Shape,
)

MOST_MOVES = 1 << 13
"""The greatest number of moves in one call."""
MOST_RUNS = 1 << 23
"""The greatest number of runs of all stacks; of two stacks they take half a gigabyte at most."""
FITS = 1 << 61
STACKS, DEPTH, READS, FIELDS = 2, 2, 0, 0  # replaced by those of a shape
DIGIT, COUNT = range(2)
HEIGHT, LOWEST = range(2)
LONGEST_CYCLE = 64
WINDOW = 16
"""The greatest number of digits that a cycle may depend on."""
SOONEST, LATEST = 4, 256
"""How many moments pass before a cycle is looked for again: the more, the more often in vain."""
REPEATED = 1 << 31
"""A code from here on repeats the last k codes; k is the rest."""
BLOCKS = 1 << 30
"""A code from here on is a piece of the run; see `Pieces`."""


class Runs(NamedTuple):
    """A stack as runs of equal digits, lowest first."""

    digits: NDArray[np.int64]
    counts: NDArray[Any]
    """64-bit integers, or Python's."""

    @staticmethod
    def of(digits: NDArray[Any]) -> "Runs":
        """The runs of a stack of digits, lowest first.

        >>> Runs.of(np.array([2, 2, 5])).counts
        array([2, 1])
        """
        starts = np.flatnonzero(np.diff(digits.astype(np.int64), prepend=-1))
        return Runs(digits[starts].astype(np.int64), np.diff(starts, append=len(digits)))

    @property
    def height(self) -> int:
        """The number of digits."""
        return sum(self.counts.tolist())

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return self.digits.nbytes + self.counts.nbytes

    def copy(self) -> "Runs":
        """An independent copy."""
        return Runs(self.digits.copy(), self.counts.copy())

    def digit(self, depth: int) -> int:
        """The digit at a depth; `EMPTY` below the end."""
        for digit, count in zip(
            self.digits[::-1].tolist(), self.counts[::-1].tolist(), strict=True
        ):
            if depth < count:
                return int(digit)
            depth -= count
        return EMPTY

    def after(self, pops: int, pushed: int | None = None) -> "Runs":
        """A copy of the stack after some pops and a push."""
        digits, counts = self.copy()
        while len(counts) and (pops == ALL or pops >= counts[-1]):
            pops -= 0 if pops == ALL else int(counts[-1])
            digits, counts = digits[:-1], counts[:-1]
        if len(counts):
            counts[-1] -= pops
        if pushed is not None and len(digits) and digits[-1] == pushed:
            counts[-1] += 1
        elif pushed is not None:
            digits, counts = np.append(digits, pushed), np.append(counts, 1)
        return Runs(digits, counts)


def merged(digits: NDArray[Any], counts: NDArray[Any]) -> Runs:
    """A stack of runs, some of which may be of the same digit as the next one.

    >>> merged(np.array([2, 2, 5]), np.array([3, 1, 1])).counts
    array([4, 1])
    """
    starts = np.flatnonzero(np.diff(digits, prepend=-1))
    return Runs(digits[starts], np.add.reduceat(counts, starts) if len(starts) else counts)


def too_many_runs() -> InputError:
    """The error that stacks are not kept."""
    return InputError(
        f"the stacks have more than {MOST_RUNS:,} runs of equal digits, "
        "which the accelerated engine does not keep; run it with --engine fast"
    )


def _repetitions(row: int, s: int, limit: int, rows: Any, zeros: Any, runs: Any, clock: Any) -> int:
    """How many applications of a row keep the digits that it reads of a stack, at most `limit`.

    The run on top has c digits x, of which r are read; p are popped, and w is pushed.
    """
    field = row + FIELDS + 3 * s
    p, w, grows = rows[field + POPS], rows[field + PUSHED], rows[field + GROWS]
    r, top = rows[row + READS + s], clock[TOPS + s]
    x, c = runs[s, top, DIGIT], runs[s, top, COUNT]
    if top == 0:  # empty: nothing is popped, and a zero pushed on it leaves it empty
        return limit if grows == 0 or zeros[w] else 0
    if p == ALL:  # it becomes one digit: it must be that already
        return limit if grows and x == w and top == 1 and c == 1 else 0
    if grows == 0:  # c − n·p digits are left, of which r are read
        return limit if p == 0 else max(0, min(limit, (c - r) // p))
    if x != w:
        return 0
    if p < 2:  # it grows by digits x, or one is replaced by itself
        return limit if p == 1 or c >= r else 0
    # c − n·(p − 1) digits are left; before the last application there were p.
    return int(max(0, min(limit, (c - max(r, 1)) // (p - 1))))


def apply(row: int, s: int, rows: Any, zeros: Any, runs: Any, clock: Any) -> None:
    """Pop and push one stack."""
    field = row + FIELDS + 3 * s
    pops, top = rows[field + POPS], clock[TOPS + s]
    if pops == ALL:
        top = 0
    while pops > 0 and top > 0:
        count = runs[s, top, COUNT]
        if count > pops:
            runs[s, top, COUNT] = count - pops
            break
        pops -= count
        top -= 1
    if rows[field + GROWS]:
        pushed = rows[field + PUSHED]
        if top > 0 and runs[s, top, DIGIT] == pushed:
            runs[s, top, COUNT] = runs[s, top, COUNT] + 1
        elif top > 0 or not zeros[pushed]:
            top += 1
            runs[s, top, DIGIT] = pushed
            runs[s, top, COUNT] = 1
    clock[TOPS + s] = top


def _looked_up(row: int, rows: Any, runs: Any, clock: Any) -> int:
    """The address of the row after a row that was applied."""
    found = rows[row + BASE]
    for s in range(STACKS):
        reads, depth, top = rows[row + READS + s], 0, clock[TOPS + s]
        left = runs[s, top, COUNT]
        while depth < reads:
            if left == 0:
                top -= 1
                left = runs[s, top, COUNT]
            found += rows[row + MULTIPLES + s * DEPTH + depth] * runs[s, top, DIGIT]
            depth += 1
            left -= 1
    return int(found)


def _height(s: int, runs: Any, clock: Any) -> int:
    """The height of a stack, or a number greater than `WINDOW`."""
    top, height = clock[TOPS + s], 0
    while top > 0 and height <= WINDOW:
        height += runs[s, top, COUNT]
        top -= 1
    return height


def _mark(s: int, runs: Any, clock: Any, marked: Any) -> None:
    """Remember the runs on top of a stack, how many there are, and its height, called 0."""
    top = clock[TOPS + s]
    for n in range(min(top, WINDOW)):
        marked[s, n, DIGIT] = runs[s, top - n, DIGIT]
        marked[s, n, COUNT] = runs[s, top - n, COUNT]
    marked[s, WINDOW, 0] = top
    marked[s, WINDOW + 1, HEIGHT] = 0
    marked[s, WINDOW + 1, LOWEST] = 0


def _cycles(s: int, limit: int, runs: Any, clock: Any, marked: Any) -> int:
    """How often the cycle since `_mark` is done again for certain, as far as a stack is concerned.

    The run that changes, and by how much in a cycle, is written at the end of `marked`.
    """
    top, window, above, n = clock[TOPS + s], DEPTH - marked[s, WINDOW + 1, LOWEST], 0, 0
    marked[s, WINDOW + 2, 1] = 0
    if top != marked[s, WINDOW, 0] or window > WINDOW:
        return 0
    while above < window and n < top:
        c, before = runs[s, top - n, COUNT], marked[s, n, COUNT]
        if runs[s, top - n, DIGIT] != marked[s, n, DIGIT]:
            return 0
        if c != before:
            change = c - before
            if above + min(c, before) < window:
                return 0
            marked[s, WINDOW + 2, 0], marked[s, WINDOW + 2, 1] = top - n, change
            if change > 0:
                return limit
            # Every cycle begins with the window inside of the run, and leaves a digit of it.
            least = max(window - above, 1 - change)
            return int(max(0, min(limit, (c - least) // -change + 1)))
        above += c
        n += 1
    return limit


def _advance(
    rows: Any, zeros: Any, runs: Any, marked: Any, clock: Any, codes: Any, repeats: Any, limit: int
) -> int:
    """Follow rows for `limit` moments at most, or until `codes` is full; return how many.

    Row 0 of `runs` is the end of a stack, an endless run of `EMPTY`.
    """
    row, emitted, status, done = clock[ROW], clock[EMITTED], DONE, 0
    before, mark, age, first, begun, wait, pause = emitted, -1, 0, 0, 0, SOONEST, SOONEST
    while done < limit and emitted < codes.size:
        if rows[row + FLAGS] != 0:
            status = BY_HAND
            break
        if rows[row + REPEATS] != 0:
            time = rows[row + EMITS]
            n = limit - done
            if time > 1:
                n = n // time
            for s in range(STACKS):
                n = _repetitions(row, s, n, rows, zeros, runs, clock) if n > 0 else 0
            if n > 0:
                for s in range(STACKS):
                    top, field = clock[TOPS + s], row + FIELDS + 3 * s
                    if top > 0 and rows[field + POPS] != ALL:
                        change = rows[field + GROWS] - rows[field + POPS]
                        count = runs[s, top, COUNT] + n * change
                        runs[s, top, COUNT] = count
                        if count == 0:
                            clock[TOPS + s] = top - 1
                done += n * time
                if emitted > before:  # the code is that of the moment before
                    repeats[emitted - 1] = repeats[emitted - 1] + n
                else:
                    codes[emitted] = rows[row + CODE]
                    repeats[emitted] = n
                    emitted += 1
                mark, wait = -1, pause
                continue
        for s in range(STACKS):
            if mark >= 0:
                field = row + FIELDS + 3 * s
                pops = rows[field + POPS]
                if pops == ALL:
                    pops = _height(s, runs, clock)
                height = marked[s, WINDOW + 1, HEIGHT] - pops
                marked[s, WINDOW + 1, LOWEST] = min(marked[s, WINDOW + 1, LOWEST], height)
                marked[s, WINDOW + 1, HEIGHT] = height + rows[field + GROWS]
            apply(row, s, rows, zeros, runs, clock)
        row = _looked_up(row, rows, runs, clock)
        time = rows[row + EMITS]
        if time > limit - done:
            status = PART
            break
        if time != 0:
            codes[emitted] = rows[row + CODE]
            repeats[emitted] = 1
            emitted += 1
            done += time
        if mark < 0:
            wait -= 1
            if wait <= 0:
                mark, age, first, begun = row, 0, emitted, done
                for s in range(STACKS):
                    _mark(s, runs, clock, marked)
            continue
        age += 1
        k, n = emitted - first, 0
        if row == mark and k > 0 and emitted < codes.size:
            n = (limit - done) // (done - begun)
            for s in range(STACKS):
                n = _cycles(s, n, runs, clock, marked) if n > 0 else 0
        if n == 0 and age < LONGEST_CYCLE:
            continue
        if n > 0:
            for s in range(STACKS):
                if marked[s, WINDOW + 2, 1] != 0:
                    place = marked[s, WINDOW + 2, 0]
                    count = runs[s, place, COUNT] + n * marked[s, WINDOW + 2, 1]
                    runs[s, place, COUNT] = count
            codes[emitted] = REPEATED + k
            repeats[emitted] = n
            emitted += 1
            done += n * (done - begun)
        pause = SOONEST if n > 0 else min(2 * pause, LATEST)
        mark, wait = -1, pause
    clock[ROW], clock[EMITTED], clock[STATUS] = row, emitted, status
    return done


@cache
def specialised(shape: Shape, *functions: Any) -> Any:
    """The last of some functions for a shape; it may call the others.

    The numbers of a shape are constants, so that inner loops are unrolled.
    """
    names = {**functions[-1].__globals__, "STACKS": shape.stacks, "DEPTH": shape.depth}
    names |= {"READS": shape.reads(0), "FIELDS": shape.field(0, 0)}
    for function in functions:
        copy = FunctionType(function.__code__, names)
        copy.__annotations__ = function.__annotations__
        names[function.__name__] = copy
    return names[functions[-1].__name__]


LOOP = _repetitions, apply, _looked_up, _height, _mark, _cycles, _advance


class RunStacks:
    """The runs of all stacks, and the loop over them."""

    def __init__(self, shape: Shape, stacks: Sequence[Runs]) -> None:
        self.shape = shape
        self.clock = np.zeros(shape.clock, np.int64)
        self.runs: NDArray[Any] = np.zeros((shape.stacks, 64, 2), np.int64)
        self._marked: NDArray[Any] = np.zeros((shape.stacks, WINDOW + 3, 2), np.int64)
        self._greatest = 0
        """No count is greater."""
        self.put(stacks)

    def put(self, stacks: Sequence[Runs]) -> None:
        """Replace the runs of all stacks."""
        stacks = stacks[: self.shape.stacks]
        self.clock[TOPS : TOPS + len(stacks)] = [len(each.digits) for each in stacks]
        self.make_room(0)
        for slot, (digits, counts) in enumerate(stacks):
            self._greatest = max([self._greatest, *counts.tolist()])
            if self._greatest >= FITS:
                self.runs = self.runs.astype(object)
            self.runs[slot, 1 : len(digits) + 1, DIGIT] = digits
            self.runs[slot, 1 : len(digits) + 1, COUNT] = counts
        self.runs[:, 0, DIGIT], self.runs[:, 0, COUNT] = EMPTY, ALL

    def make_room(self, count: int) -> None:
        """Make room for some more runs on every stack; raise InputError if there are too many."""
        tops = self.clock[TOPS:].tolist()
        if sum(tops) > MOST_RUNS:
            raise too_many_runs()
        room = self.runs.shape[1]
        if max(tops) + count + 2 > room:
            larger = np.zeros((self.shape.stacks, room + max(tops) + count + 2, 2), self.runs.dtype)
            larger[:, :room] = self.runs
            self.runs = larger

    def stacks(self) -> list[Runs]:
        """The stacks, as views."""
        tops = (self.clock[TOPS:] + 1).tolist()
        found = zip(self.runs, tops, strict=True)
        return [
            Runs(runs[1:top, DIGIT].astype(np.int64, copy=False), runs[1:top, COUNT])
            for runs, top in found
        ]

    def advance(
        self, rows: NDArray[np.int64], zeros: NDArray[np.int64], emitted: "Emitted", limit: int
    ) -> int:
        """Follow rows until there is no room for codes; return how many moments were done.

        `zeros` has 1 for digits that leave an empty stack empty.
        """
        from netwright.jit import compiled  # the compiler, which short runs avoid

        self.make_room(len(emitted.codes))
        self.clock[EMITTED] = emitted.size
        loop, few = specialised(self.shape, *LOOP), min(limit, FITS // 2)
        if self._greatest + few < FITS:  # a moment pushes at most one digit
            held = zeros, self.runs, self._marked, self.clock, emitted.codes, emitted.counts, few
            arrays = rows.reshape(-1), *held
            done = int(compiled(loop, *arrays).loop(*arrays))
        else:
            self.runs, emitted.counts = self.runs.astype(object), emitted.counts.astype(object)
            given = (rows.reshape(-1), self._marked, self.clock)
            entries, marked, clock = (array.astype(object) for array in given)
            stacks = entries, zeros, self.runs, marked, clock
            done = loop(*stacks, emitted.codes, emitted.counts, limit)
            self.clock[:] = clock
        self._greatest += done
        emitted.size = int(self.clock[EMITTED])
        return done


class Pieces:
    """Codes of several moments that have a number, to be emitted as one code."""

    def __init__(self) -> None:
        self.codes: list[NDArray[np.uint32]] = []
        self.size = 0
        """How many codes there are in all."""
        self._numbers: dict[bytes, int] = {}

    def number(self, codes: NDArray[Any]) -> int:
        """The code for codes."""
        codes = codes.astype(np.uint32)
        number = self._numbers.setdefault(codes.tobytes(), len(self.codes))
        if number == len(self.codes):
            self.codes.append(codes)
            self.size += len(codes)
        return BLOCKS + number

    def of(self, code: int) -> NDArray[np.uint32]:
        """The codes of a piece."""
        return self.codes[code - BLOCKS]

    def spelled(
        self, codes: NDArray[Any], counts: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The same codes, with those of pieces one by one, and how often each repeats.

        >>> pieces = Pieces()
        >>> codes = np.array([7, pieces.number(np.array([8, 9])), REPEATED + 2])
        >>> [x.tolist() for x in pieces.spelled(codes[:2], np.array([1, 3]))]
        [[7, 8, 9, 2147483650], [1, 1, 1, 2]]
        >>> spelled_out(*pieces.spelled(codes, np.array([1, 1, 2])))
        [7, 8, 9, 7, 8, 9, 7, 8, 9]
        """
        codes = codes.astype(np.int64)
        is_piece = (codes >= BLOCKS) & (codes < REPEATED)
        if not is_piece.any():
            return codes, counts
        sizes = np.array([len(piece) for piece in self.codes], np.int64)
        lengths, starts = np.ones(len(codes), np.int64), np.zeros(len(codes), np.int64)
        lengths[is_piece] = sizes[codes[is_piece] - BLOCKS]
        starts[is_piece] = (np.cumsum(sizes) - sizes)[codes[is_piece] - BLOCKS]
        again = is_piece & (counts > 1)
        ends = np.cumsum(lengths + again)
        begins = ends - lengths - again
        found, times = np.zeros(ends[-1], np.int64), np.ones(ends[-1], counts.dtype)
        which = np.repeat(np.arange(len(codes)), lengths + again)
        place = np.arange(len(found)) - begins[which]
        inside = is_piece[which] & (place < lengths[which])
        found[inside] = np.concatenate(self.codes)[(starts[which] + place)[inside]]
        found[begins[~is_piece]], times[begins[~is_piece]] = codes[~is_piece], counts[~is_piece]
        found[ends[again] - 1] = REPEATED + lengths[again]
        times[ends[again] - 1] = counts[again] - 1
        cycles = np.flatnonzero(codes >= REPEATED)  # of the codes before, spelled
        firsts = begins[cycles - (codes[cycles] - REPEATED)]
        found[begins[cycles]] = REPEATED + begins[cycles] - firsts
        return found, times


class Emitted:
    """The codes of moments, and how often each repeats, with room for some more."""

    def __init__(self, room: int) -> None:
        self._room = self.codes = np.empty(room, np.uint32)
        self.counts: NDArray[Any] = np.empty(room, np.int64)
        self.size = 0

    def limit(self, room: int) -> None:
        """Change how much room there is in all, at most to what it was first."""
        self.codes = self._room[:room]


FLAG, LOW, HIGH, TOTAL, MOVE, LAST, TIME = range(7)
"""Fields of a code in a table of moves: whether it has a flag; the lowest and the highest cell that
the head is on, and the last one, counted from the first; its next move, the last code, and how many
moments there are."""


class Moves:
    """The moves of a head by codes, and by pieces, each by the code before."""

    def __init__(self, flags: NDArray[np.int64], moves: NDArray[np.int64], pieces: Pieces) -> None:
        self.flags, self.moves, self.pieces = flags, moves, pieces
        self._table = np.zeros((len(flags), 7), np.int64)
        self._table[:, FLAG], self._table[:, MOVE] = flags, moves
        self._table[:, LAST], self._table[:, TIME] = np.arange(len(flags)), 1

    def table(self) -> NDArray[np.int64]:
        """The table of moves: codes come first, then pieces."""
        rows = []
        for piece in self.pieces.codes[len(self._table) - len(self.flags) :]:
            moves = self.moves[piece]
            cells = np.append(0, np.cumsum(moves[:-1]))
            bounds = int(self.flags[piece].any()), cells.min(), cells.max(), cells[-1]
            rows.append([*bounds, moves[-1], piece[-1], len(piece)])
        if rows:
            self._table = np.concatenate([self._table, np.array(rows, np.int64)])
        return self._table

    def walked(
        self, codes: NDArray[Any], counts: NDArray[Any], place: Sequence[int], moments: int
    ) -> tuple[int, list[int]]:
        """`walk` from a place to a time of at most `moments`: how many codes, and the new place."""
        from netwright.jit import compiled  # the compiler, which short runs avoid

        table, first = self.table(), len(self.flags)
        if len(table) > first:
            codes = np.where((codes >= BLOCKS) & (codes < REPEATED), codes - BLOCKS + first, codes)
        clock = np.array(place, dtype=np.int64 if moments < FITS // 2 else object)
        if clock.dtype == object:
            codes, counts, table = (each.astype(object) for each in (codes, counts, table))
            done = walk(codes, counts, table, clock)
        else:
            arrays = codes, counts.astype(np.int64, copy=False), table, clock
            done = compiled(walk, *arrays).loop(*arrays)
        return done, clock.tolist()


def walk(codes: Any, counts: Any, table: Any, clock: Any) -> int:
    """Add up the moves of codes, each by the code before, up to the first with a flag.

    Returns how many codes were walked. `clock` holds the head, its next move, the lowest and the
    highest cell, the time, and the last code. Compiled, or interpreted where numbers do not fit.
    """
    head, move, lowest, highest, time, last = clock
    done = 0
    while done < codes.size:
        code, n = codes[done], counts[done]
        if code >= REPEATED:  # the first and the last of the cycles reach farthest
            k, before, moments = code - REPEATED, head, 0
            for cycle in range(min(n, 2)):
                if cycle == 1:
                    head += (head - before) * (n - 2)
                for place in range(done - k, done):
                    each = codes[place]
                    head += move
                    lowest = min(lowest, head + table[each, LOW])
                    highest = max(highest, head + table[each, HIGH])
                    head, move = head + table[each, TOTAL], table[each, MOVE]
                    if cycle == 0:
                        moments += table[each, TIME]
            time += n * moments
        elif table[code, FLAG]:
            break
        else:
            low, high, total = table[code, LOW], table[code, HIGH], table[code, TOTAL]
            head += move
            lowest, highest = min(lowest, head + low), max(highest, head + high)
            move, last = table[code, MOVE], table[code, LAST]
            head += (total + move) * (n - 1)
            lowest, highest = min(lowest, head + low), max(highest, head + high)
            head += total
            time += n * table[code, TIME]
        done += 1
    clock[0], clock[1], clock[2], clock[3] = head, move, lowest, highest
    clock[4], clock[5] = time, last
    return done


def spelled_out(codes: NDArray[Any], counts: NDArray[Any]) -> list[int]:
    """The codes of all moments, one by one.

    >>> spelled_out(np.array([7, 8, REPEATED + 2]), np.array([1, 2, 2]))
    [7, 8, 8, 8, 8, 8, 8]
    """
    found: list[int] = []
    for code, n in zip(codes.tolist(), counts.tolist(), strict=True):
        found += [code] * n if code < REPEATED else found[REPEATED - code :] * n
    return found


def prepare(shape: Shape) -> None:
    """Compile the loop for a shape."""
    none = np.zeros(0, np.int64)
    RunStacks(shape, []).advance(none, none, Emitted(0), 0)
