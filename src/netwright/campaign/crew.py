"""Workers as those see them who give them work, and the crew of one machine.

A batch goes to one worker. If that dies, it is known at which machine: another worker goes on with
it. A machine that kills its workers time and again has a row that says so, and so has one that
takes too long; everything else goes on.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.metadata import version
from time import monotonic
from typing import Any, NamedTuple

from netwright.campaign.plan import Plan
from netwright.campaign.processes import Child, Family, Process, begin, close_pipes
from netwright.campaign.work import Item, failed_row, written_row
from netwright.campaign.worker import READY
from netwright.errors import InputError, NetwrightError

TRIES = 3
"""Workers that a machine may cost before it is given up: they may also die by chance."""
TO_START = 300.0
"""Seconds until a worker must be ready: the very first compiles its code."""


class WorkersError(NetwrightError):
    """There is nobody to do the work: workers do not start, or a cluster is gone."""


class LostError(NetwrightError):
    """Whoever had a batch is gone, and another one can do it."""


class Done(NamedTuple):
    """A batch that is done."""

    rows: bytes
    """Lines of JSON."""
    seconds: float


class Worker:
    """A process that does batches for one plan."""

    def __init__(self, plan: dict[str, Any], process: Process | None = None) -> None:
        self.plan = plan
        self._begun = process
        """One that is beginning already."""
        self.targets = Plan(**plan).targets
        self.limit: float = plan["time_limit"]
        self._process: Process | None = None
        self._deadline: float | None = None
        self._heard = monotonic()
        self._timed_out = False
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def do(self, items: Sequence[Item]) -> Done:
        """All rows of a batch."""
        started = monotonic()
        rows: list[bytes] = []
        jobs = [(item, on) for item in items for on in self.targets]
        tries, careful = 0, False
        while len(rows) < len(jobs) and not self._closed.is_set():
            self._timed_out = False
            new = list(self._rows(items, len(rows), careful))
            rows += new
            if len(rows) == len(jobs):
                break
            # It died. Where, is known of those who are careful; the next one is.
            ended = self._end()
            tries = 0 if not careful else tries + 1 if not new else 1
            if careful and (self._timed_out or tries == TRIES):
                item, on = jobs[len(rows)]
                if self._timed_out:
                    outcome, note = "timeout", f"took longer than {self.limit:g} seconds"
                else:
                    outcome, note = "crashed", f"its worker {ended}, {TRIES} times of {TRIES}"
                took = monotonic() - self._heard
                rows.append(written_row(failed_row(item, on, outcome, note, took)))
                tries = 0
            careful = True
        if len(rows) < len(jobs):
            raise LostError("its worker was sent away")
        return Done(b"".join(rows), monotonic() - started)

    def close(self) -> None:
        """End it; what it is at is lost."""
        self._closed.set()
        self._end()
        if self._begun is not None:
            close_pipes(self._begun)

    def _rows(self, items: Sequence[Item], done: int, careful: bool) -> Iterator[bytes]:
        """The rows of a batch behind the first `done`, as they come, while the worker lives."""
        first, skip = divmod(done, len(self.targets))
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"skip": skip, "careful": careful, "items": items[first:]}
        batch = json.dumps(asked).encode() + b"\n"
        self._hear()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(batch)
                process.stdin.flush()
            for _ in range(len(items) * len(self.targets) - done):
                line = process.stdout.readline()
                if not line.endswith(b"\n"):  # it died, at times in the middle of a line
                    return
                self._hear()
                yield line
        finally:
            self._deadline = None

    def _hear(self) -> None:
        """Note that a row came, or that the first is awaited."""
        self._heard = monotonic()
        self._deadline = self._heard + self.limit

    def _started(self) -> Process:
        """The process; a new one if there is none. It, too, may die by chance."""
        how = ""
        for _ in range(TRIES):
            if self._process is not None or self._closed.is_set():
                break
            how = self._start()
        if self._process is None:
            raise WorkersError(f"a worker cannot start: {sys.executable} {how}")
        return self._process

    def _start(self) -> str:
        """Begin a process; how it ended, if it was not ready before."""
        self._timed_out = False
        process = self._process = self._begun or begin()
        is_new, self._begun = self._begun is None, None
        assert process.stdin is not None
        assert process.stdout is not None
        self._deadline = monotonic() + TO_START
        if is_new:
            with suppress(BrokenPipeError):
                process.stdin.write(written_plan(self.plan))
                process.stdin.flush()
        answer = process.stdout.readline().decode().split()
        self._deadline = None
        if answer[:2] == [READY, version("netwright")]:
            if isinstance(process, Child):
                process.pid = int(answer[2])
            return ""
        how = self._end()
        if answer[:1] == [READY]:
            how = f"has netwright {answer[1]}, expected {version('netwright')}"
        return how

    def _end(self) -> str:
        """End the process, and say how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "was not there"
        if self._timed_out or self._closed.is_set():
            process.kill()
        try:
            code = process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        close_pipes(process)
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _watch(self) -> None:
        """Kill a process that is late."""
        while not self._closed.wait(0.05):
            deadline, process = self._deadline, self._process
            if deadline is not None and monotonic() > deadline and process is not None:
                self._deadline = None
                self._timed_out = True
                process.kill()


