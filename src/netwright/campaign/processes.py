"""The processes behind workers: begun one by one, or many as the children of one."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from time import monotonic
from typing import IO, Any, Protocol

COMMAND = (sys.executable, "-P", "-m", "netwright.campaign.worker")
"""-P: what lies in the user's folder is no module."""


class Process(Protocol):
    """What a worker needs of its process."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None:
        """End it at once."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; of a signal, its number with a minus."""


def begin(*arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    """A process of its own group: Ctrl-C is for whoever gives the work."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        **options,
    )


def close_pipes(process: Process) -> None:
    """Let go of a process: one that waits for more ends then."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


class Child:
    """One of a family."""

    def __init__(self, family: "Family", questions: int, answers: int) -> None:
        self.family = family
        self.stdin: IO[bytes] | None = os.fdopen(questions, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(answers, "rb")
        self.pid: int | None = None
        """Known when it says that it is ready."""

    def kill(self) -> None:
        """End it at once; if it has not begun, end the one that it would come from."""
        if self.pid is None:
            self.family.mother.kill()
        elif self.pid not in self.family.ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, 9)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, as far as anybody knows it."""
        if self.pid is None:  # it never began
            return self.family.mother.wait(timeout)
        until = monotonic() + (timeout or 5)
        with self.family.told:
            while self.pid not in self.family.ended:
                left = until - monotonic()
                if left <= 0:
                    raise subprocess.TimeoutExpired(COMMAND, timeout or 5)
                if self.family.is_gone:
                    return -9  # the mother was killed, and nobody knows
                self.family.told.wait(min(left, 0.2))
            return self.family.ended[self.pid]


class Family:
    """Several workers that begin as one process."""

    def __init__(self, count: int, plan: bytes) -> None:
        ours, theirs = [], []
        for _ in range(count):
            questions, answers = os.pipe(), os.pipe()
            ours.append((questions[1], answers[0]))
            theirs.append((questions[0], answers[1]))
        numbers = [number for pair in theirs for number in pair]
        self.mother = begin(*(f"{i},{o}" for i, o in theirs), pass_fds=numbers)
        for number in numbers:
            os.close(number)
        self.ended: dict[int, int] = {}
        self.is_gone = False
        self.told = threading.Condition()
        self.children = [Child(self, *pair) for pair in ours]
        assert self.mother.stdin is not None
        with suppress(BrokenPipeError):
            self.mother.stdin.write(plan)
            self.mother.stdin.flush()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.mother.stdout is not None
        for line in self.mother.stdout:
            process, code = map(int, line.split())
            with self.told:
                self.ended[process] = code
                self.told.notify_all()
        self.is_gone = True

    def close(self) -> None:
        """End the mother; her children end with their pipes."""
        self.mother.kill()
        self.mother.wait()
        self._listener.join()
        close_pipes(self.mother)
