"""The engines give the outputs that the definitions give, for every kind of network."""

from collections.abc import Iterator, Sequence
from itertools import islice

import pytest

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.recognizer import Recognizer
from netwright.definitions.rnn import RNN
from netwright.definitions.transformer import Transformer
from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.engine.rnn import FastRNN
from netwright.engine.transformer.decoder import FastDecoder
from netwright.errors import NetworkError
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import compile_neural_gpu
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.transformer.construction import to_transformer
from netwright.machine.library import library_machine
from netwright.statements.proposition_3_3_majority import LAYOUT, majority_recognizer

MACHINE = library_machine("even-as")
COMPILED = compile_rnn(MACHINE)
NETWORKS = {
    "transformer": (to_transformer(MACHINE).recognizer, "abba"),
    "rnn": (COMPILED.recognizer, "abba_"),
    "neural GPU": (compile_neural_gpu(COMPILED).recognizer, "abba_"),
    "majority": (majority_recognizer(), "abbaa"),
}


def outputs(network: object, tokens: Sequence[Vector], seed: Vector) -> Iterator[Vector]:
    """y_1, y_2, … of a network of `definitions`, or of anything that has one as its `network`."""
    network = getattr(network, "network", network)
    if isinstance(network, Transformer):
        decoder = FastDecoder(network, tokens, seed)
        while True:
            decoder.advance(1)
            yield decoder.newest.y
    if isinstance(network, RNN):
        moments, output = FastRNN(network, tokens, seed), network.O
        moments.advance(1)
        while True:
            moments.advance(1)
            yield output(moments.vector("0"))
    if isinstance(network, NeuralGPU):
        iterations = FastNeuralGPU(network, tokens)
        last = str((len(tokens) - 1) * network.width)
        iterations.advance(1)
        while True:
            iterations.advance(1)
            yield iterations.vector(last)
    raise NetworkError(f"{type(network).__name__} is no Transformer, RNN or Neural GPU")


@pytest.mark.parametrize("name", list(NETWORKS))
def test_every_output_is_the_definitions(name: str) -> None:
    recognizer, word = NETWORKS[name]
    assert isinstance(recognizer, Recognizer)
    fast = outputs(recognizer, recognizer.embed(word), recognizer.seed)
    assert list(islice(fast, 25)) == list(islice(recognizer.outputs(word), 25))


def test_a_compiled_network_is_taken_as_it_is() -> None:
    compiled = to_transformer(MACHINE)
    X = compiled.recognizer.embed("ab")
    assert next(outputs(compiled, X, compiled.seed)) == next(compiled.recognizer.outputs("ab"))


def test_something_else_is_refused() -> None:
    with pytest.raises(NetworkError, match="str is no Transformer, RNN or Neural GPU"):
        next(outputs("abc", (), Vector.zero(LAYOUT)))
