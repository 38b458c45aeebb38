"""What the engines of RNNs and Neural GPUs share: their unbounded numbers are stacks."""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.engine.cells import StackVector
from netwright.engine.control import DEEPEST, Context, Control, State
from netwright.engine.digits import LARGEST, MOST_DIGITS, MOST_STACKS, Digit, Digits, Stacks
from netwright.engine.forms import Form, bounds, heaviest, opened
from netwright.engine.moments import (
    NEITHER,
    ZERO_BLOCK,
    Codes,
    NamedVectors,
    ReferenceEngine,
    Spelled,
    StagedEngine,
    UnsuitableError,
    Vectors,
    Watch,
    advance_to,
    moments_of,
)
from netwright.errors import InputError, NetworkError
from netwright.exact.entries import EMPTY, FIRST_SHAPE
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.runs import Runs, prepare
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.tables import Tables


class IntegerWatch:
    """A watch of a one-hot block as an integer matrix: what each coordinate adds to the block."""

    def __init__(self, watch: Watch, layout: Layout) -> None:
        if watch.sign or watch.numbers is not None:
            raise UnsuitableError("a number is watched")
        through = watch.through
        block = (through.output if through else layout).places(watch.block)
        places = {k: n for n, k in enumerate(block)}
        rows = [(k, k, 1, 1) for k in places] if through is None else through.fractions
        biases = {} if through is None else through.bias.entries
        self.over = lcm(*{over for _, _, _, over in rows}, *(int(x.q) for x in biases.values()))
        self.rows: dict[int, list[tuple[int, int]]] = {}
        for j, k, top, over in rows:
            if k in places:
                self.rows.setdefault(j, []).append((places[k], top * (self.over // over)))
        self.bias = {places[k]: int((x * self.over).p) for k, x in biases.items() if k in places}

    def _image(self, coordinates: Iterable[int]) -> Counter[int]:
        total = Counter[int]()
        for j in coordinates:
            for n, w in self.rows.get(j, ()):
                total[n] += w
        return total

    def _forms(self, state: State) -> tuple[dict[int, int], dict[int, Form]]:
        """The numbers of the block that depend on no cell, and the forms of the others."""
        numbers = self._image(state.ones)
        for n, bias in self.bias.items():
            numbers[n] += bias
        masks = [self._image(places) for places in state.cells]
        forms: dict[int, Form] = {}
        for n in {n for mask in masks for n, w in mask.items() if w}:
            terms = tuple((cell, mask[n]) for cell, mask in enumerate(masks) if mask[n])
            forms[n] = (numbers.pop(n, 0), self.over, terms)
        return numbers, forms

    def form(self, state: State) -> Form:
        """The form of a block of one coordinate."""
        numbers, forms = self._forms(state)
        return forms.get(0, (numbers.get(0, 0), self.over, ()))

    def code(self, state: State, known: Digits) -> int:
        """The code of all vectors of a state; UnsuitableError if they differ in it."""
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


def vector_of(layout: Layout, state: State, stacks: Stacks, known: Digits) -> Vector:
    """The vector with a state and stacks."""
    entries = dict.fromkeys(state.ones, ONE)
    for places, digits in zip(state.cells, stacks, strict=False):
        if places:
            runs = isinstance(digits, Runs)
            value = known.value_of_runs(digits) if runs else known.value(digits[::-1].tolist())
            entries |= dict.fromkeys(places, value)
    return Vector(layout, entries)


def state_snapshot(state: State, stacks: Stacks, known: Digits) -> Snapshot:
    """A state with its stacks, and the pairs of its digits, as arrays."""
    cells = [(slot, k) for slot, places in enumerate(state.cells) for k in places]
    digits, counts = stacks[: len(state.cells)], dict[str, NDArray[np.int64]]()
    if any(isinstance(each, Runs) for each in digits):
        counts["counts"] = np.concatenate([each.counts for each in digits])
        if counts["counts"].dtype != np.int64:
            raise InputError("a run of more than 2^61 equal digits is not saved to a file")
        digits = [each.digits for each in digits]
    return {
        "ones": np.array(state.ones, np.int64),
        "cells": np.array(cells, np.int64).reshape(-1, 2),
        "pairs": np.array(known.pairs, np.int64),
        "heights": np.array([len(each) for each in digits], np.int64),
        "digits": np.concatenate([*digits, np.zeros(0, Digit)]).astype(np.int64),
        **counts,
    }


def restored_state(kept: Snapshot, layout: Layout, known: Digits) -> tuple[State, Stacks]:
    """The state and stacks of a snapshot; FormatError if it does not fit this layout."""
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
    stacks: Stacks = [renamed[ends[n] : ends[n + 1]] for n in range(len(heights))]
    if "counts" in kept:
        counts = checked_array(kept, "counts", (len(digits),), 1, FARTHEST)
        ranges = zip(stacks, np.split(counts, ends[1:-1]), strict=True)
        stacks = [Runs(each.astype(np.int64), own.copy()) for each, own in ranges]
    return State(tuple(sorted(ones)), tuple(tuple(sorted(each)) for each in by_slot)), stacks


class StackPlace(NamedTuple):
    """A bookmark of `StackMoments`; its state is None where starting over is cheaper."""

    moments: int
    state: State | None
    stacks: Stacks


class StackMoments(ABC):
    """The moments of one vector by entries: in Python at first, then in the kernel."""

    def __init__(
        self,
        layout: Layout,
        watches: Sequence[Watch],
        stops: Sequence[int],
        *,
        accelerated: bool = False,
    ) -> None:
        from netwright.engine import kernel  # imports the compiler, which short runs avoid

        self.accelerated = accelerated
        if accelerated:
            prepare(FIRST_SHAPE)
        else:
            kernel.compiled(FIRST_SHAPE)
        self.layout, self.known, self.moments = layout, Digits(), 0
        self._watches = [IntegerWatch(watch, layout) for watch in watches]
        self._stops = frozenset(stops)
        self.tables: Tables | None = None
        """The kernel's tables, once it has taken over."""
        self._cached_tables: Tables | None = None
        self._held: StackVector | None = None
        self._before: StackVector | None = None

    @abstractmethod
    def first(self) -> StackVector:
        """The vector of the first moment."""

    @abstractmethod
    def step(self, held: StackVector) -> StackVector:
        """The vector of the next moment, in Python; it may reuse the stacks of `held`."""

    @property
    @abstractmethod
    def is_ready_for_kernel(self) -> bool:
        """Whether the kernel can take over from the newest moment."""

    @abstractmethod
    def control(self) -> tuple[Control, Context]:
        """The control, and the context of its keys, from which the kernel takes over."""

    def advance(self, count: int) -> Codes:
        """The codes of the next moments."""
        if self.tables is None and self._held is not None and self.is_ready_for_kernel:
            self._follow(self._held.state, self._held.arrays())
        codes: Codes = self._by_hand() if self.tables is None else self.tables.advance(count)
        self.moments += moments_of(codes)
        return codes

    def _codes(self, state: State) -> tuple[tuple[int, ...], bool]:
        """The codes of a state, and whether the codes of a call end with it."""
        codes = tuple(watch.code(state, self.known) for watch in self._watches)
        return codes, bool(codes) and (codes[-1] < 0 or codes[-1] in self._stops)

    def _by_hand(self) -> NDArray[np.int64]:
        """The codes of the next moment; an UnsuitableError leaves everything unchanged."""
        before = None if self._held is None else self._held.copy()
        try:
            held = self.first() if self._held is None else self.step(self._held)
            codes, _ = self._codes(held.state)
        except UnsuitableError:
            self._held = before  # the step may have changed the stacks of the original
            raise
        self._held, self._before = held, before
        return np.array([codes], np.int64)

    def _follow(self, state: State, stacks: Stacks) -> None:
        """Let the kernel continue from a state."""
        from netwright.engine.accelerated import RunTables
        from netwright.engine.tables import Tables

        made = RunTables if self.accelerated else Tables
        self._cached_tables = self._cached_tables or made(*self.control(), self._codes)
        self._cached_tables.put(state, stacks)
        self.tables = self._cached_tables

    def stacks(self, *, before: bool = False) -> tuple[State, Stacks]:
        """The state and stacks of the newest vector, or of the one before."""
        found: tuple[State, Stacks] | None
        if self.tables is not None:
            found = self.tables.stacks(before=before)
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
        """A number of what a watch looks through, as digits; None if it is not a stack."""
        seen = IntegerWatch(replace(watch, block=block), self.layout)
        state, stacks = self.stacks(before=before)
        form, pops = seen.form(state), Counter[int]()
        for _ in range(2 * DEEPEST):
            c, d, terms = form
            if not terms:
                first = [self.known.number(c, 0, d)] if c else []
                return Spelled(np.array(first, Digit), self.known.pairs)
            (cell, w), *others = terms
            if not others and ((c == 0 and w == d) or 0 < w < d):
                pushed = None if w == d else self.known.number(c, w, d)
                return self._spelled(stacks[cell], pops[cell], pushed)
            cell = heaviest(form)
            stack, depth = stacks[cell], pops[cell]
            if isinstance(stack, Runs):
                digit = stack.digit(depth)
            else:
                digit = int(stack[len(stack) - 1 - depth]) if depth < len(stack) else EMPTY
            form = opened(form, cell, self.known.pairs[digit])
            pops[cell] += 1
        return None

    def _spelled(self, stack: Any, pops: int, pushed: int | None) -> Spelled:
        """A stack after some pops and a push."""
        if isinstance(stack, Runs):
            digits, counts = stack.after(pops, pushed)
            return Spelled(digits[::-1], self.known.pairs, counts[::-1])
        found = stack[::-1][pops:]
        if pushed is not None:
            found = np.concatenate([[Digit(pushed)], found])
        return Spelled(found, self.known.pairs)

    def place(self) -> StackPlace:
        """A bookmark of the current moment."""
        if self.tables is None:
            return StackPlace(self.moments, None, [])
        state, stacks = self.stacks()
        return StackPlace(self.moments, state, [each.copy() for each in stacks])

    def go_back(self, place: StackPlace) -> None:
        """Return to a bookmark."""
        if place.state is not None:
            self._follow(place.state, place.stacks)
            self.moments = place.moments
            return
        self.tables, self._held, self._before, self.moments = None, None, None, 0
        advance_to(self, place.moments)

    def snapshot(self) -> Snapshot:
        """The state and its stacks; empty where starting over is cheaper."""
        return {} if self.tables is None else state_snapshot(*self.stacks(), self.known)

    def restore(self, state: Snapshot) -> None:
        """Continue from a snapshot."""
        moments = int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])
        require_consistent(self.accelerated == ("counts" in state), "stacks of another engine")
        self.go_back(StackPlace(moments, *restored_state(state, self.layout, self.known)))


class EnginePlace(NamedTuple):
    """A bookmark of a `StackEngine`."""

    moments: int
    faster: tuple[StackMoments, StackPlace] | None
    newest: NamedVectors
    before: NamedVectors
    reason: str | None

    @property
    def bytes(self) -> int:
        """The size of the stacks in memory."""
        return 0 if self.faster is None else sum(each.nbytes for each in self.faster[1].stacks)


class StackEngine(StagedEngine[StackMoments]):
    """A staged engine of named vectors at times 0, 1, 2, ….

    A call's codes end with a moment where the last watch has a code in `stops`, or a negative one.
    """

    @property
    def moves(self) -> int | None:
        """How many moves the accelerated engine has made; None if it does not run."""
        tables = self.faster and self.faster.tables
        return getattr(tables, "moves", None)

    @staticmethod
    def is_warm() -> bool:
        """Whether a kernel is compiled."""
        kernel = sys.modules.get("netwright.engine.kernel")
        return kernel is not None and kernel.compiled.cache_info().currsize > 0

    @abstractmethod
    def vectors_from(self, newest: NamedVectors, moments: int) -> Vectors:
        """The definition's vectors after the `newest` ones, of which there were `moments`."""

    @abstractmethod
    def all_vectors(self) -> NamedVectors:
        """All vectors of the newest moment, by name."""

    start = EnginePlace(0, None, {}, {}, None)
    """The bookmark of the beginning."""

    def spelled(self, watch: Watch, block: str, *, before: bool = False) -> Spelled | None:
        """A number of what a watch looks through, as digits; None if there are none."""
        if self.faster is None:
            return None
        try:
            return self.faster.spelled(watch, block, before=before)
        except UnsuitableError:  # a digit is too long
            return None

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """A vector by name, of the newest moment or the one before."""
        if self.faster is not None:
            return self.faster.vector(before=before)
        assert self.vectors is not None
        return self.vectors.vector(name, before=before)

    def rationals(self) -> ReferenceEngine:
        """Continue from where the faster method is."""
        if self.faster is None or not self.faster.moments:
            return super().rationals()
        return self._vectors_at(self.faster.moments, self.all_vectors(), {}, fast=True)

    def _vectors_at(
        self, moments: int, newest: NamedVectors, before: NamedVectors, *, fast: bool
    ) -> ReferenceEngine:
        vectors = self.vectors_from(newest, moments) if moments else self.definition()
        return ReferenceEngine(
            vectors, self.watches, fast=fast, moments=moments, newest=newest, before=before
        )

    def place(self) -> EnginePlace:
        """A bookmark of the current moment."""
        faster = None if self.faster is None else (self.faster, self.faster.place())
        vectors = ({}, {}) if self.vectors is None else (self.vectors.newest, self.vectors.before)
        return EnginePlace(self.moments, faster, *vectors, self.reason)

    def go_back(self, place: EnginePlace) -> None:
        """Return to a bookmark."""
        self.moments, self.reason = place.moments, place.reason
        try:
            if place.faster is not None:
                (self.faster, place_in_it), self.vectors = place.faster, None
                self.faster.go_back(place_in_it)
                return
            if self.faster is not None and place.reason is None:  # it was in the definition then
                self.faster.go_back(StackPlace(place.moments, None, []))
                return
        except UnsuitableError as unsuitable:
            self.replay(place.moments, str(unsuitable))
            return
        self.faster = None
        self.vectors = self._vectors_at(
            place.moments, place.newest, place.before, fast=place.reason is not None
        )
