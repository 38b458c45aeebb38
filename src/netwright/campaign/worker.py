"""A worker process: it takes batches and answers row by row.

    python -m netwright.campaign.worker                   one, which reads from standard input
    python -m netwright.campaign.worker IN,OUT IN,OUT …   several, each with two file descriptors

It reads lines of JSON: first the plan, then batches. It writes a line when it is ready, then a line
for each row. So its supervisor knows which rows are done when a machine kills it: to a fraction of
a second, or exactly, in a batch that is done carefully.

Several workers are forked from one server process, which reads the plan and compiles the code for
it once. The server stays, and reports the exit code of each child.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from queue import SimpleQueue
from time import monotonic
from typing import BinaryIO, TextIO

from netwright.campaign.plan import Plan
from netwright.campaign.work import Item, rows_of, written_row

READY = "ready"
HELD = 0.05
"""Seconds that rows are buffered, as writing each of them alone costs more."""


def main() -> None:
    """Serve batches until the input ends."""
    plan = Plan(**json.loads(sys.stdin.readline()))
    for _ in rows_of(Item(0, "1RB1LB_1LA1RZ"), plan):
        pass  # compiles the code for the whole plan, or loads it from the cache
    if len(sys.argv) > 1:
        _fork_workers(plan, [tuple(map(int, pair.split(","))) for pair in sys.argv[1:]])
        return
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # printed text must not mix with the answers
    _serve(plan, sys.stdin, answers)


def _fork_workers(plan: Plan, pipes: list[tuple[int, ...]]) -> None:
    """Fork a child for each pair of pipes; then print a line for each child that exits."""
    numbers = [number for pair in pipes for number in pair]
    for questions, answers in pipes:
        if not os.fork():
            for number in numbers:  # a pipe ends only when every process has closed it
                if number not in (questions, answers):
                    os.close(number)
            os.dup2(2, 1)
            _serve(plan, os.fdopen(questions), os.fdopen(answers, "wb", buffering=0))
    for number in numbers:
        os.close(number)
    for _ in pipes:
        process, status = os.wait()
        print(process, os.waitstatus_to_exitcode(status), flush=True)


def _serve(plan: Plan, questions: TextIO, answers: BinaryIO) -> None:
    lines = _lines_until_closed(questions)
    answers.write(f"{READY} {version('netwright')} {os.getpid()}\n".encode())
    for line in lines:
        batch = json.loads(line)
        skip, held, since = batch["skip"], [], monotonic()
        for fields in batch["items"]:
            for row in rows_of(Item(*fields), plan, skip):
                held.append(written_row(row))
                if batch["careful"] or monotonic() - since > HELD:
                    answers.write(b"".join(held))
                    held, since = [], monotonic()
            skip = 0
        answers.write(b"".join(held))


def _lines_until_closed(questions: TextIO) -> Iterator[str]:
    """Yield lines, read by a thread that exits the process at once when the pipe is closed."""
    queue: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in questions:
            queue.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield queue.get()


if __name__ == "__main__":
    main()
