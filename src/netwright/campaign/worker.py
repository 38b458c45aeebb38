"""A worker: another process, which takes batches and answers row by row.

    python -m netwright.campaign.worker

It reads lines of JSON: first the plan, then batches; it writes a line when it is ready, and then a
line for each row as soon as that is done. So whoever started it knows at any moment which machine
it is at, and loses nothing that is finished when that machine kills it.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import version
from queue import SimpleQueue

from netwright.campaign.plan import Plan
from netwright.campaign.work import Item, rows_of, written_row

READY = "ready"


def main() -> None:
    """Work until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what somebody prints is no answer
    lines = _heard()
    plan = Plan(**json.loads(next(lines)))
    for _ in rows_of(Item(0, "1RB1LB_1LA1RZ"), plan):
        pass  # the code for all of the plan is compiled now, or was read from a file
    answers.write(f"{READY} {version('netwright')}\n".encode())
    for line in lines:
        batch = json.loads(line)
        skip = batch["skip"]
        for fields in batch["items"]:
            for row in rows_of(Item(*fields), plan, skip):
                answers.write(written_row(row))
            skip = 0


def _heard() -> Iterator[str]:
    """What is sent; when nobody is there to send any more, the process ends at once.

    A thread waits for it, so that this is so in the middle of a machine, too.
    """
    queue: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            queue.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield queue.get()


if __name__ == "__main__":
    main()
