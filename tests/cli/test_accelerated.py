"""`--engine accelerated` on the command line: tapes as runs, checkpoints, Ctrl-C, refusals."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from netwright.cli import main

BOUNCER = "1RB1LA_1LA1RB"
UNDECIDED = 3
"""The exit code of a run that does not end within its steps."""


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["run", *arguments, "--engine", "accelerated", "--json"]) == UNDECIDED
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("on", ["machine", "rnn", "neural-gpu", "universal-transformer"])
def test_a_long_tape_is_shown_as_runs(on: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, BOUNCER, "--on", on, "--max-steps", "1e11")
    assert found["tape"] is None
    assert found["tape_runs"] == [["1", found["non_blank"]]]
    assert found["non_blank"] > 1 << 16
    assert found["steps"] == 10**11 > 1000 * found["moves"]
    short = answer(capsys, BOUNCER, "--on", on, "--max-steps", "1000")
    assert short["tape"] == "1" * short["non_blank"]
    main(["run", BOUNCER, "--on", on, "--max-steps", "1e11", "--engine", "accelerated"])
    said = capsys.readouterr().out
    assert f"1^{found['non_blank']}" in said
    assert "moves" in said


@pytest.mark.parametrize("on", ["machine", "rnn", "neural-gpu", "universal-transformer"])
def test_steps_beyond_64_bits_with_cycles(on: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "1RB0LB_1LA0LA", "--on", on, "--max-steps", "1e30")
    assert (found["steps"], found["head"]) == (10**30, -5 * 10**29)
    assert found["tape_runs"] == [["1", 1], ["0", 5 * 10**29 - 1], ["1", 1]]


@pytest.mark.parametrize("on", ["machine", "rnn", "pointer-transformer"])
def test_a_run_is_resumed_where_it_stopped(
    on: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = str(tmp_path / "run")
    whole = answer(capsys, BOUNCER, "--on", on, "--max-steps", "2e9")
    answer(capsys, BOUNCER, "--on", on, "--max-steps", "1e9", "--checkpoint", place)
    again = answer(capsys, BOUNCER, "--on", on, "--max-steps", "2e9", "--resume", place)
    for name in ("steps", "state", "head", "tape", "tape_start", "non_blank"):
        assert again[name] == whole[name], name
    resumed = ["run", BOUNCER, "--on", on, "--max-steps", "2e9", "--resume", place]
    assert main([*resumed, "--engine", "fast"]) == 2
    assert capsys.readouterr().err.startswith("netwright: ")


@pytest.mark.parametrize("on", ["machine", "rnn", "neural-gpu", "universal-transformer"])
def test_ctrl_c_ends_it_with_one_message(on: str) -> None:
    call = [sys.executable, "-m", "netwright", "run", BOUNCER, "--on", on, "--max-steps", "1e30"]
    running = subprocess.Popen(
        [*call, "--engine", "accelerated"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(3)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Traceback" not in said


def test_networks_without_it_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "palindrome", "abba", "--engine", "accelerated"]) == 2
    assert "no engine for transformer 'accelerated'" in capsys.readouterr().err
