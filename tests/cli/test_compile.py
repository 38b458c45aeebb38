"""`netwright compile --weights` and `--explain`; the list of verbs, and what a shell completes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.networks import KINDS

from netwright.cli import campaign, main
from netwright.cli.verb import VERBS
from netwright.kind.registry import SHORT, VARIANTS, kinds


def test_a_weight_is_printed_with_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "palindrome", "--weights", "decoder.3.V", "--weights", "F"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "decoder.3.V: 45 × 45, 5 nonzero weights"
    assert "  x8    → x7     -1" in lines
    assert [line.split(":")[0] for line in lines if " × " in line] == [
        "decoder.3.V",
        "F.1",
        "F.2",
        "F.3",
        "F.4",
    ]
    assert "  bias         → b2           2" in lines


def test_a_weight_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["compile", "palindrome", "--on", "rnn", "--base", "7/2", "--weights", "V", "--json"]
    assert main(call) == 0
    (weight,) = json.loads(capsys.readouterr().out)["weights"]
    assert weight["name"] == "V"
    assert ["sc", "sc", "2/7"] in weight["entries"]
    assert (len(weight["rows"]), len(weight["columns"])) == (32, 32)
    assert main(["compile", "palindrome", "--weights", "F.1", "--json"]) == 0
    (weight,) = json.loads(capsys.readouterr().out)["weights"]
    assert weight["bias"] == {"m[+]": "1/2", "m[-]": "1/2", "blank[_]": "1", "b2": "2"}


def test_a_weight_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "palindrome", "--weights", "decoder.3.W"]) == 2
    assert "no weight 'decoder.3.W'; did you mean decoder.3.V?" in capsys.readouterr().err


@pytest.mark.parametrize("on", KINDS)
def test_every_block_is_explained_within_80_columns(
    on: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compile", "palindrome", "--on", on, "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0] == "blocks of every vector"
    assert "weights" in lines
    assert main(["compile", "palindrome", "--on", on, "--explain", "--json"]) == 0
    words = json.loads(capsys.readouterr().out)["meanings"]
    assert set(words) == {"blocks", "hidden", "weights"}
    shown = {line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "}
    assert set(words["blocks"]) <= shown


def test_what_is_saved_is_saved_with_them_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.safetensors"
    assert main(["compile", "palindrome", "--explain", "-o", str(file)]) == 0
    assert f"wrote {file}" in capsys.readouterr().out
    assert file.exists()


def test_help_lists_every_verb_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    for name, words in VERBS.items():
        assert any(line.split() == [name, *words.split()] for line in lines)


@pytest.mark.parametrize("verb", [*VERBS, *(f"campaign {name}" for name in campaign.VERBS)])
def test_the_help_of_a_verb_fits_on_a_screen(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*verb.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 45
    assert all(len(line) <= 80 for line in lines)
    assert any("Example" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("netwright c", {"campaign", "compile", "certify", "claims", "convert"}),
        ("netwright run palin", {"palindrome"}),
        ("netwright run ./ma", {"./machine.yaml", "./many/"}),
        (
            "netwright run palindrome --on ",
            {*kinds(), *SHORT, *VARIANTS, "machine"},
        ),
        ("netwright run palindrome --engine f", {"fast", "full"}),
    ],
)
def test_a_shell_completes(words: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "machine.yaml").touch()
    (tmp_path / "many").mkdir()
    place = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [Path(sys.executable).with_name("netwright")],
        env={**os.environ, **place, "_NETWRIGHT_COMPLETE": "complete_bash"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(done.stdout.split()) == expected
