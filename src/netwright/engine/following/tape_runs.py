"""A tape that is followed many moments at a time: the runs of equal symbols around the head.

What a code shows, a symbol written and a move, does not depend on the tape. So a cycle of codes
that writes the cells from `low` to `high` and takes the head d cells further, done n times, leaves
n − 1 copies of its first d cells, and then all of its cells; it takes the head n·d cells further.
A code that repeats is a cycle of one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.engine.moments import RepeatedCodes
from netwright.errors import InputError
from netwright.exact.runs import (
    BLOCKS,
    COUNT,
    DIGIT,
    FITS,
    LONGEST_CYCLE,
    MOST_RUNS,
    REPEATED,
    Pieces,
    Runs,
)
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.machine.configuration import Tape

GIVEN, FINAL, STOP = 1, 2, 4
"""Flags of a token: it shows a configuration of the given machine, a final state, or no step."""
ALL, LIMIT, STOPPED, NO_ROOM, ENDED, IN_A_PIECE = range(6)
"""Why a loop stopped: no tokens left, the limit, a token that shows no step, no room on the tape, a
final state, or a piece of the run in which there may be one of these."""
CELL, STEPS, AT_A_STEP, CODE, HEAD, LOWEST, HIGHEST, STATUS, STEP_LIMIT = range(9)
MOMENTS, PLACE, HERE, BLANK, ROOM, TOPS = range(9, 15)
"""Indices of a clock: the configuration, why the loop stopped, the place of the next code, the
symbol under the head, room that is needed, and the number of runs left and right of the head."""
LEAST = 4 * LONGEST_CYCLE
"""The room of a tape at first."""
LEFT, RIGHT = range(2)


FEW = 32
"""The greatest number of codes that Python follows before a compiler would be loaded."""
Meanings = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""By the number of a token: flags, symbol, move and state."""


def _pop(s: int, count: int, runs: Any, clock: Any) -> None:
    """Remove cells of a side, the nearest first."""
    top = clock[TOPS + s]
    while count > 0 and top > 0:
        there = runs[s, top - 1, COUNT]
        if there > count:
            runs[s, top - 1, COUNT] = there - count
            break
        count -= there
        top -= 1
    clock[TOPS + s] = top


def _push(s: int, symbol: int, count: int, runs: Any, clock: Any) -> None:
    """Put equal cells next to the head."""
    top = clock[TOPS + s]
    if top > 0 and runs[s, top - 1, DIGIT] == symbol:
        runs[s, top - 1, COUNT] = runs[s, top - 1, COUNT] + count
    else:
        runs[s, top, DIGIT] = symbol
        runs[s, top, COUNT] = count
        clock[TOPS + s] = top + 1


def _step(code: int, flags: Any, written: Any, moves: Any, runs: Any, clock: Any) -> None:
    """Follow one code that moves the head: what follow_runs does, in fewer steps."""
    move = moves[code]
    behind = (1 - move) // 2  # 0, left, if it moves to the right
    cell = clock[CELL]
    if flags[code] & GIVEN:
        clock[STEPS] = clock[STEPS] + 1
        clock[CODE], clock[HEAD] = code, cell + move
    clock[AT_A_STEP] = flags[code] & GIVEN
    clock[LOWEST], clock[HIGHEST] = min(clock[LOWEST], cell), max(clock[HIGHEST], cell)
    clock[CELL], clock[MOMENTS] = cell + move, clock[MOMENTS] + 1
    _push(behind, written[code], 1, runs, clock)
    top = clock[TOPS + 1 - behind]
    clock[HERE] = clock[BLANK]
    if top > 0:
        clock[HERE] = runs[1 - behind, top - 1, DIGIT]
        count = runs[1 - behind, top - 1, COUNT] - 1
        runs[1 - behind, top - 1, COUNT] = count
        if count == 0:
            clock[TOPS + 1 - behind] = top - 1


IS_FLAGGED, LOW, HIGH, GOES, GIVES, SHOWS, AT, IS_STEP, TIME, FIRST = range(10)
"""What a piece of a run does: whether a token ends the run; the lowest and the highest cell that it
writes, and the cell of the head after it; how many configurations it shows, the last token that
shows one, and the cell then; whether that is the last token; how many tokens there are; and the
place of its first cell in `Effects.cells`."""


