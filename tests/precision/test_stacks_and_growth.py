"""RNNs and Neural GPUs in floating point, and the bits of exact runs."""

from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.errors import InputError
from netwright.kind.neural_gpu.construction import compile_neural_gpu, with_padding
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.transformer.construction import to_transformer
from netwright.kind.transformer.scores import SCORES, Score
from netwright.machine.library import library_machine
from netwright.precision.float_arithmetic import FloatArithmetic, arithmetic_of
from netwright.precision.formats import FORMATS, binary
from netwright.precision.growth import Size, rnn_sizes, transformer_sizes
from netwright.precision.rational_arithmetic import RationalArithmetic
from netwright.precision.stacks import (
    StackFailures,
    decoder_states,
    digits_held,
    first_stack_failures,
    neural_gpu_hidden,
    rnn_hidden,
    tensors,
)


def stack_failures(
    rnn: Any,
    word: tuple[str, ...],
    arithmetic: Any,
    steps: int,
    hidden: Any = rnn_hidden,
) -> StackFailures:
    return first_stack_failures(rnn, hidden(rnn, word, arithmetic), word, arithmetic, steps)


@pytest.mark.parametrize(
    ("name", "inexact", "wrong", "depth"),
    [
        ("float64", 378, 405, 27),
        ("float32", 91, 104, 13),
        ("bfloat16", 15, 20, 5),
        ("float16", 21, 27, 6),
    ],
)
def test_a_stack_one_cell_deeper_than_its_bits_goes_wrong(
    name: str, inexact: int, wrong: int, depth: int
) -> None:
    """The sweeper in base 4: two bits a cell, and when it comes back the bottom is lost."""
    rnn = compile_rnn(library_machine("sweeper"), 4)
    found = stack_failures(rnn, (), FloatArithmetic(FORMATS[name]), 500)
    assert found.vector is not None
    assert found.reading is not None
    assert (found.vector.time, found.reading.time) == (inexact, wrong)
    assert found.vector.depth == found.reading.depth == depth
    held = digits_held(FORMATS[name], rnn)
    assert held is not None
    assert depth == held + 1


@examples(60)
@given(st.data(), st.sampled_from([5, 8, 11, 24]))
def test_what_fits_is_exact(data: st.DataObject, bits: int) -> None:
    """The stacks, that is: the scale of the encoder may be lost, and is not used any more."""
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    bases = [base for base in (4, 8, 16, 32) if base > len(machine.symbols)]
    rnn = compile_rnn(machine, data.draw(st.sampled_from(bases)))
    held = digits_held(binary(bits), rnn)
    found = stack_failures(rnn, word, FloatArithmetic(binary(bits)), 15)
    if held is not None and found.depth <= held:
        assert found.reading is None
        assert found.vector is None or found.vector.block.startswith(("sc", "e"))


def test_the_cell_under_the_head_is_a_digit_until_it_is_read() -> None:
    """Five symbols are ten bits."""
    rnn = compile_rnn(library_machine("binary-increment"), 4)
    found = stack_failures(rnn, tuple("10110"), FloatArithmetic(FORMATS["bfloat16"]), 20)
    assert found.vector is not None
    assert (found.vector.time, found.vector.block, found.vector.depth) == (0, "Rpop", 5)
    assert digits_held(FORMATS["bfloat16"], rnn) == 4


@pytest.mark.parametrize("machine", ["sweeper", "binary-counter", "busy-beaver-5"])
@pytest.mark.parametrize("base", [None, 4])
def test_the_neural_gpu_goes_wrong_where_its_rnn_does(machine: str, base: int | None) -> None:
    rnn = compile_rnn(library_machine(machine), base)
    here = FloatArithmetic(FORMATS["float32"])
    wanted = stack_failures(rnn, (), here, 150)
    assert stack_failures(rnn, (), here, 150, neural_gpu_hidden) == wanted


