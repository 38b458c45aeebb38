"""`--checkpoint` and `--resume`: a run that is stopped at any moment ends with the same answer."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.processes import ended, netwright

from netwright.cli import main
from netwright.engine.following.checkpoint import KIND, Checkpoint
from netwright.files import seal, unseal, write_whole

BB5 = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"
ALL = ["transformer", "rnn", "neural-gpu", "machine"]


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """The answer, without what depends on the clock."""
    code = main(["run", *arguments, "--json"])
    return code, timeless(capsys.readouterr().out)


def timeless(text: str) -> dict[str, Any]:
    """An answer without how long it took, and without which engine began when."""
    found = json.loads(text)
    return {key: value for key, value in found.items() if "seconds" not in key and key != "engine"}


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


@pytest.mark.parametrize("engines", [("fast", "full"), ("full", "fast"), ("full", "full")])
@pytest.mark.parametrize(
    ("machine", "word", "limit"),
    [("binary-multiplication", "1101*1011", 77), (BB5, "", 20_011), ("copy", "ab" * 30, 501)],
)
def test_full_and_fast_go_on_from_each_others_files(
    engines: tuple[str, str],
    machine: str,
    word: str,
    limit: int,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    file, start = str(tmp_path / "kept"), (machine, word, "--on", "transformer")
    keep = ("--checkpoint", file, "--checkpoint-every", "0")
    assert main(["run", *start, "--engine", engines[0], "--max-steps", str(limit), *keep]) == 3
    capsys.readouterr()
    whole = answer(capsys, *start, "--engine", "fast", "--max-steps", "60000")
    resumed = (*start, "--engine", engines[1], "--max-steps", "60000", "--resume", file)
    assert answer(capsys, *resumed) == whole


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
    assert "another run (different on); resume with the same command" in error(
        capsys, *resume, "--on", "rnn"
    )
    other = ("sweeper", "--engine", "fast", "--resume", str(file))
    assert "was made by another run (different machine)" in error(capsys, *other)
    assert "(different input, engine)" in error(
        capsys, BB5, "1", "--engine", "reference", "--resume", str(file)
    )
    assert "there is no such file" in error(capsys, BB5, "--resume", str(tmp_path / "none"))
    assert "is not a regular file" in error(capsys, BB5, "--resume", str(tmp_path))
    file.write_bytes(data[: len(data) // 2])
    assert "is not an intact netwright checkpoint" in error(capsys, *resume)
    file.write_bytes(b"")
    assert "is not an intact netwright checkpoint" in error(capsys, *resume)
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
    assert f"--resume {file} resumes it; otherwise name another file" in message
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


def running(
    file: Path, machine: str, on: str, steps: int, every: float, engine: str = "auto"
) -> Any:
    """A process that keeps a run in a file, and goes on with what is there."""
    keep = ["--resume" if file.exists() else "--checkpoint", str(file), "--engine", engine]
    call = ["run", machine, "--on", on, "--max-steps", str(steps), "--json", *keep]
    return netwright(*call, "--checkpoint-every", str(every))


def kept_step(file: Path, machine: str, on: str) -> int:
    """The step at which a file keeps a run; by asking for less."""
    message = ended("run", machine, "--on", on, "--max-steps", "0", "--resume", str(file)).stderr
    assert "beyond the limit of 0 steps" in message, message
    return int(message.split("is at step ")[1].split(", beyond")[0].replace(",", ""))


def wait_for_change(file: Path, process: "subprocess.Popen[str]", before: int) -> None:
    """Wait until a process has written a file."""
    while process.poll() is None and (not file.exists() or file.stat().st_mtime_ns == before):
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def killed_and_resumed(folder: Path, on: str, kills: int) -> None:
    """A run that never ends, killed at any moment again and again, is where it would be."""
    draw = random.Random(kills)
    file = folder / "kept"
    for _ in range(kills):
        before = file.stat().st_mtime_ns if file.exists() else 0
        with running(file, "binary-counter", on, 10**15, 0.05) as process:
            wait_for_change(file, process, before)
            time.sleep(draw.uniform(0, 0.3))
            process.kill()
    steps = kept_step(file, "binary-counter", on) + 1000
    with running(file, "binary-counter", on, steps, 30) as process:
        found = timeless(process.communicate()[0])
    with running(folder / "other", "binary-counter", on, steps, 30) as process:
        assert found == timeless(process.communicate()[0])
    assert found["steps"] == steps


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, "transformer", 2)


@pytest.mark.thorough
@pytest.mark.parametrize("on", ["transformer", "rnn", "neural-gpu", "machine"])
def test_a_run_killed_ten_times_goes_on(on: str, tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, on, 10)


@pytest.mark.parametrize(
    ("on", "number", "engine"),
    [
        ("transformer", signal.SIGINT, "auto"),
        ("transformer", signal.SIGINT, "full"),
        ("rnn", signal.SIGTERM, "auto"),
        ("machine", signal.SIGINT, "auto"),
    ],
)
def test_ctrl_c_keeps_the_run_and_says_how_to_go_on(
    on: str, number: signal.Signals, engine: str, tmp_path: Path
) -> None:
    file = tmp_path / "kept"
    with running(file, "binary-counter", on, 10**15, 0.05, engine) as process:
        wait_for_change(file, process, 0)
        before = file.stat().st_mtime_ns
        process.send_signal(number)
        _, message = process.communicate()
        assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert f"--resume {file} resumes it" in message
    assert file.stat().st_mtime_ns > before
    reached = int(message.split("after ")[1].split(" step")[0].replace(",", ""))
    with running(file, "binary-counter", on, reached, 30) as process:
        # It stands there, and has nothing left to do.
        assert timeless(process.communicate()[0])["steps"] == reached


@pytest.mark.parametrize("on", ALL)
def test_ctrl_c_as_a_file_is_written(
    on: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is there already, and the run does not know it yet."""

    def write_and_interrupt(path: Path, content: bytes, *, fresh: bool) -> None:
        write_whole(path, content, fresh=fresh)
        if fresh:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("netwright.engine.following.checkpoint.write_whole", write_and_interrupt)
    file = tmp_path / "kept"
    limit = ("--on", on, "--max-steps", str(10**15))
    keep = ("--checkpoint", str(file), "--checkpoint-every", "0")
    assert main(["run", "binary-counter", *limit, *keep]) == 130
    assert f"--resume {file} resumes it" in capsys.readouterr().err


