"""Machines that kill or hang their worker, by a sitecustomize file that Python loads."""

import os
from pathlib import Path

import pytest

POISON, SLEEPER, ONCE = "1RB1LA_1LA1RB", "1RB0LA_1LA1RB", "1RB0LA_0LA1RB"
ASLEEP = "asleep"
"""The file that exists once the sleeper sleeps."""
_SITE = """
import os, signal, time
import netwright.campaign.work as work
before = work.rows_of

def rows_of(item, plan, skip=0):
    for row in before(item, plan, skip):
        if row["on"] == "transformer":
            if item.machine == {poison!r}:
                os.kill(os.getpid(), signal.SIGKILL)
            if item.machine == {sleeper!r}:
                open({asleep!r}, "w").close()
                time.sleep(1000)
            if item.machine == {once!r} and not os.path.exists({mark!r}):
                open({mark!r}, "w").close()
                os.kill(os.getpid(), signal.SIGSEGV)
        yield row

work.rows_of = rows_of
"""


def poisoned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all new processes die or sleep at these machines."""
    site = folder / "site"
    site.mkdir()
    marks = {name: str(folder / name) for name in ("mark", ASLEEP)}
    (site / "sitecustomize.py").write_text(
        _SITE.format(poison=POISON, sleeper=SLEEPER, once=ONCE, **marks)
    )
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