def written_plan(plan: dict[str, Any]) -> bytes:
    """The first line that a worker reads."""
    return json.dumps(plan).encode() + b"\n"


class Crew(ABC):
    """Whoever does batches, while a campaign runs."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many there are now."""

    @abstractmethod
    def submit(self, items: Sequence[Item]) -> Any:
        """A future of `Done`, concurrent.futures' or one like it; it may give a LostError."""

    def check(self) -> None:
        """WorkersError if there is nobody any more."""
        return

    def drop(self, future: Any) -> None:
        """Let go of a batch that nobody has begun."""
        future.cancel()


class Engine(ABC):
    """Where the work of a campaign is done."""

    @abstractmethod
    def crew(self, plan: Plan) -> AbstractContextManager[Crew]:
        """The workers for a plan; they are gone at the end."""


class Local(Engine):
    """Processes on this machine: as many as it has cores, unless said.

    >>> Local(2)
    Local(2)
    """

    def __init__(self, workers: int | None = None) -> None:
        known = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        self.workers = workers if workers is not None else len(known or []) or os.cpu_count() or 1
        if not isinstance(self.workers, int) or not 1 <= self.workers <= 10_000:
            raise InputError(f"{workers!r} workers; expected a number from 1 to 10,000")

    def __repr__(self) -> str:
        return f"Local({self.workers})"

    @contextmanager
    def crew(self, plan: Plan) -> Iterator[Crew]:
        """One thread and one process for each worker."""
        crew = _LocalCrew(self.workers, plan.written())
        try:
            yield crew
        finally:
            crew.close()


class _LocalCrew(Crew):
    def __init__(self, count: int, plan: dict[str, Any]) -> None:
        self.plan, self.count = plan, count
        self.pool = ThreadPoolExecutor(count, thread_name_prefix="netwright")
        self.own = threading.local()
        self.family: Family | None = None
        children: list[Child] = []
        if count > 1 and hasattr(os, "fork"):
            self.family = Family(count, written_plan(plan))
            children = self.family.children
        self.all = [Worker(plan, child) for child in children]
        self.free = list(self.all)

    @property
    def workers(self) -> int:
        return self.count

    def submit(self, items: Sequence[Item]) -> "Future[Done]":
        return self.pool.submit(self._do, items)

    def _do(self, items: Sequence[Item]) -> Done:
        if not hasattr(self.own, "worker"):
            if self.free:
                self.own.worker = self.free.pop()
            else:
                self.own.worker = Worker(self.plan)
                self.all.append(self.own.worker)
        done: Done = self.own.worker.do(items)
        return done

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        for worker in self.all:
            worker.close()
        if self.family is not None:
            self.family.close()
