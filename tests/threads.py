"""The same work in several threads at once."""

from collections.abc import Callable
from threading import Thread


def in_threads(work: Callable[[int], None], count: int = 4) -> None:
    """Call it with 0, 1, …, each in a thread of its own, and wait for all."""
    threads = [Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
