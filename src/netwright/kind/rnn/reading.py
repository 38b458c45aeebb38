"""Reads a machine's run off the hidden vectors of its RNN: state, head and tape at every step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from netwright.engine.following.drive import OngoingRun, first_place
from netwright.engine.moments import (
    NEITHER,
    Codes,
    IndexedCodes,
    RepeatedCodes,
    Spelled,
    VectorMoments,
    Watch,
    rows_of,
)
from netwright.engine.stack_moments import StackEngine
from netwright.errors import NetworkError
from netwright.exact.rational import ONE, Rational, digits_in_base
from netwright.exact.runs import Moves
from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector
from netwright.kind.rnn.neurons import Neurons
from netwright.kind.rnn.readouts import pair_label, readouts
from netwright.kind.rnn.update import move_readouts
from netwright.machine.configuration import Tape
from netwright.machine.simulate import Engine, Outcome, Run

S = TypeVar("S", bound=VectorMoments)
SymbolRuns = tuple[list[str], list[int]]
"""Symbols, and how often each repeats."""


@dataclass(frozen=True)
class ReadVector:
    """The configuration in a hidden vector; its stacks are decoded on demand."""

    neurons: Neurons
    state: str
    symbol: str
    left: Rational
    right: Rational
    move: int
    """Where the head goes next: −1, 0 or 1."""

    def tape(self, head: int) -> Tape:
        """The tape, with the head on cell `head`."""
        left, right = symbols_of(self.neurons, self.left), symbols_of(self.neurons, self.right)
        cells = [*reversed(left), self.symbol, *right]
        return Tape.of(cells, head - len(left), self.neurons.machine.blank)


def symbols_of(neurons: Neurons, x: Rational) -> list[str]:
    """The symbols of a stack, from the top: the digits of x in base B."""
    digits = digits_in_base(x, neurons.base) if 0 <= x < 1 else None
    if digits is None or any(not 0 <= digit < neurons.k for digit in digits):
        raise NetworkError(f"{str(x)[:60]} is not a stack in base {neurons.base}")
    return [neurons.symbol_of[digit] for digit in digits]


def symbols_spelled(neurons: Neurons, spelled: Spelled) -> SymbolRuns | None:
    """The symbols from an engine's digits (c, b); None if these are not (digit/B, 1/B).

    Such digits are those of the number, as all are below k, and the others add up to less than 1.
    """
    symbols: list[str | None] = []
    for c, b, over in spelled.pairs:
        digit = c * neurons.base / over
        fits = digit.q == 1 and 0 <= digit < neurons.k and b * neurons.base in (0, over)
        symbols.append(neurons.symbol_of[int(digit.p)] if fits else None)
    found = [*map(symbols.__getitem__, spelled.digits.tolist())]
    is_end = np.array([b == 0 for _, b, _ in spelled.pairs])
    if None in found or is_end[spelled.digits[:-1]].any():
        return None
    counts = spelled.counts
    if counts is None:
        return cast(list[str], found), [1] * len(found)
    if len(counts) and counts[-1] > 1 and is_end[spelled.digits[-1]]:
        return None
    return cast(list[str], found), counts.tolist()


class VectorReader:
    """Reads configurations off the hidden vectors of a machine's RNN."""

    def __init__(self, neurons: Neurons) -> None:
        self.neurons = neurons
        self.readouts = readouts(neurons)
        self.moves = move_readouts(neurons)
        machine = neurons.machine
        self.pairs = {pair_label(q, s): (q, s) for q in machine.states for s in machine.symbols}

    def read(self, g: Vector) -> ReadVector | None:
        """The configuration in g; None for a dead vector, in which no state is on."""
        seen = self.readouts(g)
        on = seen["n"]
        if not on:
            return None
        if len(on) != 1 or set(on.values()) != {ONE}:
            raise NetworkError(f"the read-outs {on} are not a one-hot of state and symbol")
        state, symbol = self.pairs[next(iter(on))]
        stacks = seen.number("L"), seen.number("R")
        return ReadVector(self.neurons, state, symbol, *stacks, self.move(seen))

    def move(self, seen: Vector) -> int:
        """Where the head goes next, from the read-outs: −1, 0 or 1."""
        moves = self.moves(seen)
        return int((moves.number("move", "R") - moves.number("move", "L")).p)

    def symbols(self, moments: VectorMoments, watch: Watch, side: str, before: bool) -> SymbolRuns:
        """The symbols of a stack, from the top: from the engine's digits, or from the number."""
        assert watch.through is not None
        spelled = moments.spelled(watch, side, before=before)
        found = None if spelled is None else symbols_spelled(self.neurons, spelled)
        if found is None:
            seen = watch.through(moments.vector(watch.vector, before=before))
            symbols = symbols_of(self.neurons, seen.number(side))
            found = symbols, [1] * len(symbols)
        return found

    def follow(self, states: Iterator[Vector]) -> Iterator[tuple[int, ReadVector | None]]:
        """Each g_t with the position of its head, up to the first dead one."""
        head = 0
        for g in states:
            found = self.read(g)
            yield head, found
            if found is None:
                return
            head += found.move


