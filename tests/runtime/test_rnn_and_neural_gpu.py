"""The faster RNN and Neural GPU equal the definition on everything, and give way if they must."""

import random
from dataclasses import replace
from itertools import islice

import pytest
from benchmarks.depth_and_cells import wiggle
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.machine_table import TABLE
from tests.mutations import mutated_neural_gpu, mutated_rnn
from tests.networks import Word, facts
from tests.strategies import D, machines, neural_gpus, vectors
from tests.strategies import words as random_words

from netwright.errors import FormatError, NetworkError
from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.rational import rational, relu
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.neural_gpu import Convolution, NeuralGPU
from netwright.nets.rnn import RNN
from netwright.networks.running import run
from netwright.runtime.stacks.neural_gpu import FastNeuralGPU
from netwright.runtime.stacks.rnn import FastRNN
from netwright.theorems.theorem_2_3_rnn.construction import CompiledRNN, compile_rnn
from netwright.theorems.theorem_4_1_neural_gpu import (
    CompiledNeuralGPU,
    compile_neural_gpu,
    with_padding,
)


def agree(network: RNN, X: list[Vector], seed: Vector, n: int) -> FastRNN:
    """Every hidden vector is the definition's."""
    fast = FastRNN(network, X, seed)
    for t, g in enumerate(islice(network.decoder_states(X, seed), n)):
        fast.advance(1)
        assert fast.vector("0") == g, t
    return fast


def agree_on(compiled: CompiledRNN, word: Word, n: int) -> FastRNN:
    seed = Vector.zero(compiled.neurons.layout)
    return agree(compiled.network, compiled.embed(tuple(word)), seed, n)


def tensors_agree(network: NeuralGPU, X: list[Vector], n: int) -> FastNeuralGPU:
    """Every cell of every iteration is the definition's."""
    fast = FastNeuralGPU(network, X)
    for t, S in enumerate(islice(network.tensors(X), n)):
        fast.advance(1)
        cells = [cell for row in S for cell in row]
        for number, cell in enumerate(cells):
            assert fast.vector(str(number)) == cell, (t, number)
    return fast


def gpu_of(machine: TuringMachine) -> CompiledNeuralGPU:
    return compile_neural_gpu(compile_rnn(machine))


@pytest.mark.parametrize("case", [case for case in TABLE if len(case.word) <= 4][::9])
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


@settings(max_examples=20)
@given(st.data())
def test_every_cell_on_random_machines(data: st.DataObject) -> None:
    machine = data.draw(machines(max_states=3, max_symbols=3))
    gpu = gpu_of(machine)
    word = data.draw(random_words(machine.symbols))
    assert tensors_agree(gpu.network, gpu.embed(word), 15).reason is None


@pytest.mark.parametrize("base", [fmpq(7, 2), 4, 5, fmpq(31, 10)])
def test_any_base(base: int) -> None:
    compiled = compile_rnn(library_machine("palindrome"), base)
    assert agree_on(compiled, "abba", 25).reason is None


@pytest.mark.parametrize("end_marker", [False, True])
def test_circular_padding(end_marker: bool) -> None:
    gpu = with_padding(gpu_of(library_machine("even-as")), circular=True, end_marker=end_marker)
    assert tensors_agree(gpu.network, gpu.embed("abba"), 20).reason is None


