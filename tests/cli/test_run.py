"""`netwright run`: the contract of its output and exit codes."""

import json
import os
import re
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from netwright.cli import main, show
from netwright.cli.output import StepProgress

BB5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"
NETWRIGHT = (sys.executable, "-m", "netwright")
KEYS = {
    *("machine", "input", "on", "outcome", "steps", "network_steps", "state", "tape"),
    *("tape_start", "head", "dimension", "engine", "seconds"),
}


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["run", *arguments, "--on", "machine", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_answer_has_every_key_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run_json(capsys, "palindrome", "abba")
    assert answer.keys() >= KEYS
    assert code == 0
    assert (answer["machine"], answer["input"], answer["on"]) == ("palindrome", "abba", "machine")
    assert (answer["outcome"], answer["steps"], answer["state"]) == ("accepted", 15, "accept")
    assert (answer["tape"], answer["tape_start"], answer["head"]) == ("", 0, 3)


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "palindrome", "abab")[0] == 1
    assert run_json(capsys, "binary-increment", "1")[0] == 0
    code, answer = run_json(capsys, "sweeper", "--max-steps", "1000")
    assert (code, answer["outcome"], answer["steps"]) == (3, "undecided", 1000)


def test_no_input_is_the_default_and_an_explicit_empty_word_is_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_json(capsys, "copy")[1]["tape"] == "abb#abb"
    assert run_json(capsys, "copy", "")[1]["tape"] == "#"
    assert run_json(capsys, "busy-beaver-2")[1]["input"] == ""


def test_cells_are_counted_from_the_first_input_cell(capsys: pytest.CaptureFixture[str]) -> None:
    answer = run_json(capsys, "prime", "11")[1]
    assert (answer["tape"], answer["tape_start"]) == ("||#xx", -3)


def test_the_busy_beaver_of_five_states(capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = run_json(capsys, BB5, "--max-steps", "50000000")
    assert (code, answer["outcome"], answer["steps"]) == (0, "halted", 47176870)
    assert answer["tape"].count("1") == 4098
    assert answer["engine"] == "fast"


def test_every_engine_gives_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for engine in ("auto", "fast", "reference"):
        _, answer = run_json(capsys, BB5, "--max-steps", "1000", "--engine", engine)
        for key in ("engine", "seconds", "compile_seconds"):
            del answer[key]
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["steps"] == 1000


def test_long_symbols_go_between_separators(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    parts = {
        "states": ["q"],
        "input_symbols": ["on", "off"],
        "tape_symbols": ["on", "off", "none"],
        "blank_symbol": "none",
        "initial_state": "q",
        "final_states": [],
        "transitions": {"q": {"on": ["q", "off", "R"], "off": ["q", "on", "R"]}},
    }
    path = tmp_path / "switch.json"
    path.write_text(json.dumps(parts))
    _, answer = run_json(capsys, str(path), "on;off;on", "--separator", ";")
    assert (answer["input"], answer["tape"]) == ("on;off;on", "off;on;off")
    assert main(["run", str(path), "on"]) == 2
    assert "input symbol 'o' at position 1" in capsys.readouterr().err


def test_the_pretty_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "binary-increment", "1011"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("halted after 8 steps\n")
    assert "  tape   1100\n         4 cells not blank, the first is cell 0\n" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_long_tape_is_shortened_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sweeper", "--on", "machine", "--max-steps", "100000"]) == 3
    out = capsys.readouterr().out
    assert out.startswith("undecided after 100,000 steps (the limit; --max-steps sets it)\n")
    assert "1…1" in out
    assert "447 cells not blank" in out
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("on", ["machine", "transformer", "rnn", "neural-gpu"])
def test_ctrl_c_ends_cleanly_and_says_how_far_it_got(
    on: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count()

    def press_ctrl_c(_: object, _steps: int, _cells: int) -> None:
        if next(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(StepProgress, "__call__", press_ctrl_c)
    assert main(["run", "sweeper", "--on", on, "--max-steps", str(10**15)]) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    steps = re.match(r"netwright: interrupted after ([\d,]+) steps?, in state", captured.err)
    assert steps
    limit = steps[1].replace(",", "")
    assert f"--max-steps {limit} shows the tape there" in captured.err


def test_ctrl_c_during_anything_else_is_said_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def press_ctrl_c(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "print_rules", press_ctrl_c)
    assert main(["show", "copy"]) == 130
    assert capsys.readouterr().err == "netwright: interrupted\n"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    for verb in ("machines", "machines --json", "show sweeper '' --max-steps 3000"):
        script = f"set -o pipefail; {sys.executable} -m netwright {verb} | true"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_and_closed_streams_are_no_traceback() -> None:
    def shell(command: str) -> tuple[int, str]:
        script = f"{' '.join(NETWRIGHT)} run even-as ab {command}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    code, err = shell("> /dev/full")
    assert (code, err) == (2, "netwright: the output cannot be written: No space left on device\n")
    assert shell("2>&-") == (1, "")
    assert shell("--json >&-") == (1, "")


def test_the_fast_engine_needs_no_place_for_its_cache(tmp_path: Path) -> None:
    """No writable folder for compiled code, and then a damaged file in it."""
    call = [*NETWRIGHT, "run", "busy-beaver-4", "--on", "machine", "--engine", "fast", "--json"]
    for folder in ("/dev/null/no", str(tmp_path)):
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        for _ in range(2):
            done = subprocess.run(call, env=environment, capture_output=True, check=True)
            assert json.loads(done.stdout)["steps"] == 107
            for index in tmp_path.rglob("*.nbi"):
                index.write_bytes(b"nonsense")


def test_output_survives_a_terminal_that_knows_only_ascii() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    for extra in ([], ["--json"]):
        subprocess.run(
            [sys.executable, "-m", "netwright", "machines", *extra],
            env=environment,
            capture_output=True,
            check=True,
        )
