"""The fast engine of Neural GPUs (Equations 14, 15): the same cells as `definitions.neural_gpu`.

A cell depends on itself and on the cells above it. So the last cell equals that of a grid that ends
with it, and of the cells above only those coordinates matter on which it can depend: their slice.
A cell is evaluated again only if it, or one of those it depends on, has changed. While the input is
read these are a few around the encoder. Once nothing changes above the last cell, the kernel
continues with that cell alone, at a speed independent of the input's length.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from netwright.definitions.neural_gpu import Convolution, Grid, NeuralGPU
from netwright.engine.cells import StackVector, count_uses, new_stacks
from netwright.engine.control import OTHERS, Context, Control, Entry, Evaluated, Key, Source, State
from netwright.engine.digits import Digits, Stack
from netwright.engine.forms import (
    FITS,
    ONE,
    ZERO,
    Cell,
    CellForms,
    Form,
    IntegerMap,
    Layer,
    OpenError,
    Pattern,
    after_sigma,
    heaviest,
    plus,
    times,
)
from netwright.engine.moments import UnsuitableError, Vectors, Watch, advance_to
from netwright.engine.stack_moments import StackEngine, StackMoments
from netwright.exact.rational import sigma
from netwright.exact.vector import Vector


class Bank:
    """A convolution of one column: a map for each distance upwards, 0 for the cell itself."""

    def __init__(self, convolution: Convolution, width: int) -> None:
        bias = convolution.bias
        if convolution.f is not sigma or callable(bias):
            raise UnsuitableError(
                "a convolution has an activation other than σ, or a bias that depends on the row"
            )
        height, columns = convolution.shape
        self.maps: dict[int, IntegerMap] = {}
        for u, row in enumerate(convolution.kernels):
            kernel = IntegerMap(row[columns // 2])
            if kernel.is_zero:
                continue
            if u > height // 2:
                raise UnsuitableError("a cell depends on cells below it")
            self.maps[height // 2 - u] = kernel
        self._layer = Layer([*self.maps.values()], bias[0] if bias else None, width)

    def __call__(self, cells: Sequence[Pattern | None], above: int, known: Digits) -> Pattern:
        """The forms before σ of one of the `cells`, which are listed from the last one upwards."""
        return self._layer([cells[above + shift] for shift in self.maps], known)

    @property
    def reach(self) -> int:
        """The greatest distance upwards."""
        return max(self.maps, default=0)

    def sources(self, targets: set[int]) -> dict[int, set[int]]:
        """By distance upwards: the coordinates on which the target coordinates may depend."""
        return {shift: kernel.sources(targets) for shift, kernel in self.maps.items()}


class Cells:
    """The update of a cell from itself and the cells above it."""

    def __init__(self, network: NeuralGPU) -> None:
        if network.width != 1 or network.circular:
            raise UnsuitableError("its grid has more than one column, or no end")
        self.width = network.layout.dimension
        banks = (Bank(bank, self.width) for bank in (network.U, network.R, network.F))
        self.U, self.R, self.F = banks
        self.reach = max(self.U.reach, self.F.reach + self.R.reach)
        """How many cells above it a cell depends on."""
        self.slice = self._slice()

    def _slice(self) -> set[int]:
        """The coordinates of cells above on which the last cell can depend."""
        found = self._sources(set(range(self.width)), above=1)
        while (more := found | self._sources(found, above=0)) != found:
            found = more
        return found

    def _sources(self, wanted: set[int], *, above: int) -> set[int]:
        """The coordinates that those of a cell depend on, in cells at least `above` above it."""
        through = self.F.sources(wanted)
        found = [*self.U.sources(wanted).items(), *through.items()]
        for n, places in through.items():
            found += [(n + further, each) for further, each in self.R.sources(places).items()]
        return set[int]().union(*(sources for n, sources in found if n >= above))

    def evaluate(self, key: Key, cells: CellForms, known: Digits, *, whole: bool) -> Evaluated:
        """u ⊙ s + (1 − u) ⊙ F(r ⊙ s), as far as it is decided."""
        above, own = key
        S: list[Pattern | None] = []
        for n, state in enumerate((own, *above)):  # type: ignore[misc]  # a tuple of states
            S.append(None if state is None else Pattern(state.ones, state.forms(OTHERS * n, cells)))
        kept = [self._kept(S, n, known) for n in range(self.F.reach + 1)]
        u, f = self.U(S, 0, known), self.F(kept, 0, known)
        s = S[0]
        assert s is not None
        places = {*f.ones, *f.forms, *s.ones, *s.forms}
        ones, before_sigma, linear = [], dict[int, Form](), dict[int, Form]()
        for k in places if whole else places & self.slice:
            gate, old = _after_sigma(u.form(k), known), s.form(k)
            if gate == ZERO:
                if k in f.forms:
                    before_sigma[k] = f.forms[k]
                elif k in f.ones:
                    ones.append(k)
                continue
            if gate != ONE:
                new = _after_sigma(f.form(k), known)
                # f + u·(s − f)
                old = plus(new, product(gate, plus(old, times(new, -1))))
            linear[k] = old
        return Evaluated(tuple(ones), before_sigma, linear)

    def _kept(self, S: Sequence[Pattern | None], n: int, known: Digits) -> Pattern | None:
        """r ⊙ s of the cell n above."""
        s = S[n]
        if s is None:
            return None
        r = self.R(S, n, known)
        kept = {k: product(_after_sigma(r.form(k), known), s.form(k)) for k in (*s.ones, *s.forms)}
        ones = tuple(k for k, form in kept.items() if form == ONE)
        return Pattern(ones, {k: form for k, form in kept.items() if form not in (ZERO, ONE)})


def product(x: Form, y: Form) -> Form:
    """The product of forms, of which one must be a constant; else UnsuitableError."""
    if x[2] and y[2]:
        raise UnsuitableError("a product of two numbers that are not 0 or 1")
    if x[2]:
        x, y = y, x
    return times(y, x[0], x[1])


def _after_sigma(form: Form, known: Digits) -> Form:
    found = after_sigma(form, known)
    if found is None:
        raise OpenError(heaviest(form))
    return found


class NeuralGPUMoments(StackMoments):
    """The last cell of S^0, S^1, …."""

    def __init__(
        self,
        network: NeuralGPU,
        X: Sequence[Vector],
        watches: Sequence[Watch],
        stops: Sequence[int],
        *,
        accelerated: bool = False,
    ) -> None:
        if any(watch.vector != str(len(X) - 1) for watch in watches):
            raise UnsuitableError("a cell other than the last is watched")
        super().__init__(network.layout, watches, stops, accelerated=accelerated)
        self.X, self.cells = X, Cells(network)
        self._grid: list[StackVector] = []
        self._controls = [
            Control(partial(self.cells.evaluate, whole=whole), self.known, sums=True)
            for whole in (False, True)
        ]

    def first(self) -> StackVector:
        """The input, of which only the slice matters above the last cell."""
        sliced = {}
        for key, x in {id(x): x for x in self.X[:-1]}.items():
            entries = {k: x.entries[k] for k in x.entries.keys() & self.cells.slice}
            sliced[key] = StackVector.of(Vector(x.layout, entries), self.known)
        self._grid = [sliced[id(x)].copy() for x in self.X[:-1]]
        self._grid.append(StackVector.of(self.X[-1], self.known))
        self._changed = {*range(len(self.X))}
        return self._grid[-1]

    @property
    def is_ready_for_kernel(self) -> bool:
        """Whether nothing changes above the last cell."""
        return self._changed <= {len(self.X) - 1}

    def _above(self, place: int) -> list[StackVector | None]:
        """The cells that a cell depends on, from the next one upwards; None above the grid."""
        numbers = range(place - 1, place - 1 - self.cells.reach, -1)
        return [self._grid[n] if n >= 0 else None for n in numbers]

    def step(self, held: StackVector) -> StackVector:
        """Compute one iteration of the cells that can change."""
        last, reach = len(self.X) - 1, self.cells.reach
        active = sorted({n for c in self._changed for n in range(c, min(last, c + reach) + 1)})
        left = Counter[int]()
        still = {n for place in active for n in range(place - reach, place) if n >= 0}
        for place in still.difference(active):
            left.update(id(stack) for stack in self._grid[place].stacks)  # they must not be taken
        found = [self._entry(place) for place in active]
        for entry, stacks in found:
            left += count_uses(entry, stacks)
        new = [StackVector(e.state, new_stacks(e, cells, left, self.known)) for e, cells in found]
        pairs = zip(active, found, strict=True)
        self._changed = {place for place, (entry, _) in pairs if self._changes(place, entry)}
        for place, each in zip(active, new, strict=True):
            self._grid[place] = each
        return self._grid[-1]

    def _entry(self, place: int) -> tuple[Entry, dict[Cell, Stack]]:
        """The entry of a cell's next iteration, and the stacks that it refers to."""
        own, above = self._grid[place], self._above(place)
        stacks: dict[Cell, Stack] = {}
        for n, each in enumerate([own, *above]):
            if each is not None:
                stacks |= dict(enumerate(each.stacks, start=OTHERS * n))
        control = self._controls[place == len(self.X) - 1]
        found = control.entry(
            (_states(above), own.state), lambda cell, depth: stacks[cell].digit(depth)
        )
        return found, stacks

    def _changes(self, place: int, entry: Entry) -> bool:
        return entry.state != self._grid[place].state or any(
            made not in (None, Source(slot, 0, None)) for slot, made in enumerate(entry.cells)
        )

    def control(self) -> tuple[Control, Context]:
        """The last cell's control, in which the numbers of the cells above are constants."""
        if not self._grid:  # a run that continues from a snapshot
            newest = self.first()
            while not self.is_ready_for_kernel:
                newest = self.step(newest)
        around = self._above(len(self.X) - 1)
        fixed: dict[Cell, Form] = {}
        for n, held in enumerate(around, start=1):
            for slot, stack in enumerate(held.stacks if held is not None else ()):
                value = self.known.value(stack)
                if max(abs(value.p), value.q) >= FITS:
                    raise UnsuitableError("a number of a cell that does not change is long")
                fixed[OTHERS * n + slot] = (int(value.p), int(value.q), ())

        def evaluate(key: Key, cells: CellForms, known: Digits) -> Evaluated:
            return self.cells.evaluate(key, {**fixed, **cells}, known, whole=True)

        return Control(evaluate, self.known), _states(around)


