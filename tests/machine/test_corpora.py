"""Real machines from elsewhere give the results recorded for them."""

from typing import Any

import pytest
from tests.corpora import FOLDER, load, needs_corpora, table

from netwright.errors import FormatError
from netwright.machine.load import load_machine
from netwright.machine.simulate import Engine, Outcome, simulate

pytestmark = needs_corpora


EXPECTED = table("expected_runs.json").get("runs", {})
BEAVERS = [m for m in table("busy_beavers.json").get("machines", []) if m["steps"] <= 60_000_000]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_run(name: str) -> None:
    machine, expected = load(name), EXPECTED[name]
    run = simulate(machine, machine.default_input)
    assert "".join(machine.default_input) == expected["input"]
    assert len(machine.states) == expected["states"]
    assert len(machine.symbols) == expected["symbols"]
    assert (run.steps, run.state) == (expected["steps"], expected["end_state"])
    assert "".join(run.tape.cells) == expected["tape"]


@pytest.mark.parametrize("beaver", BEAVERS, ids=lambda beaver: beaver["machine"])
def test_a_busy_beaver(beaver: dict[str, Any]) -> None:
    run = simulate(load_machine(beaver["machine"]), (), beaver["steps"] + 1)
    assert (run.outcome, run.steps) == (Outcome.HALTED, beaver["steps"])
    assert sum(cell != "0" for cell in run.tape.cells) == beaver["nonzero"]


@pytest.mark.parametrize("name", ["24_2", "2_18", "3_10", "4_6", "7_4"])
def test_a_universal_machine_runs_its_tag_system(name: str) -> None:
    facts = table(f"utm/rogozhin_utm_{name}.json")
    test, blank = facts["test"], facts["blank"]
    machine = load(f"utm/rogozhin_utm_{name}.morphett.txt")
    tape = test["initial_tape"].replace(blank, "_")
    for engine in (Engine.REFERENCE, Engine.FAST):
        run = simulate(machine, tape, head=test["head"], engine=engine)
        assert (run.outcome, run.steps) == (Outcome.HALTED, test["steps_to_halt"])
        assert run.state == test["halt_state"]
        assert run.tape.cells[run.head - run.tape.start] == test["halt_symbol"]


def test_our_universal_machine_has_rogozhins_rules() -> None:
    facts = table("utm/rogozhin_utm_4_6.json")
    ours = load_machine("universal-4-6")
    rules = {(q, s): (target, write, move) for q, s, write, move, target in facts["rules"]}
    assert {key: tuple(action) for key, action in ours.delta.items() if key[0] != "seek"} == rules
    assert "".join(ours.default_input) == facts["test"]["initial_tape"]


def test_the_seed_sample_holds_the_champion_and_skelets_machines() -> None:
    sample = FOLDER / "bbchallenge" / "seed_format_sample.bin"
    machines = [load_machine(f"{sample}:{index}") for index in range(44)]
    assert machines[0] == load_machine("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA")
    skelet = [load_machine(entry["machine"]) for entry in table("bbchallenge/skelet_machines.json")]
    assert machines[1:] == skelet


def test_skelets_machines_do_not_halt_soon() -> None:
    for entry in table("bbchallenge/skelet_machines.json"):
        run = simulate(load_machine(entry["machine"]), (), 200_000, engine=Engine.FAST)
        assert run.outcome is Outcome.UNDECIDED


def test_the_jflap_machine_decides_0n1n() -> None:
    machine = load("oibra_jflap/test_tm.jff")
    for n in range(6):
        for m in range(6):
            run = simulate(machine, "0" * n + "1" * m)
            assert (run.outcome is Outcome.ACCEPTED) == (n == m)


def test_what_is_not_supported_is_named() -> None:
    with pytest.raises(FormatError, match="the file is nondeterministic"):
        load("automatarium_jflap/simple-tm.jff")
    with pytest.raises(FormatError, match="a nondeterministic machine"):
        load("automata_lib/test_machines.json:ntm1")
    with pytest.raises(FormatError, match="a machine with two tapes"):
        load("automata_lib/test_machines.json:mntm1")
    assert load("automata_lib/test_machines.json:dtm1").accepting == {"q4"}
