"""A tape of runs followed many moments at a time is the tape followed one by one."""

import random

import numpy as np
import pytest
from tests.repetition import repeated

from netwright.engine.following.tape_runs import ALL, FEW, GIVEN, LIMIT, STOP, STOPPED, RunTape
from netwright.engine.moments import RepeatedCodes
from netwright.exact.runs import REPEATED, spelled_out
from netwright.machine.configuration import Tape

ROWS = np.zeros((0, 0), np.int64)


def random_codes(draw: random.Random, kinds: int, length: int) -> RepeatedCodes:
    """Codes that repeat, and cycles of codes that were there once."""
    numbers: list[int] = []
    counts: list[int] = []
    once = 0  # how many of the last codes were there once
    while len(numbers) < length:
        if once > 1 and draw.random() < 0.3:
            numbers.append(REPEATED + draw.randint(1, min(once, 5)))
            counts.append(draw.randint(1, 6))
            once = 0
        else:
            counts.append(draw.choice([1, 1, 1, draw.randint(2, 9)]))
            numbers.append(draw.randrange(kinds))
            once = once + 1 if counts[-1] == 1 else 0
    array = np.array(numbers, np.uint32), np.array(counts)
    return RepeatedCodes(array[0], ROWS, array[1], len(spelled_out(*array)))


@pytest.mark.parametrize("length", [FEW - 10, 4 * FEW])
@pytest.mark.parametrize("start", [0, 1 << 61])
def test_equal_to_one_by_one(length: int, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interpreted and compiled, beyond 64 bits, and where the arrays have to grow on the way."""
    monkeypatch.setattr("netwright.engine.following.tape_runs.LEAST", 200)
    draw, symbols = random.Random(length), ["_", "a", "b"]
    for _ in range(repeated(300, 60)):
        kinds = draw.randint(1, 6)
        flags = np.array([draw.choice([GIVEN, GIVEN, 0]) for _ in range(kinds)])
        written = np.array([draw.randrange(3) for _ in range(kinds)])
        moves = np.array([draw.choice([-1, -1, 0, 1, 1]) for _ in range(kinds)])
        codes = random_codes(draw, kinds, length)
        cells = [draw.randrange(3) for _ in range(draw.randint(0, 5))]
        tape = RunTape.of(np.array(cells, np.int64), -2, 0, 3, 1)
        clock = [1, start, 0, -1, 1, 1, 1, ALL, 1 << 62, 0]
        *now, stop = tape.follow(codes, (flags, written, moves, flags), clock)
        assert stop == -1

        at = {place - 2: symbol for place, symbol in enumerate(cells)}
        cell, steps, head, shown, lowest, highest = 1, start, 1, -1, 1, 1
        for code in spelled_out(codes.numbers, codes.counts):
            at[cell] = int(written[code])
            lowest, highest = min(lowest, cell), max(highest, cell)
            cell += int(moves[code])
            if flags[code]:
                steps, head, shown = steps + 1, cell, code
        last = flags[spelled_out(codes.numbers, codes.counts)[-1]]
        assert now == [
            cell, steps, last, shown, head, lowest, highest, ALL, 1 << 62, codes.moments
        ]  # fmt: skip
        first = min(at)
        wanted = [symbols[at.get(place, 0)] for place in range(first, max(at) + 1)]
        assert tape.tape(symbols, "_") == Tape.of(wanted, first, "_")
        assert symbols[tape.here] == symbols[at.get(cell, 0)]
        again = RunTape(0, 3)
        again.restore(tape.snapshot())
        assert again.tape(symbols, "_") == tape.tape(symbols, "_")


def test_it_stops_at_the_limit_and_at_what_shows_no_step() -> None:
    meanings = np.array([GIVEN, STOP]), np.array([1, 1]), np.array([1, 1]), np.array([0, 1])
    codes = RepeatedCodes(np.array([0, 0, 1], np.uint32), ROWS, np.array([3, 1, 1]), 5)
    for limit, status, done in ((3, LIMIT, 1), (9, STOPPED, 2)):
        tape = RunTape(0, 2)
        *now, code = tape.follow(codes, meanings, [0, 0, 0, -1, 0, 0, 0, ALL, limit, 0])
        assert (now[7], code) == (status, done - 1)
        assert tape.tape(["_", "a"], "_").runs == (("a", 3 + done - 1),)
