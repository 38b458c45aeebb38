"""All three networks and the machine agree: on random machines, and on real ones from elsewhere."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpora import FOLDER, inputs, load, needs_corpora, short_runs
from tests.networks import (
    KINDS,
    agree_at_every_step,
    compiled_network,
    every_cell_is_as_proved,
    facts,
    held,
    run_by_definition,
    written,
)
from tests.repetition import examples, some
from tests.strategies import machines, words

from netwright.errors import InputError
from netwright.kind.neural_gpu.construction import compile_neural_gpu
from netwright.kind.rnn.construction import compile_rnn
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    to_transformer,
)
from netwright.kind.transformer.scores import SCORES
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Outcome, simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.certificate import check_written
from netwright.network.network import network_for_word
from netwright.network.running import run
from netwright.precision.laboratory import AttentionExperiment


@examples(80)
@given(st.data())
def test_all_networks_agree_with_the_simulator(data: st.DataObject) -> None:
    machine = data.draw(machines(max_states=3, max_symbols=3))
    word = data.draw(words(machine.symbols))
    limit = data.draw(st.integers(0, 15))
    wanted = facts(simulate(machine, word, limit))
    for target in [*KINDS, "machine"]:
        assert facts(run(machine, word, limit, on=target)) == wanted, target


def test_a_target_and_an_engine_go_by_their_names_too() -> None:
    machine = library_machine("even-as")
    assert run(machine, "a", on="rnn").network_steps == 4
    assert run(machine, "a", on="machine", engine="fast").network_steps is None
    for wrong, message in (
        (
            {"on": "abacus"},
            "no network 'abacus'; there are transformer, rnn, neural-gpu, pointer-transformer, ",
        ),
        (
            {"engine": "steam"},
            "no engine 'steam'; there are auto, fast, full, accelerated, reference, torch",
        ),
        ({"score": "last"}, "no score 'last'; there are paper, recency"),
    ):
        with pytest.raises(InputError, match=message):
            run(machine, "a", **wrong)  # type: ignore[arg-type]  # which is what is tested


def test_a_score_goes_by_its_name() -> None:
    """`score="recency"` was taken for the paper's score."""
    machine = library_machine("even-as")
    for score in SCORES.values():
        found = run(machine, "ab", score=score.name).dimension
        assert found == to_transformer(machine, "ab", score).layout.dimension
    assert found != run(machine, "ab").dimension
    assert compiled_network(machine, "transformer", "ab", "recency").layout.dimension == found


def test_what_is_no_network_is_not_compiled() -> None:
    machine = library_machine("even-as")
    for name in ("machine", "nonsense"):
        with pytest.raises(InputError, match=f"no network '{name}'; there are transformer, rnn"):
            compiled_network(machine, name)
    with pytest.raises(InputError, match="score is not an option of rnn; its options are base"):
        compiled_network(machine, "rnn", (), "recency")
    with pytest.raises(InputError, match="no score 'last'"):
        AttentionExperiment(machine, (), [], score="last")  # type: ignore[arg-type]  # likewise


@pytest.mark.parametrize("on", [*KINDS])
def test_a_network_from_another_process_is_the_same_network(on: str) -> None:
    """A pickled Transformer was not known to have hard attention."""
    compiled = compiled_network(library_machine("palindrome"), on)
    again = pickle.loads(pickle.dumps(compiled))
    assert again.network == compiled.network
    assert json.dumps(written(again)) == json.dumps(written(compiled))
    assert all(each.failure is None for each in check_written(on, written(again)))
    if isinstance(again, CompiledTransformer):
        done = run(held(again), "abba", engine="fast")
        assert (done.outcome, done.note) == (Outcome.ACCEPTED, None)


@pytest.mark.parametrize("name", library_names())
def test_the_empty_word_on_all_networks(name: str) -> None:
    machine = library_machine(name)
    wanted = facts(simulate(machine, (), 25))
    for target in [*KINDS, "machine"]:
        assert facts(run(machine, (), 25, on=target)) == wanted, target


@needs_corpora
@pytest.mark.parametrize("name", some(short_runs(2000), 20))
def test_real_machines_on_the_rnn_at_every_step(name: str) -> None:
    machine = load(name)
    compiled = compile_rnn(machine)
    for word in inputs(machine):
        wanted = simulate(machine, word, 2000)
        found = run_by_definition(compiled, word, 2000)
        assert facts(found) == facts(wanted)
        assert found.network_steps == len(word) + 1 + wanted.steps
        assert agree_at_every_step(compiled, word, 2000) == wanted.steps + 1


@needs_corpora
@pytest.mark.parametrize("name", some(short_runs(300), 12))
def test_real_machines_on_the_neural_gpu(name: str) -> None:
    machine = load(name)
    compiled = compile_neural_gpu(compile_rnn(machine))
    for word in inputs(machine):
        wanted = simulate(machine, word, 300)
        assert facts(run(machine, word, 300, on="neural-gpu")) == facts(wanted)
        every_cell_is_as_proved(compiled, word, len(word) + 1 + wanted.steps)


def walking_to(machine: TuringMachine, cell: int) -> TuringMachine:
    """The machine, but it first walks from cell 0 to the cell where it is to start."""
    walk = [f"walk {i}" for i in range(cell)]
    delta = dict(machine.delta)
    for here, there in zip(walk, [*walk[1:], machine.start], strict=True):
        for symbol in machine.symbols:
            delta[here, symbol] = Action(there, symbol, Move.R)
    states = [*walk, *machine.states]
    return TuringMachine(states, machine.symbols, machine.blank, walk[0], delta)


@needs_corpora
def test_rogozhins_machine_of_24_states_runs_its_tag_system_on_the_rnn() -> None:
    parts = json.loads((FOLDER / "utm" / "rogozhin_utm_24_2.json").read_text(encoding="utf-8"))
    test = parts["test"]
    rules = {(q, s): (target, write, move) for q, s, write, move, target in parts["rules"]}
    given = TuringMachine(parts["states"], parts["symbols"], parts["blank"], parts["start"], rules)
    machine = walking_to(given, test["head"])
    found = run_by_definition(compile_rnn(machine), test["initial_tape"], 10_000)
    assert (found.outcome, found.state) == (Outcome.HALTED, test["halt_state"])
    assert found.steps == test["steps_to_halt"] + test["head"]
    assert facts(found) == facts(simulate(machine, test["initial_tape"], 10_000))


def test_rogozhins_machine_of_4_states_runs_its_tag_system_on_the_rnn() -> None:
    machine = library_machine("universal-4-6")
    found = run_by_definition(compile_rnn(machine), machine.default_input, 10_000)
    assert (found.outcome, found.steps, found.state) == (Outcome.HALTED, 6880 + 48, "q3")


@pytest.mark.parametrize("on", KINDS)
def test_a_run_names_the_engine_that_was_asked_for(on: str) -> None:
    network = network_for_word(library_machine("busy-beaver-3"), on, ())
    for engine in ("fast", "full", "reference"):
        assert str(network.run(max_steps=100, engine=engine).engine) == engine
