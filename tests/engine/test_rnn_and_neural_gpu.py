"""The faster RNN and Neural GPU equal the definition on everything, and give way if they must."""

import random
from collections.abc import Callable
from itertools import islice

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.stacks import agree, agree_on, gpu_of, run_a_mutated_rnn, tensors_agree
from tests.machine_table import TABLE
from tests.mutations import mutated_neural_gpu, mutated_rnn
from tests.networks import facts
from tests.repetition import examples, repeated, some
from tests.strategies import D, machines, neural_gpus, vectors
from tests.strategies import words as random_words

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.rnn import RNN
from netwright.engine.moments import advance_to
from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.engine.rnn import FastRNN
from netwright.exact.feed_forward import Affine
from netwright.exact.vector import Vector
from netwright.kind.gateless_neural_gpu.construction import compile_gateless
from netwright.kind.neural_gpu.construction import (
    CompiledNeuralGPU,
    compile_neural_gpu,
    with_padding,
)
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.running import run


@pytest.mark.parametrize("case", some([case for case in TABLE if len(case.word) <= 4][::9], 16))
def test_every_vector_on_the_machine_table(case: tuple[str, str, object]) -> None:
    name, word, _ = case
    rnn = compile_rnn(library_machine(name))
    assert agree_on(rnn, word, 60).reason is None
    gpu = compile_neural_gpu(rnn)
    assert tensors_agree(gpu.network, gpu.embed(word), 30).reason is None


@given(st.data())
def test_every_vector_on_random_machines(data: st.DataObject) -> None:
    machine = data.draw(machines())
    word = data.draw(random_words(machine.symbols))
    assert agree_on(compile_rnn(machine), word, 40).reason is None


@examples(20)
@given(st.data(), st.sampled_from([gpu_of, compile_gateless]))
def test_every_cell_on_random_machines(
    data: st.DataObject, construct: Callable[[TuringMachine], CompiledNeuralGPU]
) -> None:
    machine = data.draw(machines(max_states=3, max_symbols=3))
    gpu = construct(machine)
    word = data.draw(random_words(machine.symbols))
    assert tensors_agree(gpu.network, gpu.embed(word), 15).reason is None


@pytest.mark.parametrize("base", [fmpq(7, 2), 4, 5, fmpq(31, 10)])
def test_any_base(base: int) -> None:
    compiled = compile_rnn(library_machine("palindrome"), base)
    assert agree_on(compiled, "abba", 25).reason is None


@pytest.mark.parametrize("end_marker", [False, True])
def test_a_grid_without_an_end_is_for_big_numbers(end_marker: bool) -> None:
    gpu = with_padding(gpu_of(library_machine("even-as")), circular=True, end_marker=end_marker)
    fast = tensors_agree(gpu.network, gpu.embed("abba"), 20)
    assert fast.reason == "its grid has more than one column, or no end"


@pytest.mark.parametrize("reference_steps", [1, 2, 3, 5, 8])
def test_the_definition_is_left_at_any_moment(
    reference_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FastNeuralGPU, "is_warm", staticmethod(lambda: False))
    monkeypatch.setattr("netwright.engine.moments.REFERENCE_SECONDS", 10**9)
    gpu = gpu_of(library_machine("palindrome"))
    X = gpu.embed("abba")
    fast = FastNeuralGPU(gpu.network, X, reference_steps=reference_steps)
    for time, S in enumerate(islice(gpu.network.tensors(X), 25)):
        fast.advance(1)
        assert fast.fast == (time >= reference_steps)
        assert [fast.vector(str(i)) for i in range(len(X))] == [row[0] for row in S]
    assert fast.reason is None


def test_a_kernel_that_is_there_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rnn = compile_rnn(library_machine("palindrome"))
    zero = Vector.zero(rnn.neurons.layout)
    for is_warm in (True, False):
        monkeypatch.setattr(FastRNN, "is_warm", staticmethod(lambda found=is_warm: found))
        engine = FastRNN(rnn.network, rnn.embed("ab"), zero, reference_steps=99)
        engine.advance(1)
        assert engine.fast == is_warm


