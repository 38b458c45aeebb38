"""`netwright run` and `compile` on the RNN and the Neural GPU."""

import json
from typing import Any

import pytest

from netwright.cli import main

ANSWER = ("outcome", "steps", "state", "tape", "tape_start", "head", "input")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("on", ["rnn", "neural-gpu"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("palindrome", "abba"),
        ("palindrome", "abab"),
        ("palindrome", ""),
        ("copy", "a_b"),
        ("busy-beaver-4",),
        ("sweeper", "--max-steps", "77"),
    ],
)
def test_the_networks_print_the_machines_answer(
    on: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = answer(capsys, "run", *arguments, "--on", on)
    wanted_code, wanted = answer(capsys, "run", *arguments, "--on", "machine")
    assert code == wanted_code
    assert [found[key] for key in ANSWER] == [wanted[key] for key in ANSWER]
    assert found["network_steps"] == len(found["input"]) + 1 + found["steps"]  # real time


def test_compile_counts_the_neurons(capsys: pytest.CaptureFixture[str]) -> None:
    _, facts = answer(capsys, "compile", "busy-beaver-5", "--on", "rnn")
    m, k = 6, 2
    assert facts["formula"] == "m(2k-1)+5"
    assert facts["formula_value"] == m * (2 * k - 1) + 5
    assert (facts["source_formula"], facts["source_value"]) == ("10m+30", 10 * m + 30)
    assert facts["neurons"] <= facts["formula_value"] < facts["source_value"]
    assert facts["dimension"] == facts["neurons"] + facts["encoder_neurons"]
    assert facts["dimension"] == sum(block["size"] for block in facts["layout"])
    _, gpu = answer(capsys, "compile", "busy-beaver-5", "--on", "neural-gpu")
    assert gpu["dimension"] == gpu["formula_value"] == 3 * facts["dimension"] + 3
    assert gpu["kernel_shape"] == [2, 1, gpu["dimension"], gpu["dimension"]]


def test_the_base_is_the_users_choice(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "compile", "copy", "--on", "rnn")[1]["base"] == "7"
    assert answer(capsys, "compile", "copy", "--on", "rnn", "--base", "13/2")[1]["base"] == "13/2"
    code, found = answer(capsys, "run", "copy", "ab", "--on", "rnn", "--base", "8")
    assert (code, found["tape"]) == (0, "ab#ab")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "copy", "--on", "rnn", "--base", "6"), "6 symbols need a base above 6"),
        (("compile", "copy", "--on", "rnn", "--base", "x"), "base is 'x'; expected a number"),
        (("run", "copy", "--on", "rnn", "--base", "1/0"), "base is '1/0'; expected a number"),
        (("run", "copy", "--on", "rnn", "--base", "1e99999999"), "expected a number such as 4"),
        (
            ("run", "copy", "--on", "machine", "--base", "9"),
            "base is an option of networks; a mach",
        ),
        (("run", "copy", "--on", "machine", "--without", "x"), "--break and --without change netw"),
        (
            ("compile", "copy", "--on", "rnn", "--blanks"),
            "blanks is not an option of rnn; its options are base",
        ),
    ],
)
def test_what_does_not_fit_is_said(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("on", ["rnn", "neural-gpu", "transformer"])
def test_the_pretty_description_fits_80_columns(
    on: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["compile", "binary-multiplication", "--on", on]) == 0
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())
