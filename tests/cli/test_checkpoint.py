"""`--checkpoint` and `--resume`: a run that is stopped at any moment ends with the same answer."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netwright.checkpoint import KIND
from netwright.cli import main
from netwright.files import seal, unseal

BB5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"
NETWRIGHT = (sys.executable, "-m", "netwright")
ALL = ["transformer", "rnn", "neural-gpu", "machine"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """The answer, without how long it took."""
    code = main(["run", *arguments, "--json"])
    found = json.loads(capsys.readouterr().out)
    return code, {key: value for key, value in found.items() if "seconds" not in key}


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", *arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("on", ALL)
def test_a_run_goes_on_from_its_file(
    on: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Kept again and again up to 20,000 steps, then gone on with to 60,000."""
    file = str(tmp_path / "kept")
    start = (BB5, "--on", on, "--engine", "fast")
    main(["run", *start, "--max-steps", "20000", "--checkpoint", file, "--checkpoint-every", "0"])
    capsys.readouterr()
    whole = answer(capsys, *start, "--max-steps", "60000")
    before = Path(file).read_bytes()
    assert answer(capsys, *start, "--max-steps", "60000", "--resume", file) == whole
    assert Path(file).read_bytes() != before  # it is kept at its new limit now
    message = error(capsys, *start, "--max-steps", "100", "--resume", file)
    assert "is at step 60,000, beyond the limit of 100 steps" in message
    assert answer(capsys, *start, "--max-steps", "60000", "--resume", file) == whole


@pytest.mark.parametrize("on", ALL)
@pytest.mark.parametrize("engine", ["fast"])
def test_a_run_that_reaches_its_limit_is_kept(
    on: str, engine: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "kept")
    start = ("busy-beaver-4", "--on", on, "--engine", engine)
    for limit in ("0", "1", "30"):
        keep = "--resume" if Path(file).exists() else "--checkpoint"
        code, found = answer(capsys, *start, "--max-steps", limit, keep, file)
        assert (code, found["steps"]) == (3, int(limit))
        assert found == answer(capsys, *start, "--max-steps", limit)[1]
    assert answer(capsys, *start, "--resume", file) == answer(capsys, *start)


@pytest.mark.parametrize("on", ["transformer", "rnn", "neural-gpu"])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_engines_that_keep_only_the_time(
    on: str, engine: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "kept")
    start = ("palindrome", "abba", "--on", on, "--engine", engine)
    main(["run", *start, "--max-steps", "9", "--checkpoint", file, "--checkpoint-every", "0"])
    capsys.readouterr()
    assert answer(capsys, *start, "--resume", file) == answer(capsys, *start)


def kept_bytes(file: Path) -> bytes:
    start = ["run", BB5, "--max-steps", "5000", "--engine", "fast"]
    main([*start, "--checkpoint", str(file), "--checkpoint-every", "0"])
    return file.read_bytes()


