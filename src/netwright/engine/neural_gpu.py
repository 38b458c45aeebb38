"""A Neural GPU (Equations 14 and 15) by its entries: the same cells as `definitions.neural_gpu`.

A cell depends on itself and on the cells above it. So the last cell is that of a grid that ends
with it, and of the cells above only those coordinates matter on which it can depend: their slice.
A cell is evaluated again only if it, or one of those it depends on, has changed. While the input is
read these are a few around the encoder. Once nothing changes above the last cell, the kernel goes
on with that alone, however long the input was.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from netwright.definitions.neural_gpu import Convolution, Grid, NeuralGPU
from netwright.engine.cells import Held, made_of, uses
from netwright.engine.control import OTHERS, Begun, Context, Control, Entry, Key, Source
from netwright.engine.digits import Digits, Stack
from netwright.engine.forms import (
    FITS,
    Cell,
    Form,
    IntegerMap,
    Layer,
    OpenError,
    Pattern,
    bounds,
    heaviest,
    plus,
    times,
)
from netwright.engine.moments import UnsuitableError, Watch
from netwright.engine.stack_moments import DEEPEST, StackEngine, StackMoments
from netwright.engine.staged import Vectors
from netwright.exact.rational import sigma
from netwright.exact.vector import Vector

ZERO, ONE = (0, 1, ()), (1, 1, ())


class Bank:
    """A convolution of one column: a map for each of the cells above, the cell itself being 0."""

    def __init__(self, convolution: Convolution, width: int) -> None:
        bias = convolution.bias
        if convolution.f is not sigma or callable(bias):
            raise UnsuitableError(
                "a convolution has another activation than σ, or a bias of its rows"
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
        """The forms before σ of one of some cells, which come from the last one upwards."""
        return self._layer([cells[above + shift] for shift in self.maps], known)

    def sources(self, targets: set[int]) -> dict[int, set[int]]:
        """By distance upwards: the coordinates that some of a cell's may depend on."""
        return {shift: kernel.sources(targets) for shift, kernel in self.maps.items()}


class Cells:
    """How a cell follows from itself and those above it."""

    def __init__(self, network: NeuralGPU) -> None:
        if network.width != 1 or network.circular:
            raise UnsuitableError("its grid has more than one column, or no end")
        self.width = network.layout.dimension
        banks = (Bank(bank, self.width) for bank in (network.U, network.R, network.F))
        self.U, self.R, self.F = banks
        distance = {
            name: max(bank.maps, default=0)
            for name, bank in zip("URF", (self.U, self.R, self.F), strict=True)
        }
        self.reach = max(distance["U"], distance["F"] + distance["R"])
        """How many cells above it a cell depends on."""
        self.slice = self._slice()

    def _slice(self) -> set[int]:
        """The coordinates of cells above the last on which that can depend."""
        found = self._sources(set(range(self.width)), above=1)
        while (more := found | self._sources(found, above=0)) != found:
            found = more
        return found

    def _sources(self, wanted: set[int], *, above: int) -> set[int]:
        """What some coordinates of a cell depend on, in cells at least so far above it."""
        found = set()
        for n, through in self.F.sources(wanted).items():
            found |= through if n >= above else set()
            for further, sources in self.R.sources(through).items():
                found |= sources if n + further >= above else set()
        for n, sources in self.U.sources(wanted).items():
            found |= sources if n >= above else set()
        return found

    def begin(self, key: Key, cells: Mapping[Cell, Form], known: Digits, *, whole: bool) -> Begun:
        """u ⊙ s + (1 − u) ⊙ F(r ⊙ s), as far as it is decided."""
        above, own = key
        S: list[Pattern | None] = []
        for n, state in enumerate((own, *above)):  # type: ignore[misc]  # a tuple of states
            S.append(None if state is None else Pattern(state.ones, state.forms(OTHERS * n, cells)))
        kept = [self._kept(S, n, known) for n in range(max(self.F.maps, default=0) + 1)]
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
        return Begun(tuple(ones), before_sigma, linear)

    def _kept(self, S: Sequence[Pattern | None], n: int, known: Digits) -> Pattern | None:
        """r ⊙ s of the cell n above."""
        s = S[n]
        if s is None:
            return None
        r = self.R(S, n, known)
        forms = {}
        for k in (*s.ones, *s.forms):
            form = product(_after_sigma(r.form(k), known), s.form(k))
            if form != ZERO:
                forms[k] = form
        ones = tuple(k for k, form in forms.items() if form == ONE)
        return Pattern(ones, {k: form for k, form in forms.items() if form != ONE})


