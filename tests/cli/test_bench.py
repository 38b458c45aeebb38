"""`netwright bench`: all engines on one machine, as a table, as JSON and as a plot."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from netwright import benchmark
from netwright.cli import main
from netwright.kind.registry import exact_kinds
from netwright.machine.load import load_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAMES = {
    *("dictionary simulator", "automata-lib DTM", "fast simulator"),
    *exact_kinds(),
    "transformer, full",
    "pointer-transformer, full",
    "universal-transformer, full",
}


@pytest.fixture(autouse=True)
def _few_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "MACHINES", 3)


def test_everything_is_measured_on_a_machine_that_halts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netwright.benchmark.peak_memory", lambda *_: None)
    monkeypatch.setattr("netwright.benchmark.first_run", lambda *_: 1.5)
    plot = tmp_path / "speed.svg"
    assert main(["bench", "prime", "1111111", "--plot", str(plot)]) == 2
    assert "halts after 896 steps, too few to measure" in capsys.readouterr().err
    monkeypatch.setattr("netwright.cli.bench.FEWEST", 800)
    assert main(["bench", "prime", "1111111", "--json", "--plot", str(plot)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rates"].keys() == NAMES
    assert {each["steps"] for each in found["rates"].values()} == {896}
    assert found["rates"]["dictionary simulator"]["times_dictionary"] == 1
    assert found["growth"].keys() == exact_kinds().keys()
    assert all(each["nanoseconds_per_step"] > 0 for (each,) in found["growth"].values())
    assert found["first_run_seconds"].keys() == exact_kinds().keys()
    assert found["machines_per_second"].keys() == exact_kinds().keys()
    assert all(value > 0 for value in found["first_run_seconds"].values())
    assert all(value > 0 for value in found["machines_per_second"].values())
    drawn = plot.read_text()
    assert drawn.startswith("<?xml")
    for text in ("nanoseconds per step", "steps per second", *NAMES):
        assert text in drawn


def test_the_table_and_the_memory(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in exact_kinds().values():
        monkeypatch.setattr(type(kind.reading), "benchmark_steps", 10**5)
    monkeypatch.setattr("netwright.benchmark.peak_memory", lambda *_: 250_000_000)
    monkeypatch.setattr("netwright.benchmark.first_run", lambda *_: 1.5)
    assert main(["bench", "sweeper"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [name for name in NAMES if not any(line.startswith(name) for line in lines)] == []
    assert max(map(len, lines)) <= 80
    assert sum("250 MB" in line for line in lines) == len(exact_kinds())
    assert sum(line.endswith("1.50 s") for line in lines) == len(exact_kinds())


def test_the_memory_of_a_process() -> None:
    # In a small process: what a new one takes counts from what it was forked from.
    code = "from netwright.benchmark import peak_memory as peak\n"
    code += "print(peak(['busy-beaver-4'], 'transformer', 1000))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert 20_000_000 < int(found.stdout) < 500_000_000
    assert benchmark.peak_memory(["no-such-machine"], "transformer", 1000) is None
    assert benchmark.first_run(["busy-beaver-4"], "transformer") > 0


def test_a_machine_that_halts_at_once_and_symbols_of_many_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netwright.benchmark.peak_memory", lambda *_: None)
    monkeypatch.setattr("netwright.benchmark.first_run", lambda *_: 1.5)
    assert main(["bench", "1RB---_------", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["growth"]["rnn"][0]["steps"] == 1
    switch = TuringMachine(
        states=["a", "b"],
        symbols=["on", "off"],
        blank="off",
        start="a",
        delta={("a", "on"): Action("b", "off", Move.R)},
    )
    assert benchmark.automata_run(switch, ("on",), 9) is None  # its symbols are characters
    assert benchmark.dictionary_run(switch, ("on",), 9).steps == 1


def test_the_peers_do_the_machines_steps() -> None:
    for name, word in (("copy", "ab"), ("palindrome", "ab"), ("palindrome", "abba")):
        machine = load_machine(name)
        wanted = simulate(machine, word).steps
        assert benchmark.dictionary_run(machine, tuple(word), 10**6).steps == wanted
        assert benchmark.dictionary_run(machine, tuple(word), 2).steps == 2
        peer = benchmark.automata_run(machine, tuple(word), 10**6)
        assert peer is not None
        assert peer.steps == wanted


def test_what_cannot_be_drawn_is_said_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["bench", "--plot", "speed.gif"]) == 2
    assert "expected a file that ends in .png, .svg, .pdf" in capsys.readouterr().err
    there = tmp_path / "there.png"
    there.write_bytes(b"mine")
    assert main(["bench", "--plot", str(there)]) == 2
    assert "overwrite it: force (--force)" in capsys.readouterr().err
    assert there.read_bytes() == b"mine"
