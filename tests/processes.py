"""netwright as another process, which never outlives its test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NETWRIGHT = (sys.executable, "-m", "netwright")


@contextmanager
def netwright(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A process; it is killed if it is still there at the end."""
    process = subprocess.Popen(
        [*NETWRIGHT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """What a process that ends by itself has to say."""
    return subprocess.run([*NETWRIGHT, *arguments], capture_output=True, text=True, check=False)
