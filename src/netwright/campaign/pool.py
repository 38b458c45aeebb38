"""The supervisor's side of worker processes, and the local pool.

A batch goes to one worker process. If that dies, its supervisor knows at which machine, and starts
another that continues there. A machine that kills its workers repeatedly gets a row with the
outcome `crashed`, one that takes too long `timeout`; the rest of the batch is not affected.
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
from contextlib import AbstractContextManager, closing, suppress
from importlib.metadata import version
from time import monotonic
from typing import IO, Any, NamedTuple

from netwright.campaign.plan import Plan
from netwright.campaign.work import Item, failed_row, written_row
from netwright.campaign.worker import READY
from netwright.errors import InputError, NetwrightError

COMMAND = (sys.executable, "-P", "-m", "netwright.campaign.worker")
"""-P keeps files in the user's folder from shadowing modules."""
TRIES = 3
"""Workers that one machine may crash before it is given up: a worker may also die by chance."""
SECONDS_TO_START = 300.0
"""Time limit for a worker to become ready: the very first one compiles its code."""


class WorkersError(NetwrightError):
    """No worker is left to do the work: they fail to start, or the cluster is gone."""


class LostError(NetwrightError):
    """A batch was lost with its worker; another worker can do it."""


class BatchResult(NamedTuple):
    """The rows of a finished batch."""

    rows: bytes  # lines of JSON
    seconds: float


def start_process(*arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a process in its own group, so that Ctrl-C reaches only the supervisor."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        **options,
    )


def send(process: "Process", line: bytes) -> None:
    """Write a line to a process; that it is dead shows when its answer is read."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(line)
        process.stdin.flush()


def close_pipes(process: "Process") -> None:
    """Close both pipes; a process that waits for more input then exits."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


