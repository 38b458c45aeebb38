"""Whole campaigns, in processes that are killed, stopped and begun again."""

import errno
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.campaign.campaigns import results, wait_for_more
from tests.campaign.poison import ONCE, POISON, SLEEPER, poisoned
from tests.processes import NETWRIGHT, ended, netwright

import netwright as nw
from netwright.campaign import Local, Plan, Status, rows, run, status
from netwright.campaign.enumeration import table_number
from netwright.campaign.store import MANIFEST, Store
from netwright.errors import InputError, OutputError

FEW = Plan(max_steps=100)


def test_every_machine_has_its_rows(tmp_path: Path) -> None:
    told: list[Status] = []
    found = nw.campaign.run("all:2x2", FEW, tmp_path / "c", Local(2), progress=told.append)
    assert (found.total, found.done, found.rows, found.exit_code) == (61, 61, 122, 0)
    assert told[-1].done == 61
    assert found.finished
    assert status(tmp_path / "c").done == 61
    assert not status(tmp_path / "c").running
    assert [(row["number"], row["on"]) for row in rows(tmp_path / "c")] == [
        (number, on) for number in range(61) for on in ("machine", "transformer")
    ]
    again = run(None, None, tmp_path / "c", resume=True)  # nothing is left to do
    assert again.done == 61


def test_batches_and_workers_change_nothing(tmp_path: Path) -> None:
    for name, workers, batch in (("a", 1, None), ("b", 2, 7)):
        run(["all:2x2", "palindrome"], FEW, tmp_path / name, Local(workers), batch=batch)
    assert results(tmp_path / "a") == results(tmp_path / "b")
    assert results(tmp_path / "a")[-1]["outcome"] == "accepted"
    assert results(tmp_path / "a")[-1]["number"] == 61


def test_a_sample_is_of_the_same_machines(tmp_path: Path) -> None:
    run("all:2x2", FEW, tmp_path / "all", Local(1))
    run("all:2x2", FEW, tmp_path / "some", Local(1), sample=9, seed=3, batch=2)
    some = results(tmp_path / "some")
    assert len({row["number"] for row in some}) == 9
    assert all(row in results(tmp_path / "all") for row in some)
    run("all:2x2", FEW, tmp_path / "others", Local(1), sample=9, seed=4)
    assert results(tmp_path / "others") != some


