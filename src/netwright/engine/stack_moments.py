"""Engines of networks whose unbounded numbers are stacks: what RNNs and Neural GPUs share."""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.engine.cells import Held
from netwright.engine.control import Context, Control, State
from netwright.engine.digits import EMPTY, LARGEST, MOST_DIGITS, MOST_STACKS, Digit, Digits, Stacks
from netwright.engine.forms import Form, bounds, heaviest, opened
from netwright.engine.moments import (
    NEITHER,
    ZERO_BLOCK,
    Codes,
    ReferenceEngine,
    Spelled,
    UnsuitableError,
    Watch,
)
from netwright.engine.staged import StagedEngine, Vectors
from netwright.errors import NetworkError
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.tables import Tables


class Seen:
    """A watch of a one-hot block as integers: what each coordinate of a vector adds to it."""

    def __init__(self, watch: Watch, layout: Layout) -> None:
        if watch.sign or watch.numbers is not None:
            raise UnsuitableError("a number is watched")
        through = watch.through
        places = {
            k: n for n, k in enumerate((through.output if through else layout).places(watch.block))
        }
        rows = [(k, k, 1, 1) for k in places] if through is None else through.fractions
        biases = {} if through is None else through.bias.entries
        self.over = lcm(*{over for _, _, _, over in rows}, *(int(x.q) for x in biases.values()))
        self.rows: dict[int, list[tuple[int, int]]] = {}
        for j, k, top, over in rows:
            if k in places:
                self.rows.setdefault(j, []).append((places[k], top * (self.over // over)))
        self.bias = {places[k]: int((x * self.over).p) for k, x in biases.items() if k in places}

    def _image(self, coordinates: Iterable[int]) -> dict[int, int]:
        total: dict[int, int] = {}
        for j in coordinates:
            for n, w in self.rows.get(j, ()):
                total[n] = total.get(n, 0) + w
        return total

    def _forms(self, state: State) -> tuple[dict[int, int], dict[int, Form]]:
        """The numbers of the block without cells; and the forms of those that depend on one."""
        numbers = self._image(state.ones)
        for n, bias in self.bias.items():
            numbers[n] = numbers.get(n, 0) + bias
        masks = [self._image(places) for places in state.cells]
        forms: dict[int, Form] = {}
        for n in {n for mask in masks for n, w in mask.items() if w}:
            terms = tuple((cell, mask[n]) for cell, mask in enumerate(masks) if mask.get(n))
            forms[n] = (numbers.pop(n, 0), self.over, terms)
        return numbers, forms

    def form(self, state: State) -> Form:
        """The form of a block of one coordinate."""
        numbers, forms = self._forms(state)
        return forms.get(0, (numbers.get(0, 0), self.over, ()))

    def code(self, state: State, known: Digits) -> int:
        """The code of all vectors of a state; UnsuitableError where they have not the same."""
        numbers, forms = self._forms(state)
        for form in forms.values():
            low, high, one = bounds(form, known)
            if high < 0 or 0 < low <= high < one or one < low:
                return NEITHER
            raise UnsuitableError("what is watched depends on a number that is not 0 or 1")
        found = [(n, number) for n, number in numbers.items() if number]
        if not found:
            return ZERO_BLOCK
        return found[0][0] if len(found) == 1 and found[0][1] == self.over else NEITHER


class Watching:
    """All watches of a vector, and the codes of the last one with which the codes of a call end."""

    def __init__(
        self, watches: Sequence[Watch], layout: Layout, stops: Sequence[int], known: Digits
    ) -> None:
        self._seen = [Seen(watch, layout) for watch in watches]
        self._stops, self._known = frozenset(stops), known

    def __call__(self, state: State) -> tuple[tuple[int, ...], bool]:
        """The codes, and whether they end with this moment."""
        codes = tuple(seen.code(state, self._known) for seen in self._seen)
        return codes, bool(codes) and (codes[-1] < 0 or codes[-1] in self._stops)


DEEPEST = 6
"""So many digits of a cell are read at most."""


def vector_of(layout: Layout, state: State, stacks: Stacks, known: Digits) -> Vector:
    """The vector of a state with these stacks."""
    entries = dict.fromkeys(state.ones, ONE)
    for places, digits in zip(state.cells, stacks, strict=False):
        if places:
            entries |= dict.fromkeys(places, known.value(digits[::-1].tolist()))
    return Vector(layout, entries)


def kept_state(state: State, stacks: Stacks, known: Digits) -> Snapshot:
    """A state with its stacks as arrays, and what its digits stand for."""
    cells = [(slot, k) for slot, places in enumerate(state.cells) for k in places]
    digits = stacks[: len(state.cells)]
    return {
        "ones": np.array(state.ones, np.int64),
        "cells": np.array(cells, np.int64).reshape(-1, 2),
        "pairs": np.array(known.pairs, np.int64),
        "heights": np.array([len(each) for each in digits], np.int64),
        "digits": np.concatenate([*digits, np.zeros(0, Digit)]).astype(np.int64),
    }


def read_state(kept: Snapshot, layout: Layout, known: Digits) -> tuple[State, Stacks]:
    """A state that was kept; FormatError if it is none of a network of this layout."""
    largest = layout.dimension - 1
    ones = checked_array(kept, "ones", (None,), 0, largest).tolist()
    cells = checked_array(kept, "cells", (None, 2), 0, max(largest, MOST_STACKS)).tolist()
    pairs = checked_array(kept, "pairs", (None, 3), -LARGEST, LARGEST).tolist()
    heights = checked_array(kept, "heights", (None,), 0, FARTHEST).tolist()
    digits = checked_array(kept, "digits", (None,), 1, max(1, len(pairs) - 1)).astype(Digit)
    require_consistent(0 < len(pairs) <= MOST_DIGITS and pairs[0] == [0, 0, 1], "other digits")
    for c, b, over in pairs[1:]:
        fits = 0 <= b < over < LARGEST and abs(c) < LARGEST and (c or b)
        require_consistent(fits, f"the digit ({c}, {b})/{over}")
    numbers = [0, *(known.number(*pair) for pair in pairs[1:])]
    require_consistent(len(heights) <= MOST_STACKS, f"{len(heights)} stacks")
    require_consistent(sum(heights) == len(digits), "stacks without their digits")
    by_slot: list[list[int]] = [[] for _ in heights]
    for slot, k in cells:
        require_consistent(slot < len(heights) and k <= largest, f"no stack {slot}")
        by_slot[slot].append(k)
    places = [*ones, *(k for _, k in cells)]
    require_consistent(len(set(places)) == len(places), "two numbers in one place")
    ends = np.cumsum([0, *heights])
    renamed = np.array(numbers, Digit)[digits]
    stacks = [renamed[ends[n] : ends[n + 1]] for n in range(len(heights))]
    return State(tuple(sorted(ones)), tuple(tuple(sorted(each)) for each in by_slot)), stacks


class StackPlace(NamedTuple):
    """A bookmark of `StackMoments`; without a state while it is cheaper to begin again."""

    moments: int
    state: State | None
    stacks: Stacks


class StackMoments(ABC):
    """The moments of one vector of a network by entries: by hand at first, then by the kernel."""

    def __init__(self, layout: Layout, watches: Sequence[Watch], stops: Sequence[int]) -> None:
        from netwright.engine import kernel  # the compiler, which short runs do without

        kernel.compiled(kernel.FIRST_SHAPE)
        self.layout, self.known, self.moments = layout, Digits(), 0
        self._watching = Watching(watches, layout, stops, self.known)
        self._tables: Tables | None = None
        """What the kernel follows, once it has taken over."""
        self._made: Tables | None = None
        self._held: Held | None = None
        self._before: Held | None = None

    @abstractmethod
    def begin(self) -> Held:
        """The vector of the first moment."""

    @abstractmethod
    def step(self, held: Held) -> Held:
        """The vector of the next moment, by hand."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the kernel can take over from the newest moment."""

    @abstractmethod
    def control(self) -> tuple[Control, Context]:
        """What the kernel follows from then on."""

    def advance(self, count: int) -> Codes:
        """The codes of the next moments."""
        if self._tables is None and self._held is not None and self.is_over:
            self._follow(self._held.state, self._held.arrays())
        codes: Codes = self._by_hand() if self._tables is None else self._tables.advance(count)
        self.moments += len(codes)
        return codes

    def _by_hand(self) -> NDArray[np.int64]:
        """The codes of the next moment; where there are none, everything is as it was."""
        before = None if self._held is None else self._held.copy()
        try:
            held = self.begin() if self._held is None else self.step(self._held)
            codes, _ = self._watching(held.state)
        except UnsuitableError:
            self._held = before  # whose stacks the step may have taken
            raise
        self._held, self._before = held, before
        return np.array([codes], np.int64)

    def _follow(self, state: State, stacks: Stacks) -> None:
        """Let the kernel go on from a state."""
        from netwright.engine.tables import Tables

        self._made = self._made or Tables(*self.control(), self._watching)
        self._made.put(state, stacks)
        self._tables = self._made

    def stacks(self, *, before: bool = False) -> tuple[State, Stacks]:
        """The state of the newest vector and the digits of its cells, or of the one before."""
        found: tuple[State, Stacks] | None
        if self._tables is not None:
            found = self._tables.stacks(before=before)
        else:
            held = self._before if before else self._held
            found = None if held is None else (held.state, held.arrays())
        if found is None:
            raise NetworkError("the vectors of the moment before are not kept here")
        return found

    def vector(self, *, before: bool = False) -> Vector:
        """The newest vector, or the one before."""
        return vector_of(self.layout, *self.stacks(before=before), self.known)

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> Spelled | None:
        """A number of what a watch looks through: a cell after some pops, a digit on it."""
        seen = Seen(replace(watch, block=block), self.layout)
        state, stacks = self.stacks(before=before)
        form, pops = seen.form(state), Counter[int]()
        for _ in range(2 * DEEPEST):
            c, d, terms = form
            if not terms:
                first = [self.known.number(c, 0, d)] if c else []
                return Spelled(np.array(first, Digit), self.known.pairs)
            (cell, w), *others = terms
            if not others and ((c == 0 and w == d) or 0 < w < d):
                digits = stacks[cell][::-1][pops[cell] :]
                if w != d:
                    digits = np.concatenate([[Digit(self.known.number(c, w, d))], digits])
                return Spelled(digits, self.known.pairs)
            cell = heaviest(form)
            depth, height = pops[cell], len(stacks[cell])
            digit = int(stacks[cell][height - 1 - depth]) if depth < height else EMPTY
            form = opened(form, cell, self.known.pairs[digit])
            pops[cell] += 1
        return None

    def place(self) -> StackPlace:
        """A bookmark for `go_back`."""
        if self._tables is None:
            return StackPlace(self.moments, None, [])
        state, stacks = self.stacks()
        return StackPlace(self.moments, state, [each.copy() for each in stacks])

    def go_back(self, place: StackPlace) -> None:
        """Stand where it stood."""
        if place.state is not None:
            self._follow(place.state, place.stacks)
            self.moments = place.moments
            return
        self._tables, self._held, self._before, self.moments = None, None, None, 0
        while self.moments < place.moments:
            self.advance(place.moments - self.moments)

    def snapshot(self) -> Snapshot:
        """The state with its digits; nothing while it is cheaper to begin again."""
        return {} if self._tables is None else kept_state(*self.stacks(), self.known)

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot."""
        moments = int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])
        self.go_back(StackPlace(moments, *read_state(state, self.layout, self.known)))


class EnginePlace(NamedTuple):
    """A bookmark of a `StackEngine`."""

    moments: int
    faster: StackMoments | None
    place: StackPlace | None
    newest: Mapping[str, Vector]
    before: Mapping[str, Vector]
    reason: str | None

    @property
    def bytes(self) -> int:
        """How much memory the stacks take."""
        return 0 if self.place is None else sum(each.nbytes for each in self.place.stacks)


class StackEngine(StagedEngine[StackMoments]):
    """Vectors at times 0, 1, 2, …, by their names, in stages.

    Codes end with a moment where the last watch has a code in `stops`, or a negative one.
    """

    @staticmethod
    def is_warm() -> bool:
        """Whether there is a kernel."""
        kernel = sys.modules.get("netwright.engine.kernel")
        return kernel is not None and kernel.compiled.cache_info().currsize > 0

    @abstractmethod
    def vectors_from(self, newest: Mapping[str, Vector], moments: int) -> Vectors:
        """What comes after some vectors, so many moments being done, by the definition."""

    @abstractmethod
    def all_vectors(self) -> Mapping[str, Vector]:
        """All vectors of the newest moment, while the faster way has them."""

    start = EnginePlace(0, None, None, {}, {}, None)
    """The bookmark of the beginning."""

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> Spelled | None:
        """A number of what a watch looks through, as digits, where there are some."""
        if self.faster is None:
            return None
        try:
            return self.faster.spelled(watch, block, before=before)
        except UnsuitableError:  # a digit that is too long
            return None

    def rationals(self) -> ReferenceEngine:
        """From where the faster way stands."""
        if self.faster is None or not self.faster.moments:
            return super().rationals()
        return self._vectors_at(self.faster.moments, self.all_vectors(), {}, fast=True)

    def _vectors_at(
        self,
        moments: int,
        newest: Mapping[str, Vector],
        before: Mapping[str, Vector],
        *,
        fast: bool,
    ) -> ReferenceEngine:
        vectors = self.vectors_from(newest, moments) if moments else self.definition()
        return ReferenceEngine(
            vectors, self.watches, fast=fast, moments=moments, newest=newest, before=before
        )

    def place(self) -> EnginePlace:
        """A bookmark for `go_back`."""
        place = None if self.faster is None else self.faster.place()
        newest = {} if self.vectors is None else self.vectors.newest
        before = {} if self.vectors is None else self.vectors.before
        return EnginePlace(self.moments, self.faster, place, newest, before, self.reason)

    def go_back(self, place: EnginePlace) -> None:
        """Stand where the engine stood."""
        self.moments, self.reason = place.moments, place.reason
        try:
            if place.faster is not None and place.place is not None:
                self.faster, self.vectors = place.faster, None
                self.faster.go_back(place.place)
                return
            if self.faster is not None and place.reason is None:  # the definition was left since
                self.faster.go_back(StackPlace(place.moments, None, []))
                return
        except UnsuitableError as unsuitable:
            self.replay(place.moments, str(unsuitable))
            return
        self.faster = None
        self.vectors = self._vectors_at(
            place.moments, place.newest, place.before, fast=place.reason is not None
        )