@pytest.mark.parametrize("reference_steps", [1, 2, 3, 5, 8])
def test_stacks_take_over_at_any_moment(
    reference_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the encoder's work too, where numbers are no stacks of the machine."""
    monkeypatch.setattr("netwright.jit.is_compiled", lambda _: False)
    monkeypatch.setattr("netwright.runtime.engine.REFERENCE_SECONDS", 10**9)
    gpu = gpu_of(library_machine("palindrome"))
    X = gpu.embed("abba")
    fast = FastNeuralGPU(gpu.network, X, reference_steps=reference_steps)
    for time, S in enumerate(islice(gpu.network.tensors(X), 25)):
        fast.advance(1)
        assert fast.fast == (time >= reference_steps)
        assert [fast.vector(str(i)) for i in range(len(X))] == [row[0] for row in S]
    assert fast.reason is None


def test_loops_that_are_compiled_are_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rnn = compile_rnn(library_machine("palindrome"))
    zero = Vector.zero(rnn.neurons.layout)
    for is_compiled in (True, False):
        monkeypatch.setattr("netwright.jit.is_compiled", lambda _, found=is_compiled: found)
        engine = FastRNN(rnn.network, rnn.embed("ab"), zero, reference_steps=99)
        engine.advance(1)
        assert engine.fast == is_compiled


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


@settings(max_examples=40)
@given(neural_gpus(), st.lists(vectors(), min_size=1, max_size=3))
def test_random_neural_gpus(network: NeuralGPU, X: list[Vector]) -> None:
    tensors_agree(network, X, 6)


def run_a_mutated_rnn(seed: int, steps: int) -> FastRNN:
    draw = random.Random(seed)
    name, word = draw.choice([("palindrome", "aba"), ("busy-beaver-4", ""), ("copy", "ab")])
    compiled = compile_rnn(library_machine(name))
    return agree_on(replace(compiled, network=mutated_rnn(compiled.network, draw)), word, steps)


def run_a_mutated_neural_gpu(seed: int, steps: int) -> FastNeuralGPU:
    draw = random.Random(seed)
    name, word = draw.choice([("even-as", "ab"), ("busy-beaver-3", ""), ("binary-increment", "1")])
    gpu = gpu_of(library_machine(name))
    return tensors_agree(mutated_neural_gpu(gpu.network, draw), gpu.embed(word), steps)


def test_mutated_networks_are_run_as_the_networks_they_are() -> None:
    rnns = sum(run_a_mutated_rnn(seed, 60).reason is None for seed in range(40))
    gpus = sum(run_a_mutated_neural_gpu(seed, 15).reason is None for seed in range(40))
    assert min(rnns, gpus) > 25  # without big numbers to the end


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
def test_three_hundred_mutated_networks_most_of_whose_runs_are_others(on: str) -> None:
    """With an input; every hidden vector, or every cell, of 25 moments."""
    draw, rnn = random.Random(16), compile_rnn(library_machine("palindrome"))
    gpu, seed = compile_neural_gpu(rnn), Vector.zero(rnn.neurons.layout)
    whole = gpu.network
    X, cells = rnn.embed("aba"), gpu.embed("aba")

    def mutant() -> RNN | NeuralGPU:
        return mutated_rnn(rnn.network, draw) if on == "rnn" else mutated_neural_gpu(whole, draw)

    def moments(network: RNN | NeuralGPU) -> list[object]:
        if isinstance(network, RNN):
            return list(islice(network.decoder_states(X, seed), 25))
        return list(islice(network.tensors(cells), 25))

    expected = moments(rnn.network if on == "rnn" else whole)
    changed = same = with_stacks = 0
    while changed + same < 300:
        network = mutant()
        is_other = moments(network) != expected
        if not is_other and same == 150:
            continue  # enough of those that change nothing
        changed, same = changed + is_other, same + (not is_other)
        fast: FastRNN | FastNeuralGPU
        if isinstance(network, RNN):
            fast = agree(network, X, seed, 25)
        else:
            fast = tensors_agree(network, cells, 25)
        with_stacks += is_other and fast.reason is None
    assert changed >= 150, f"{changed} of 300 mutants have other runs"
    assert with_stacks >= 75, f"{with_stacks} of them without big numbers"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(400))
def test_many_mutated_networks_for_a_hundred_steps(seed: int) -> None:
    run_a_mutated_rnn(seed, 100)
    run_a_mutated_neural_gpu(seed, 100)


