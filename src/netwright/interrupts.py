"""Deferred Ctrl-C: loops that save their state handle it between two moments."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HELD = 2.0  # seconds that Ctrl-C is held back at most


@contextmanager
def held_interrupt() -> Iterator[Callable[[], bool]]:
    """Defer the first SIGINT; yields a callable that returns True once one has arrived.

    If the callable is not called within `HELD` seconds, because one moment takes long, the
    KeyboardInterrupt is raised after all. A second SIGINT is not deferred.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came = False
    before = signal.getsignal(signal.SIGINT)

    def hold(_number: int, _frame: object) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, before)
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, let_through)
            signal.setitimer(signal.ITIMER_REAL, HELD)

    def let_through(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def asked() -> bool:
        if came and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        return came

    signal.signal(signal.SIGINT, hold)
    try:
        yield asked
    finally:
        asked()
        signal.signal(signal.SIGINT, before)
