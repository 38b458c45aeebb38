"""Campaigns whose processes are killed, hang, or are stopped and resumed."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.campaign.campaigns import PATIENCE, results, wait_for, wait_for_more
from tests.campaign.poison import ASLEEP, ONCE, POISON, SLEEPER, poisoned
from tests.processes import netwright
from tests.repetition import repeated

import netwright as nw
from netwright.campaign import Local, Plan, rows, run, status
from netwright.campaign.manifest import Work
from netwright.campaign.work import Item
from netwright.cli import main
from netwright.errors import StoppedError

FEW = Plan(max_steps=100)
MACHINES = repeated(1200, 800)  # enough for a quick computer to be in the middle of them


def test_a_machine_that_kills_or_hangs_its_worker_has_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(tmp_path, monkeypatch)
    good = ["1RB1LB_1LA1RZ", "1RB1RZ_0LA1LB"]
    path = tmp_path / "list"
    path.write_text("\n".join([good[0], POISON, good[1], SLEEPER, ONCE, good[0]]))
    plan = Plan(on="machine,transformer,rnn", max_steps=50, time_limit=4)
    found = run(str(path), plan, tmp_path / "c", Local(2), batch=6)
    assert (found.done, found.rows, found.failures, found.exit_code) == (6, 18, 2, 4)
    wrong = {row["number"]: row for row in rows(tmp_path / "c") if row["agrees"] is None}
    wrong = {n: row for n, row in wrong.items() if row["on"] != "machine"}
    assert {n: (row["on"], row["outcome"]) for n, row in wrong.items()} == {
        1: ("transformer", "crashed"),
        3: ("transformer", "timeout"),
    }
    assert wrong[1]["note"] == "its worker was killed by SIGKILL, 3 times out of 3"
    assert wrong[3]["note"] == "took longer than 4 seconds"


def test_a_worker_that_cannot_start_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("import os; os._exit(9)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    with pytest.raises(nw.NetwrightError, match=r"a worker cannot start: .*exit code 9.*--resume"):
        run("all:2x2", FEW, tmp_path / "c", Local(1))


def workers_of(process: "subprocess.Popen[str]") -> list[int]:
    """The worker processes of a campaign in another process, with the fork server."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = {process.pid}
    while new := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= new
    return sorted(found - {process.pid})


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def started(folder: Path, *options: str) -> Any:
    source = () if "--resume" in options else ("all:3x2",)
    return netwright("campaign", *source, "--max-steps", "100", "-o", str(folder), *options)


def wait_for_parts(folder: Path, count: int) -> None:
    wait_for(lambda: len(list(folder.glob("rows-*"))) >= count)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of an uninterrupted campaign."""
    folder = tmp_path_factory.mktemp("whole") / "c"
    run("all:3x2:1RB", FEW, folder, Local(2), sample=MACHINES)
    return results(folder)


@needs_proc
def test_whoever_is_killed_nothing_is_lost_and_nothing_is_doubled(
    tmp_path: Path, whole: list[dict[str, Any]]
) -> None:
    draw, folder = random.Random(5), tmp_path / "c"
    options = ["all:3x2:1RB", "--sample", str(MACHINES), "--max-steps", "100"]
    where = ("--batch", "20", "-o", str(folder), "--workers", "2")
    last = repeated(2, 1)
    for attempt in range(last + 1):
        again = ["--resume"] if attempt else options
        with netwright("campaign", *again, *where) as process:
            orphans = []
            for _ in range(2):
                wait_for_more(folder, 20)
                time.sleep(draw.uniform(0, 0.05))
                orphans += workers_of(process)
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(orphans), signal.SIGKILL)
            if attempt == last:
                _, err = process.communicate(timeout=PATIENCE)
                assert process.returncode == 0, err
                break
            wait_for_more(folder, 20)
            orphans += workers_of(process)
            process.kill()
            process.wait()
            wait_for(lambda: not any(map(is_alive, orphans)))  # noqa: B023  # it is called at once
    assert results(folder) == whole


def test_ctrl_c_once_keeps_what_is_under_way(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with started(folder, "--batch", "30") as process:
        wait_for_parts(folder, 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    kept = status(folder).done
    assert err == (
        f"netwright: interrupted; {kept:,} of 5,417 machines are kept; resume with: netwright "
        f"campaign --resume -o {folder}\n"
    )
    numbers = [row["number"] for row in rows(folder)]
    assert numbers == sorted(numbers)
    assert len(numbers) == 2 * kept
    assert not (folder / "progress.json").exists()


def test_ctrl_c_twice_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poisoned(tmp_path, monkeypatch)
    path, folder = tmp_path / "list", tmp_path / "c"
    path.write_text(f"1RB1LB_1LA1RZ\n{SLEEPER}\n")
    with netwright("campaign", str(path), "-o", str(folder), "--batch", "1") as process:
        wait_for(lambda: len(list(folder.glob("rows-*"))) >= 1 and (tmp_path / ASLEEP).exists())
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None  # it waits for the sleeper
        while process.poll() is None:  # two signals at once would be one; a third may kill it
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "1 of 2 machines are kept" in err
    assert len(list(rows(folder))) == 2


def test_two_campaigns_in_one_folder_are_refused_and_status_looks_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "c"
    with started(folder, "--batch", "30") as process:
        wait_for_parts(folder, 2)
        assert main(["campaign", "--resume", "-o", str(folder)]) == 2
        message = capsys.readouterr().err
        assert message == f"netwright: another process is working on the campaign in {folder}\n"
        assert main(["campaign", "pack", str(folder)]) == 2
        assert "wait for it" in capsys.readouterr().err
        assert main(["campaign", "status", str(folder), "--json"]) == 0
        looked = json.loads(capsys.readouterr().out)
        assert looked["running"]
        assert 0 < looked["done"] < looked["total"] == 5_417
        assert looked["workers"] >= 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert not status(folder).running


def test_ctrl_c_while_machines_are_looked_for_ends_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Work.items

    def items(self: Work, first: int, end: int) -> Iterator[Item]:
        for item in real(self, first, end):
            if item.number == 30:
                signal.raise_signal(signal.SIGINT)
            yield item

    with monkeypatch.context() as patch:
        patch.setattr(Work, "items", items)
        with pytest.raises(StoppedError, match=r"interrupted; \d+ of 61 machines are kept; resume"):
            run("all:2x2", FEW, tmp_path / "c", Local(1), batch=5)
    assert status(tmp_path / "c").done < 31
    assert run(None, None, tmp_path / "c", Local(1), resume=True).done == 61
    assert len(results(tmp_path / "c")) == 122