def matrix(**weights: object) -> Affine:
    """Weights by names such as xy, from x to y."""
    blocks = {(name[0], name[1]): rational(w) for name, w in weights.items()}  # type: ignore[arg-type]  # numbers
    return Affine.of(D, D, blocks)


NOTHING = matrix()
KEEP = matrix(xx=1, yy=1, zz=1)


def decoder_with(U: Affine, start: Vector, **more: object) -> RNN:
    return RNN(D, KEEP, NOTHING, U, **more)  # type: ignore[arg-type]  # fields


def test_numbers_that_are_no_stacks_go_on_in_big_numbers() -> None:
    """x is divided by 3 and y by 5 again and again, and z adds them up."""
    U = matrix(xx=fmpq(1, 3), yy=fmpq(1, 5), xz=1, yz=1)
    start = Vector.of(D, x=1, y=1)
    fast = agree(decoder_with(U, start), [start], start, 40)
    assert fast.reason == "a number is no stack any more"
    assert fast.moments == 40


def test_a_number_in_no_base_of_the_weights_is_for_big_numbers() -> None:
    start = Vector.of(D, x=fmpq(1, 7))
    fast = agree(decoder_with(matrix(xx=1), start), [start], start, 5)
    assert fast.reason == "a number is no stack in a base that occurs among the weights"


def test_weights_without_a_small_denominator_are_for_big_numbers() -> None:
    start = Vector.of(D, x=1)
    fast = agree(decoder_with(matrix(xx=fmpq(1, 10**9)), start), [start], start, 5)
    assert fast.reason == "its weights have no small common denominator"
    fast = agree(decoder_with(matrix(xx=10**9), start), [start], start, 5)
    assert fast.reason == "its weights are too large"


def test_another_activation_is_for_big_numbers() -> None:
    start = Vector.of(D, x=1)
    fast = agree(decoder_with(matrix(xx=2), start, f2=relu), [start], start, 80)
    assert fast.reason == "its activation is not σ"


def test_what_sigma_does_is_told_by_bounds_or_one_more_digit() -> None:
    """x pushes 1 on a stack in base 3 for ever, so it nears 1/2, and y asks whether it is above.

    y = σ(9x − 4) is 0 up to x = 4/9 and 1 from 5/9 on, and between them the digits must tell.
    """
    U = matrix(xx=fmpq(1, 3), zx=fmpq(1, 3), zz=1, xy=9, zy=-4)
    start = Vector.of(D, z=1)
    assert agree(decoder_with(U, start), [start], start, 60).reason is None


def test_a_stack_times_a_gate_between_0_and_1_is_for_big_numbers() -> None:
    """x falls by thirds, and the gate of y is x itself: x·y is then a product of two stacks."""
    third = matrix(xx=fmpq(1, 3), yy=fmpq(1, 3))
    gate = Convolution(((matrix(xy=1),),))
    open_gate = Convolution(((NOTHING,),), bias=(Vector.of(D, x=1, y=1, z=1),))
    network = NeuralGPU(D, gate, open_gate, Convolution(((third,),)))
    fast = tensors_agree(network, [Vector.of(D, x=1, y=1)], 12)
    assert fast.reason == "a number is no stack any more"


def test_a_matrix_that_is_a_factor_twice() -> None:
    half = matrix(xx=fmpq(1, 2))
    twice = LinearMap(D, D, ((half, half),))
    start = Vector.of(D, x=1)
    fast = agree(RNN(D, KEEP, NOTHING, twice), [start], start, 10)
    assert fast.reason is None
    assert fast.vector("0").number("x") == fmpq(1, 4**9)


