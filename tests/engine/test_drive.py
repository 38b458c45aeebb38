"""Following a run: Ctrl-C is held back until a moment is over, but not for ever."""

import signal
import time
from typing import Any

import numpy as np
import pytest

from netwright.engine.following.drive import follow


class OneStep:
    """A follower of a run that never ends."""

    outcome = None
    max_steps = 10**9
    steps = 0
    cells = 1
    moments = 0

    def remaining(self) -> int:
        return 1

    def take(self, codes: Any) -> None:
        self.steps += len(codes)

    def snapshot(self) -> dict[str, Any]:
        return {}

    restore = None


class Interrupted:
    """Moments, in the third of which Ctrl-C is pressed; it takes some seconds more, or an hour."""

    compile_seconds, reason, fast, most_at_once = 0.0, None, True, 1 << 16

    def __init__(self, seconds: float) -> None:
        self.seconds, self.begun, self.done = seconds, 0, 0

    def advance(self, count: int) -> Any:
        self.begun += 1
        if self.begun == 3:
            signal.raise_signal(signal.SIGINT)
            time.sleep(self.seconds)
        self.done += 1
        return np.zeros((1, 1), dtype=np.int64)

    def snapshot(self) -> dict[str, Any]:
        return {}

    restore = None


@pytest.mark.parametrize(("seconds", "done"), [(0.1, 3), (3600, 2)])
def test_a_moment_is_finished_unless_it_takes_long(
    seconds: float, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netwright.machine.simulate.HELD", 60.0 if seconds < 1 else 0.2)
    moments, follower = Interrupted(seconds), OneStep()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        follow(moments, follower)  # type: ignore[arg-type]  # which needs no snapshots
    assert (moments.begun, moments.done) == (3, done)
    assert follower.steps == done
    assert signal.getsignal(signal.SIGINT) is before
