"""`runtime.outputs` gives what the definition gives, for every kind of network."""

from itertools import islice

import pytest

from netwright.errors import NetworkError
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.nets.recognizer import Recognizer
from netwright.runtime import outputs
from netwright.theorems.proposition_3_3_majority import LAYOUT, majority_recognizer
from netwright.theorems.theorem_2_3_rnn.construction import compile_rnn
from netwright.theorems.theorem_3_4_transformer.construction import to_transformer
from netwright.theorems.theorem_4_1_neural_gpu import compile_neural_gpu

MACHINE = library_machine("even-as")
RNN = compile_rnn(MACHINE)
NETWORKS = {
    "transformer": (to_transformer(MACHINE).recognizer, "abba"),
    "rnn": (RNN.recognizer, "abba_"),
    "neural GPU": (compile_neural_gpu(RNN).recognizer, "abba_"),
    "majority": (majority_recognizer(), "abbaa"),
}


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
