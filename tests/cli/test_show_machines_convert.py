"""`netwright show`, `machines`, `convert` and `--help`."""

import json
from pathlib import Path

import pytest

from netwright.cli import main
from netwright.kind.registry import kinds
from netwright.machine.library import library_names
from netwright.machine.load import load_machine


@pytest.fixture(autouse=True)
def _terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines() if "{" not in line)
    return out


def test_machines_lists_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "machines")
    assert all(name in out for name in library_names())
    rows = json.loads(printed(capsys, "machines", "--json"))["machines"]
    assert [row["name"] for row in rows] == list(library_names())
    assert all(row["description"] for row in rows)


def test_show_prints_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "show", "palindrome")
    assert "8 states, 3 symbols, 18 rules; starts in start" in out
    assert "have-a   a      a       R      have-a" in out
    machine = json.loads(printed(capsys, "show", "palindrome", "--json"))
    assert len(machine["rules"]) == 18
    assert machine["accepting"] == ["accept"]


def test_symbols_that_look_like_markup_are_printed_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = printed(capsys, "show", "matching-brackets")
    assert "symbols    _ ( [ { x ) ] }" in out
    assert "[(]" in printed(capsys, "show", "matching-brackets", "()")


def test_the_diagram_shows_state_and_head_of_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "show", "even-as", "ab").splitlines()
    assert lines == [
        "0  even    [a]b _ _ ",
        "1  odd      a[b]_ _ ",
        "2  odd      a b[_]_ ",
        "3  reject   a b _[_]",
        "rejected after 3 steps",
    ]


def test_a_wide_diagram_follows_the_head(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "show", "sweeper", "", "--max-steps", "3000").splitlines()
    assert len(lines) == 3002
    assert all("[" in line and "]" in line for line in lines[:-1])
    heads = [int(line.split()[2]) for line in lines[:-1]]
    assert heads[:4] == [0, -1, 0, 1]
    assert min(heads) < -35
    assert max(heads) > 35


def test_the_default_input_is_run_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "show", "even-as", "--run") == printed(capsys, "show", "even-as", "abba")


def test_a_long_state_name_is_cut_visibly(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine.txt"
    path.write_text(f"0 a a r {'long' * 10}\n")
    assert "longlonglonglonglonglon…" in printed(capsys, "show", str(path), "a")


def test_the_diagram_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    run = json.loads(printed(capsys, "show", "even-as", "ab", "--json"))
    assert run["outcome"] == "rejected"
    assert [moment["head"] for moment in run["configurations"]] == [0, 1, 2, 3]
    assert run["configurations"][0] == {
        "step": 0,
        "state": "even",
        "head": 0,
        "tape_start": 0,
        "tape": "ab",
    }


def test_convert_writes_what_reads_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    assert main(["convert", "ww", "--to", "morphett", "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path} (morphett)\n"
    assert load_machine(str(path)) == load_machine("ww")
    text = printed(capsys, "convert", "busy-beaver-4", "--to", "bbchallenge")
    assert text == "1RB1LB_1LA0LC_1RZ1LD_1RD0RA\n"
    answer = json.loads(printed(capsys, "convert", "copy", "--to", "turingmachine.io", "--json"))
    assert answer["text"].startswith("# Copies a word")


@pytest.mark.parametrize("verb", ["run", "show", "machines", "convert"])
def test_help_has_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"netwright {verb}" in printed(capsys, verb, "--help").split("Example")[1]


def test_bare_netwright_is_help_and_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Commands:" in printed(capsys)
    assert printed(capsys, "--version").startswith("netwright 0.")


def test_warnings_about_a_file_go_to_standard_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "machine.txt"
    path.write_text("0 a a r 0\n0 a b r halt\n; $INITIAL_TAPE: a\n")
    assert main(["run", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["tape"] == "b"
    assert "netwright: warning: " in captured.err
    assert "line 2: replaces the rule for (0, a) of line 1" in captured.err


@pytest.mark.parametrize(
    ("short", "kind"),
    [
        ("pointer", "pointer-transformer"),
        ("universal", "universal-transformer"),
        ("gpt2", "language-model"),
        ("opt", "language-model"),
    ],
)
def test_kinds_have_short_names(short: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "run", "palindrome", "abba", "--on", short, "--json")
    assert json.loads(found)["on"] == kind


def test_help_explains_networks_and_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    networks = printed(capsys, "help", "networks")
    for name, found in kinds().items():
        assert f"--on {name}: {found.statement}" in networks
        for option in found.options:
            assert f"--{option.name}" in networks
    assert printed(capsys, "help", "run").startswith("Usage: netwright run [OPTIONS] ")
    assert "campaign" in printed(capsys, "help", "campaign")
    assert "campaign show" in printed(capsys, "help", "campaign", "show").splitlines()[0]
    assert main(["help", "campaign", "shwo"]) == 2
    assert "it has run, show, status, pack" in capsys.readouterr().err
    assert main(["help", "netwroks"]) == 2
    assert "did you mean networks?" in capsys.readouterr().err


def test_a_separator_of_two_characters_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "palindrome", "a, b"]) == 2
    assert "--separator ', '" in capsys.readouterr().err
    assert main(["run", "palindrome", "a,b"]) == 2
    assert "--separator ','" in capsys.readouterr().err
