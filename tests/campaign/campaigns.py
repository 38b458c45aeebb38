"""Helpers of campaign tests: their rows, and waiting for progress."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from netwright.campaign import rows, status
from netwright.campaign.plan import MEASURED

PATIENCE = 600.0
"""Seconds: enough for every wait, even on a busy machine."""


def results(folder: Path) -> list[dict[str, Any]]:
    """The rows without measured columns."""
    return [{k: v for k, v in row.items() if k not in MEASURED} for row in rows(folder)]


def wait_for(done: Callable[[], bool]) -> None:
    """Poll until a condition holds; raise TimeoutError after `PATIENCE` seconds."""
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def wait_for_more(folder: Path, machines: int) -> None:
    """Wait until this many more machines are done."""
    wait_for((folder / "campaign.json").exists)
    before = status(folder).done
    wait_for(lambda: status(folder).done >= before + machines)
