"""Entries: what is remembered of a moment holds for every vector with the digits that were read."""

import random
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from flint import fmpq
from tests.engine.stacks import agree, agree_now_and_then, gpu_of, tensors_agree
from tests.machine_table import ORACLES, TABLE
from tests.mutations import mutated_neural_gpu, mutated_rnn
from tests.networks import facts
from tests.repetition import repeated, some

from netwright.definitions.rnn import RNN
from netwright.engine import tables
from netwright.engine.moments import advance_to
from netwright.engine.neural_gpu import FastNeuralGPU
from netwright.engine.rnn import FastRNN, RNNMoments
from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.neural_gpu.construction import compile_neural_gpu
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.running import run

WIDE = Layout.of(x="abcdef")
LONGEST = {machine: max(inputs, key=len) for machine, (inputs, _) in ORACLES.items()}


@pytest.mark.parametrize("name", some(library_names(), 9))
def test_library_machines_at_random_moments(name: str) -> None:
    draw, machine = random.Random(name), library_machine(name)
    word = LONGEST.get(name, machine.default_input)
    rnn = compile_rnn(machine)
    X, seed = rnn.embed(word), Vector.zero(rnn.neurons.layout)
    hidden = [[g] for g in islice(rnn.network.decoder_states(X, seed), 120)]
    fast = FastRNN(rnn.network, X, seed)
    agree_now_and_then(fast, hidden, draw)
    gpu = gpu_of(machine)
    X = gpu.embed(word[:5])
    cells = [[row[0] for row in S] for S in islice(gpu.network.tensors(X), 40)]
    last = FastNeuralGPU(gpu.network, X)
    agree_now_and_then(last, cells, draw)
    assert fast.reason is last.reason is None


