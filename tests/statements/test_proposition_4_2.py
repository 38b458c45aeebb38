"""Proposition 4.2: circular convolution; and kernels of shape (1, 1)."""

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import D, gpu_recognizer, neural_gpus

from netwright.definitions.neural_gpu import Convolution, NeuralGPU
from netwright.definitions.recognizer import Recognizer
from netwright.errors import InputError
from netwright.exact.feed_forward import linear
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import compile_neural_gpu, with_padding
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine
from netwright.statements.proposition_3_3_majority import majority_recognizer
from netwright.statements.proposition_4_2_circular import length_pair, sees_last_symbol_only


@examples(60)
@given(neural_gpus(circular=True), st.text("ab", min_size=1, max_size=2), st.integers(1, 4))
def test_periodic_words_of_different_length_give_equal_outputs(
    network: NeuralGPU, period: str, times: int
) -> None:
    recognizer = gpu_recognizer(network)
    assert recognizer.first_difference(period * times, period * 2, 4) is None


@examples(40)
@given(neural_gpus(circular=True))
def test_the_pair_is_found_for_any_recognizer(network: NeuralGPU) -> None:
    recognizer = gpu_recognizer(network)
    pair = length_pair(recognizer, 3)
    assert len(pair.inside) % 2 == 0
    assert len(pair.outside) % 2 == 1
    answers = {recognizer.accepts_at(word, 3) for word in (pair.inside, pair.outside)}
    assert answers == {pair.accepted_at}


def test_the_pair_for_a_compiled_machine_with_circular_padding() -> None:
    compiled = compile_neural_gpu(compile_rnn(library_machine("even-as")))
    assert length_pair(with_padding(compiled, circular=True).recognizer, 10).inside == ("_", "_")


def test_with_zero_padding_lengths_can_be_told_apart() -> None:
    """So the property is not empty: the compiled parity machine tells aa from aaa."""
    recognizer = compile_neural_gpu(compile_rnn(library_machine("even-as"))).recognizer
    assert recognizer.first_difference("aa_", "aaa_", 20) is not None


def test_what_the_proposition_does_not_speak_of_is_refused() -> None:
    compiled = compile_neural_gpu(compile_rnn(library_machine("even-as")))
    with pytest.raises(InputError, match="about Neural GPUs with circular convolution"):
        length_pair(compiled.recognizer, 3)
    with pytest.raises(InputError, match="about Neural GPUs with circular convolution"):
        length_pair(majority_recognizer(), 3)
    nothing = Convolution(((linear(D, D),),))
    rows = Convolution(((linear(D, D),),), bias=lambda i, j: Vector.of(D, x=i))
    network = NeuralGPU(D, nothing, nothing, rows, circular=True)
    with pytest.raises(InputError, match="about uniform Neural GPUs; a bias depends on the row"):
        length_pair(gpu_recognizer(network), 3)
    uniform = NeuralGPU(D, nothing, nothing, nothing, circular=True)
    empty = Recognizer((), {}, uniform, Vector.zero(D), lambda _: False)
    with pytest.raises(InputError, match="alphabet is empty"):
        length_pair(empty, 3)


@examples(60)
@given(neural_gpus(shape=(1, 1)), st.text("ab", max_size=3), st.text("ab", max_size=3))
def test_with_kernels_of_shape_1_1_only_the_last_symbol_counts(
    network: NeuralGPU, w: str, u: str
) -> None:
    assert sees_last_symbol_only(network)
    recognizer = gpu_recognizer(network)
    for last in "ab":
        assert recognizer.first_difference(w + last, u + last, 4) is None


def test_a_bias_that_knows_its_row_sees_more() -> None:
    nothing = Convolution(((linear(D, D),),))
    rows = Convolution(((linear(D, D),),), bias=lambda i, j: Vector.of(D, x=fmpq(i, 10)))
    network = NeuralGPU(D, nothing, nothing, rows)
    assert not sees_last_symbol_only(network)
    assert gpu_recognizer(network).first_difference("a", "aa", 3) == 1


def test_kernels_of_shape_2_1_see_more() -> None:
    compiled = compile_neural_gpu(compile_rnn(library_machine("even-as")))
    assert not sees_last_symbol_only(compiled.network)
    assert compiled.recognizer.first_difference("a_", "aa_", 20) is not None
