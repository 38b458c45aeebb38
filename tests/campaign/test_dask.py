"""The same on a Dask cluster of separate processes, of which any may be killed."""

import random
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra campaign installs it")

from tests.campaign.campaigns import results, wait_for_more
from tests.campaign.dask_cluster import cluster, free_port, killed
from tests.campaign.poison import POISON, SLEEPER, poisoned
from tests.processes import netwright

from netwright.campaign import Dask, Local, Plan, run, status
from netwright.campaign.crew import WorkersError
from netwright.errors import InputError

PLAN = Plan(max_steps=200)
SOURCE = "random:5x2:2000"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 10))]
)
def test_workers_client_and_scheduler_are_killed_and_no_row_is_lost(
    seed: int, tmp_path: Path
) -> None:
    draw = random.Random(seed)
    run(SOURCE, PLAN, tmp_path / "whole", Local(2))
    folder = tmp_path / "c"
    asked = [SOURCE, "--max-steps", "200"]
    with cluster(2) as dask:
        where = ("--batch", "10", "-o", str(folder), "--scheduler", dask.address)
        with netwright("campaign", *asked, *where) as process:
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
            _, err = process.communicate(timeout=120)
            assert process.returncode == 2, err
            assert "is gone; " in err
            assert err.count("\n") == 1
        dask.start_again()
        left = status(folder)
        assert 0 < left.done < left.total
        with netwright("campaign", "--resume", *where) as process:
            wait_for_more(folder, 10)
            dask.kill_worker(draw)
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
            assert "no disagreement" in out
    assert results(folder) == results(tmp_path / "whole")


def test_a_machine_that_kills_or_hangs_its_worker_has_a_row_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poisoned(tmp_path, monkeypatch)
    path = tmp_path / "list"
    path.write_text(f"1RB1LB_1LA1RZ\n{POISON}\n{SLEEPER}\n1RB1RZ_0LA1LB\n")
    with cluster(1) as dask:
        found = run(str(path), Plan(max_steps=50, time_limit=4), tmp_path / "c", Dask(dask.address))
    assert (found.done, found.failures) == (4, 2)
    outcomes = [row["outcome"] for row in results(tmp_path / "c") if row["on"] == "transformer"]
    assert outcomes == ["halted", "crashed", "timeout", "halted"]
    assert status(tmp_path / "c").finished


def test_two_campaigns_on_one_cluster_do_not_disturb_each_other(tmp_path: Path) -> None:
    with cluster(1) as dask:
        where = ("--scheduler", dask.address, "--max-steps", "200")
        with netwright("campaign", "random:5x2:600", "-o", str(tmp_path / "a"), *where) as one:
            wait_for_more(tmp_path / "a", 5)
            for n in range(3):
                run("all:2x2:1RB", PLAN, tmp_path / f"b{n}", Dask(dask.address))
            _, err = one.communicate(timeout=120)
            assert one.returncode == 0, err
    assert len(results(tmp_path / "a")) == 1200
    assert len(results(tmp_path / "b2")) == 82


def test_no_scheduler_and_no_address(tmp_path: Path) -> None:
    with pytest.raises(WorkersError, match="no scheduler answers at tcp://127"):
        run("all:2x2", PLAN, tmp_path / "c", Dask(f"tcp://127.0.0.1:{free_port()}"))
    with pytest.raises(InputError, match="expected an address such as"):
        Dask("localhost")
