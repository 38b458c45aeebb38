"""A Dask cluster of separate processes on loopback, of which any may be killed."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A scheduler and workers; a killed one can be started again."""

    def __init__(self, workers: int) -> None:
        self.environment = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"}
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self._start_scheduler()
        self.workers = [self._start_worker() for _ in range(workers)]

    def _start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environment,
        )

    def _start_scheduler(self) -> "subprocess.Popen[bytes]":
        started = self._start(
            *("distributed.cli.dask_scheduler", "--host", "127.0.0.1"),
            *("--port", str(self.port), "--no-dashboard"),
        )
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return started
            time.sleep(0.1)
        raise TimeoutError("the scheduler does not answer")

    def _start_worker(self) -> "subprocess.Popen[bytes]":
        return self._start(
            *("distributed.cli.dask_worker", self.address, "--no-nanny", "--nthreads", "1"),
            *("--no-dashboard", "--host", "127.0.0.1"),
        )

    def kill_worker(self, draw: random.Random) -> None:
        """Kill a worker; another one takes its place."""
        place = draw.randrange(len(self.workers))
        killed(self.workers[place])
        self.workers[place] = self._start_worker()

    def start_again(self) -> None:
        """Start a new scheduler at the same address, with new workers."""
        self.close()
        self.scheduler = self._start_scheduler()
        self.workers = [self._start_worker() for _ in self.workers]

    def close(self) -> None:
        for process in (self.scheduler, *self.workers):
            killed(process)


def killed(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    started = Cluster(workers)
    try:
        yield started
    finally:
        started.close()
