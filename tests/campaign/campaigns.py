"""Campaigns as tests look at them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netwright.campaign import rows, status
from netwright.campaign.plan import MEASURED

PATIENCE = 600.0
"""Seconds; more than anything takes, on however busy a machine."""


def results(folder: Path) -> list[dict[str, Any]]:
    """The rows without what was measured."""
    return [{k: v for k, v in row.items() if k not in MEASURED} for row in rows(folder)]


def wait_for(done: Callable[[], bool]) -> None:
    """Until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def wait_for_more(folder: Path, machines: int) -> None:
    """Until so many more machines are done."""
    wait_for((folder / "campaign.json").exists)
    before = status(folder).done
    wait_for(lambda: status(folder).done >= before + machines)
