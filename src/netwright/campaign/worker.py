"""A worker: another process, which takes batches and answers row by row.

    python -m netwright.campaign.worker                   one, which reads from standard input
    python -m netwright.campaign.worker IN,OUT IN,OUT …   several, each with two file numbers

It reads lines of JSON: first the plan, then batches; it writes a line when it is ready, and then a
line for each row. So whoever started it knows which rows are done when a machine kills it: to a
part of a second, or, in a batch that is done carefully, which machine that was.

Several begin as one, which reads the plan and makes the code for it; the others are its children,
so that this is done once. It stays, and says of each how it ended.
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
"""Seconds that rows are held back, as writing each of them costs more than writing them at once."""


def main() -> None:
    """Work until there is nothing more to read."""
    plan = Plan(**json.loads(sys.stdin.readline()))
    for _ in rows_of(Item(0, "1RB1LB_1LA1RZ"), plan):
        pass  # the code for all of the plan is compiled now, or was read from a file
    if len(sys.argv) > 1:
        _found_family(plan, [tuple(map(int, pair.split(","))) for pair in sys.argv[1:]])
        return
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what somebody prints is no answer
    _serve(plan, sys.stdin, answers)


def _found_family(plan: Plan, pipes: list[tuple[int, ...]]) -> None:
    """A child for each pair of pipes; then a line for each that ends."""
    numbers = [number for pair in pipes for number in pair]
    for questions, answers in pipes:
        if not os.fork():
            for number in numbers:  # a pipe ends when nobody has it any more
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
    lines = _heard(questions)
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


def _heard(questions: TextIO) -> Iterator[str]:
    """What is sent; when nobody is there to send any more, the process ends at once.

    A thread waits for it, so that this is so in the middle of a machine, too.
    """
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