def _states(cells: Sequence[StackVector | None]) -> tuple[State | None, ...]:
    return tuple(None if held is None else held.state for held in cells)


class FastNeuralGPU(StackEngine):
    """S^0, S^1, … of a Neural GPU on an input; the last cell is watched, others on demand."""

    SHORT = 50
    LONG_INPUT = 10  # symbols; the definition computes all of them in every iteration

    def __init__(
        self,
        network: NeuralGPU,
        X: Sequence[Vector],
        watches: Sequence[Watch] = (),
        stops: Sequence[int] = (),
        *,
        reference_steps: int = 0,
        accelerated: bool = False,
    ) -> None:
        self.network, self.X, self.stops = network, X, tuple(stops)
        self._prefixes: dict[int, FastNeuralGPU] = {}
        """A cache of engines of shorter inputs, by their last cell; they all share it."""
        by_definition = 0 if len(X) > self.LONG_INPUT else reference_steps
        super().__init__(watches, by_definition, accelerated=accelerated)

    def ways(self) -> Iterator[Callable[[], NeuralGPUMoments]]:
        """By entries, if only the last cell is watched."""
        run = self.network, self.X, self.watches, self.stops
        yield lambda: NeuralGPUMoments(*run, accelerated=self.accelerated)

    def definition(self) -> Vectors:
        """Equation 15: all cells, row by row."""
        return map(_by_number, self.network.tensors(self.X))

    def vectors_from(self, newest: Mapping[str, Vector], moments: int) -> Vectors:
        """S^t from S^{t−1}."""
        cells, width = list(newest.values()), self.network.width
        S = [cells[i : i + width] for i in range(0, len(cells), width)]
        while True:
            S = self.network.step(S)
            yield _by_number(S)

    def all_vectors(self) -> Mapping[str, Vector]:
        """All cells."""
        return {str(n): self.vector(str(n)) for n in range(len(self.X) * self.network.width)}

    def vector(self, name: str, *, before: bool = False) -> Vector:
        """A cell, of the newest moment or the one before."""
        number = int(name)
        if self.faster is None or number == len(self.X) - 1:
            return super().vector(name, before=before)
        if number not in self._prefixes:
            prefix = self.network, self.X[: number + 1]
            self._prefixes[number] = FastNeuralGPU(*prefix, accelerated=self.accelerated)
            self._prefixes[number]._prefixes = self._prefixes
        other = self._prefixes[number]
        if other.moments > self.faster.moments:
            other.go_back(other.start)
        advance_to(other, self.faster.moments)
        return other.vector(name, before=before)


def _by_number(S: Grid) -> dict[str, Vector]:
    return {str(n): cell for n, cell in enumerate(cell for row in S for cell in row)}
