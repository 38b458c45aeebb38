"""Exports that need no torch: every kind, every odd input, and a process without netwright."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import TABLE
from tests.networks import KINDS
from tests.repetition import examples
from tests.strategies import machines, wild_names

from netwright.errors import InputError
from netwright.export.folder import Export
from netwright.export.target import load_module
from netwright.export.targets import TARGETS
from netwright.kind.registry import kind_named
from netwright.machine.library import library_machine
from netwright.machine.simulate import Outcome
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.network import Network, compile_network
from netwright.network.saved import load

LIGHT = ("numpy", "onnx")
OUTCOMES = {True: "accepted", False: "rejected"}


def made_for_floats(machine: TuringMachine, kind: str, **options: Any) -> Network:
    return compile_network(
        machine, kind, **kind_named(kind).construction.for_export(options, machine)
    )


def exported(network: Network, to: str, folder: Path, **options: Any) -> Export:
    folder.mkdir(parents=True, exist_ok=True)
    made = network.export(to, folder / to, **options)
    assert isinstance(made, Export)
    return made


@pytest.mark.parametrize("kind", [*KINDS, "gateless-neural-gpu"])
@pytest.mark.parametrize("to", LIGHT)
def test_verdicts_and_tables(kind: str, to: str, tmp_path: Path) -> None:
    """Accepting, rejecting and empty words, of the table that all levels run."""
    for name in ("palindrome", "even-as"):
        cases = [case for case in TABLE if case.machine == name and len(case.word) < 4]
        network = made_for_floats(library_machine(name), kind)
        made = exported(network, to, tmp_path / name, inputs=[case.word for case in cases])
        assert made.holds
        assert all(each.ended for each in made.checks)
        opened = TARGETS[to].open(made.folder)
        for case in cases:
            assert opened.outcome(case.word) == OUTCOMES[bool(case.answer)]  # type: ignore[attr-defined]
            steps = network.run(case.word).steps
            assert len([*opened.run(case.word)]) >= steps  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["positionless-transformer", "residual-free-transformer"])
@pytest.mark.parametrize("to", LIGHT)
def test_kinds_without_code_say_so(kind: str, to: str, tmp_path: Path) -> None:
    network = compile_network(library_machine("palindrome"), kind)
    with pytest.raises(InputError, match=f"{kind} has no code for {to}; it can be exported to js"):
        network.export(to, tmp_path / "out")


@pytest.mark.parametrize("to", LIGHT)
def test_the_recency_score_in_float32(to: str, tmp_path: Path) -> None:
    """Its margin shrinks more slowly: where the paper's is wrong at token 144."""
    beaver = library_machine("busy-beaver-5")
    made = exported(compile_network(beaver, score="recency"), to, tmp_path, dtype="float32")
    assert made.holds
    assert made.right_to == 1000
    assert "checked to 1,000 outputs on 1 input>" in repr(made)


@pytest.mark.parametrize("attention", ["absolute", "dot-product"])
@pytest.mark.parametrize("to", LIGHT)
def test_pointers(to: str, attention: str, tmp_path: Path) -> None:
    """Both scores, a machine that stays, and words that are accepted, rejected and empty."""
    stays = TuringMachine(
        states=["q", "p"],
        symbols=["_", "a", "b"],
        blank="_",
        start="q",
        delta={("q", "a"): Action("p", "b", Move.S), ("p", "b"): Action("q", "a", Move.R)},
    )
    for machine, words in ((library_machine("palindrome"), ["abba", "ab", ""]), (stays, ["aa"])):
        network = compile_network(machine, "pointer-transformer", attention=attention)
        folder = tmp_path / (machine.name or "stays")
        made = exported(network, to, folder, inputs=words)
        assert made.holds
        assert all(each.ended for each in made.checks)
        opened = TARGETS[to].open(made.folder)
        for word in words:
            assert opened.outcome(word) == network.run(word).outcome  # type: ignore[attr-defined]


@pytest.mark.parametrize("to", LIGHT)
def test_blanks_in_the_input(to: str, tmp_path: Path) -> None:
    machine = library_machine("binary-increment")
    word = [machine.blank, "1", machine.blank, "1"]
    network = compile_network(machine, blanks=True)
    assert exported(network, to, tmp_path, inputs=[word, "11", []]).holds


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", LIGHT)
@examples(6)
@given(data=st.data())
def test_random_machines_with_any_names(
    kind: str, to: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    machine = data.draw(machines(names=wild_names, symbol_names=wild_names, max_symbols=3))
    network = made_for_floats(machine, kind, **({"blanks": True} if kind == "transformer" else {}))
    made = exported(network, to, tmp_path_factory.mktemp("export"), check=12)
    assert made.holds
    names = json.loads((made.folder / "names.json").read_text(encoding="utf-8"))
    assert names["layouts"]["vector"] == [str(name) for name in network.layout.coordinates]
    assert load(made.folder / "netwright.safetensors") == network


def test_a_machine_with_one_symbol(tmp_path: Path) -> None:
    """Its inputs have no letters, so there is nothing to embed."""
    run = TuringMachine(["q"], ["_"], "_", "q", {("q", "_"): Action("q", "_", Move.R)})
    for kind in KINDS:
        for to in LIGHT:
            made = exported(made_for_floats(run, kind), to, tmp_path / kind, check=20)
            assert made.holds
            assert not any(each.ended for each in made.checks)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", LIGHT)
def test_it_runs_in_a_process_without_netwright(kind: str, to: str, tmp_path: Path) -> None:
    network = made_for_floats(library_machine("palindrome"), kind)
    folder = exported(network, to, tmp_path).folder
    code = (folder / TARGETS[to].code).read_text(encoding="utf-8")
    assert "import netwright" not in code
    assert "from netwright" not in code
    readme = (folder / "README.md").read_text(encoding="utf-8")
    lines = readme.split("```python\n")[1].split("```")[0]
    alone = f"import sys; sys.modules['netwright'] = None\n{lines}"
    shown = subprocess.run(
        [sys.executable, "-c", alone], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    assert "accept _\naccepted\n" in shown
    script = [sys.executable, TARGETS[to].code, "ab"]
    shown = subprocess.run(script, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert shown.endswith("rejected\n")
    script[-1] = "abc"
    refused = subprocess.run(script, cwd=folder, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "symbol 3 is 'c'; expected one of: " in refused.stderr


def test_the_end_of_a_run_is_the_machines(tmp_path: Path) -> None:
    """Halted where there is no accepting state; undecided at the limit."""
    for name, limit in (("busy-beaver-4", 200), ("binary-counter", 50)):
        folder = exported(compile_network(library_machine(name)), "numpy", tmp_path / name).folder
        network = load_module(folder / "network.py").load()
        expected = library_machine(name).run(max_steps=150).outcome
        found = {"halted": Outcome.HALTED, "undecided": Outcome.UNDECIDED}
        assert found[network.outcome("", limit)] is expected


@pytest.mark.parametrize("to", LIGHT)
def test_weights_are_what_answers(to: str, tmp_path: Path) -> None:
    """The check opens the files that were written, and reads nothing else."""
    network = compile_network(library_machine("palindrome"))
    broken = network.with_weight("decoder.1.O.2", "qs['start', 'a']", "q2[have-a]", 0)
    assert exported(broken, to, tmp_path / "broken", inputs=["bb"]).holds
    opened = TARGETS[to].open(tmp_path / "broken" / to)
    assert opened.outcome("bb") == "accepted"  # type: ignore[attr-defined]
    assert opened.outcome("aa") == "rejected"  # type: ignore[attr-defined]
