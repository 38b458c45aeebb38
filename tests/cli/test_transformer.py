"""`netwright run` on the Transformer, and `netwright compile`."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import inputs, load, needs_corpora, short_runs
from tests.networks import facts

from netwright.cli import main
from netwright.engine.transformer.tables import kernel
from netwright.machine.simulate import simulate
from netwright.network.running import run

BB5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"
ANSWER = ("outcome", "steps", "state", "tape", "tape_start", "head", "input", "non_blank")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_transformer_is_the_default(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netwright.engine.moments.REFERENCE_SECONDS", 10**9)
    kernel.compiled.cache_clear()  # else tables would be used at once
    code, found = answer(capsys, "run", "palindrome", "abba")
    assert (code, found["outcome"], found["on"]) == (0, "accepted", "transformer")
    assert (found["steps"], found["network_steps"], found["dimension"]) == (15, 26, 45)
    assert found["engine"] == "reference"
    _, slow = answer(capsys, "run", "palindrome", "abba", "--engine", "reference")
    assert slow["engine"] == "reference"
    assert [slow[key] for key in ANSWER] == [found[key] for key in ANSWER]
    assert answer(capsys, "run", "palindrome", "abab")[0] == 1
    assert answer(capsys, "run", "palindrome", "")[1]["outcome"] == "accepted"


@pytest.mark.parametrize(
    "arguments",
    [
        (BB5, "--max-steps", "1000"),
        ("palindrome", "ababa"),
        ("binary-addition", "11+1"),
        ("copy", "a_b"),
        ("copy", "_"),
        ("sort-bits", "", "--max-steps", "0"),
    ],
)
def test_both_levels_print_the_same_answer(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    codes, answers = zip(
        *(answer(capsys, "run", *arguments, "--on", on) for on in ("transformer", "machine")),
        strict=True,
    )
    assert codes[0] == codes[1]
    assert [answers[0][key] for key in ANSWER] == [answers[1][key] for key in ANSWER]


@needs_corpora
@pytest.mark.parametrize("name", short_runs(300))
def test_real_machines_run_the_same_on_the_transformer(name: str) -> None:
    machine = load(name)
    for word in inputs(machine):
        wanted = simulate(machine, word, 300)
        assert facts(run(machine, word, 300, on="transformer")) == facts(wanted)


def test_compile_describes_the_network(capsys: pytest.CaptureFixture[str]) -> None:
    _, facts = answer(capsys, "compile", "palindrome")
    assert facts["given"] == {"states": 8, "symbols": 3}
    assert facts["normalized"] == {"states": 11, "symbols": 3}
    assert facts["dimension"] == 2 * 11 + 4 * 3 + 11 == sum(b["size"] for b in facts["layout"])
    assert (facts["encoder_layers"], facts["decoder_layers"]) == (1, 3)
    assert facts["hidden_widths"]["decoder.1.O"] == [11 + 3 + 1 + 11 * 3]
    assert len(facts["hidden_widths"]["F"]) == 3
    assert facts["parameters"] > facts["nonzeros"] > 100
    assert answer(capsys, "compile", "palindrome", "--blanks")[1]["normalized"]["symbols"] == 4
    assert main(["compile", "palindrome"]) == 0
    out = capsys.readouterr().out
    assert "dimension         45\nformula           2|Q| + 4|Σ| + 11, normalised\n" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_saved_network_is_a_machine_to_run_and_compile(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = str(tmp_path / "palindrome.safetensors")
    _, saved = answer(capsys, "compile", "palindrome", "-o", path)
    assert saved["output"] == path
    _, loaded = answer(capsys, "compile", path)
    keys = saved.keys() - {"machine", "output"}
    assert {key: saved[key] for key in keys} == {key: loaded[key] for key in keys}
    assert answer(capsys, "run", path, "abba")[1]["outcome"] == "accepted"
    assert answer(capsys, "run", path, "abab", "--on", "machine")[1]["outcome"] == "rejected"
    assert main(["compile", path, "--blanks"]) == 2
    assert "blanks applies when a machine is compiled; this" in capsys.readouterr().err
    assert main(["run", path, "abba", "--on", "rnn"]) == 2
    assert "this network is a transformer, compiled already" in capsys.readouterr().err
    assert main(["convert", path, "--to", "morphett"]) == 0
    assert "have-a" in capsys.readouterr().out
    assert main(["show", path]) == 0
    assert "8 states" in capsys.readouterr().out


def test_what_a_network_cannot_do_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "copy.safetensors"
    assert main(["compile", "copy", "-o", str(path)]) == 0
    capsys.readouterr()
    cases = {
        ("run", str(path), "a_b"): "without blanks; compile it with them: blanks=True (--blanks)",
        ("compile", "copy", "-o", str(path)): "exists; name another file",
        ("compile", "copy", "--on", "machine"): "no network 'machine'",
        (
            "compile",
            "copy",
            "--base",
            "9",
        ): "base is not an option of transformer; its options are score, blanks",
        (
            "run",
            "copy",
            "--base",
            "9",
        ): "base is not an option of transformer; its options are score, blanks",
    }
    for arguments, message in cases.items():
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    path.write_bytes(path.read_bytes()[:500])
    assert main(["run", str(path)]) == 2
    assert "is not an intact netwright network" in capsys.readouterr().err