def test_what_cannot_be_resumed_is_explained(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "kept"
    data = kept_bytes(file)
    capsys.readouterr()
    resume = (BB5, "--engine", "fast", "--resume", str(file))
    assert "another run (another on); resume with the same command" in error(
        capsys, *resume, "--on", "rnn"
    )
    other = ("sweeper", "--engine", "fast", "--resume", str(file))
    assert "was made by another run (another machine)" in error(capsys, *other)
    assert "(another input, engine)" in error(
        capsys, BB5, "1", "--engine", "reference", "--resume", str(file)
    )
    assert "there is no such file" in error(capsys, BB5, "--resume", str(tmp_path / "none"))
    assert "is no ordinary file" in error(capsys, BB5, "--resume", str(tmp_path))
    file.write_bytes(data[: len(data) // 2])
    assert "is not a whole checkpoint" in error(capsys, *resume)
    file.write_bytes(b"")
    assert "is not a whole checkpoint" in error(capsys, *resume)
    place = len(data) - 40
    file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    assert "it was changed" in error(capsys, *resume)
    about, arrays = unseal(data, "", "checkpoint")
    file.write_bytes(seal({**about, "kind": "netwright checkpoint 99"}, arrays))
    assert f"is a 'netwright checkpoint 99'; this netwright reads {KIND!r}" in error(
        capsys, *resume
    )
    file.write_bytes(data)
    assert answer(capsys, *resume, "--max-steps", "6000")[1]["steps"] == 6000


def test_a_file_that_is_there_is_not_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "thesis.tex"
    file.write_text("precious")
    message = error(capsys, BB5, "--checkpoint", str(file))
    assert f"--resume {file} goes on from it; else name another file" in message
    assert file.read_text() == "precious"
    assert "cannot be written: No such file" in error(
        capsys,
        *(BB5, "--max-steps", "9999", "--checkpoint", str(tmp_path / "no" / "kept")),
        *("--checkpoint-every", "0"),
    )


def test_a_machine_by_its_definition_keeps_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    call = (BB5, "--on", "machine", "--engine", "reference", "--checkpoint", str(tmp_path / "c"))
    assert "only the fast engine keeps checkpoints" in error(capsys, *call)


def test_arrays_in_a_file_come_back_equal() -> None:
    arrays = {"b": np.arange(6).reshape(2, 3), "a": np.zeros(0, dtype=np.int64)}
    about, again = unseal(seal({"kind": "k"}, arrays), "file", "thing")
    assert about == {"kind": "k"}
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def started(file: Path, on: str, steps: int, every: float) -> "subprocess.Popen[str]":
    keep = ["--resume" if file.exists() else "--checkpoint", str(file)]
    call = [*NETWRIGHT, "run", BB5, "--on", on, "--max-steps", str(steps), "--json", *keep]
    return subprocess.Popen(
        [*call, "--checkpoint-every", str(every)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def whole_answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
    found = json.loads(process.communicate()[0])
    return {key: value for key, value in found.items() if "seconds" not in key}


def killed_and_resumed(folder: Path, on: str, steps: int, kills: int, longest: float) -> None:
    draw = random.Random(kills)
    file = folder / "kept"
    done = 0
    for _ in range(kills):
        before = file.stat().st_mtime_ns if file.exists() else 0
        process = started(file, on, steps, 0.05)
        while process.poll() is None and (not file.exists() or file.stat().st_mtime_ns == before):
            time.sleep(0.01)
        time.sleep(draw.uniform(0, longest))
        done += process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert file.exists()
    assert done < kills
    found = whole_answer(started(file, on, steps, 30))
    assert found == whole_answer(started(folder / "other", on, steps, 30))
    assert found["steps"] == min(steps, 47_176_870)


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, "transformer", 20_000_000, 4, 0.3)


@pytest.mark.thorough
@pytest.mark.parametrize("on", ["transformer", "rnn"])
def test_a_run_killed_ten_times_goes_on(on: str, tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, on, 50_000_000, 10, 0.5 if on == "transformer" else 2.5)


@pytest.mark.parametrize("on", ["transformer", "rnn", "machine"])
def test_ctrl_c_keeps_the_run_and_says_how_to_go_on(on: str, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    steps = 40_000_000 if on == "transformer" else 10**10
    process = started(file, on, steps, 0.05)
    while not file.exists() and process.poll() is None:
        time.sleep(0.02)
    before = file.stat().st_mtime_ns
    process.send_signal(signal.SIGINT)
    _, message = process.communicate()
    assert process.returncode == 130
    assert f"--resume {file} goes on from there" in message
    assert file.stat().st_mtime_ns > before
    reached = int(message.split("after ")[1].split(" step")[0].replace(",", ""))
    again = started(file, on, reached, 30)
    assert whole_answer(again)["steps"] == reached  # it stands there, and has nothing left to do


def test_places_that_are_no_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for option in ("--checkpoint", "--resume"):
        message = error(capsys, BB5, option, str(circle))
        assert "circle" in message
    assert "is no ordinary file" in error(capsys, BB5, "--checkpoint", "/dev/null")
    message = error(capsys, BB5, "--resume", str(tmp_path / "none"), "--checkpoint", str(circle))
    assert message.count("\n") == 1


def test_ctrl_c_is_heard_in_a_moment_that_takes_long() -> None:
    """One moment of a Neural GPU by its definition, with thousands of cells."""
    call = [*NETWRIGHT, "run", "palindrome", "ab" * 3000, "--on", "neural-gpu"]
    process = subprocess.Popen([*call, "--engine", "reference"], stderr=subprocess.PIPE, text=True)
    time.sleep(6)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted after 0 steps" in message