def test_two_runs_do_not_share_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second is refused while the first lives, also before that has written anything."""
    file = tmp_path / "kept"
    for every in (10**6, 0.05):
        with running(file, "binary-counter", "transformer", 10**15, every) as first:
            while not list(tmp_path.glob(".*.lock")) or (every < 1 and not file.exists()):
                assert first.poll() is None, first.communicate()
                time.sleep(0.01)
            for option in ("--checkpoint", "--resume"):
                if option == "--checkpoint" or file.exists():
                    message = error(capsys, "binary-counter", option, str(file))
                    assert message.startswith("netwright: another run keeps its checkpoint")
            first.kill()
            first.communicate()
    # The lock of a killed process is gone, and what it left behind with the next run.
    steps = kept_step(file, "binary-counter", "transformer") + 10
    found = ended(
        *("run", "binary-counter", "--max-steps", str(steps), "--resume", str(file), "--json")
    )
    assert json.loads(found.stdout)["steps"] == steps
    assert list(tmp_path.iterdir()) == [file]


def test_what_others_put_there_is_not_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that appears, or changes, while a run goes on."""
    file = tmp_path / "kept"
    call = ("binary-counter", "--max-steps", "400000", "--checkpoint-every", "0")
    monkeypatch.setattr(Checkpoint, "read", lambda _: file.write_text("precious") and None)
    assert "exists by now; not overwritten" in error(capsys, *call, "--checkpoint", str(file))
    assert file.read_text() == "precious"
    monkeypatch.undo()
    file.unlink()
    main(["run", *call, "--checkpoint", str(file)])
    capsys.readouterr()
    read = Checkpoint.read

    def read_and_change(checkpoint: Checkpoint) -> Any:
        state = read(checkpoint)
        file.write_text("precious")
        return state

    monkeypatch.setattr(Checkpoint, "read", read_and_change)
    message = error(capsys, "binary-counter", "--max-steps", "500000", "--resume", str(file))
    assert "was changed by another process; not overwritten" in message
    assert file.read_text() == "precious"


def test_places_that_are_no_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    for option in ("--checkpoint", "--resume"):
        message = error(capsys, BB5, option, str(circle))
        assert "circle" in message
    assert "is not a regular file" in error(capsys, BB5, "--checkpoint", "/dev/null")
    message = error(capsys, BB5, "--resume", str(tmp_path / "none"), "--checkpoint", str(circle))
    assert message.count("\n") == 1