def test_no_input_of_the_table_needs_big_numbers() -> None:
    """Nor one that ends earlier, as every cell of a Neural GPU runs its own."""
    cases = [case for case in TABLE if len(case.word) < 10]
    for case in cases[:: len(cases) // repeated(300, 25)]:
        rnn = compile_rnn(library_machine(case.machine))
        gpu, seed = compile_neural_gpu(rnn), Vector.zero(rnn.neurons.layout)
        X, cells = rnn.embed(case.word), gpu.embed(case.word)
        for n in range(1, len(X) + 1):
            for fast in (FastRNN(rnn.network, X[:n], seed), FastNeuralGPU(gpu.network, cells[:n])):
                advance_to(fast, 60)
                assert fast.reason is None, (case.machine, case.word, n)


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
def test_a_thousand_mutants_at_random_moments(on: str) -> None:
    """A tenth in `make test`; at least half of them have another run than the whole network."""
    draw, rnn = random.Random(29), compile_rnn(library_machine("palindrome"))
    gpu, seed = gpu_of(library_machine("palindrome")), Vector.zero(rnn.neurons.layout)
    X: Any = (rnn if on == "rnn" else gpu).embed("abba")

    def moments(network: Any) -> list[list[Vector]]:
        if on == "rnn":
            return [[g] for g in islice(network.decoder_states(X, seed), 40)]
        return [[row[0] for row in S] for S in islice(network.tensors(X), 25)]

    whole: Any = (rnn if on == "rnn" else gpu).network
    expected = moments(whole)
    count, changed, same, refused = repeated(1000, 100), 0, 0, 0
    while changed + same < count:
        mutate: Any = mutated_rnn if on == "rnn" else mutated_neural_gpu
        network = mutate(whole, draw)
        found = moments(network)
        if found == expected and same == count // 2:
            continue
        changed, same = changed + (found != expected), same + (found == expected)
        fast: Any = FastRNN(network, X, seed) if on == "rnn" else FastNeuralGPU(network, X)
        agree_now_and_then(fast, found, draw)
        refused += fast.reason is not None
    assert changed >= count // 2
    assert refused <= count // 10


def wide_network(draw: random.Random) -> RNN:
    """Pushes, pops, copies and sums of stacks in base 3, that no machine made."""
    weights = {}
    for column in range(6):
        for row in draw.sample(range(6), draw.randint(1, 3)):
            numbers = (fmpq(1, 3), fmpq(1, 3), fmpq(1), fmpq(3), fmpq(-1), fmpq(2, 3), fmpq(-2))
            weights[row, column] = draw.choice(numbers)
    U = Affine(WIDE, WIDE, weights, Vector.zero(WIDE))
    keep = Affine.of(WIDE, WIDE, {("x", "x"): 1})
    return RNN(WIDE, keep, Affine.of(WIDE, WIDE), U, b2=Vector.of(WIDE, x={"f": fmpq(1, 3)}))


def has_copies(fast: FastRNN) -> bool:
    """Whether entries were met that copy a stack, which is done by hand."""
    found = fast.faster.tables if fast.faster is not None else None  # looked at from the inside
    return found is not None and bool((found._rows[[*found._leaves], 0] & tables.BY_HAND).any())


def test_networks_that_no_machine_made() -> None:
    draw, by_hand, refused = random.Random(5), 0, 0
    count = repeated(600, 150)
    for _ in range(count):
        network, zero = wide_network(draw), Vector.zero(WIDE)
        numbers = (0, 0, 1, fmpq(1, 3), fmpq(2, 3), fmpq(5, 9))
        start = Vector.of(WIDE, x={label: draw.choice(numbers) for label in "abcdef"})
        fast = agree(network, [start], zero, 30)
        refused += fast.reason is not None
        by_hand += has_copies(fast)
    assert by_hand >= count // 20, "stacks that are copied"
    assert refused <= count // 2


def test_copies_belong_after_the_look_up() -> None:
    """b takes a copy of a without its highest digit, and c asks for the highest digit of both.

    If the copy were made before an entry is looked up, the entry would be that of other digits.
    """
    third = fmpq(1, 3)
    weights = {
        (0, 0): third,  # a pushes d
        (3, 0): third,
        (0, 1): fmpq(3),  # b pops a: 3a − d, with the digit that a had
        (3, 1): fmpq(-1),
        (0, 2): fmpq(9),  # c = σ(9a − 3b − 1)
        (1, 2): fmpq(-3),
        (4, 2): fmpq(-1),
        (2, 3): fmpq(-1),  # d, the next digit, is 1 − c
        (4, 3): fmpq(1),
        (4, 4): fmpq(1),
    }
    U = Affine(WIDE, WIDE, weights, Vector.zero(WIDE))
    network = RNN(WIDE, Affine.of(WIDE, WIDE, {("x", "x"): 1}), Affine.of(WIDE, WIDE), U)
    for a in (0, third, fmpq(4, 9), fmpq(13, 27)):
        start = Vector.of(WIDE, x={"a": a, "d": 1, "e": 1})
        assert has_copies(agree(network, [start], Vector.zero(WIDE), 60))


def test_a_changed_weight_changes_the_run_whatever_was_remembered() -> None:
    rnn = compile_rnn(library_machine("busy-beaver-4"))
    X, seed = rnn.embed(""), Vector.zero(rnn.neurons.layout)
    agree(rnn.network, X, seed, 107)
    U: Any = rnn.network.U
    (readouts, lines), *_ = U.terms
    place = next(place for place, weight in lines.weights.items() if weight == fmpq(1, 3))
    changed = replace(lines, weights={**lines.weights, place: fmpq(2, 3)})
    other = replace(rnn.network, U=replace(U, terms=((readouts, changed),)))
    wanted = list(islice(other.decoder_states(X, seed), 60))
    assert wanted != list(islice(rnn.network.decoder_states(X, seed), 60))
    agree(other, X, seed, 60)


def counter(symbols: int) -> TuringMachine:
    """Counts in a large base from the right, for ever: every digit is read and written."""
    names = [f"{n}" for n in range(symbols)]
    rules = {("back", name): Action("back", name, Move.R) for name in names}
    rules["back", "_"] = Action("count", "_", Move.L)
    for n, name in enumerate(names):
        after = names[(n + 1) % symbols]
        rules["count", name] = Action("count" if n + 1 == symbols else "back", after, Move.L)
    rules["count", "_"] = Action("back", "1", Move.R)
    return TuringMachine(["back", "count"], ["_", *names], "_", "count", rules)


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
@pytest.mark.parametrize("symbols", [2, 6, 40])
def test_many_symbols(on: str, symbols: int) -> None:
    """With many, the digits of an entry do not fit into one block."""
    machine = counter(symbols)
    for word in ((), ("0",) * 3, ("1", "_", "0")):
        found = run(machine, word, 3000, on=on, engine="fast")
        assert facts(found) == facts(simulate(machine, word, 3000))
        assert found.note is None


def test_small_blocks_and_shapes_that_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LARGEST_BLOCK", 4)
    machine = library_machine("copy")
    found = run(machine, "abab", 500, on="rnn", engine="fast")
    assert facts(found) == facts(simulate(machine, "abab", 500))


@pytest.mark.parametrize("most", range(3, 12))
def test_the_engine_gives_way_at_any_moment(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as there are more digits than it takes, wherever that is."""
    monkeypatch.setattr("netwright.engine.digits.MOST_DIGITS", most)
    rnn = compile_rnn(library_machine("copy"))
    agree(rnn.network, rnn.embed("abb"), Vector.zero(rnn.neurons.layout), 30)
    gpu = gpu_of(library_machine("copy"))
    tensors_agree(gpu.network, gpu.embed("abb"), 15)


@pytest.mark.parametrize(
    ("module", "name", "most"), [("tables", "MOST_ROWS", 2000), ("control", "MOST_NODES", 30)]
)
def test_what_is_remembered_may_be_forgotten(
    module: str, name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and trees begin anew when they take too much memory; the run is the same."""
    monkeypatch.setattr(f"netwright.engine.{module}.{name}", most)
    machine = counter(6)
    found = run(machine, ("0",) * 3, 2000, on="rnn", engine="fast")
    assert facts(found) == facts(simulate(machine, ("0",) * 3, 2000))
    assert found.note is None


def test_moments_by_the_kernel_are_few_evaluations() -> None:
    """The 5-state busy beaver: its weights are looked at some forty times."""
    rnn = compile_rnn(library_machine("busy-beaver-5"))
    fast = FastRNN(rnn.network, rnn.embed(""), Vector.zero(rnn.neurons.layout))
    while fast.moments < 10**6:
        fast.advance(10**6 - fast.moments)
    assert isinstance(fast.faster, RNNMoments)
    assert fast.faster.tables is not None
    assert len(fast.faster.tables._leaves) < 60
