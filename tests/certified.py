"""Networks as certificates describe them, run by the definitions; and every place in JSON."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from flint import fmpq

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.rnn import RNN, Matrix
from netwright.definitions.transformer import Layer, Positions, Transformer
from netwright.exact.feed_forward import Affine, FeedForward, LinearMap
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, sigma
from netwright.exact.vector import Vector
from netwright.machine.simulate import configurations
from netwright.machine.written import machine_of

Place = tuple[str | int, ...]


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where something stands in JSON that is neither an object nor a list with something in it."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from leaves(item, (*place, key))
    else:
        yield place


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in JSON."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from objects(item)


def replaced(value: Any, place: Place, new: object) -> object:
    """Put something else at a place; what stood there."""
    *path, last = place
    for key in path:
        value = value[key]
    old = value[last]
    value[last] = new
    return old


def _number(text: str) -> fmpq:
    top, _, bottom = text.partition("/")
    return fmpq(int(top), int(bottom or 1))


class _Described:
    """What is written down of a network, run by the definitions in `nets`."""

    def __init__(self, written: dict[str, Any]) -> None:
        self.written, self.machine = written, machine_of(written["given"])
        self.layouts = [
            Layout(tuple((b, ("",)) if isinstance(b, str) else (b[0], tuple(b[1])) for b in blocks))
            for blocks in written["layouts"]
        ]
        self.layout = self.layouts[written["network"]["layout"]]

    def vector(self, entries: Any, layout: Layout) -> Vector:
        return Vector(layout, {k: _number(x) for k, x in entries})

    def affine(self, each: Any) -> Affine:
        start, end = self.layouts[each["input"]], self.layouts[each["output"]]
        weights = {(j, k): _number(w) for j, k, w in each["weights"]}
        return Affine(start, end, weights, self.vector(each["bias"], end))

    def network(self, net: Any) -> FeedForward:
        return FeedForward(tuple(map(self.affine, net["maps"])), sigma)

    def matrix(self, each: Any) -> Matrix:
        if "terms" not in each:
            return self.affine(each)
        chains = tuple(tuple(self.affine(one) for one in term) for term in each["terms"])
        return LinearMap(self.layout, self.layout, chains)

    def tokens(self, word: Sequence[str]) -> list[Vector]:
        vectors = {s: self.vector(v, self.layout) for s, v in self.written["embedding"]}
        return [vectors[symbol] for symbol in word]

    def outputs(self, on: str, word: Sequence[str]) -> Iterator[Vector]:
        net, layout, blank = self.written["network"], self.layout, self.machine.blank
        if on == "rnn":
            rnn = RNN(layout, self.matrix(net["W"]), self.matrix(net["V"]), self.matrix(net["U"]))
            return rnn.outputs(self.tokens((*word, blank)), Vector.zero(layout))
        if on == "neural-gpu":
            banks = []
            for letter in "URF":
                each = net[letter]
                kernels = tuple(tuple(map(self.matrix, row)) for row in each["kernels"])
                bias = tuple(self.vector(b, layout) for b in each["bias"] or ()) or None
                banks.append(Convolution(kernels, bias))
            gpu = NeuralGPU(layout, banks[0], banks[1], banks[2], net["width"], net["circular"])
            cells = self.tokens((*word, blank))
            return islice((S[-1][0] for S in gpu.tensors(cells)), len(cells), None)

        def layers(side: str) -> tuple[Layer, ...]:
            return tuple(Layer(**{x: self.network(each[x]) for x in "QKVO"}) for each in net[side])

        transformer = Transformer(
            layout=layout,
            encoder=layers("encoder"),
            K=self.network(net["K"]),
            V=self.network(net["V"]),
            decoder=layers("decoder"),
            F=self.network(net["F"]),
            pos=Positions(layout, tuple(map(tuple, net["pos"]["powers"]))),
        )
        seed = self.vector(self.written["seed"], layout)
        return transformer.outputs(self.tokens(word), seed)

    def is_final(self, on: str, y: Vector) -> bool:
        final = self.written["final_states"]
        if on == "transformer":
            return any(y["q1"] == {q: ONE} for q in final)
        return any(y.number("S" if on == "rnn" else "D S", q) == ONE for q in final)


def answers_as_its_machine(
    on: str, written: dict[str, Any], words: Sequence[Sequence[str]], steps: int
) -> bool:
    """Whether the network that is written down shows a final state just where the machine does."""
    reading = _Described(written)
    machine = reading.machine
    final = machine.accepting or set(machine.halting_states)
    for word in words:
        run = list(islice(configurations(machine, word), steps + 1))
        # Reading and rewinding take a Transformer 2n + 3 tokens; a step is one, without stays.
        outputs = islice(reading.outputs(on, word), 2 * len(word) + 5 + steps)
        shown = any(reading.is_final(on, y) for y in outputs)
        if shown != any(configuration.state in final for configuration in run):
            return False
    return True