def product(x: Form, y: Form) -> Form:
    """A product of which one factor is a number."""
    if x[2] and y[2]:
        raise UnsuitableError("a product of two numbers that are not 0 or 1")
    if x[2]:
        x, y = y, x
    return times(y, x[0], x[1])


def _after_sigma(form: Form, known: Digits) -> Form:
    """σ of a form; OpenError where one more digit must tell."""
    low, high, one = bounds(form, known)
    if high <= 0:
        return ZERO
    if low >= one:
        return ONE
    if low < 0 or high > one:
        raise OpenError(heaviest(form))
    return form


class NeuralGPUMoments(StackMoments):
    """The last cell of S^0, S^1, …."""

    def __init__(
        self,
        network: NeuralGPU,
        X: Sequence[Vector],
        watches: Sequence[Watch],
        stops: Sequence[int],
    ) -> None:
        super().__init__(network.layout, watches, stops)
        self.X, self.cells = X, Cells(network)
        self._grid: list[Held] = []
        self._controls = {
            whole: Control(self._begin(whole), self.known, deepest=DEEPEST, sums=True)
            for whole in (False, True)
        }

    def _begin(self, whole: bool) -> Callable[[Key, Mapping[Cell, Form], Digits], Begun]:
        return lambda key, cells, known: self.cells.begin(key, cells, known, whole=whole)

    def begin(self) -> Held:
        """The input, of which only the slice matters above the last cell."""
        distinct = {id(x): x for x in self.X[:-1]}
        sliced = {
            key: Held.of(
                Vector(x.layout, {k: x.entries[k] for k in x.entries.keys() & self.cells.slice}),
                self.known,
            )
            for key, x in distinct.items()
        }
        self._grid = [sliced[id(x)].copy() for x in self.X[:-1]]
        self._grid.append(Held.of(self.X[-1], self.known))
        self._changed = {*range(len(self.X))}
        return self._grid[-1]

    @property
    def is_over(self) -> bool:
        """Whether nothing changes above the last cell."""
        return self._changed <= {len(self.X) - 1}

    def _above(self, place: int) -> list[Held | None]:
        """The cells that one depends on, upwards."""
        numbers = range(place - 1, place - 1 - self.cells.reach, -1)
        return [self._grid[n] if n >= 0 else None for n in numbers]

    def step(self, held: Held) -> Held:
        """One iteration of the cells that can change."""
        last, reach = len(self.X) - 1, self.cells.reach
        active = sorted({n for c in self._changed for n in range(c, min(last, c + reach) + 1)})
        found: list[tuple[int, Entry, dict[Cell, Stack | None]]] = []
        left = Counter[int]()
        still = {n for place in active for n in range(place - reach, place) if n >= 0}
        for place in still.difference(active):
            left.update(id(stack) for stack in self._grid[place].stacks)  # they stay as they are
        for place in active:
            around = [self._grid[place], *self._above(place)]
            stacks: dict[Cell, Stack | None] = {}
            for n, each in enumerate(around):
                if each is not None:
                    stacks |= dict(enumerate(each.stacks, start=OTHERS * n))
            above = tuple(None if each is None else each.state for each in around[1:])

            def digit(cell: Cell, depth: int, stacks: dict[Cell, Stack | None] = stacks) -> int:
                stack = stacks[cell]
                return 0 if stack is None else stack.digit(depth)

            control = self._controls[place == last]
            entry = control.entry((above, self._grid[place].state), digit)
            left += uses(entry, stacks)
            found.append((place, entry, stacks))
        self._changed = set()
        new = {}
        for place, entry, stacks in found:
            old = self._grid[place].state
            if entry.state != old or any(
                made is not None and made != Source(slot, 0, None)
                for slot, made in enumerate(entry.cells)
            ):
                self._changed.add(place)
            new[place] = Held(entry.state, made_of(entry, stacks, left, self.known))
        for place, each in new.items():
            self._grid[place] = each
        return self._grid[-1]

    def control(self) -> tuple[Control, Context]:
        """The cells above as they are once nothing changes there: their numbers are constants."""
        if not self._grid:  # a run that goes on from a snapshot
            first = self.begin()
            while not self.is_over:
                first = self.step(first)
        around = self._above(len(self.X) - 1)
        fixed: dict[Cell, Form] = {}
        for n, held in enumerate(around, start=1):
            for slot, stack in enumerate(held.stacks if held is not None else ()):
                value = self.known.value(stack or Stack())
                if max(abs(value.p), value.q) >= FITS:
                    raise UnsuitableError("a number of a cell that does not change is long")
                fixed[OTHERS * n + slot] = (int(value.p), int(value.q), ())

        def begin(key: Key, cells: Mapping[Cell, Form], known: Digits) -> Begun:
            return self.cells.begin(key, {**fixed, **cells}, known, whole=True)

        above = tuple(None if held is None else held.state for held in around)
        return Control(begin, self.known, deepest=DEEPEST), above


