"""The same work on a Dask cluster: tasks that hand their batch to a worker process of their own.

A thread of a Dask worker has a process beside it, as a thread of this machine's crew has. So a
machine that kills or hangs its process costs a Dask worker nothing. If the Dask worker itself is
lost, the scheduler gives its batches to others.
"""

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.metadata import version
from time import monotonic
from typing import Any
from uuid import uuid4

from netwright.campaign.crew import Crew, Done, Engine, LostError, Worker, WorkersError
from netwright.campaign.plan import Plan
from netwright.campaign.work import Item
from netwright.errors import InputError
from netwright.text import shortened

PATIENCE = 30.0
"""Seconds that a scheduler may be out of reach."""
ANSWERS = 10.0
"""Seconds in which a scheduler answers for the first time."""
_processes: dict[tuple[str, int], Worker] = {}
"""On a Dask worker: the process of each campaign and thread."""


def do_batch(
    campaign: str, plan: dict[str, Any], wanted: str, items: Sequence[Item]
) -> tuple[bytes, float]:
    """A task: the rows of a batch, and how long they took, by a version of netwright."""
    if installed() != wanted:  # a worker that came later
        raise WorkersError(f"a worker has netwright {installed()}; expected {wanted}")
    mine = campaign, threading.get_ident()
    worker = _processes.get(mine)
    if worker is None:
        worker = _processes[mine] = Worker(plan)
    return tuple(worker.do([Item(*item) for item in items]))  # type: ignore[return-value]


def let_go(campaign: str) -> None:
    """End the processes that a Dask worker has for a campaign."""
    for key in [key for key in _processes if key[0] == campaign]:
        _processes.pop(key).close()


def installed() -> str:
    """The version of netwright on a Dask worker."""
    return version("netwright")


class Dask(Engine):
    """A cluster, by the address of its scheduler.

    >>> Dask("tcp://127.0.0.1:8786")
    Dask('tcp://127.0.0.1:8786')
    """

    def __init__(self, address: str, *, security: object = None) -> None:
        self.address, self.security = address, security
        if not isinstance(address, str) or not re.fullmatch(r"(tcp|tls|wss?)://.+:\d+", address):
            raise InputError(
                f"the scheduler is {str(address)[:60]!r}; expected an address such as "
                "tcp://127.0.0.1:8786"
            )

    def __repr__(self) -> str:
        return f"Dask({self.address!r})"

    @contextmanager
    def crew(self, plan: Plan) -> Iterator[Crew]:
        """The workers of the cluster, of which all must have this very netwright."""
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "a scheduler needs Dask: pip install distributed, or netwright with the extra "
                "campaign"
            ) from None
        for name in ("distributed", "distributed.client"):  # what they know is said here
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(
                self.address, timeout=ANSWERS, security=self.security, set_as_default=False
            )
        except Exception as error:  # of any kind: an address, certificates, a network
            reason = shortened(str(error).split("\n")[0], 100) or type(error).__name__
            raise WorkersError(
                f"no scheduler answers at {self.address}: {reason}; begin one with: dask scheduler"
            ) from None
        try:
            crew = _DaskCrew(client, self.address, plan.written())
            crew.check_versions()
            yield crew
        finally:
            with suppress(Exception):  # whatever is wrong with the cluster was said before
                client.run(let_go, crew.campaign, on_error="ignore")
            with suppress(Exception):
                client.close(timeout=5)


class _DaskCrew(Crew):
    def __init__(self, client: Any, address: str, plan: dict[str, Any]) -> None:
        self.client, self.address, self.plan = client, address, plan
        self.campaign = uuid4().hex
        """Others may use the cluster at the same time."""
        self.seen = monotonic()
        self.known = 0

    @property
    def workers(self) -> int:
        return self.known

    def submit(self, items: Sequence[Item]) -> "_Task":
        try:
            what = (self.campaign, self.plan, installed(), list(items))
            future = self.client.submit(do_batch, *what, pure=False)
        except Exception as error:  # of whatever kind: the client is closed
            raise WorkersError(f"the scheduler at {self.address} is gone") from error
        return _Task(future)

    def drop(self, future: Any) -> None:
        """It may be under way already: it is waited for."""

    def check(self) -> None:
        if self.client.status == "running":
            self.seen = monotonic()
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            self.known = sum(each["nthreads"] for each in workers)
        elif self.client.status == "closed" or monotonic() - self.seen > PATIENCE:
            raise WorkersError(f"the scheduler at {self.address} is gone")

    def check_versions(self) -> None:
        """InputError for a worker with another netwright, or with none."""
        self.check()
        for worker, found in self.client.run(installed, on_error="return").items():
            is_gone = not isinstance(found, str | ImportError)
            if found != installed() and not is_gone:
                has = f"has netwright {found}" if isinstance(found, str) else "has no netwright"
                raise InputError(
                    f"the worker {worker} {has}; expected {installed()}: install the same version "
                    "on all workers"
                )


class _Task:
    """A future of Dask's as `concurrent.futures` has them."""

    def __init__(self, future: Any) -> None:
        self.future = future

    def add_done_callback(self, call: Any) -> None:
        self.future.add_done_callback(lambda _: call(self))

    def cancelled(self) -> bool:
        return bool(self.future.cancelled())

    def result(self) -> Done:
        from distributed import KilledWorker

        try:
            return Done(*self.future.result(timeout=60))
        except (KilledWorker, CancelledError, OSError, TimeoutError) as error:
            raise LostError(f"its workers are gone: {error}") from None