class Effects:
    """What the pieces of a run do to the tape."""

    def __init__(self, meanings: Meanings, pieces: Pieces) -> None:
        self.meanings, self.pieces = meanings, pieces
        self.table = np.zeros((0, 10), np.int64)
        self.cells = np.zeros(0, np.int64)
        self.reach = 1
        """How far from the head a piece leads."""

    def update(self) -> None:
        """Add the pieces that are new."""
        flags, written, moves, _ = self.meanings
        rows, cells, first = list[list[int]](), [self.cells], len(self.cells)
        for piece in self.pieces.codes[len(self.table) :]:
            places = np.append(0, np.cumsum(moves[piece]))
            low, high = int(places[:-1].min()), int(places[:-1].max())
            own = np.zeros(high - low + 1, np.int64)
            own[places[:-1] - low] = written[piece]  # the last one that is written stays
            given = np.flatnonzero(flags[piece] & GIVEN)
            shown = (int(piece[given[-1]]), int(places[given[-1] + 1])) if len(given) else (-1, 0)
            is_flagged = bool((flags[piece] & (STOP | FINAL)).any())
            is_step = len(given) > 0 and int(given[-1]) == len(piece) - 1
            moved = int(places[-1]), len(given)
            rows.append([is_flagged, low, high, *moved, *shown, is_step, len(piece), first])
            cells.append(own)
            first += len(own)
            self.reach = max(self.reach, high, -low, abs(moved[0]))
        if rows:
            self.table = np.concatenate([self.table, np.array(rows, np.int64)])
            self.cells = np.concatenate(cells)


def follow_runs(
    codes: Any,
    counts: Any,
    flags: Any,
    written: Any,
    moves: Any,
    pieces: Any,
    pool: Any,
    runs: Any,
    cells: Any,
    clock: Any,
) -> int:
    """Follow codes by their meanings, from a place on; return the place after the last one.

    Compiled (see `jit`), or interpreted where numbers do not fit. `cells` is for those of a cycle,
    from its middle on.
    """
    done, status = clock[PLACE], ALL
    while done < codes.size:
        code, n, k = codes[done], counts[done], 1
        first = done
        if code >= REPEATED:  # codes that were followed before, so none of them stops
            k = code - REPEATED
            first = done - k
        elif code >= BLOCKS:
            piece = code - BLOCKS
            ends = clock[STEPS] + n * pieces[piece, GIVES] >= clock[STEP_LIMIT]
            if pieces[piece, IS_FLAGGED] or ends:
                status = IN_A_PIECE
                break
        else:
            if flags[code] & STOP:
                status = STOPPED
                break
            if clock[AT_A_STEP] and clock[STEPS] == clock[STEP_LIMIT]:
                status = LIMIT
                break
            if flags[code] & FINAL:
                n, status = 1, ENDED
            elif n == 1 and moves[code] != 0 and max(clock[TOPS], clock[TOPS + 1]) < runs.shape[1]:
                _step(code, flags, written, moves, runs, clock)
                done += 1
                continue
        d, low, high, given, middle = 0, 0, 0, 0, cells.size // 2
        shown, place, moments, is_step = -1, 0, 0, 0
        for j in range(first, first + k):
            each = codes[j]
            if each >= BLOCKS:
                piece = each - BLOCKS
                begin = pieces[piece, FIRST] - pieces[piece, LOW]
                for o in range(pieces[piece, LOW], pieces[piece, HIGH] + 1):
                    cells[middle + d + o] = pool[begin + o]
                low = min(low, d + pieces[piece, LOW])
                high = max(high, d + pieces[piece, HIGH])
                if pieces[piece, GIVES] > 0:
                    given += pieces[piece, GIVES]
                    shown, place = pieces[piece, SHOWS], d + pieces[piece, AT]
                d += pieces[piece, GOES]
                moments += pieces[piece, TIME]
                is_step = pieces[piece, IS_STEP]
            else:
                cells[middle + d] = written[each]
                low, high = min(low, d), max(high, d)
                d += moves[each]
                moments += 1
                is_step = flags[each] & GIVEN
                if is_step:
                    given += 1
                    shown, place = each, d
        given, moments = n * given, n * moments
        if d == 0:  # it writes the same cells again
            n = 1
        cell, far = clock[CELL], (n - 1) * d
        lowest, highest = cell + low + min(0, far), cell + high + max(0, far)
        after, behind, sign = cell + far, 0, 1
        if d < 0:  # the same, seen in a mirror
            behind, sign = 1, -1
            d, far = -d, -far
            low, high = -high, -low
        least, equal = 4 + high - low + d, 1
        for o in range(low, low + d):
            if cells[middle + sign * o] != cells[middle + sign * low]:
                least, equal = 4 + high - low + d + far, 0
        if max(clock[TOPS], clock[TOPS + 1]) + least > runs.shape[1]:
            clock[ROOM], status = least, NO_ROOM
            break
        clock[STEPS] = clock[STEPS] + given
        clock[AT_A_STEP] = is_step
        if shown >= 0:
            clock[CODE], clock[HEAD] = shown, after + place
        clock[LOWEST], clock[HIGHEST] = min(clock[LOWEST], lowest), max(clock[HIGHEST], highest)
        clock[CELL], clock[MOMENTS] = after + sign * d, clock[MOMENTS] + moments
        _pop(behind, -low, runs, clock)
        _pop(1 - behind, far + high, runs, clock)
        if far > 0 and equal != 0:
            _push(behind, cells[middle + sign * low], far, runs, clock)
        elif far > 0:
            for _ in range(n - 1):
                for o in range(low, low + d):
                    _push(behind, cells[middle + sign * o], 1, runs, clock)
        for o in range(low, d):
            _push(behind, cells[middle + sign * o], 1, runs, clock)
        if d <= high:
            clock[HERE] = cells[middle + sign * d]
            for o in range(high - d):
                _push(1 - behind, cells[middle + sign * (high - o)], 1, runs, clock)
        else:
            top = clock[TOPS + 1 - behind]
            clock[HERE] = clock[BLANK]
            if top > 0:
                clock[HERE] = runs[1 - behind, top - 1, DIGIT]
                _pop(1 - behind, 1, runs, clock)
        done += 1
        if status == ENDED:
            break
    clock[STATUS] = status
    return int(done)


