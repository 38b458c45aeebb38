"""An accelerated run of pointers that can go back, and explain its next token.

A stack has the values of tokens, not their numbers. The token on top of a stack of height h at time
t is the last one before t that popped the stack below h, and then pushed itself: all later ones
left it there. So its number is found in the moves: for each part of the run the lowest height of
each stack is kept, and the last part that went below h is run again.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from netwright.definitions.transformer import Transformer
from netwright.engine.moments import Codes, RepeatedCodes, Watch
from netwright.engine.pointers.accelerated import RunPointers
from netwright.engine.pointers.engine import Tables
from netwright.engine.pointers.evaluation import Output, Value
from netwright.engine.pointers.tokens import PointerTokens
from netwright.exact.runs import FITS, REPEATED, Runs
from netwright.exact.vector import Vector

MOST_PARTS = 128
HEIGHT, LOWEST, BELOW, LAST, TIME = range(5)
"""Fields of a clock: the height of a stack; the lowest height between a pop and a push; the height
that is looked for; the last token that went below it; the number of tokens done."""


def heights(codes: Any, counts: Any, pops: Any, grows: Any, clock: Any) -> None:
    """Follow the height of a stack, compiled or interpreted; see the fields of a clock."""
    height, lowest, below, last, time = clock[0], clock[1], clock[2], clock[3], clock[4]
    for place in range(codes.size):
        code, n = codes[place], counts[place]
        first, k = place, 1
        if code >= REPEATED:
            k = code - REPEATED
            first = place - k
        # Of all repetitions the first or the last goes lowest, and the last below is wanted. Where
        # they find the stack empty, all of them leave it at the same height.
        now, least, empties = height, height, 0
        for each in range(first, first + k):
            if pops[codes[each]] > now:
                now, empties = 0, 1
            else:
                now -= pops[codes[each]]
            least = min(least, now)
            now += grows[codes[each]]
        change, second = now - height, now
        if empties:
            change = 0
        lowest = min(lowest, min(least, least + (n - 1) * change))
        which = -1
        if least + (n - 1) * change < below:
            which = n - 1
        elif least < below:  # it grows: least + which·change < below
            which = (below - 1 - least) // change
        if which >= 0:
            now = height + which * change
            if empties and which > 0:
                now = second
            for each in range(first, first + k):
                now = max(0, now - pops[codes[each]])
                if now < below:
                    last = time + which * k + each - first
                now += grows[codes[each]]
        height = second + (n - 1) * change
        time += n * k
    clock[0], clock[1], clock[3], clock[4] = height, lowest, last, time


class State(NamedTuple):
    """A bookmark of the run."""

    time: int
    output: Output
    stacks: Sequence[Runs]
    shown: int

    @property
    def nbytes(self) -> int:
        """The size of the stacks in memory."""
        return sum(each.nbytes for each in self.stacks)


class Part(NamedTuple):
    """A part of the run: its begin, how many moves it has, and the lowest height of each stack."""

    begin: State
    moves: int
    lowest: Sequence[int]


class RunPointerTokens(PointerTokens):
    """The integers of an accelerated run that `engine.transformer.tokens` explains."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        self.runs = RunPointers(Tables(network, X, seed, watches), watches)
        super().__init__(network, self.runs.tables)
        self._bases: list[dict[int, list[int]]] = []
        """By stack: the tokens in it when the input was read, lowest first, with their pointers."""
        self._parts: list[Part] = []
        self._known = 0
        """The time up to which there are parts."""
        self._tops: dict[int, Sequence[int]] = {}

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return self.runs.moments

    def advance(self, count: int) -> Codes:
        """The codes of the next tokens, at least one."""
        if self.runs.held is None and self.moments < self.runs.reads:
            return self.runs.advance(count)
        if self.runs.held is None:
            chains = [[*self.runs.chain(s)][::-1] for s in (0, 1)]
            self._bases = [{token: to for token, _, to in chain} for chain in chains]
            self._known = max(self._known, self.moments)
        if self.moments < self._known:
            return self.runs.advance(min(count, self._known - self.moments))
        begin = self._bookmark()
        codes = self.runs.advance(count)
        assert isinstance(codes, RepeatedCodes)
        lowest = [self._heights(begin, codes, s)[LOWEST] for s in (0, 1)]
        self._parts.append(Part(begin, len(codes), lowest))
        self._known = self.moments
        if len(self._parts) > MOST_PARTS:
            pairs = [a.moves + b.moves for a, b in pairwise(self._parts)]
            n = pairs.index(min(pairs))
            a, b = self._parts[n : n + 2]
            self._parts[n : n + 2] = [Part(a.begin, pairs[n], [*map(min, a.lowest, b.lowest)])]
        return codes

    def _bookmark(self) -> State:
        output, stacks = self.runs.state()
        shown = len(self.tables.content.shown)
        return State(self.moments, output, [each.copy() for each in stacks], shown)

    def _go_to(self, state: State) -> None:
        if state.shown != len(self.tables.content.shown):
            self.tables.content.forget(state.shown)
        self.runs.time = state.time
        self.runs.put(state.output, state.stacks)

    @property
    def state(self) -> dict[str, Any]:
        """A copy of the state that later tokens depend on."""
        return super().state if self.runs.held is None else {"runs": self._bookmark()}

    def put(self, state: Mapping[str, Any]) -> None:
        """Return to a state."""
        if "runs" in state:
            self._go_to(state["runs"])
        else:
            self.runs.held = None
            super().put(state)

    # The next token.

    @property
    def case(self) -> tuple[Output, int]:
        """The newest output, and the symbol of the input that the next token reads."""
        return (
            super().case
            if self.runs.held is None
            else (self.runs.state()[0], self.tables.input.end)
        )

    @property
    def pointed(self) -> Sequence[int]:
        """The numbers of the tokens that the next token points to."""
        return super().pointed if self.runs.held is None else self._pointers_of(self.moments)

    def target(self, follows: int) -> tuple[Value | None, Sequence[int]]:
        """The value of the token that a pointer is to, and the tokens that it points to."""
        if self.runs.held is None:
            return super().target(follows)
        digit = self.runs.state()[1][follows].digit(0)
        return self.runs.values[digit], self._pointers_of(self.pointed[follows])

    # The numbers of tokens.

    def _heights(self, begin: State, codes: RepeatedCodes, s: int, below: int = 0) -> list[int]:
        """The clock of a stack after some codes that follow a bookmark."""
        pops, grows = self.runs.effects[:, 2 * s : 2 * s + 2].T.copy()
        height, codes = begin.stacks[s].height, codes.without_pieces()
        clock = [height, height, below, -1, begin.time]
        arrays = codes.numbers, codes.counts, pops, grows
        if max(clock) + codes.moments < FITS:
            from netwright.jit import compiled  # the compiler, which a fast engine has loaded

            now = np.array(clock, np.int64)
            compiled(heights, *arrays, now).loop(*arrays, now)
        else:
            now = np.array(clock, object)
            objects = [each.astype(object) for each in arrays]
            heights(objects[0], objects[1], objects[2], objects[3], now)
        return list(now.tolist())

    def _pointers_of(self, t: int) -> Sequence[int]:
        """The numbers of the tokens that token t points to, by pointer."""
        if t == 0:
            return 0, 0
        if t < self.runs.reads:
            return next(base[t] for base in self._bases if t in base)
        if t not in self._tops:
            here = self._bookmark()
            try:
                if t != here.time:
                    self._run_to(t)
                found = self._bookmark().stacks
                self._tops[t] = [self._top(t, s, each.height) for s, each in enumerate(found)]
            finally:
                self._go_to(here)
        return self._tops[t]

    def _run_to(self, t: int) -> None:
        """Move to a time that was reached before."""
        self._go_to(next(part.begin for part in reversed(self._parts) if part.begin.time <= t))
        while self.moments < t:
            self.runs.advance(t - self.moments)

    def _top(self, t: int, s: int, height: int) -> int:
        """The token on top of a stack of a height at time t."""
        end = self._known
        for part in reversed(self._parts):
            if height and part.begin.time < t and part.lowest[s] < height:
                self._go_to(part.begin)
                found, end = -1, min(t, end)
                while self.moments < end:
                    now = self._bookmark()
                    codes = self.runs.advance(end - self.moments)
                    assert isinstance(codes, RepeatedCodes)
                    found = max(found, self._heights(now, codes, s, height)[LAST])
                if found >= 0:
                    return found
            end = part.begin.time
        return [0, *self._bases[s]][height]