def test_bad_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("1RB1LB_1LA1RZ\n1RB\n1RB1RZ_0LA1LB\nx 5\nx 6\n")
    run(str(path), FEW, tmp_path / "c", Local(1), skip_bad=True, batch=1)
    assert [row["number"] for row in rows(tmp_path / "c")] == [0, 0, 2, 2]
    assert status(tmp_path / "c").finished
    assert Store(tmp_path / "c").manifest()["sources"][0]["bad"] == [1, 3, 4]


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
    assert wrong[1]["note"] == "its worker was killed by SIGKILL, 3 times of 3"
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
    """The workers of a campaign that is another process, and whoever they come from."""
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
    for _ in range(600):
        if len(list(folder.glob("rows-*"))) >= count:
            return
        time.sleep(0.05)
    raise TimeoutError(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What an uninterrupted campaign gives."""
    folder = tmp_path_factory.mktemp("whole") / "c"
    run("all:3x2:1RB", FEW, folder, Local(2), sample=1200)
    return results(folder)


@needs_proc
def test_whoever_is_killed_nothing_is_lost_and_nothing_is_doubled(
    tmp_path: Path, whole: list[dict[str, Any]]
) -> None:
    draw, folder = random.Random(5), tmp_path / "c"
    options = ["all:3x2:1RB", "--sample", "1200", "--max-steps", "100"]
    where = ("--batch", "20", "-o", str(folder), "--workers", "2")
    for attempt in range(3):
        again = ["--resume"] if attempt else options
        with netwright("campaign", *again, *where) as process:
            orphans = []
            for _ in range(2):
                wait_for_more(folder, 60)
                time.sleep(draw.uniform(0, 0.3))
                orphans += workers_of(process)
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(orphans), signal.SIGKILL)
            if attempt == 2:
                _, err = process.communicate(timeout=120)
                assert process.returncode == 0, err
                break
            wait_for_more(folder, 20)
            orphans += workers_of(process)
            process.kill()
            process.wait()
            deadline = time.monotonic() + 10
            while any(map(is_alive, orphans)) and time.monotonic() < deadline:
                time.sleep(0.1)
            assert not any(map(is_alive, orphans))
    assert results(folder) == whole


def test_ctrl_c_once_keeps_what_is_under_way(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with started(folder, "--batch", "30") as process:
        wait_for_parts(folder, 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    kept = status(folder).done
    assert err == (
        f"netwright: interrupted; {kept:,} of 5,417 machines are kept; go on with: netwright "
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
        wait_for_parts(folder, 1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None  # it waits for the sleeper
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "1 of 2 machines are kept" in err
    assert len(list(rows(folder))) == 2


def test_two_campaigns_in_one_folder_are_refused_and_status_looks_on(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    with started(folder, "--batch", "30") as process:
        wait_for_parts(folder, 2)
        refused = ended("campaign", "--resume", "-o", str(folder))
        assert refused.returncode == 2
        assert refused.stderr == (f"netwright: another process works on the campaign in {folder}\n")
        packing = ended("campaign", "pack", str(folder))
        assert packing.returncode == 2
        assert "wait for it" in packing.stderr
        looked = json.loads(ended("campaign", "status", str(folder), "--json").stdout)
        assert looked["running"]
        assert 0 < looked["done"] < looked["total"] == 5_417
        assert looked["workers"] >= 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert not status(folder).running


def test_it_goes_on_from_another_folder_and_shows_without_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list").write_text("1RB1LB_1LA1RZ\n1RB1RZ_0LA1LB\n")
    run("list", FEW, "c", Local(1))
    (part,) = Path("c").glob("rows-*")
    part.unlink()
    Path("other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert run(None, None, "../c", Local(1), resume=True).done == 2
    Path("../list").unlink()
    assert status("../c").finished
    assert len(list(rows("../c"))) == 4


def test_another_plan_source_or_version_is_refused_by_name(tmp_path: Path) -> None:
    folder, path = tmp_path / "c", tmp_path / "list"
    path.write_text("1RB1LB_1LA1RZ\n")
    run(str(path), FEW, folder, Local(1))
    before = results(folder)

    def refused(match: str, source: str | None, plan: Plan | None, **options: Any) -> None:
        with pytest.raises(InputError, match=match):
            run(source, plan, folder, Local(1), **{"resume": True, **options})

    refused("has a campaign already", str(path), FEW, resume=False)
    refused("has max_steps 100, not 50", str(path), Plan(max_steps=50))
    refused("has on machine,transformer, not rnn", str(path), Plan(on="rnn", max_steps=100))
    refused(
        "has options none, not {'score': 'recency'}",
        None,
        Plan(max_steps=100, options={"score": "recency"}),
    )
    refused("has source .*list, not all:2x2", "all:2x2", FEW)
    refused("has sample none, not 1", str(path), FEW, sample=1)
    path.write_text("1RB1RZ_0LA1LB\n")
    refused("list has changed since", None, None)
    path.unlink()
    with pytest.raises(nw.NetwrightError, match="list"):
        run(None, None, folder, Local(1), resume=True)
    path.write_text("1RB1LB_1LA1RZ\n")
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, "version": "0.0.1"}))
    refused("begun by netwright 0.0.1", None, None)
    assert results(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        run("all:2x2", FEW, tmp_path / "c", Local(1))


def test_places_that_are_no_folder_for_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="is no folder"):
        run("all:2x2", FEW, tmp_path / "file", Local(1))
    with pytest.raises(OutputError, match="not empty, and has no campaign"):
        run("all:2x2", FEW, tmp_path, Local(1))
    with pytest.raises(InputError, match="has no campaign to go on with"):
        run(None, None, tmp_path / "new", resume=True)
    with pytest.raises(InputError, match="all:NxM"):
        run("all:5x2", FEW, tmp_path / "new", Local(1))
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_a_full_disk_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync
    left = 6

    def fsync(number: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OutputError, match=r"No space left on device; .* kept; go on with"):
            run("all:2x2", FEW, tmp_path / "c", Local(1), batch=5)
    kept = len(results(tmp_path / "c"))
    assert 0 < kept < 122
    run(None, None, tmp_path / "c", Local(1), resume=True)
    run("all:2x2", FEW, tmp_path / "whole", Local(1))
    assert results(tmp_path / "c") == results(tmp_path / "whole")


def test_machines_from_a_pipe_can_be_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    text = "1RB1LB_1LA1RZ\n1RB1RZ_0LA1LB\n"
    found = subprocess.run(
        [*NETWRIGHT, "campaign", "-", "-o", str(folder), "--json"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert (answer["machines"], answer["networks"]["transformer"]["agree"]) == (2, 2)
    assert (folder / ".netwright-stdin").read_text() == text
    for part in folder.glob("rows-*"):
        part.unlink()
    assert ended("campaign", "--resume", "-o", str(folder)).returncode == 0
    assert len(list(rows(folder))) == 4
    refused = subprocess.run(
        [*NETWRIGHT, "campaign", "-", "-o", str(tmp_path / "d")],
        input="1RB1LB_1LA1RZ\nnonsense 1\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "standard input:2" in refused.stderr
    assert not (tmp_path / "d").exists()


def test_a_source_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path, folder = tmp_path / "list", tmp_path / "c"
    text = "".join(f"{table_number(2, 2, n)}\n" for n in range(500))
    path.write_text(text)

    def change(now: Status) -> None:
        if now.done > 20:
            path.write_text(text[: len(text) // 2])

    with pytest.raises(InputError, match=r"list has changed .* are kept; go on with"):
        run(str(path), FEW, folder, Local(1), batch=5, progress=change)
    path.write_text(text)
    found = run(None, None, folder, Local(1), resume=True)
    assert found.done == 500
    assert [row["number"] for row in rows(folder)] == [n for n in range(500) for _ in range(2)]


def test_machines_of_a_folder_that_vanish_are_noticed(tmp_path: Path) -> None:
    place = tmp_path / "machines"
    place.mkdir()
    for n in range(60):
        (place / f"{n:03}").write_text(table_number(2, 2, 100 * n))

    def remove(_now: Status) -> None:
        (place / "055").unlink(missing_ok=True)

    with pytest.raises(InputError, match="machines has changed"):
        run(place, FEW, tmp_path / "c", Local(1), batch=1, progress=remove)
    assert not status(tmp_path / "c").finished
    with pytest.raises(InputError, match="is inside"):
        run(place, FEW, place / "out", Local(1))
    assert not (place / "out").exists()


def test_lines_that_are_all_bad(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("1RB1LB_1LA1RZ\nfoo 1\nbar 2\n")
    with pytest.raises(InputError, match="no machine in all of that"):
        run(f"{path}:1-2", FEW, tmp_path / "c", Local(1), skip_bad=True)
    found = run([f"{path}:1-2", "all:2x2"], FEW, tmp_path / "d", Local(1), skip_bad=True)
    assert (found.total, found.done) == (61, 61)
    found = run(str(path), FEW, tmp_path / "e", Local(1), skip_bad=True, sample=1)
    assert (found.total, found.rows) == (1, 2)


def test_damaged_parts_are_named_and_spoil_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    run("all:2x2", FEW, folder, Local(1))
    whole = results(folder)
    (part,) = folder.glob("rows-*")
    lines = gzip.decompress(part.read_bytes()).splitlines(keepends=True)
    part.unlink()
    store = Store(folder)
    for n in range(61):
        store.write(n, n, b"".join(lines[2 * n : 2 * n + 2]))
    bad = folder / "rows-000000000007-000000000007.jsonl.gz"
    for content in (b"", bad.read_bytes()[:40], b"no gzip at all"):
        bad.write_bytes(content)
        for call in (status, lambda place: run(None, None, place, Local(1), resume=True)):
            with pytest.raises(nw.NetwrightError, match=r"000007.jsonl.gz is damaged"):
                call(folder)
        assert len(list(folder.glob("rows-*"))) == 61
    bad.unlink()
    assert run(None, None, folder, Local(1), resume=True).done == 61
    assert results(folder) == whole


def test_workers_know_nothing_of_modules_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queue.py").write_text("raise SystemExit('not me')")
    assert run("1RB1LB_1LA1RZ", FEW, "c", Local(1)).done == 1


def test_ctrl_c_while_machines_are_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    path = tmp_path / "list"
    path.write_text("1RB1LB_1LA1RZ\n" * 400_000)
    with netwright("campaign", f"{path}:399999", "-o", str(folder)) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode in (0, 130), err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": 5}, "expected a source"),
        ({"source": [5]}, "expected a source"),
        ({"source": b"all:2x2"}, "expected a source"),
        ({"plan": {}}, "expected a Plan"),
        ({"engine": "local"}, r"expected Local\(…\) or Dask"),
        ({"sample": "3"}, "sample is '3'"),
        ({"sample": 2.0}, r"sample is 2\.0"),
        ({"seed": [1]}, "seed is"),
        ({"batch": True}, "batch is True"),
        ({"batch": 0}, "1 or more"),
        ({"folder": 5}, "expected a path"),
    ],
)
def test_bad_arguments_leave_nothing(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    call = {"source": "all:2x2", "plan": FEW, "folder": tmp_path / "c", **given}
    with pytest.raises(nw.NetwrightError, match=message):
        run(call.pop("source"), call.pop("plan"), **call)
    assert not (tmp_path / "c").exists()


def test_a_script_without_a_main_guard_works(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import netwright as nw\n"
        "plan = nw.campaign.Plan(on='rnn', do='certify')\n"
        f"print(nw.campaign.run('all:2x2', plan, {str(tmp_path / 'c')!r}).exit_code)\n"
        f"print(sum(row['certified'] for row in nw.campaign.rows({str(tmp_path / 'c')!r})))\n"
    )
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert found.stdout == "0\n61\n", found.stderr
