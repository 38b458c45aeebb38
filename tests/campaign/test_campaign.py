"""Whole campaigns: their rows, their sources, their folders, and what is refused."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.campaign.campaigns import results
from tests.processes import NETWRIGHT, ended

import netwright as nw
from netwright.campaign import Local, Plan, Status, rows, run, status
from netwright.campaign.enumeration import table_number
from netwright.campaign.index import sealed
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

    refused("already has a campaign", str(path), FEW, resume=False)
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
    written = (folder / MANIFEST).read_bytes()
    manifest = {**json.loads(written), "version": "0.0.1"}
    del manifest["digest"]
    (folder / MANIFEST).write_bytes(sealed(manifest))
    refused("started by netwright 0.0.1", None, None)
    (folder / MANIFEST).write_bytes(written)
    assert results(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"):
        run("all:2x2", FEW, tmp_path / "c", Local(1))


def test_places_that_are_no_folder_for_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="is not a folder"):
        run("all:2x2", FEW, tmp_path / "file", Local(1))
    with pytest.raises(OutputError, match="not empty and has no campaign"):
        run("all:2x2", FEW, tmp_path, Local(1))
    with pytest.raises(InputError, match="has no campaign to resume"):
        run(None, None, tmp_path / "new", resume=True)
    with pytest.raises(InputError, match="all:NxM"):
        run("all:5x2", FEW, tmp_path / "new", Local(1))
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_a_full_disk_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def fsync(number: int) -> None:
        if len(list((tmp_path / "c").glob("rows-*"))) >= 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OutputError, match=r"No space left on device; .* kept; resume with"):
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

    with pytest.raises(InputError, match=r"list has changed .* are kept; resume with"):
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
    with pytest.raises(InputError, match="no machines in the sources"):
        run(f"{path}:1-2", FEW, tmp_path / "c", Local(1), skip_bad=True)
    found = run([f"{path}:1-2", "all:2x2"], FEW, tmp_path / "d", Local(1), skip_bad=True)
    assert (found.total, found.done) == (61, 61)
    found = run(str(path), FEW, tmp_path / "e", Local(1), skip_bad=True, sample=1)
    assert (found.total, found.rows) == (1, 2)


def test_damaged_parts_are_named_and_spoil_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    run("all:2x2", FEW, folder, Local(1))
    whole = results(folder)
    lines = list(rows(folder))
    (part,) = folder.glob("rows-*")
    part.unlink()
    store = Store(folder)
    for n in range(61):
        store.write(n, n, lines[2 * n : 2 * n + 2])
    bad = folder / "rows-000000000007-000000000007.jsonl.gz"
    other = bad.with_name("rows-000000000008-000000000008.jsonl.gz").read_bytes()
    for content in (b"", bad.read_bytes()[:40], b"no gzip at all", bad.read_bytes() * 2, other):
        bad.write_bytes(content)
        with pytest.raises(nw.NetwrightError, match=r"000007.jsonl.gz is damaged .*--resume"):
            status(folder)
        with pytest.raises(nw.NetwrightError, match=r"000007.jsonl.gz is damaged"):
            list(rows(folder))
    with pytest.warns(nw.FormatWarning, match=r"000007.jsonl.gz is damaged .*damaged-rows-0*7-"):
        assert run(None, None, folder, Local(1), resume=True).done == 61
    assert results(folder) == whole
    assert (folder / f"damaged-{bad.name}").read_bytes() == other


def test_workers_know_nothing_of_modules_in_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queue.py").write_text("raise SystemExit('not me')")
    assert run("1RB1LB_1LA1RZ", FEW, "c", Local(1)).done == 1


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
