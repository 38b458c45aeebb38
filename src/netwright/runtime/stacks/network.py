"""Networks of σ and matrices as arrays for `stacks.arithmetic`, and numbers in and out of it.

One denominator L serves all layers: the least over which every product of the matrices is whole. A
number that comes from outside is spelled out in a base that occurs among the weights; so a stack
becomes a chain of nodes, one a digit.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from netwright.errors import NetworkError
from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, ZERO, Rational, digits_in_base
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector
from netwright.jit import compiled
from netwright.runtime.engine import Watch
from netwright.runtime.stacks import arithmetic
from netwright.runtime.stacks.snapshot import CHANGING, checked_stacks
from netwright.runtime.unsuitable import UnsuitableError

Integers = NDArray[np.int64]
LARGEST_DENOMINATOR = 1 << 20
LARGEST_WEIGHTS = 1 << 24  # the sum of the weights into a coordinate
FIRST_NODES = 1 << 10
FIRST_CLOCK = (0, 0, 1, 0, 0, 0)
"""One node, the empty stack; see `arithmetic`."""


class Source(NamedTuple):
    """A matrix that a layer applies to the cell so many rows and columns away."""

    matrix: LinearMap | Affine
    row: int = 0
    column: int = 0


class StackLayer(NamedTuple):
    """σ(Σ x·A + b): matrices, and a bias for each column."""

    sources: Sequence[Source]
    biases: Sequence[Vector | None]


class CellWatch(NamedTuple):
    """A watch on one cell of the grid."""

    watch: Watch
    cell: int = 0


class StackNetwork:
    """A network in `stacks.arithmetic`: its weights, its vectors, its nodes."""

    def __init__(
        self,
        loop: Callable[..., Any],
        layout: Layout,
        layers: Sequence[StackLayer],
        grid: tuple[int, int, bool],
        slots: int,
        watches: Sequence[CellWatch],
        stops: Sequence[int],
    ) -> None:
        self.layout, self._cells = layout, grid[0] * grid[1]
        self._width = layout.dimension
        self._maps: list[tuple[int, int]] = []
        self._rows: list[int] = []
        self._edges: list[tuple[int, int]] = []
        products = [
            (source, term)
            for layer in layers
            for source in layer.sources
            for term in _terms(source)
        ]
        biases = [b for layer in layers for b in layer.biases if b is not None]
        self.L = lcm(
            *(_denominator(bias.entries.values()) for bias in biases),
            *(prod(affine.denominator for affine in term) for _, term in products),
        )
        if self.L > LARGEST_DENOMINATOR:
            raise UnsuitableError("its weights have no small common denominator")
        distinct = {
            (abs(top), bottom)
            for _, term in products
            for a in term
            for _, _, top, bottom in a.fractions
        }
        found = {Rational(*each) for each in distinct}
        # A weight 1/B pushes, so B is the first to try; a weight B may be anything.
        pushing = sorted({1 / w for w in found if w < 1}, reverse=True)
        self._bases = [*pushing, *sorted({w for w in found if w > 1}, reverse=True)]
        chain_start, bias_start = [0], []
        chains: list[tuple[int, ...]] = []
        bias_rows: list[tuple[int, int]] = []
        for layer in layers:
            for source in layer.sources:
                for term in _terms(source):
                    chains.append((*self._chain(term), source.row, source.column))
            chain_start.append(len(chains))
            starts = []
            for bias in layer.biases:
                starts.append(len(bias_rows))
                entries = bias.entries.items() if bias is not None else ()
                bias_rows += [(k, int((b * self.L).p)) for k, b in entries]
            bias_start.append([*starts, len(bias_rows)])
        watched = [(*self._watch(each.watch), each.cell) for each in watches]
        self._check_sums(chain_start, chains, bias_rows)
        is_stop = np.zeros(self._width, dtype=np.int64)
        is_stop[list(stops)] = 1
        nodes = np.zeros((FIRST_NODES, 8), dtype=np.int64)
        nodes[0, [arithmetic.LOW_OVER, arithmetic.HIGH_OVER]] = 1
        self._work = arithmetic.Work(
            v=np.zeros((slots, self._width, 3), dtype=np.int64),
            is_listed=np.zeros((slots, self._width), dtype=np.int64),
            listed=np.zeros((slots, self._width), dtype=np.int64),
            count=np.zeros(slots, dtype=np.int64),
            nodes=nodes,
            clock=_array(FIRST_CLOCK),
            grid=_array([*grid, 0]),
            L=self.L,
            maps=_array(self._maps, 2),
            rows=_array(self._rows),
            edges=_array(self._edges, 2),
            chains=_array(chains, 4),
            chain_start=_array(chain_start),
            biases=_array(bias_rows, 2),
            bias_start=_array(bias_start, len(bias_start[0])),
            watches=_array(watched, 3),
            stops=is_stop,
        )
        self._loop = compiled(loop, self._work, self._codes(0)).loop

    # Weights.

    def _map(self, weights: Sequence[tuple[int, int, int]], rows: int, over: int) -> int:
        """A matrix of integers, given by row, column and weight; its number."""
        sums: dict[int, int] = {}
        counts = [0] * rows
        for j, k, w in weights:
            sums[k] = sums.get(k, 0) + abs(w)
            counts[j] += 1
        if max(sums.values(), default=0) > LARGEST_WEIGHTS:
            raise UnsuitableError("its weights are too large")
        self._maps.append((len(self._rows), over))
        self._rows += accumulate(counts, initial=len(self._edges))
        self._edges += [(k, w) for _, k, w in sorted(weights)]
        self._width = max(self._width, rows, 1 + max(sums, default=0))
        return len(self._maps) - 1

    def _check_sums(
        self,
        chain_start: Sequence[int],
        chains: Sequence[tuple[int, ...]],
        biases: Sequence[tuple[int, int]],
    ) -> None:
        """All that is added to one coordinate of a layer, by its products and biases together."""
        for first, last in pairwise(chain_start):
            sums: dict[int, int] = {}
            for _, end, *_ in chains[first:last]:
                start = self._rows[self._maps[end - 1][0]]
                behind = self._rows[self._maps[end][0]] if end < len(self._maps) else None
                for k, w in self._edges[start:behind]:
                    sums[k] = sums.get(k, 0) + abs(w)
            for k, bias in biases:
                sums[k] = sums.get(k, 0) + abs(bias)
            if max(sums.values(), default=0) > LARGEST_WEIGHTS:
                raise UnsuitableError("its weights are too large")

    def _chain(self, term: Sequence[Affine]) -> tuple[int, int]:
        """A product of matrices: the numbers of its first and of the one behind its last."""
        first, over = len(self._maps), 1
        for number, affine in enumerate(term, start=1):
            scale = affine.denominator
            if number == len(term):
                scale = self.L // over
            over *= scale
            weights = [(j, k, top * (scale // bottom)) for j, k, top, bottom in affine.fractions]
            self._map(weights, affine.input.dimension, over)
        return first, len(self._maps)

    def _watch(self, watch: Watch) -> tuple[int, int]:
        """The matrix from a vector to the block that is watched, and what stands for 1."""
        if watch.sign:
            raise UnsuitableError("a sign is watched")
        layout = watch.through.output if watch.through is not None else self.layout
        places = {
            layout.index(watch.block, label): n
            for n, label in enumerate(layout.labels(watch.block))
        }
        if watch.through is None:
            weights = [(k, n, ONE) for k, n in places.items()]
        else:
            if watch.through.bias.entries:
                raise UnsuitableError("a watch has a bias")
            weights = [
                (j, places[k], w) for (j, k), w in watch.through.weights.items() if k in places
            ]
        over = _denominator(w for _, _, w in weights)
        rows = [(j, k, int((w * over).p)) for j, k, w in weights]
        return self._map(rows, self.layout.dimension, over), over

    # Numbers.

    def set_cells(self, cells: Sequence[Vector]) -> None:
        """Put vectors into the cells, as if nothing had been there."""
        for name in CHANGING[:4]:
            getattr(self._work, name)[...] = 0
        self._work.clock[:] = FIRST_CLOCK
        self._work.grid[arithmetic.NEWEST] = 0
        for slot, cell in enumerate(cells):
            for x, (k, number) in enumerate(cell.entries.items()):
                self._work.v[slot, k] = self._number(number)
                self._work.is_listed[slot, k] = 1
                self._work.listed[slot, x] = k
            self._work.count[slot] = len(cell.entries)

    def cell(self, number: int, *, before: bool = False) -> Vector:
        """The vector of a cell, now or one moment before."""
        if before and self._work.clock[arithmetic.STATUS] == arithmetic.UNFIT:
            raise NetworkError("the vectors of the moment before are not kept here")
        newest = int(self._work.grid[arithmetic.NEWEST])
        slot = (self._cells - newest if before else newest) + number
        entries: dict[int, Rational] = {}
        for k in self._work.listed[slot, : self._work.count[slot]].tolist():
            a, b, n = self._work.v[slot, k].tolist()
            entries[k] = a + b * self._tail(n)
        return Vector(self.layout, entries)

    def _tail(self, n: int) -> Rational:
        """τ(n), in a time that hardly grows faster than the stack: nodes are joined in halves."""
        chain: list[tuple[fmpz, fmpz]] = []
        while n:
            a, b, n = self._work.nodes[n, : arithmetic.NEXT + 1].tolist()
            chain.append((fmpz(a), fmpz(b)))
        power = fmpz(self.L)
        total = fmpq(0)
        # Each of them stands for x ↦ (a + b·x)/power, the last one for fewer nodes than the others.
        rest: list[tuple[fmpz, fmpz, fmpz]] = []
        while chain:
            if len(chain) % 2:
                rest.append((*chain.pop(), power))
            pairs = zip(chain[::2], chain[1::2], strict=True)
            chain = [(a * power + b * c, b * d) for (a, b), (c, d) in pairs]
            power *= power
        for a, b, over in rest:
            total = (a + b * total) / over
        return total

    def _number(self, number: Rational) -> tuple[int, int, int]:
        """A number of a vector as a, b, n."""
        if number in (ZERO, ONE):
            return int(number.p), 0, 0
        if 0 < number < 1:
            for base in self._bases:
                digits = digits_in_base(number, base) if (self.L / base).q == 1 else None
                if digits is not None:
                    unit = int((self.L / base).p)
                    return 0, 1, self._push_all(np.array(digits, dtype=np.int64) * unit, unit)
        raise UnsuitableError("a number is no stack in a base that occurs among the weights")

    def _push_all(self, a: Integers, b: int) -> int:
        """A chain of nodes, from the top of a stack to its end; the number of the first.

        With b the same in all of them, the bounds of a node are the least and the greatest of
        a/(L − b) below it, and 0.
        """
        a = np.trim_zeros(a, "b")[::-1]  # from the end
        if not a.size:
            return 0
        first = int(self._work.clock[arithmetic.NODES])
        while first + len(a) > len(self._work.nodes):
            self._more_nodes()
        numbers = np.arange(first, first + len(a))
        low, high = np.minimum.accumulate(a), np.maximum.accumulate(a)
        over = self.L - b
        new = self._work.nodes[first : first + len(a)]
        new[:, arithmetic.A], new[:, arithmetic.B] = a, b
        new[:, arithmetic.NEXT] = np.concatenate(([0], numbers[:-1]))
        new[:, arithmetic.LOW], new[:, arithmetic.LOW_OVER] = np.minimum(low, 0), 1
        new[:, arithmetic.HIGH], new[:, arithmetic.HIGH_OVER] = np.maximum(high, 0), 1
        new[low < 0, arithmetic.LOW_OVER] = over
        new[high > 0, arithmetic.HIGH_OVER] = over
        new[:, arithmetic.MOVED] = 0
        self._work.clock[arithmetic.NODES] += len(a)
        return int(numbers[-1])

    def _more_nodes(self) -> None:
        """Room for as many nodes again."""
        nodes = self._work.nodes
        self._work = self._work._replace(nodes=np.concatenate([nodes, np.zeros_like(nodes)]))

    # Running.

    def _codes(self, moments: int) -> Integers:
        return np.empty((moments, len(self._work.watches)), dtype=np.int64)

    def advance(self, moments: int) -> Integers:
        """The codes of the next moments; fewer where one stops, or before `UnsuitableError`."""
        codes, done, full_at = self._codes(moments), 0, -1
        clock = self._work.clock
        while done < moments:
            done += self._loop(self._work, codes[done:])
            if clock[arithmetic.STATUS] == arithmetic.MORE_NODES:
                # Nodes that are no longer needed go first; if that was not enough, there are more.
                if full_at == done:
                    self._more_nodes()
                clock[arithmetic.FULL], full_at = 1, done
            elif clock[arithmetic.STATUS] != arithmetic.DONE:
                break
        if not done and moments:
            raise UnsuitableError("a number is no stack any more")
        return codes[:done]

    def snapshot(self) -> Snapshot:
        """All that a run from here on depends on."""
        arrays = {name: getattr(self._work, name).copy() for name in CHANGING}
        used = int(self._work.clock[arithmetic.NODES])
        return {**arrays, "nodes": self._work.nodes[:used].copy()}

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot; FormatError if it is none of this network."""
        self.put(checked_stacks(state, self._work, self._cells))

    def put(self, state: Snapshot) -> None:
        """Go on from a snapshot that this network made itself."""
        nodes = state["nodes"]
        while len(self._work.nodes) < len(nodes):
            self._more_nodes()
        self._work.nodes[: len(nodes)] = nodes
        for name in CHANGING:
            getattr(self._work, name)[...] = state[name]


def _array(rows: Sequence[Any], columns: int | None = None) -> Integers:
    found = np.array(rows, dtype=np.int64)
    return found if columns is None else found.reshape(-1, columns)


def _terms(source: Source) -> Sequence[tuple[Affine, ...]]:
    return source.matrix.terms if isinstance(source.matrix, LinearMap) else ((source.matrix,),)


def _denominator(numbers: Any) -> int:
    return lcm(*(int(number.q) for number in numbers))