@examples(25)
@given(st.data(), st.sampled_from([4, 8, 24, 40]))
def test_hidden_vectors_are_those_of_rounded_rationals(data: st.DataObject, bits: int) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    rnn = compile_rnn(machine)
    gpu = compile_neural_gpu(rnn)
    fast, slow = FloatArithmetic(binary(bits)), RationalArithmetic(binary(bits))

    def states(here: Any) -> list[list[Any]]:
        found = decoder_states(rnn.network, rnn.embed(word), here)
        return [[here.exact(x) for x in g.tolist()] for g in islice(found, 8)]

    def cells(here: Any) -> list[list[list[Any]]]:
        found = tensors(gpu.network, gpu.embed(word), here)
        return [[[here.exact(x) for x in s.tolist()] for s in S] for S in islice(found, 6)]

    assert states(fast) == states(slow)
    assert cells(fast) == cells(slow)


@examples(25)
@given(st.data())
def test_with_enough_bits_a_stack_is_exact(data: st.DataObject) -> None:
    """Where all weights are binary fractions: three symbols in base 8 have none others..."""
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    found = stack_failures(compile_rnn(machine), word, arithmetic_of(binary(200)), 12)
    assert found.reading is None


@pytest.mark.parametrize(("limit", "halted"), [(20, False), (21, True), (30, True)])
def test_a_machine_that_halts_ends_the_run(limit: int, halted: bool) -> None:
    """The busy beaver of three states: 21 steps."""
    rnn = compile_rnn(library_machine("busy-beaver-3"), 4)
    found = stack_failures(rnn, (), FloatArithmetic(FORMATS["float64"]), limit)
    assert (found.steps, found.halted) == (min(21, limit), halted)


@pytest.mark.parametrize(
    ("base", "name", "wrong", "depth"), [(3, "float64", 33, 5), (8, "float32", 12, 3)]
)
def test_weights_that_are_no_binary_fractions_spoil_a_stack(
    base: int, name: str, wrong: int, depth: int
) -> None:
    """Every digit in base 3; in base 8 the weights, with 8 − 2 in their denominators."""
    rnn = compile_rnn(library_machine("sweeper"), base)
    found = stack_failures(rnn, (), FloatArithmetic(FORMATS[name]), 100)
    assert found.reading is not None
    assert (found.reading.time, found.reading.depth) == (wrong, depth)
    assert digits_held(FORMATS[name], rnn) is None


def test_other_networks_are_refused() -> None:
    gpu = compile_neural_gpu(compile_rnn(library_machine("even-as")))
    circular: NeuralGPU = with_padding(gpu, circular=True).network
    with pytest.raises(InputError, match="width 1 without circles"):
        next(tensors(circular, gpu.embed("a"), FloatArithmetic(binary(24))))


def too_large(sizes: list[Size]) -> list[Size]:
    return [
        each
        for each in sizes
        if each.numerator > each.numerator_bound or each.denominator > each.denominator_bound
    ]


@examples(30)
@given(st.data(), st.sampled_from(list(SCORES.values())))
def test_numbers_have_no_more_bits_than_the_proofs_allow(data: st.DataObject, score: Score) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    compiled = to_transformer(machine, word, score)
    assert too_large(list(transformer_sizes(compiled, word, 40))) == []
    assert too_large(list(rnn_sizes(compile_rnn(machine), word, 40))) == []


def test_logarithmic_on_the_transformer_and_linear_in_space_on_the_rnn() -> None:
    machine = library_machine("sweeper")
    for score in SCORES.values():
        sizes = list(transformer_sizes(to_transformer(machine, (), score), (), 3000))
        assert too_large(sizes) == []
        assert max(each.denominator for each in sizes) <= 50  # 4 log₂ 3000 + 2
    stacks = list(rnn_sizes(compile_rnn(machine), (), 3000))
    assert too_large(stacks) == []
    assert stacks[-1].denominator > 100  # some √6000 cells of log₂ 3 bits


def test_the_sizes_after_4000_steps_of_the_busy_beaver() -> None:
    machine = library_machine("busy-beaver-5")
    *_, score = transformer_sizes(to_transformer(machine), (), 4000)
    *_, stack = rnn_sizes(compile_rnn(machine), (), 4000)
    assert (score.time, score.numerator, score.denominator) == (3999, 32, 50)
    assert (stack.time, stack.numerator, stack.denominator) == (3999, 133, 134)
