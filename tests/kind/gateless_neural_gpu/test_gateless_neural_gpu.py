"""A Neural GPU without gates: every cell runs the machine on its prefix of the input."""

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples, repeated, some
from tests.strategies import machines, words

from netwright.errors import InputError
from netwright.exact.vector import Vector, pointwise
from netwright.kind.gateless_neural_gpu.construction import compile_gateless, core_of
from netwright.kind.rnn.reading import VectorReader
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import load_machine
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import TuringMachine


def check_cells(machine: TuringMachine, word: tuple[str, ...], count: int) -> int:
    """Read state, symbol and tape of all cells at all times; how many configurations there are."""
    compiled = compile_gateless(machine)
    core, reader = core_of(compiled.neurons), VectorReader(compiled.neurons)
    X, read = compiled.embed(word), 0
    runs = [
        [*islice(configurations(machine, (*word, machine.blank)[:i]), count)]
        for i in range(1, len(X) + 1)
    ]
    heads = [0] * len(X)
    alone = Vector.of(compiled.network.layout, u=1)
    for t, S in enumerate(islice(compiled.network.tensors(X), count)):
        for i, (row, run) in enumerate(zip(S, runs, strict=True), start=1):
            (cell,) = row
            if t < i:
                assert not cell["S"]
                assert not cell["P"]
            elif t - i >= len(run):
                assert cell == alone
            else:
                found, now = reader.read(core(cell)), run[t - i]
                assert found is not None
                assert (found.state, found.symbol) == (now.state, now.symbol)
                assert found.tape(now.head) == now.tape
                heads[i - 1] = now.head
                read += 1
    return read


@examples(60)
@given(data=st.data())
def test_every_cell_runs_the_machine_on_its_prefix(data: st.DataObject) -> None:
    """With stays, blanks, empty words, one symbol, and start states that accept."""
    machine = data.draw(machines(default_input=False))
    word = data.draw(words(machine.symbols))
    assert check_cells(machine, word, len(word) + 15)


@pytest.mark.parametrize("name", some(library_names(), 5))
def test_every_cell_on_the_library(name: str) -> None:
    machine = library_machine(name)
    word = machine.default_input[: repeated(20, 6)]
    assert check_cells(machine, word, len(word) + repeated(80, 25))


def test_there_are_no_gates() -> None:
    """U = 0 and R = 1 at all cells of all tensors, so S^t = σ(K * S^{t−1}): a convolution alone."""
    for name, word in (("palindrome", "abba"), ("copy", "ab"), ("1RB1LA_1LA1RB", "")):
        compiled = compile_gateless(load_machine(name))
        network = compiled.network
        (above,), (own,) = network.F.kernels
        one = dict.fromkeys(range(network.layout.dimension), 1)
        tensors = list(islice(network.tensors(compiled.embed(word)), 30))
        for S, after in pairwise(tensors):
            for gate, value in ((network.U, {}), (network.R, one)):
                for ((found,),) in ([row] for row in gate(S, network.layout, circular=False)):
                    assert found.entries == value
            cells = [cell for (cell,) in S]
            for (cell,), x, before in zip(after, cells, [None, *cells], strict=False):
                total = own(x) + above(before) if before is not None else own(x)
                assert cell == pointwise(network.F.f, total)
    assert network.F.bias is None


@given(machines())
def test_the_number_of_channels(machine: TuringMachine) -> None:
    """The RNN's without its encoder, and two more."""
    compiled = compile_gateless(machine)
    m, k = len(machine.states), len(machine.symbols)
    neurons = compiled.neurons
    more = 9 if neurons.stays else 7
    assert compiled.network.layout.dimension == m + (k - 1) * len(neurons.entries) + more
    assert compiled.network.F.shape == (2, 1)


def test_acceptance_shows_in_the_last_cell() -> None:
    recognizer = compile_gateless(library_machine("even-as")).recognizer
    for word in ("", "a", "aa", "aba", "abb"):
        accepted = recognizer.accepts_at(f"{word}_", 30)
        assert (accepted is not None) == (word.count("a") % 2 == 0)
        if accepted is not None:
            assert accepted == 2 * len(word) + 2  # n + 1 to load, n + 1 steps


@pytest.mark.parametrize("base", [4, 5, 8])
def test_any_base_above_the_number_of_symbols(base: int) -> None:
    machine = library_machine("palindrome")
    compiled = compile_gateless(machine, base)
    assert compiled.recognizer.accepts_at("abba_", 60) == 20
    with pytest.raises(InputError, match="3 symbols need a base above 3"):
        compile_gateless(machine, base - 5)