class RunTape:
    """A tape as runs of equal symbols, with the head somewhere on it."""

    def __init__(self, blank: int, symbols: int) -> None:
        self.blank, self.symbols = blank, symbols
        self.lowest, self.highest, self.here, self.cell = 0, -1, blank, 0
        self.sizes = [0, 0]
        """The numbers of runs left and right of the head."""
        self.runs: NDArray[Any] = np.zeros((2, LEAST, 2), np.int64)
        """Those farthest from the head come first."""
        self._effects: Effects | None = None

    @staticmethod
    def of(codes: NDArray[np.int64], origin: int, blank: int, symbols: int, cell: int) -> "RunTape":
        """The tape with some symbols from a cell on, and the head on another."""
        tape = RunTape(blank, symbols)
        first, end = min(origin, cell), max(origin + len(codes), cell + 1)
        padded = np.full(end - first, blank, np.int64)
        padded[origin - first : origin - first + len(codes)] = codes
        place = cell - first
        tape.put(cell, int(padded[place]), [padded[:place], padded[place + 1 :][::-1]])
        return tape

    def put(self, cell: int, here: int, sides: Sequence[NDArray[np.int64] | Runs]) -> None:
        """Put the head on a cell with a symbol, between two sides."""
        held = [side if isinstance(side, Runs) else Runs.of(side) for side in sides]
        self.cell, self.here = cell, here
        self.sizes = [len(each.digits) for each in held]
        kind = np.result_type(self.runs, *(each.counts for each in held))
        self.runs = np.zeros((2, max(self.sizes) + LEAST, 2), kind)
        for s, (digits, counts) in enumerate(held):
            self.runs[s, : len(digits), DIGIT], self.runs[s, : len(counts), COUNT] = digits, counts

    def make_room(self, count: int) -> None:
        """Make room for some more runs; raise InputError if there are too many."""
        if sum(self.sizes) + count > MOST_RUNS:
            raise InputError(
                f"the tape has more than {MOST_RUNS:,} runs of equal symbols, which the "
                "accelerated engine does not keep; run it with --engine fast"
            )
        larger = np.zeros((2, 2 * self.runs.shape[1] + count, 2), self.runs.dtype)
        larger[:, : self.runs.shape[1]] = self.runs
        self.runs = larger

    def follow(self, codes: RepeatedCodes, meanings: Meanings, clock: list[int]) -> list[int]:
        """Follow codes with the head on its cell, up to the last one or one that stops.

        Takes and returns the fields of a clock before `HERE`; returns the code at which it stops,
        too, or −1.
        """
        effects, (flags, written, moves, _) = self._effects, meanings
        if effects is None or effects.meanings is not meanings or effects.pieces != codes.pieces:
            effects = self._effects = Effects(meanings, codes.pieces)
        effects.update()
        pieces, pool = effects.table, effects.cells
        numbers, counts = codes.numbers.astype(np.int64), codes.counts
        longest = int(numbers.max(initial=REPEATED + LONGEST_CYCLE)) - REPEATED
        cells = np.zeros(2 * (longest + 1) * effects.reach, np.int64)
        done, clock[STATUS], loop = 0, NO_ROOM, follow_runs
        kind: type = np.int64
        if max(map(abs, clock)) + codes.moments < FITS:
            if len(numbers) > FEW:
                from netwright.jit import compiled  # the compiler, which a fast engine has loaded

                sample = numbers, counts, flags, written, moves, pieces, pool, self.runs, cells
                loop = compiled(follow_runs, *sample, cells).loop
        else:
            kind, self.runs = object, self.runs.astype(object)
            numbers, counts, flags, written, moves, pieces, pool, cells = (
                each.astype(object)
                for each in (numbers, counts, flags, written, moves, pieces, pool, cells)
            )
        while clock[STATUS] in (NO_ROOM, IN_A_PIECE):
            now: NDArray[Any] = np.array(
                [*clock, done, self.here, self.blank, 0, *self.sizes], kind
            )
            tape = self.runs, cells, now
            done = int(loop(numbers, counts, flags, written, moves, pieces, pool, *tape))
            *clock, _, self.here, _, room, left, right = now.tolist()
            self.sizes = [left, right]
            if clock[STATUS] == NO_ROOM:
                self.make_room(room)
            if clock[STATUS] == IN_A_PIECE:
                rest = codes.pieces.spelled(numbers[:done], counts[:done])[0]
                numbers, counts = codes.pieces.spelled(numbers, counts)
                done, longest = len(rest), int(numbers.max(initial=REPEATED)) - REPEATED
                cells = np.zeros(2 * (longest + 1) * effects.reach, kind)
                numbers = numbers.astype(kind)
        self.cell, self.lowest, self.highest = clock[CELL], clock[LOWEST], clock[HIGHEST]
        return [*clock, int(numbers[done]) if done < len(numbers) else -1]

    @property
    def cells(self) -> int:
        """The number of cells from the first to the last written one."""
        return self.highest - self.lowest + 1

    @property
    def sides(self) -> list[Runs]:
        """The runs left and right of the head, farthest first."""
        return [
            Runs(self.runs[s, :n, DIGIT].astype(np.int64), self.runs[s, :n, COUNT].copy())
            for s, n in enumerate(self.sizes)
        ]

    def tape(self, symbols: list[str], blank: str) -> Tape:
        """The tape with symbols for codes; several codes may mean the blank."""
        left, right = self.sides
        digits = [*left.digits.tolist(), self.here, *right.digits[::-1].tolist()]
        counts = [*left.counts.tolist(), 1, *right.counts[::-1].tolist()]
        found = [*map(symbols.__getitem__, digits)]
        return Tape.of_runs(found, counts, self.cell - left.height, blank)

    def snapshot(self) -> Snapshot:
        """The tape as arrays; of Python's integers, which files do not have, where it must be."""
        sides, place = self.sides, [self.cell, self.here, self.lowest, self.highest]
        counts = np.concatenate([each.counts for each in sides])
        fits = max([*map(abs, place), *counts.tolist()]) <= FARTHEST
        return {
            "tape_place": np.array([*place, *self.sizes], np.int64 if fits else object),
            "tape": np.concatenate([each.digits for each in sides]),
            "tape_counts": counts.astype(np.int64 if fits else object),
        }

    def restore(self, state: Snapshot) -> None:
        """Take the tape of a snapshot; FormatError if it is damaged."""
        in_memory = state["tape_counts"].dtype == object
        place, counts = state["tape_place"], state["tape_counts"]
        if not in_memory:
            place = checked_array(state, "tape_place", (6,), -FARTHEST, FARTHEST)
            counts = checked_array(state, "tape_counts", (None,), 1, FARTHEST)
        cell, here, self.lowest, self.highest, *sizes = place.tolist()
        require_consistent(min(sizes) >= 0 and sum(sizes) == len(counts), f"{sizes} runs")
        require_consistent(0 <= here < self.symbols, f"no symbol {here}")
        digits = checked_array(state, "tape", counts.shape, 0, self.symbols - 1)
        ends = np.split(digits, sizes[:1]), np.split(counts, sizes[:1])
        self.put(cell, here, [Runs(*each) for each in zip(*ends, strict=True)])