def _walk(numbers: Any, flags: Any, moves: Any, clock: Any) -> int:
    """Follow pairs up to the first with a flag, each move by the pair before; return how many.

    Compiled by `jit`; updates `clock`: the head, its move, and the lowest and highest cells.
    """
    head, move, lowest, highest = clock
    done = 0
    while done < numbers.size and flags[numbers[done]] == 0:
        head += move
        move = moves[numbers[done]]
        lowest, highest = min(lowest, head), max(highest, head)
        done += 1
    clock[0], clock[1], clock[2], clock[3] = head, move, lowest, highest
    return done


def _type_of(time: int) -> Any:
    """The type of the numbers of a run up to a time: 64-bit integers, or Python's."""
    return np.int64 if time < 1 << 62 else object


class PairFollower:
    """Tracks the machine's run from the codes of its pairs of state and symbol.

    One moment of the network is one step of the machine: g_t is the configuration at time t. The
    network may have `skip` moments before g_0; the first watch shows g_0, the last one all others.
    """

    def __init__(
        self, reader: VectorReader, final_states: frozenset[str], max_steps: int, skip: int = 0
    ) -> None:
        self.machine, self.max_steps = reader.neurons.machine, max_steps
        self.outcome: Outcome | None = None
        self.states, symbols = self.machine.states, self.machine.symbols
        # The network has no coordinate for the head's cell: its moves are added up.
        layout = reader.readouts.output
        moves = [reader.move(Vector(layout, {place: ONE})) for place in layout.places("n")]
        self.moves = np.array(moves, dtype=np.int64)
        self.is_final = np.array([state in final_states for state in self.states for _ in symbols])
        self.skip, self.time = skip, -1 - skip
        self.head, self.move = 0, 0
        self.lowest = self.highest = 0
        self.pair = self.states.index(self.machine.start) * len(symbols)
        """The number of the last pair of state and symbol."""
        self.is_before = False
        """Whether the last configuration is in the moment before the newest."""
        self._meanings: tuple[NDArray[np.int64], ...] | None = None
        """Lookup tables by the number of a moment: flags, moves and pairs."""
        self._runs: Moves | None = None

    @property
    def state(self) -> str:
        """The machine's state."""
        return self.states[self.pair // len(self.machine.symbols)]

    @property
    def symbol(self) -> str:
        """The symbol under the head."""
        return self.machine.symbols[self.pair % len(self.machine.symbols)]

    @property
    def stops(self) -> list[int]:
        """The codes of the pairs with which a run ends."""
        return np.flatnonzero(self.is_final).tolist()

    @property
    def steps(self) -> int:
        """The number of steps of the machine."""
        return max(0, self.time - self.is_before)

    @property
    def cells(self) -> int:
        """The number of cells that the head has visited."""
        return self.highest - self.lowest + 1

    @property
    def moments(self) -> int:
        """The number of moments taken."""
        return self.time + 1 + self.skip

    @property
    def shown(self) -> int:
        """The number of moments up to the last configuration."""
        return self.moments - self.is_before

    @property
    def most_moments(self) -> int:
        """The limit in moments; one more shows what happens there."""
        return self.skip + self.max_steps + 2

    @property
    def at_a_step(self) -> bool:
        """Whether the newest moment is a step: from g_0 on, up to the last configuration."""
        return self.time >= 0 and not self.is_before

    def remaining(self) -> int:
        """Moments up to g_0, then to the limit; one more shows whether a rule applies there."""
        return self.max_steps - self.time if self.time >= 0 else -self.time

    def take(self, codes: Codes) -> None:
        """Advance by a batch of moments: update time, head, pair and outcome."""
        if isinstance(codes, RepeatedCodes):
            codes = codes.spelled_out() if self.time < 0 else rows_of(self._walk_runs(codes))
        if isinstance(codes, IndexedCodes) and self.time >= 0:
            codes = self._walk(codes)
        codes = rows_of(codes)
        for_now = min(len(codes), max(0, -1 - self.time))
        self.time += for_now
        codes = codes[for_now:]
        if not len(codes):
            return
        pairs = codes[:, -1].copy()
        if self.time == -1:
            pairs[0] = codes[0, 0]
        ends = first_place((pairs < 0) | (np.arange(len(pairs)) >= self.max_steps - self.time))
        final = first_place(self.is_final[np.maximum(pairs, 0)] & (pairs >= 0))
        last = min(ends, final + 1)
        if last:
            moves = np.concatenate(([self.move], self.moves[pairs[: last - 1]]))
            heads = np.cumsum(moves)
            self.lowest = min(self.lowest, self.head + int(heads.min()))
            self.highest = max(self.highest, self.head + int(heads.max()))
            self.head += int(heads[-1])
            self.move = int(self.moves[pairs[last - 1]])
            self.pair = int(pairs[last - 1])
            self.time += last
        accepting = bool(self.machine.accepting)
        if final < ends:
            self.outcome = Outcome.ACCEPTED if accepting else Outcome.HALTED
        elif ends < len(pairs):
            self.time += 1
            self.is_before = True
            if pairs[ends] == NEITHER or self.time == 0:  # which a run begins with
                raise NetworkError(f"g_{self.time} shows no pair of a state and a symbol")
            if pairs[ends] >= 0:
                self.outcome = Outcome.UNDECIDED
            else:  # dead: no rule applied to the configuration before
                self.outcome = Outcome.REJECTED if accepting else Outcome.HALTED

    def _meanings_of(self, codes: IndexedCodes) -> tuple[NDArray[np.int64], ...]:
        if self._meanings is None or len(self._meanings[0]) != len(codes.rows):
            pairs = codes.rows[:, -1]
            known = np.maximum(pairs, 0)
            flags = (pairs < 0) | self.is_final[known]
            self._meanings = flags.astype(np.int64), self.moves[known], known
        return self._meanings

    def _walk(self, codes: IndexedCodes) -> IndexedCodes:
        """Advance up to the first moment that may end the run; return the rest."""
        from netwright.jit import compiled  # the compiler, which such an engine has

        flags, moves, pairs = self._meanings_of(codes)
        clock = np.array([self.head, self.move, self.lowest, self.highest], dtype=np.int64)
        numbers = codes.numbers[: max(0, self.max_steps - self.time)]
        arrays = (numbers, flags, moves, clock)
        done = compiled(_walk, *arrays).loop(*arrays)
        if done:
            self.head, self.move, self.lowest, self.highest = clock.tolist()
            self.pair = int(pairs[codes.numbers[done - 1]])
            self.time += done
        return IndexedCodes(codes.numbers[done:], codes.rows)

    def _walk_runs(self, codes: RepeatedCodes) -> IndexedCodes:
        """Advance up to the first moment that may end the run; return that moment."""
        flags, moves, pairs = self._meanings_of(codes)
        if self._runs is None or self._runs.flags is not flags or self._runs.pieces != codes.pieces:
            self._runs = Moves(flags, moves, codes.pieces)
        place = [self.head, self.move, self.lowest, self.highest, self.time, -1]
        numbers, counts, done = codes.numbers, codes.counts, 0
        if self.time < self.max_steps:
            last = self.time + codes.moments
            done, place = self._runs.walked(numbers, counts, place, last)
            if codes.is_piece(done):  # it may end the run within the piece
                numbers = codes.pieces.of(int(numbers[done]))
                counts = np.ones(len(numbers), np.int64)
                done, place = self._runs.walked(numbers, counts, place, last)
        self.head, self.move, self.lowest, self.highest, self.time, last = place
        if last >= 0:
            self.pair = int(pairs[last])
        return IndexedCodes(numbers[done : done + 1], codes.rows)

    def snapshot(self) -> Snapshot:
        """The state of the follower, for `put` and `restore`."""
        place = [self.time, self.head, self.move, self.lowest, self.highest, self.pair]
        return {"place": np.array(place, dtype=_type_of(self.time))}

    def put(self, state: Snapshot) -> None:
        """Reset to a snapshot."""
        place = state["place"].tolist()
        self.time, self.head, self.move, self.lowest, self.highest, self.pair = place
        self.is_before = False

    def restore(self, state: Snapshot) -> None:
        """Reset to a snapshot from a file, which is validated."""
        pair = int(checked_array(state, "place", (6,), -FARTHEST, FARTHEST)[-1])
        require_consistent(0 <= pair < len(self.moves), f"no state and symbol {pair}")
        self.put(state)
        require_consistent(self.time >= -1 - self.skip, f"time {self.time}")
        require_consistent(self.lowest <= self.head <= self.highest, f"the head is at {self.head}")
        require_consistent(abs(self.move) <= 1, f"a move of {self.move}")


def stack_run(
    reader: VectorReader,
    moments: S,
    follower: PairFollower,
    watches: Sequence[Watch],
    *,
    engine: Engine,
    started: float,
    tokens: int,
    dimension: int,
) -> OngoingRun[S]:
    """Start the machine's run on a network that has read `tokens` vectors.

    The first of `watches` shows the read-outs of g_0, the last those of all others.
    """

    def reached() -> Run:
        tape = Tape(0, ())
        if follower.time >= 0:
            before = follower.is_before
            watch = watches[-1 if follower.time > before else 0]
            left, right = (reader.symbols(moments, watch, side, before) for side in "LR")
            symbols = [*reversed(left[0]), follower.symbol, *right[0]]
            counts = [*reversed(left[1]), 1, *right[1]]
            first = follower.head - sum(left[1])
            tape = Tape.of_runs(symbols, counts, first, follower.machine.blank)
        return Run(
            follower.outcome or Outcome.UNDECIDED,
            follower.steps,
            follower.state,
            follower.head,
            tape,
            engine if moments.fast else Engine.REFERENCE,
            perf_counter() - started - moments.compile_seconds,
            moments.compile_seconds,
            tokens + follower.steps,
            dimension,
            moments.reason,
            moves=moments.moves if isinstance(moments, StackEngine) else None,
        )

    return OngoingRun(moments, follower, reached, follower.machine.blank)
