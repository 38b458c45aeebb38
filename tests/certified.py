"""Networks as certificates describe them, run by the definitions; and every place in JSON."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from netwright.exact.rational import ONE
from netwright.exact.vector import Vector
from netwright.machine.simulate import configurations
from netwright.nets.neural_gpu import Convolution, NeuralGPU
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.rnn import RNN
from netwright.nets.transformer import Layer, Transformer
from netwright.networks.writing import Reading, machine_of

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


class _Described(Reading):
    """What is written down of a network, run by the definitions in `nets`."""

    def __init__(self, written: dict[str, Any]) -> None:
        super().__init__(written)
        self.written, self.machine = written, machine_of(written["given"])

    def tokens(self, name: str, word: Sequence[str]) -> list[Vector]:
        vectors = {s: self.vector(v, self.layout) for s, v in self.written[name]}
        return [vectors[symbol] for symbol in word]

    def outputs(self, on: str, word: Sequence[str]) -> Iterator[Vector]:
        written, layout, blank = self.written, self.layout, self.machine.blank
        if on == "rnn":
            W, V, U = (self.matrix(written["matrices"][x], layout) for x in "WVU")  # noqa: N806  # the paper's letters
            rnn = RNN(layout, W, V, U)
            return rnn.outputs(self.tokens("embedding", (*word, blank)), Vector.zero(layout))
        if on == "neural-gpu":
            banks = []
            for letter in "URF":
                each = written["convolutions"][letter]
                kernels = tuple(
                    tuple(self.matrix(kernel, layout) for kernel in row) for row in each["kernels"]
                )
                bias = tuple(self.vector(b, layout) for b in each["bias"]) or None
                banks.append(Convolution(kernels, bias))
            gpu = NeuralGPU(
                layout, banks[0], banks[1], banks[2], written["width"], written["circular"]
            )
            cells = self.tokens("cell_embedding", (*word, blank))
            return islice((S[-1][0] for S in gpu.tensors(cells)), len(cells), None)
        nets = {name: self.network(each) for name, each in written["networks"].items()}

        def layers(side: str) -> tuple[Layer, ...]:
            numbers = range(1, written[f"{side}_layers"] + 1)
            return tuple(Layer(**{x: nets[f"{side}.{n}.{x}"] for x in "QKVO"}) for n in numbers)

        transformer = Transformer(
            layout=layout,
            encoder=layers("encoder"),
            K=nets["encoder.K"],
            V=nets["encoder.V"],
            decoder=layers("decoder"),
            F=nets["F"],
            pos=ReciprocalPositions(layout, tuple(written["positions"])),
        )
        seed = self.vector(written["seed"], layout)
        return transformer.outputs(self.tokens("embedding", word), seed)

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