class ForkedProcess:
    """A child of the fork server, with the interface of `subprocess.Popen`."""

    def __init__(self, server: "ForkServer", questions: int, answers: int) -> None:
        self.server = server
        self.stdin: IO[bytes] | None = os.fdopen(questions, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(answers, "rb")
        self.pid: int | None = None
        """Known once the child reports that it is ready."""

    def kill(self) -> None:
        """Kill it; if it has not started, kill the server instead."""
        if self.pid is None:
            self.server.process.kill()
        elif self.pid not in self.server.exit_codes:
            with suppress(ProcessLookupError):
                os.kill(self.pid, 9)

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code; -9 if the server died and the code is unknown."""
        if self.pid is None:  # it never started
            return self.server.process.wait(timeout)
        until = monotonic() + (timeout or 5)
        with self.server.reported:
            while self.pid not in self.server.exit_codes:
                left = until - monotonic()
                if left <= 0:
                    raise subprocess.TimeoutExpired(COMMAND, timeout or 5)
                if self.server.is_gone:
                    return -9
                self.server.reported.wait(min(left, 0.2))
            return self.server.exit_codes[self.pid]


Process = subprocess.Popen[bytes] | ForkedProcess


class ForkServer:
    """A process that compiles the code for a plan once, then forks all workers."""

    def __init__(self, count: int, plan: bytes) -> None:
        ours, theirs = [], []
        for _ in range(count):
            questions, answers = os.pipe(), os.pipe()
            ours.append((questions[1], answers[0]))
            theirs.append((questions[0], answers[1]))
        numbers = [number for pair in theirs for number in pair]
        self.process = start_process(*(f"{i},{o}" for i, o in theirs), pass_fds=numbers)
        for number in numbers:
            os.close(number)
        self.exit_codes: dict[int, int] = {}
        self.is_gone = False
        self.reported = threading.Condition()
        self.children = [ForkedProcess(self, *pair) for pair in ours]
        send(self.process, plan)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Thread: collect the exit codes of children as the server reports them."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            pid, code = map(int, line.split())
            with self.reported:
                self.exit_codes[pid] = code
                self.reported.notify_all()
        self.is_gone = True

    def close(self) -> None:
        """Kill the server; its children exit when their pipes are closed."""
        self.process.kill()
        self.process.wait()
        self._listener.join()
        close_pipes(self.process)


class Worker:
    """A worker process for one plan, restarted whenever it dies."""

    def __init__(self, plan: dict[str, Any], process: Process | None = None) -> None:
        self.plan = plan
        self._forked = process
        """A forked process that is starting already; used first."""
        self.targets = Plan(**plan).targets
        self.limit: float = plan["time_limit"]
        self._process: Process | None = None
        self._deadline: float | None = None
        self._last_row = monotonic()
        self._timed_out = False
        self._closed = threading.Event()
        threading.Thread(target=self._kill_late, daemon=True).start()

    def do(self, items: Sequence[Item]) -> BatchResult:
        """Return all rows of a batch; raise LostError if the worker is closed meanwhile."""
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
            # The process died. A careful one sends each row at once, which shows where: so the
            # next one is careful.
            ended = self._end()
            tries = 0 if not careful else tries + 1 if not new else 1
            if careful and (self._timed_out or tries == TRIES):
                item, on = jobs[len(rows)]
                if self._timed_out:
                    outcome, note = "timeout", f"took longer than {self.limit:g} seconds"
                else:
                    outcome, note = "crashed", f"its worker {ended}, {TRIES} times out of {TRIES}"
                took = monotonic() - self._last_row
                rows.append(written_row(failed_row(item, on, outcome, note, took)))
                tries = 0
            careful = True
        if len(rows) < len(jobs):
            raise LostError("its worker was stopped")
        return BatchResult(b"".join(rows), monotonic() - started)

    def close(self) -> None:
        """Kill the process; the batch it works on is lost."""
        self._closed.set()
        self._end()
        if self._forked is not None:
            close_pipes(self._forked)

    def _rows(self, items: Sequence[Item], done: int, careful: bool) -> Iterator[bytes]:
        """Yield the rows of a batch after the first `done`, until the process dies."""
        first, skip = divmod(done, len(self.targets))
        process = self._running_process()
        assert process.stdout is not None
        batch = {"skip": skip, "careful": careful, "items": items[first:]}
        self._reset_deadline()
        try:
            send(process, json_line(batch))
            for _ in range(len(items) * len(self.targets) - done):
                line = process.stdout.readline()
                if not line.endswith(b"\n"):  # it died, perhaps in the middle of a line
                    return
                self._reset_deadline()
                yield line
        finally:
            self._deadline = None

    def _reset_deadline(self) -> None:
        self._last_row = monotonic()
        self._deadline = self._last_row + self.limit

    def _running_process(self) -> Process:
        """Return the process; start one if there is none, which may also die by chance."""
        how = ""
        for _ in range(TRIES):
            if self._process is not None or self._closed.is_set():
                break
            how = self._start()
        if self._process is None:
            raise WorkersError(f"a worker cannot start: {sys.executable} {how}")
        return self._process

    def _start(self) -> str:
        """Start a process; return how it ended, or "" if it is ready."""
        self._timed_out = False
        process = self._process = self._forked or start_process()
        is_new, self._forked = self._forked is None, None
        assert process.stdout is not None
        self._deadline = monotonic() + SECONDS_TO_START
        if is_new:
            send(process, json_line(self.plan))
        answer = process.stdout.readline().decode().split()
        self._deadline = None
        if answer[:2] == [READY, version("netwright")]:
            if isinstance(process, ForkedProcess):
                process.pid = int(answer[2])
            return ""
        how = self._end()
        if answer[:1] == [READY]:
            how = f"has netwright {answer[1]}, expected {version('netwright')}"
        return how

    def _end(self) -> str:
        """End the process; return a phrase that says how it ended."""
        process, self._process = self._process, None
        if process is None:
            return "was not running"
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

    def _kill_late(self) -> None:
        """Watchdog thread: kill a process that is past its deadline."""
        while not self._closed.wait(0.05):
            deadline, process = self._deadline, self._process
            if deadline is not None and monotonic() > deadline and process is not None:
                self._deadline = None
                self._timed_out = True
                process.kill()


def json_line(message: dict[str, Any]) -> bytes:
    """A message to a worker: its plan, or a batch."""
    return json.dumps(message).encode() + b"\n"


class WorkerPool(ABC):
    """Workers that run batches while a campaign runs."""

    workers: int  # how many there are now

    @abstractmethod
    def submit(self, items: Sequence[Item]) -> Any:
        """Return a future of a BatchResult, as in concurrent.futures; it may raise LostError."""

    def check(self) -> None:
        """Raise WorkersError if no worker is left."""
        return

    def cancel(self, future: Any) -> None:
        """Cancel a batch that no worker has begun."""
        future.cancel()


class Engine(ABC):
    """Where the work of a campaign is done: on this machine or on a cluster."""

    @abstractmethod
    def pool(self, plan: Plan) -> AbstractContextManager[WorkerPool]:
        """A context manager with the workers for a plan."""


class Local(Engine):
    """Processes on this machine: as many as it has cores, unless `workers` is given.

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

    def pool(self, plan: Plan) -> AbstractContextManager[WorkerPool]:
        """One thread and one process for each worker."""
        return closing(_LocalPool(self.workers, plan.written()))


class _LocalPool(WorkerPool):
    def __init__(self, workers: int, plan: dict[str, Any]) -> None:
        self.workers = workers
        self.threads = ThreadPoolExecutor(workers, thread_name_prefix="netwright")
        self.server: ForkServer | None = None
        processes: Sequence[Process | None] = [None] * workers
        if workers > 1 and hasattr(os, "fork"):
            self.server = ForkServer(workers, json_line(plan))
            processes = self.server.children
        self.all = [Worker(plan, process) for process in processes]
        self.free = list(self.all)

    def submit(self, items: Sequence[Item]) -> "Future[BatchResult]":
        return self.threads.submit(self._do, items)

    def _do(self, items: Sequence[Item]) -> BatchResult:
        worker = self.free.pop()
        try:
            return worker.do(items)
        finally:
            self.free.append(worker)

    def close(self) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
        for worker in self.all:
            worker.close()
        if self.server is not None:
            self.server.close()
