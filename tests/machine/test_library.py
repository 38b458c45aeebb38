"""Every shipped machine does what its description says."""

import re

import pytest
from tests.machine_table import DEFAULT_RUNS, NEVER_HALTING, ORACLES, TABLE

from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Outcome, configurations, simulate


def test_the_library_has_its_machines_each_with_a_name_and_a_sentence() -> None:
    assert len(library_names()) >= 24
    assert set(library_names()) == {*DEFAULT_RUNS, *NEVER_HALTING}
    for name in library_names():
        machine = library_machine(name)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert machine.name == name
        assert machine.description.endswith(".")


@pytest.mark.parametrize("name", ORACLES)
def test_a_machine_agrees_with_its_oracle_on_every_word(name: str) -> None:
    machine = library_machine(name)
    for case in (case for case in TABLE if case.machine == name):
        run = simulate(machine, case.word, 200_000)
        if isinstance(case.answer, bool):
            expected = Outcome.ACCEPTED if case.answer else Outcome.REJECTED
            assert run.outcome is expected, case
        else:
            assert run.outcome is Outcome.HALTED, case
            assert "".join(run.tape.cells) == case.answer, case


@pytest.mark.parametrize("name", DEFAULT_RUNS)
def test_the_default_input_gives_the_recorded_run(name: str) -> None:
    machine = library_machine(name)
    run = simulate(machine, machine.default_input, 60_000_000)
    expected = DEFAULT_RUNS[name]
    assert (run.outcome, run.steps, run.state) == expected[:3]
    assert sum(cell != machine.blank for cell in run.tape.cells) == expected.non_blank


@pytest.mark.parametrize("name", NEVER_HALTING)
def test_the_proof_that_a_machine_never_halts(name: str) -> None:
    """Every state has a rule for every symbol, so there is always a next configuration."""
    machine = library_machine(name)
    assert set(machine.delta) == {(q, s) for q in machine.states for s in machine.symbols}
    assert not machine.accepting
    assert simulate(machine, (), 50_000).outcome is Outcome.UNDECIDED


def test_the_binary_counter_counts() -> None:
    machine = library_machine("binary-counter")
    written = []
    for _, now in zip(range(2000), configurations(machine), strict=False):
        if now.state == "increment" and now.right is None:
            written.append(int("".join(now.tape.cells) or "0", 2))
    assert written == list(range(len(written)))
    assert len(written) > 100


def test_the_sweeper_turns_once_a_cell() -> None:
    machine = library_machine("sweeper")
    turns = []
    for step, now in zip(range(1000), configurations(machine), strict=False):
        if now.symbol == "0":
            turns.append((step, now.head))
    # The n-th turn is after 0 + 1 + … + n steps, alternately on the right and on the left.
    assert turns[:5] == [(0, 0), (1, -1), (3, 1), (6, -2), (10, 2)]
    assert [step for step, _ in turns] == [n * (n + 1) // 2 for n in range(len(turns))]
