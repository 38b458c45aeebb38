"""Campaigns as tests look at them."""

import time
from pathlib import Path
from typing import Any

from netwright.campaign import rows, status
from netwright.campaign.plan import MEASURED


def results(folder: Path) -> list[dict[str, Any]]:
    """The rows without what was measured."""
    return [{k: v for k, v in row.items() if k not in MEASURED} for row in rows(folder)]


def wait_for_more(folder: Path, machines: int) -> None:
    """Until so many more machines are done."""
    before = None
    for _ in range(2400):
        if (folder / "campaign.json").exists():
            done = status(folder).done
            before = done if before is None else before
            if done >= before + machines:
                return
        time.sleep(0.05)
    raise TimeoutError(folder)
