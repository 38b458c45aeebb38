"""A server in a process of its own, as a user starts it."""

import os
import signal
import subprocess
import sys
import time

import httpx

PATIENCE = 120.0
"""Seconds; more than anything takes, on however busy a machine."""
CLIENT = httpx.Client(timeout=PATIENCE, headers={"connection": "close"})


def started(*arguments: str) -> tuple["subprocess.Popen[str]", str]:
    """`netwright explore`, and the address that it says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "netwright", "explore", *arguments, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line.startswith("http://127.0.0.1:"), (line, process.stderr and process.stderr.read())
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            CLIENT.get(line)
            return process, line
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def settled(address: str, path: str, **query: str) -> httpx.Response:
    """The answer, asked for until it is there; on a busy machine that is later."""
    while (found := CLIENT.get(base(address) + f"api/{path}", params=query)).status_code == 202:
        pass
    return found


def ended(process: "subprocess.Popen[str]") -> tuple[str, str]:
    """Ctrl-C, and what it said."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=PATIENCE)


def base(address: str) -> str:
    """The address without its question."""
    return address.split("?")[0]


def port_of(address: str) -> int:
    """The port of an address."""
    return int(base(address).rstrip("/").rpartition(":")[2])
