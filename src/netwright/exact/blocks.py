"""Blocks of digits as digits: whole runs at once where only blocks of a few digits repeat.

Each stack is cut into blocks of `size` digits, lowest first, but for some digits at hand on top.
Entries are followed on the digits at hand alone, until one needs a digit more of some stack. What
was done so far depends on the first entry and on the digits at hand, so it is done again wherever
they are the same: it is an entry of a stack of blocks. It takes the next block of the stack that
was short of digits, and puts blocks below the digits at hand where there are enough of them. So an
entry of blocks is made of entries, whatever these are, and the loop of `exact.runs` follows it.

Below the end of a stack there are blocks of `EMPTY`; or of another digit that is read as `EMPTY`,
where that digit may be in a stack.

Blocks are used where they pay: if there were few moments to a move, `BlockStacks` runs some moves
with each size, and continues with the one that took the fewest moves to a moment.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.exact import runs
from netwright.exact.entries import (
    ALL,
    BASE,
    BY_HAND,
    CODE,
    DONE,
    EMITS,
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
from netwright.exact.runs import (
    Emitted,
    Pieces,
    Runs,
    RunStacks,
    apply,
    merged,
    specialised,
    too_many_runs,
)

STACKS, DEPTH, READS, FIELDS = 2, 2, 0, 0  # replaced by those of a shape
LONGEST = 256
"""The greatest number of moments of an entry of blocks."""
AT_HAND = 256
"""Room for the digits at hand."""
PAD = -1
"""A digit below the end of a stack, where `EMPTY` may be in one."""
MOST_ROWS, MOST_BLOCKS, MOST_CODES = 1 << 17, 1 << 10, 1 << 22
SIZES = 2, 3, 4, 5, 6
FIRST, SAMPLE = 1 << 14, 1 << 9
"""The number of moves before sizes are tried, which take the compiler longer than these moves; and
the number for which each size is tried, twice."""
GOOD, GAIN = 16, 2
"""Sizes are tried below `GOOD` moments to a move; one is taken if it has `GAIN` times more."""
LATER = 4
"""Each time the number of moves before sizes are tried again is multiplied by this."""
SHORTLY = 32
"""The least number of moves on digits before they are in blocks again."""
MOST_FAILURES = 128
"""How often a size may be left because an entry is not known, before it is given up."""


def _needed(s: int, row: int, rows: Any) -> int:
    """How many digits of a stack it takes to apply a row and to look up the next one."""
    field = row + FIELDS + 3 * s
    pops = rows[field + POPS]
    if pops == ALL:
        return 0
    return int(max(pops, pops + rows[row + READS + s] - rows[field + GROWS]))


def _inside(size: int, rows: Any, zeros: Any, at_hand: Any, codes: Any, clock: Any) -> int:
    """Follow rows on the digits at hand until they do not suffice; return the number of moments.

    `clock` has the numbers of digits at hand, then whether stacks have lost all others, and the
    digit below the end of stacks. A digit that leaves an empty stack empty is pushed where nothing
    is known of the digits below: the number is the same.
    """
    row, done, status, goes_on = clock[ROW], 0, DONE, 1
    while goes_on != 0:
        for s in range(STACKS):
            height, needed = clock[TOPS + s], _needed(s, row, rows)
            if height < needed and clock[TOPS + STACKS + s] == 0:
                goes_on = 0
            if (done > 0 and height >= needed + 2 * size) or height + 2 > at_hand.shape[1]:
                goes_on = 0
        if rows[row + FLAGS] != 0:
            goes_on = 0
            status = BY_HAND
        if goes_on != 0:
            found = rows[row + BASE]
            for s in range(STACKS):
                field, height = row + FIELDS + 3 * s, clock[TOPS + s]
                pops, pushed = rows[field + POPS], rows[field + PUSHED]
                if pops == ALL:
                    height = 0
                    clock[TOPS + STACKS + s] = 1
                height = max(0, height - pops)
                if rows[field + GROWS] != 0:
                    pad, keeps = clock[TOPS + 2 * STACKS], 1
                    if zeros[pushed] != 0 and height > 0 and at_hand[s, height - 1] == pad:
                        pushed = pad  # the stack is empty, and remains so
                    elif zeros[pushed] != 0 and height == 0 and clock[TOPS + STACKS + s] != 0:
                        keeps = 0
                    if keeps != 0:
                        at_hand[s, height] = pushed
                        height += 1
                clock[TOPS + s] = height
                for depth in range(rows[row + READS + s]):
                    if depth < height:
                        digit = max(EMPTY, at_hand[s, height - 1 - depth])
                        found += rows[row + MULTIPLES + s * DEPTH + depth] * digit
            row = found
            if rows[row + FLAGS] != 0:
                goes_on = 0
                status = BY_HAND
            elif rows[row + EMITS] != 0:
                codes[done] = rows[row + CODE]
                done += 1
                if done == codes.size:
                    goes_on = 0
    clock[ROW], clock[STATUS] = row, status
    return int(done)


State = tuple[int, tuple[tuple[int, ...], ...], int]
"""A row that is applied next; the digits at hand, lowest first; and the stack that is short of
digits, −1 for none. It may change: a row that leads to more entries looks at more digits."""


class Blocks:
    """Stacks of blocks of one size, with the digits at hand, and their entries."""

    def __init__(self, size: int, shape: Shape, zeros: NDArray[np.int64], pieces: Pieces) -> None:
        self.size, self.shape, self.pieces = size, Shape(shape.stacks, 1), pieces
        self._inside = specialised(shape, _needed, _inside)
        self._needed = specialised(shape, _needed)
        self._apply = specialised(self.shape, apply)
        self.pad = EMPTY if zeros[EMPTY] else PAD
        self._contents: list[tuple[int, ...]] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._zeros = np.zeros(8, np.int64)
        """Whether a block leaves an empty stack empty, by its number."""
        self._states: list[State] = []
        self._state_numbers: dict[State, int] = {}
        self._following = np.zeros((8, 9), np.int64)
        """The state that a row of a state leads to."""
        self._rows = np.zeros((8, 9, self.shape.width), np.int64)
        """Of a state: one that only leads to its entries, and its entries by the block taken."""
        self._rows[:, 1:, FLAGS] = 1
        self._number((self.pad,) * size, zeros)
        self._over: int | None = None
        """The number of digits at hand of all stacks when one is short, modulo `size`."""
        self._held = RunStacks(self.shape, [])
        self._state = 0
        self.is_given_up = False
        self._failures = 0

    # Stacks.

    def enter(self, stacks: Sequence[Runs], row: int, rows: Any, zeros: Any) -> bool:
        """Continue from stacks of digits, with a row to be applied; False if it cannot."""
        needed = [self._needed(s, row, rows) for s in range(self.shape.stacks)]
        if self._over is None:
            self._over = max(0, sum(needed) - 1) % self.size
        # The ends of blocks are far from the head, which may stay near for long.
        more = (self._over - sum(needed)) % self.size + self.size
        for s in range(len(needed)):
            needed[s] += more // len(needed) + (s < more % len(needed))
        if max(needed) > AT_HAND // 2:
            return False
        at_hand, below = [], []
        for stack, count in zip(stacks, needed, strict=True):
            at_hand.append(self._top(stack, count))
            cut = self._cut(stack.after(count), zeros)
            if cut is None:
                return False
            below.append(cut)
        self._state = self._state_of(row, tuple(at_hand), rows)
        self._held.put(below)
        self._held.clock[ROW] = self._address(self._state, 0)
        return True

    def _top(self, stack: Runs, count: int) -> tuple[int, ...]:
        """The highest digits of a stack, lowest first."""
        found, place = list[int](), len(stack.digits)
        while len(found) < count and place:
            place -= 1
            there = min(count - len(found), int(stack.counts[place]))
            found += there * [int(stack.digits[place])]
        return (self.pad,) * (count - len(found)) + tuple(found[::-1])

    def _cut(self, stack: Runs, zeros: Any) -> Runs | None:
        """A stack in blocks; None if there are too many different ones.

        Of a long run all but some digits are left out, a multiple of the size, and then counted.
        """
        size, counts = self.size, stack.counts
        if not len(counts):
            return stack
        least = 2 * size - 1  # which contain a whole block
        out = np.where(counts > 2 * least, (counts - least) // size, 0)
        left = (counts - out * size).astype(np.int64)
        ends = np.cumsum(left)
        before = -int(ends[-1]) % size
        digits = np.concatenate([np.full(before, self.pad), np.repeat(stack.digits, left)])
        base, blocks = int(digits.max()) + 2, digits.reshape(-1, size)
        if base**size > runs.FITS:
            return None
        spelled = (blocks + 1) @ base ** np.arange(size)
        _, firsts, which = np.unique(spelled, return_index=True, return_inverse=True)
        if len(firsts) > MOST_BLOCKS:
            return None
        known = [self._number(tuple(each), zeros) for each in blocks[firsts].tolist()]
        numbers = np.array(known, np.int64)
        times = np.ones(len(which), counts.dtype)
        long = np.flatnonzero(out)
        times[-(-(before + ends - left)[long] // size)] += out[long]
        return merged(numbers[which.reshape(-1)], times)

    def stacks(self, zeros: Any) -> list[Runs]:
        """The stacks, digit by digit."""
        _, at_hand, _ = self._states[self._state]
        contents = np.array(self._contents, np.int64)
        equal = (contents == contents[:, :1]).all(axis=1)
        found = []
        for (numbers, counts), above in zip(self._held.stacks(), at_hand, strict=True):
            is_equal = equal[numbers]
            total = int(np.where(is_equal, 1, counts * self.size).sum()) if len(counts) else 0
            if total > runs.MOST_RUNS:
                raise too_many_runs()
            each = np.repeat(numbers, np.where(is_equal, 1, counts).astype(np.int64))
            digits = contents[each]
            kept = np.ones(digits.shape, np.bool_)
            kept[equal[each], 1:] = False
            times = np.ones(digits.shape, counts.dtype)
            times[equal[each], 0] = counts[is_equal] * self.size
            all_digits = np.concatenate([digits[kept], np.array(above, np.int64)])
            all_times = np.concatenate([times[kept], np.ones(len(above), counts.dtype)])
            real = (all_digits != self.pad) & ~zeros.astype(np.bool_)[np.maximum(all_digits, 0)]
            first = int(real.argmax()) if real.any() else len(real)
            found.append(merged(all_digits[first:], all_times[first:]))
        return found

    @property
    def row(self) -> int:
        """The row that is applied next."""
        return self._states[self._state][0]

    # Entries.

    def _number(self, block: tuple[int, ...], zeros: Any) -> int:
        number = self._numbers.setdefault(block, len(self._contents))
        if number == len(self._contents):
            self._contents.append(block)
            if number == len(self._zeros):
                self._zeros = np.concatenate([self._zeros, np.zeros_like(self._zeros)])
                self._widen()
            self._zeros[number] = all(each == self.pad or zeros[each] for each in block)
        return number

    def _address(self, state: int, place: int) -> int:
        return int((state * self._rows.shape[1] + place) * self.shape.width)

    def _widen(self) -> None:
        """Make room for twice as many blocks."""
        states, places, width = self._rows.shape
        rows = np.zeros((states, 2 * places - 1, width), np.int64)
        following = np.zeros(rows.shape[:2], np.int64)
        rows[:, :places], following[:, :places] = self._rows, self._following
        rows[:, places:, FLAGS] = 1
        rows[:, :, BASE] = (following * rows.shape[1] + 1) * width
        self._rows, self._following = rows, following
        self._held.clock[ROW] = self._address(self._state, 0)

    def _state_of(self, row: int, at_hand: tuple[tuple[int, ...], ...], rows: Any) -> int:
        lacks = [len(own) < self._needed(s, row, rows) for s, own in enumerate(at_hand)]
        state = row, at_hand, lacks.index(True) if any(lacks) else -1
        number = self._state_numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
            if number == len(self._rows):
                more = np.zeros_like(self._rows)
                more[:, 1:, FLAGS] = 1
                self._rows = np.concatenate([self._rows, more])
                self._following = np.concatenate([self._following, np.zeros_like(self._following)])
            self._lead(number, 0, number)
        return number

    def _lead(self, state: int, place: int, following: int) -> None:
        """Make a row lead to the entries of a state."""
        self._following[state, place] = following
        row, short = self._rows[state, place], self._states[following][2]
        row[BASE] = self._address(following, 1)
        if short >= 0:
            row[self.shape.multiple(short, 0)], row[self.shape.reads(short)] = self.shape.width, 1

    def _fill(self, state: int, block: int, rows: Any, zeros: Any) -> bool:
        """Fill the entry of a state and the block that it takes; False if it cannot."""
        from netwright.jit import compiled  # the compiler, which the loop over runs has loaded

        row, digits, short = self._states[state]
        stacks = self.shape.stacks
        at_hand, clock = np.zeros((stacks, AT_HAND), np.int64), np.zeros(TOPS + 2 * stacks + 1)
        clock = clock.astype(np.int64)
        for s, own in enumerate(digits):
            both = (*self._contents[block], *own) if s == short else own
            if len(both) + 2 > AT_HAND:
                return False
            at_hand[s, : len(both)], clock[TOPS + s] = both, len(both)
        clock[ROW], clock[-1] = row, self.pad
        codes = np.zeros(LONGEST, np.int64)
        arrays = rows, zeros, at_hand, codes, clock
        done = compiled(self._inside, self.size, *arrays).loop(self.size, *arrays)
        if clock[STATUS] == BY_HAND:
            return False
        fields = np.zeros(self.shape.width, np.int64)
        row, left = int(clock[ROW]), []
        for s in range(stacks):
            height = int(clock[TOPS + s])
            own = tuple(at_hand[s, :height].tolist())
            if height >= self._needed(s, row, rows) + self.size:
                fields[self.shape.field(s, PUSHED)] = self._number(own[: self.size], zeros)
                fields[self.shape.field(s, GROWS)] = 1
                own = own[self.size :]
            fields[self.shape.field(s, POPS)] = ALL if clock[TOPS + stacks + s] else s == short
            left.append(own)
        following = self._state_of(row, tuple(left), rows)
        if following == state and done == 0:
            return False
        self._rows[state, block + 1] = fields
        self._rows[state, block + 1, EMITS] = done
        self._rows[state, block + 1, CODE] = self.pieces.number(codes[:done])
        self._rows[state, block + 1, REPEATS] = following == state
        self._lead(state, block + 1, following)
        return True

    # Moments.

    def advance(self, rows: Any, zeros: Any, emitted: Emitted, limit: int) -> tuple[int, bool]:
        """Follow entries of blocks; how many moments were done, and whether it can go on."""
        done, clock = 0, self._held.clock
        while emitted.size < len(emitted.codes):
            if done == limit:
                return done, False
            if self._rows.shape[0] * self._rows.shape[1] > MOST_ROWS:
                self.is_given_up = True
            if self.pieces.size > MOST_CODES:
                self.is_given_up = True
            if self.is_given_up or len(self._contents) > MOST_BLOCKS:
                return done, False
            done += self._held.advance(self._rows, self._zeros, emitted, limit - done)
            address = int(clock[ROW]) // self.shape.width
            state, place = divmod(address, self._rows.shape[1])
            if clock[STATUS] == DONE:
                for s in range(self.shape.stacks):
                    flat = self._rows.reshape(-1), self._zeros, self._held.runs, clock
                    self._apply(int(clock[ROW]), s, *flat)
                state = int(self._following[state, place])
            self._state = state
            clock[ROW] = self._address(state, 0)
            if clock[STATUS] == PART:
                return done, False
            if clock[STATUS] == BY_HAND and not self._fill(state, place - 1, rows, zeros):
                self._failures += 1
                self.is_given_up = self._failures > MOST_FAILURES
                return done, False
            if clock[STATUS] == BY_HAND:
                clock[ROW] = self._address(state, 0)  # rows may have moved
        return done, True


class Tried(NamedTuple):
    """A size that is tried."""

    blocks: Blocks | None
    rates: list[float]
    """How many moments there were to a move, each time."""

    @property
    def rate(self) -> float:
        """The mean of the rates."""
        return sum(self.rates) / len(self.rates)


class BlockStacks:
    """The runs of all stacks, of digits or of blocks of them, and the loop over them."""

    def __init__(self, shape: Shape, stacks: Sequence[Runs], pieces: Pieces) -> None:
        self._held, self._pieces = RunStacks(shape, stacks), pieces
        self._zeros, self.clock = np.zeros(0, np.int64), self._held.clock
        self._blocks: Blocks | None = None
        """Those that are used, or tried; None for digits."""
        self._is_inside = False
        """Whether the stacks are in blocks at the moment."""
        self._waits = 0
        """The moves on digits until they are in blocks again."""
        self._left, self._pause = FIRST, FIRST
        """The moves until a size is chosen, or the next one tried."""
        self._moves = self._moments = 0
        """Those since then."""
        self._untried: list[int] = []
        self._tried: dict[int, Tried] = {}

    def put(self, stacks: Sequence[Runs]) -> None:
        """Replace the runs of all stacks."""
        self._is_inside = False
        self._held.put(stacks)

    def stacks(self) -> list[Runs]:
        """The stacks, as views."""
        if self._is_inside and self._blocks is not None:
            return self._blocks.stacks(self._zeros)
        return self._held.stacks()

    def advance(
        self, rows: NDArray[np.int64], zeros: NDArray[np.int64], emitted: Emitted, limit: int
    ) -> int:
        """Follow rows for some moments, or until one is left to Python; return how many.

        `zeros` has 1 for digits that leave an empty stack empty. Blocks do not reach the limit, so
        the last moment before it is that of a row on digits.
        """
        self._zeros, done, room = zeros, 0, len(emitted.codes)
        while done < limit and emitted.size < room:
            blocks, before = self._blocks, emitted.size
            if blocks is not None and self._waits <= 0 and not self._is_inside:
                self._enter(blocks, rows)
            if self._is_inside and blocks is not None:
                emitted.limit(min(room, before + self._left))
                now, goes_on = blocks.advance(rows.reshape(-1), zeros, emitted, limit - done - 1)
                self.clock[ROW], self.clock[STATUS] = blocks.row, DONE
                done += now
                if not now and not goes_on:
                    self._leave()
                self._count(emitted.size - before, now)
                if now and not goes_on and self._is_inside:
                    break
                continue
            waits = self._left if blocks is None else min(self._left, max(1, self._waits))
            emitted.limit(min(room, before + waits))
            now = self._held.advance(rows, zeros, emitted, limit - done)
            done += now
            self._waits -= emitted.size - before
            if blocks is None:
                self._count(emitted.size - before, now)
            if self.clock[STATUS] == BY_HAND:
                break
        emitted.limit(room)
        return done

    def _enter(self, blocks: Blocks, rows: NDArray[np.int64]) -> None:
        """Continue in blocks."""
        row = int(self.clock[ROW])
        if not rows.flat[row + FLAGS]:
            self._is_inside = blocks.enter(self._held.stacks(), row, rows.reshape(-1), self._zeros)
            blocks.is_given_up |= not self._is_inside

    def _leave(self) -> None:
        """Continue in digits, for as many moves as pay for the way back."""
        stacks = self.stacks()
        self._is_inside = False
        self._held.put(stacks)
        runs = sum(len(each.digits) for each in stacks)
        self._waits = SHORTLY if self._tried else SHORTLY + runs

    def _count(self, moves: int, moments: int) -> None:
        """Count moves, and take another size if it is time."""
        self._moves, self._moments = self._moves + moves, self._moments + moments
        self._left -= moves
        blocks = self._blocks
        is_given_up = blocks is not None and blocks.is_given_up
        if self._left > 0 and not is_given_up:
            return
        size = 1 if blocks is None else blocks.size
        rate = 0.0 if is_given_up else self._moments / max(1, self._moves)
        if not self._tried and rate < GOOD:
            # Runs become longer: each size is tried as long before the middle as after it.
            others = [each for each in (1, *SIZES) if each != size]
            self._untried = [*others, *reversed(others), size]
        if self._tried or self._untried:
            self._tried.setdefault(size, Tried(blocks, [])).rates.append(rate)
            if self._untried:
                self._take(self._blocks_of(self._untried.pop(0)))
                self._left = SAMPLE
                return
            best = max(self._tried.values(), key=lambda each: each.rate)
            self._take(best.blocks if best.rate > GAIN * self._tried[1].rate else None)
            self._tried = {}
        self._pause *= LATER
        self._left = max(self._pause, sum(self._held.clock[TOPS:].tolist()))

    def _blocks_of(self, size: int) -> Blocks | None:
        """The blocks of a size that is tried."""
        if size in self._tried or size == 1:
            return self._tried[size].blocks if size in self._tried else None
        return Blocks(size, self._held.shape, self._zeros, self._pieces)

    def _take(self, blocks: Blocks | None) -> None:
        """Use blocks, or digits."""
        if self._is_inside:
            self._leave()
        self._blocks, self._waits, self._moves, self._moments = blocks, 0, 0, 0
