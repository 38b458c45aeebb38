"""A machine's run as arrays: for each time its state, its rule, its cell, and the last visits.

| array      | at time i                                                                   |
|------------|-----------------------------------------------------------------------------|
| `q` `s`    | the state and the symbol under the head; q is −1 after the halt             |
| `rule`     | the number of the pair of both, state by state                              |
| `v` `m`    | the symbol that is written, −1 if no rule applies, and the move             |
| `turn`     | the move, −2 if no rule applies                                             |
| `before`   | the move at time i − 1; 0 at first                                          |
| `cell`     | the cell of the head, 0 where it begins; after the halt it stays            |
| `latest`   | ℓ(i): the last time before i at which the head was there; i − 1 if none     |
| `w`        | the symbol that was written at time ℓ(i), −1 if none was                    |
| `right`    | R_i + 1: R_i is the last time before i in the cell on the right, 0 if none  |
| `left`     | L_i + 1: the same on the left                                               |
| `followed` | j + 1, where j is L_i for a move to the left, else R_i                      |
| `look`     | the cell that the head was on at time j, if it was there                    |
| `found`    | the symbol that was written at time j                                       |
| `R of it`  | R_j + 1, and `L of it` is L_j + 1                                           |
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from netwright.assembler import Assembler
from netwright.machine.packed import rule_table
from netwright.machine.turing_machine import TuringMachine

KEPT = ("rules", "states", "tape", "visits", "rights", "lefts")
CARRIED = ("row", "place", "time", "before", "wrote")
CLOCK = (*CARRIED, "status", "cells", "origin", "blank", "first")
DONE, NO_ROOM = range(2)


class Recorded:
    """The run of a machine on a word, written in batches of times."""

    def __init__(
        self,
        machine: TuringMachine,
        word: Sequence[str],
        head: int,
        arrays: Mapping[str, NDArray[np.int64]],
    ) -> None:
        """`arrays` are the output arrays by name; what they do not name is not computed."""
        rules, states, symbols = rule_table(machine)
        width, blank = len(symbols), symbols[machine.blank]
        margin = 64 + abs(head)
        tape = np.full(len(word) + 2 * margin, blank, np.int64)
        tape[margin : margin + len(word)] = [symbols[symbol] for symbol in word]
        self.arrays, self._code = arrays, _compiled(tuple(arrays))
        self.kept: dict[str, NDArray[np.int64]] = {
            "rules": rules,
            "states": np.repeat(np.arange(len(states)), width),
            "tape": tape,
            **{name: np.zeros(len(tape), np.int64) for name in ("visits", "rights", "lefts")},
        }
        place, row = head + margin, states[machine.start] * width
        rule = int(rules[row + tape[place]])
        first = -1 if rule < 0 else rule >> 2 & 0x3FFFFFFF
        values = (row, place, 0, 0, -1, DONE, len(tape), -place, blank, first)
        self.clock = np.array(values, np.int64)
        self._where: NDArray[np.int64] | None = None
        """The addresses of all arrays; None after one was replaced."""

    def advance(self, start: int, count: int) -> None:
        """Write the next `count` times to index `start` and following."""
        done = 0
        while done < count:
            if self._where is None:
                arrays = (*map(self.kept.__getitem__, KEPT), *self.arrays.values())
                self._where = np.array([array.ctypes.data for array in arrays], np.int64)
                self._clock = self.clock.ctypes.data
            where = self._where.copy()
            where[len(KEPT) :] += 8 * (start + done)
            done += self._code(where.ctypes.data, self._clock, count - done)
            if self.clock[CLOCK.index("status")] == NO_ROOM:
                self._make_room()

    def _make_room(self) -> None:
        """Add as many cells on each side as there are."""
        more, blank = len(self.kept["tape"]), int(self.clock[CLOCK.index("blank")])
        for name in KEPT[2:]:
            outside = blank if name == "tape" else 0
            self.kept[name] = np.pad(self.kept[name], more, constant_values=outside)
        self._where = None
        self.clock[[CLOCK.index("cells"), CLOCK.index("place")]] += 2 * more, more
        self.clock[CLOCK.index("origin")] -= more


@cache
def _compiled(names: tuple[str, ...]) -> Callable[..., int]:
    return _Writer(names).compiled(optimised=True)


class _Writer(Assembler):
    """Generates the loop; what is not stored is not computed."""

    def __init__(self, names: tuple[str, ...]) -> None:
        carried = {name: ("clock", CLOCK.index(name)) for name in CARRIED}
        arrays = (*KEPT, *names)
        super().__init__(("where", "clock", "count"), CLOCK.index("status"), carried, arrays)
        cells, origin, blank, first = (
            self.at_first("clock", CLOCK.index(name))
            for name in ("cells", "origin", "blank", "first")
        )
        row, place, time, before, wrote = (self.carried[name] for name in CARRIED)
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), DONE)
        inside = self.b.icmp_unsigned("<", self.sum(place, -1), self.sum(cells, -2))
        self.go_on_if(inside, NO_ROOM)
        dead = self.compare("<", row, 0)
        under = self.load("tape", place)
        at = self.choose(dead, 0, self.sum(row, under))
        rule = self.choose(dead, -1, self.load("rules", at))
        halts = self.compare("<", rule, 0)
        written = self.b.and_(self.b.ashr(rule, self.word(2)), self.word(0x3FFFFFFF))
        move = self.choose(halts, 0, self.sum(self.b.and_(rule, self.word(3)), -1))
        # A time is kept as one more, and 0 where there was no visit.
        visited, right, left = (self.load("visits", self.sum(place, n)) for n in (0, 1, -1))
        is_fresh = self.compare("==", visited, 0)
        right, left = (self.greatest(each, 1) for each in (right, left))
        goes_left = self.compare("<", move, 0)
        target = self.sum(place, self.choose(goes_left, -1, 1))
        was_there = self.compare("!=", self.load("visits", target), 0)
        found = {
            "q": self.choose(dead, -1, self.load("states", at)),
            "s": self.choose(dead, blank, under),
            "rule": at,
            "v": self.choose(halts, -1, written),
            "m": move,
            "turn": self.choose(halts, -2, move),
            "before": before,
            "cell": self.sum(place, origin),
            "latest": self.sum(self.choose(is_fresh, time, visited), -1),
            "w": self.choose(dead, -1, self.choose(is_fresh, wrote, under)),
            "right": right,
            "left": left,
            "followed": self.choose(goes_left, left, right),
            "look": self.sum(target, origin),
            "found": self.choose(was_there, self.load("tape", target), first),
            "R of it": self.greatest(self.load("rights", target), 1),
            "L of it": self.greatest(self.load("lefts", target), 1),
        }
        for name in names:
            self.store(found[name], name, self.done)
        self.store(self.choose(halts, under, written), "tape", place)
        if "R of it" in names:
            self.store(right, "rights", place)
            self.store(left, "lefts", place)
        after = self.sum(time, 1)
        self.store(after, "visits", place)
        following = self.choose(halts, -1, self.b.ashr(rule, self.word(32)))
        self.again(
            row=following, place=self.sum(place, move), time=after, before=move, wrote=found["v"]
        )
