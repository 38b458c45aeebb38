"""The fast engine of RNNs (Equations 2 and 3): the same hidden vectors as `definitions.rnn`."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from netwright.definitions.rnn import RNN, identity
from netwright.engine.cells import StackVector, read, step
from netwright.engine.control import Context, Control, Evaluated, Key
from netwright.engine.digits import Digits
from netwright.engine.forms import CellForms, IntegerMap, Layer, Pattern
from netwright.engine.moments import UnsuitableError, Vectors, Watch
from netwright.engine.stack_moments import StackEngine, StackMoments
from netwright.exact.rational import ONE, sigma
from netwright.exact.vector import Vector, combine


def layer_control(
    maps: Sequence[IntegerMap], bias: Vector | None, known: Digits, *, sums: bool
) -> Control:
    """The control of moments that are one layer, σ(Σ x·A + b), of the vector x before."""
    layer = Layer(maps, bias, maps[0].width)

    def evaluate(key: Key, cells: CellForms, known: Digits) -> Evaluated:
        pattern = Pattern(key[1].ones, key[1].forms(0, cells))
        after = layer([pattern] * len(maps), known)
        return Evaluated(after.ones, after.forms, {})

    return Control(evaluate, known, sums=sums)


def last_hidden(network: RNN, X: Sequence[Vector], known: Digits) -> StackVector:
    """h_n: each symbol has its own layer σ(h V + (x W + b₁))."""
    if network.f1 is not sigma:
        raise UnsuitableError("its activation is not σ")
    V = IntegerMap(network.V)

    def control(x: Vector) -> Control:
        bias = network.W(x) if network.b1 is None else network.W(x) + network.b1
        return layer_control([V], bias, known, sums=True)

    return read(StackVector.of(Vector.zero(network.layout), known), X, control)


class RNNMoments(StackMoments):
    """g_0 = h_n, then g_t = σ(g_{t−1} U + y_{t−1} R + b₂), of which y_0 is the seed."""

    def __init__(
        self,
        network: RNN,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch],
        stops: Sequence[int],
        *,
        accelerated: bool = False,
    ) -> None:
        super().__init__(network.layout, watches, stops, accelerated=accelerated)
        if network.f2 is not sigma:
            raise UnsuitableError("its activation is not σ")
        if network.R is not None and network.O is not identity:
            raise UnsuitableError("it reads more than its hidden vector")
        self.network, self.X, self.seed = network, X, seed

    @property
    def is_ready_for_kernel(self) -> bool:
        """After g_1, which reads the seed instead of O(g), and may sum up what was read."""
        return self.moments > 1

    def first(self) -> StackVector:
        """h_n."""
        return last_hidden(self.network, self.X, self.known)

    def step(self, held: StackVector) -> StackVector:
        """g_1."""
        network = self.network
        terms = [] if network.R is None else [network.R(self.seed)]
        terms += [] if network.b2 is None else [network.b2]
        bias = combine(self.layout, [(ONE, term) for term in terms])
        return step(held, layer_control([IntegerMap(network.U)], bias, self.known, sums=True))

    def control(self) -> tuple[Control, Context]:
        """g ↦ σ(g U + g R + b₂)."""
        matrices = [self.network.U] if self.network.R is None else [self.network.U, self.network.R]
        maps = [*map(IntegerMap, matrices)]
        return layer_control(maps, self.network.b2, self.known, sums=False), None


class FastRNN(StackEngine):
    """g_0, g_1, … of an RNN on an input; the hidden vector is named `0`."""

    SHORT = 200
    LONG_INPUT = 50  # symbols; the definition takes time quadratic in them

    def __init__(
        self,
        network: RNN,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch] = (),
        stops: Sequence[int] = (),
        *,
        reference_steps: int = 0,
        accelerated: bool = False,
    ) -> None:
        self.network, self.X, self.seed, self.stops = network, X, seed, tuple(stops)
        by_definition = 0 if len(X) > self.LONG_INPUT else reference_steps
        super().__init__(watches, by_definition, accelerated=accelerated)

    def ways(self) -> Iterator[Callable[[], RNNMoments]]:
        """By entries."""
        run = self.network, self.X, self.seed
        yield lambda: RNNMoments(*run, self.watches, self.stops, accelerated=self.accelerated)

    def definition(self) -> Vectors:
        """Equation 3."""
        return ({"0": g} for g in self.network.decoder_states(self.X, self.seed))

    def vectors_from(self, newest: Mapping[str, Vector], moments: int) -> Vectors:
        """g_t from g_{t−1}."""
        g = newest["0"]
        y = self.seed if moments == 1 else self.network.O(g)
        while True:
            g = self.network.decoder_step(g, y)
            y = self.network.O(g)
            yield {"0": g}

    def all_vectors(self) -> Mapping[str, Vector]:
        """The hidden vector."""
        return {"0": self.vector("0")}