def random_matrix(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[Affine]:
    place = st.tuples(st.integers(0, 2), st.integers(0, 2))
    halves = numbers.map(lambda n: fmpq(n, 6))
    weights = st.dictionaries(place, halves, max_size=5)
    return st.builds(lambda w: Affine(D, D, w, Vector.zero(D)), weights)


@given(
    *(random_matrix(st.integers(-6, 6)) for _ in range(3)),
    st.none() | random_matrix(st.integers(-3, 3)),
    st.none() | vectors(),
    st.lists(vectors(), min_size=1, max_size=3),
    vectors(),
)
def test_random_networks(
    W: Affine,
    V: Affine,
    U: Affine,
    R: Affine | None,
    b2: Vector | None,
    X: list[Vector],
    seed: Vector,
) -> None:
    agree(RNN(D, W, V, U, R=R, b2=b2), X, seed, 12)


@examples(40)
@given(neural_gpus(), st.lists(vectors(), min_size=1, max_size=3))
def test_random_neural_gpus(network: NeuralGPU, X: list[Vector]) -> None:
    tensors_agree(network, X, 6)


def run_a_mutated_neural_gpu(seed: int, steps: int) -> FastNeuralGPU:
    draw = random.Random(seed)
    name, word = draw.choice([("even-as", "ab"), ("busy-beaver-3", ""), ("binary-increment", "1")])
    gpu = (compile_gateless if seed % 2 else gpu_of)(library_machine(name))
    return tensors_agree(mutated_neural_gpu(gpu.network, draw), gpu.embed(word), steps)


def test_mutated_networks_are_run_as_the_networks_they_are() -> None:
    count = repeated(40, 15)
    rnns = sum(run_a_mutated_rnn(seed, 60).reason is None for seed in range(count))
    gpus = sum(run_a_mutated_neural_gpu(seed, 15).reason is None for seed in range(count))
    assert min(rnns, gpus) > count // 2  # without big numbers to the end


@pytest.mark.parametrize("on", ["rnn", "neural-gpu", "gateless-neural-gpu"])
def test_three_hundred_mutated_networks_most_of_whose_runs_are_others(on: str) -> None:
    """25 in `make test`. With an input; every hidden vector, or every cell, of 25 moments."""
    draw, rnn = random.Random(16), compile_rnn(library_machine("palindrome"))
    seed = Vector.zero(rnn.neurons.layout)
    gpu = compile_neural_gpu(rnn) if on != "gateless-neural-gpu" else compile_gateless(rnn.machine)
    whole = gpu.network
    X, cells = rnn.embed("aba"), gpu.embed("aba")

    def mutant() -> RNN | NeuralGPU:
        return mutated_rnn(rnn.network, draw) if on == "rnn" else mutated_neural_gpu(whole, draw)

    def moments(network: RNN | NeuralGPU) -> list[object]:
        if isinstance(network, RNN):
            return list(islice(network.decoder_states(X, seed), 25))
        return list(islice(network.tensors(cells), 25))

    expected = moments(rnn.network if on == "rnn" else whole)
    count, changed, same, with_stacks = repeated(300, 25), 0, 0, 0
    while changed + same < count:
        network = mutant()
        is_other = moments(network) != expected
        if not is_other and same == count // 2:
            continue  # enough of those that change nothing
        changed, same = changed + is_other, same + (not is_other)
        fast: FastRNN | FastNeuralGPU
        if isinstance(network, RNN):
            fast = agree(network, X, seed, 25)
        else:
            fast = tensors_agree(network, cells, 25)
        with_stacks += is_other and fast.reason is None
    assert changed >= count // 2, f"{changed} of {count} mutants have other runs"
    assert with_stacks >= count // 4, f"{with_stacks} of them without big numbers"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(400))
def test_many_mutated_networks_for_a_hundred_steps(seed: int) -> None:
    run_a_mutated_rnn(seed, 100)
    run_a_mutated_neural_gpu(seed, 100)


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
@pytest.mark.parametrize("engine", ["auto", "fast", "reference"])
def test_all_engines_give_the_machines_answer(on: str, engine: str) -> None:
    for name, word in (("palindrome", "abba"), ("palindrome", "ab"), ("copy", ""), ("sweeper", "")):
        machine = library_machine(name)
        for limit in (0, 1, 14, 15, 40):
            found = run(machine, word, limit, on=on, engine=engine)
            assert facts(found) == facts(simulate(machine, word, limit)), (name, word, limit)


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
def test_a_long_run(on: str) -> None:
    machine = library_machine("busy-beaver-5")
    found = run(machine, (), 100_000, on=on)
    assert facts(found) == facts(simulate(machine, (), 100_000))
    assert found.engine == "fast"


def test_runs_go_on_from_a_snapshot() -> None:
    compiled = compile_rnn(library_machine("palindrome"))
    X, zero = compiled.embed("abba"), Vector.zero(compiled.neurons.layout)
    gpu = compile_neural_gpu(compiled)
    for make in (
        lambda: FastRNN(compiled.network, X, zero),
        lambda: FastNeuralGPU(gpu.network, gpu.embed("abba")),
    ):
        first, second = make(), make()
        advance_to(first, 8)
        second.restore(first.snapshot())
        for _ in range(8):
            first.advance(1)
            second.advance(1)
            assert first.vector("0") == second.vector("0")
            assert first.vector("0", before=True) == second.vector("0", before=True)
