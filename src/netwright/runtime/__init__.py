"""Faster exact engines: equal to `nets` on everything. They read weights, never machines.

`outputs` runs any network. What it does for a Transformer is in `transformer`, and for RNNs and
Neural GPUs in `stacks.engine`.
"""

from collections.abc import Iterator, Sequence

from netwright.errors import NetworkError
from netwright.exact.vector import Vector
from netwright.nets.neural_gpu import NeuralGPU
from netwright.nets.rnn import RNN
from netwright.nets.transformer import Transformer
from netwright.runtime.stacks.neural_gpu import FastNeuralGPU
from netwright.runtime.stacks.rnn import FastRNN
from netwright.runtime.transformer.decoder import FastDecoder


def outputs(network: object, X: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
    """y_1, y_2, … of a network of `nets`, or of anything that has one as its `network`."""
    network = getattr(network, "network", network)
    if isinstance(network, Transformer):
        decoder = FastDecoder(network, X, seed)
        while True:
            decoder.advance(1)
            yield decoder.newest.y
    if isinstance(network, RNN):
        moments, output = FastRNN(network, X, seed), network.O
        moments.advance(1)
        while True:
            moments.advance(1)
            yield output(moments.vector("0"))
    if isinstance(network, NeuralGPU):
        iterations = FastNeuralGPU(network, X)
        last = str((len(X) - 1) * network.width)
        iterations.advance(1)
        while True:
            iterations.advance(1)
            yield iterations.vector(last)
    raise NetworkError(f"{type(network).__name__} is no Transformer, RNN or Neural GPU")