class FastNeuralGPU(StackEngine):
    """S^0, S^1, … of a Neural GPU on an input, cell by cell; the last is followed."""

    SHORT = 50
    LONG_INPUT = 10  # symbols; by the definition every iteration does them all

    def __init__(
        self,
        network: NeuralGPU,
        X: Sequence[Vector],
        watches: Sequence[Watch] = (),
        stops: Sequence[int] = (),
        *,
        reference_steps: int = 0,
    ) -> None:
        self.network, self.X, self.stops = network, X, tuple(stops)
        self._prefixes: dict[int, FastNeuralGPU] = {}
        """Engines of inputs that end earlier, by their last cell; they share them."""
        super().__init__(watches, 0 if len(X) > self.LONG_INPUT else reference_steps)

    def ways(self) -> Iterator[Callable[[], NeuralGPUMoments]]:
        """By entries, if what is watched is the last cell."""
        last = str(len(self.X) - 1)

        def make() -> NeuralGPUMoments:
            if any(watch.vector != last for watch in self.watches):
                raise UnsuitableError("another cell than the last is watched")
            return NeuralGPUMoments(self.network, self.X, self.watches, self.stops)

        yield make

    def definition(self) -> Vectors:
        """Equation 15, all cells row by row."""
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
        """A cell, now or one moment before."""
        if self.faster is None:
            assert self.vectors is not None
            return self.vectors.vector(name, before=before)
        number = int(name)
        if number == len(self.X) - 1:
            return self.faster.vector(before=before)
        if number not in self._prefixes:
            self._prefixes[number] = FastNeuralGPU(self.network, self.X[: number + 1])
            self._prefixes[number]._prefixes = self._prefixes
        other = self._prefixes[number]
        if other.moments > self.faster.moments:
            other.go_back(other.start)
        while other.moments < self.faster.moments:
            other.advance(self.faster.moments - other.moments)
        return other.vector(name, before=before)

    def cells(self) -> list[Vector]:
        """The vectors of all cells."""
        if self.faster is not None:
            return [*self.all_vectors().values()]
        assert self.vectors is not None
        return [*self.vectors.newest.values()]


def _by_number(S: Grid) -> dict[str, Vector]:
    return {str(n): cell for n, cell in enumerate(cell for row in S for cell in row)}