def test_sums_over_many_products_stay_within_64_bits() -> None:
    """2⁶⁴ in 32 parts would be 0 in 64 bits, and is 1 after σ."""
    part = (matrix(xx=2**24), matrix(xx=2**11), matrix(xx=2**24))
    many = LinearMap(D, D, (part,) * 32)
    start = Vector.of(D, x=1)
    assert (
        agree(RNN(D, KEEP, NOTHING, many), [start], start, 4).reason == "its weights are too large"
    )
    large = RNN(D, KEEP, NOTHING, matrix(xx=1), b2=Vector.of(D, y=10**30))
    assert agree(large, [start], start, 4).reason == "its weights are too large"


def test_an_rnn_that_reads_its_own_outputs_runs_on_stacks() -> None:
    """g_1 reads the seed, g_2 and later ones O(g) = g."""
    network = RNN(D, KEEP, NOTHING, matrix(xx=fmpq(1, 3)), R=matrix(yx=fmpq(1, 3), yy=1))
    fast = agree(network, [Vector.of(D, x=1)], Vector.of(D, y=1), 20)
    assert fast.reason is None
    again = FastRNN(network, [Vector.of(D, x=1)], Vector.of(D, y=1))
    again.restore(fast.snapshot())
    assert again.vector("0") == fast.vector("0")


def test_the_moment_before_one_that_does_not_fit_is_not_made_up() -> None:
    U = matrix(xx=fmpq(1, 3), yy=fmpq(1, 5), xz=1, yz=1)
    start = Vector.of(D, x=1, y=1)
    fast = FastRNN(decoder_with(U, start), [start], start)
    fast.advance(1)
    while fast.reason is None:
        before = fast.moments
        fast.advance(100)
        if fast.reason is None and fast.moments - before < 100:
            with pytest.raises(NetworkError, match="the moment before are not kept"):
                fast.vector("0", before=True)


def test_a_bias_for_more_columns_than_there_are() -> None:
    gate = Convolution(((KEEP,),), bias=(Vector.zero(D), Vector.of(D, x=1)))
    network = NeuralGPU(D, gate, gate, Convolution(((KEEP,),)))
    tensors_agree(network, [Vector.of(D, x=1)], 5)


def test_a_state_that_does_not_hang_together_is_refused() -> None:
    fast = run_a_mutated_rnn(1, 10)
    state = dict(fast.snapshot())
    other = FastRNN(fast.network, [Vector.zero(fast.network.layout)], fast.y)
    with pytest.raises(FormatError, match="has no array nodes"):
        other.restore({key: array for key, array in state.items() if key != "nodes"})
    with pytest.raises(FormatError, match=r"count is int64 of shape .* expected int64 of"):
        other.restore({**state, "count": state["count"][:-1]})
    wild = state["nodes"].copy()
    wild[-1, 2] = 10**6
    with pytest.raises(FormatError, match="stacks that do not end"):
        other.restore({**state, "nodes": wild})


def test_nodes_are_collected_and_their_number_grows_with_the_stacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("netwright.runtime.stacks.network.FIRST_NODES", 128)
    machine = wiggle()
    compiled = compile_rnn(machine)
    fast = FastRNN(
        compiled.network, compiled.embed("a" * 300), Vector.zero(compiled.neurons.layout)
    )
    while fast.moments < 20_000:
        fast.advance(20_000 - fast.moments)
    assert fast.reason is None
    assert len(fast.snapshot()["nodes"]) < 2048
    found = run(machine, "a" * 300, 20_000, on="rnn", engine="fast")
    assert facts(found) == facts(simulate(machine, "a" * 300, 20_000))


def test_a_neural_gpu_collects_its_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netwright.runtime.stacks.network.FIRST_NODES", 128)
    machine = library_machine("binary-counter")
    found = run(machine, "", 3000, on="neural-gpu", engine="fast")
    assert facts(found) == facts(simulate(machine, "", 3000))


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
        while first.moments < 8:
            first.advance(8 - first.moments)
        second.restore(first.snapshot())
        for _ in range(8):
            first.advance(1)
            second.advance(1)
            assert first.vector("0") == second.vector("0")
            assert first.vector("0", before=True) == second.vector("0", before=True)
