"""The same on a Dask cluster of separate processes, of which any may be killed."""

import random
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra campaign installs it")

from tests.campaign.campaigns import PATIENCE, results, wait_for_more
from tests.campaign.dask_cluster import Cluster, cluster, free_port, killed
from tests.campaign.poison import POISON, SLEEPER, poisoned
from tests.processes import netwright

from netwright.campaign import Dask, Local, Plan, Status, run, status
from netwright.campaign.on_dask import _Task
from netwright.campaign.pool import LostError, WorkersError
from netwright.errors import InputError

PLAN = Plan(max_steps=200)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster for all tests; some machines are poison for its workers only."""
    with pytest.MonkeyPatch.context() as patch:
        poisoned(tmp_path_factory.mktemp("poison"), patch)
        started = Cluster(2)
    try:
        yield started
    finally:
        started.close()


def test_a_worker_is_killed_and_no_row_is_lost(dask: Cluster, tmp_path: Path) -> None:
    source, draw = "random:5x2:200", random.Random(0)
    killings: list[int] = []

    def kill_one(found: Status) -> None:
        if found.done > 20 and not killings:
            killings.append(found.done)
            dask.kill_worker(draw)

    run(source, PLAN, tmp_path / "c", Dask(dask.address), batch=10, progress=kill_one)
    assert killings
    run(source, PLAN, tmp_path / "whole", Local(2))
    assert results(tmp_path / "c") == results(tmp_path / "whole")


def test_a_batch_that_is_cancelled_while_it_is_fetched_is_lost_and_no_error() -> None:
    """The scheduler may die between `cancelled()` and `result()` of a batch."""

    class Late:
        def cancelled(self) -> bool:
            return False

        def result(self, timeout: float) -> None:
            raise CancelledError("scheduler-connection-lost")

    task = _Task(Late())
    assert not task.cancelled()
    with pytest.raises(LostError, match="its workers are gone: scheduler-connection-lost"):
        task.result()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(10))
def test_workers_client_and_scheduler_are_killed_and_no_row_is_lost(
    seed: int, tmp_path: Path
) -> None:
    draw, source = random.Random(seed), "random:5x2:2000"
    run(source, PLAN, tmp_path / "whole", Local(2))
    folder = tmp_path / "c"
    with cluster(2) as dask:
        where = ("--batch", "10", "-o", str(folder), "--scheduler", dask.address)
        with netwright("campaign", source, "--max-steps", "200", *where) as process:
            for more in (20, 20):
                wait_for_more(folder, more)
                time.sleep(draw.uniform(0, 0.5))
                dask.kill_worker(draw)
            wait_for_more(folder, 10)
            process.kill()
        with netwright("campaign", "--resume", *where) as process:
            wait_for_more(folder, 20)
            dask.kill_worker(draw)
            time.sleep(draw.uniform(0, 1))
            killed(dask.scheduler)
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 2, err
            assert "is gone; " in err
            assert err.count("\n") == 1
        dask.start_again()
        left = status(folder)
        assert 0 < left.done < left.total
        with netwright("campaign", "--resume", *where) as process:
            wait_for_more(folder, 10)
            dask.kill_worker(draw)
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            assert "no disagreement" in out
    assert results(folder) == results(tmp_path / "whole")


def test_a_machine_that_kills_or_hangs_its_worker_has_a_row_there_too(
    dask: Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "list"
    path.write_text(f"1RB1LB_1LA1RZ\n{POISON}\n{SLEEPER}\n1RB1RZ_0LA1LB\n")
    found = run(str(path), Plan(max_steps=50, time_limit=4), tmp_path / "c", Dask(dask.address))
    assert (found.done, found.failures) == (4, 2)
    outcomes = [row["outcome"] for row in results(tmp_path / "c") if row["on"] == "transformer"]
    assert outcomes == ["halted", "crashed", "timeout", "halted"]
    assert status(tmp_path / "c").finished


def test_two_campaigns_on_one_cluster_do_not_disturb_each_other(
    dask: Cluster, tmp_path: Path
) -> None:
    with ThreadPoolExecutor() as threads:
        one = threads.submit(run, "random:5x2:200", PLAN, tmp_path / "a", Dask(dask.address))
        wait_for_more(tmp_path / "a", 5)
        for n in range(2):
            run("all:2x2:1RB", PLAN, tmp_path / f"b{n}", Dask(dask.address))
        assert one.result(PATIENCE).finished
    assert len(results(tmp_path / "a")) == 400
    assert len(results(tmp_path / "b1")) == 82


def test_no_scheduler_and_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netwright.campaign.on_dask.ANSWERS", 1.0)
    with pytest.raises(WorkersError, match="no scheduler answers at tcp://127"):
        run("all:2x2", PLAN, tmp_path / "c", Dask(f"tcp://127.0.0.1:{free_port()}"))
    with pytest.raises(InputError, match="expected an address such as"):
        Dask("localhost")
