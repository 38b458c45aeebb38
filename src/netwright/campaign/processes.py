"""The worker processes themselves: started one by one, or forked from one server process."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from time import monotonic
from typing import IO, Any, Protocol

COMMAND = (sys.executable, "-P", "-m", "netwright.campaign.worker")
"""-P keeps files in the user's folder from shadowing modules."""


class Process(Protocol):
    """The part of `subprocess.Popen` that a worker needs."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None:
        """Kill it."""

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code; minus the number of the signal that killed it."""


def start_worker(*arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
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


def send(process: Process, line: bytes) -> None:
    """Write a line to a process; that it is dead shows when its answer is read."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(line)
        process.stdin.flush()


def close_pipes(process: Process) -> None:
    """Close both pipes; a process that waits for more input then exits."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


class ForkedProcess:
    """A child of the fork server, with the interface of `Process`."""

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


class ForkServer:
    """A process that compiles the code for a plan once, then forks all workers."""

    def __init__(self, count: int, plan: bytes) -> None:
        ours, theirs = [], []
        for _ in range(count):
            questions, answers = os.pipe(), os.pipe()
            ours.append((questions[1], answers[0]))
            theirs.append((questions[0], answers[1]))
        numbers = [number for pair in theirs for number in pair]
        self.process = start_worker(*(f"{i},{o}" for i, o in theirs), pass_fds=numbers)
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
