"""The same work on a Dask cluster: each task hands its batch to a worker process of its own.

Each thread of a Dask worker supervises one process, as each thread of the local pool does. So a
machine that kills or hangs its process does not harm the Dask worker. If the Dask worker itself is
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

from netwright.campaign.plan import Plan
from netwright.campaign.pool import (
    BatchResult,
    Engine,
    LostError,
    Worker,
    WorkerPool,
    WorkersError,
)
from netwright.campaign.work import Item
from netwright.errors import InputError
from netwright.text import shortened

PATIENCE = 30.0  # seconds that a scheduler may be unreachable
ANSWERS = 10.0  # time limit in seconds for the first answer of a scheduler
_workers: dict[tuple[str, int], Worker] = {}
"""On a Dask worker: the worker process of each campaign and thread."""


def do_batch(
    campaign: str, plan: dict[str, Any], wanted: str, items: Sequence[Item]
) -> tuple[bytes, float]:
    """A task: run a batch; return its rows and seconds. `wanted` is the version of netwright."""
    if installed() != wanted:  # a worker that joined later
        raise WorkersError(f"a worker has netwright {installed()}; expected {wanted}")
    mine = campaign, threading.get_ident()
    if mine not in _workers:
        _workers[mine] = Worker(plan)
    return tuple(_workers[mine].do([Item(*item) for item in items]))  # type: ignore[return-value]


def close_workers(campaign: str) -> None:
    """Close the processes that a Dask worker has for a campaign."""
    for key in [key for key in _workers if key[0] == campaign]:
        _workers.pop(key).close()


def installed() -> str:
    """The version of netwright that is installed here."""
    return version("netwright")


class Dask(Engine):
    """A Dask cluster, given by the address of its scheduler.

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
    def pool(self, plan: Plan) -> Iterator[WorkerPool]:
        """The workers of the cluster; raise InputError unless all have this version."""
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "a scheduler needs Dask: pip install distributed, or netwright with the extra "
                "campaign"
            ) from None
        for name in ("distributed", "distributed.client"):  # our messages replace theirs
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(
                self.address, timeout=ANSWERS, security=self.security, set_as_default=False
            )
        except Exception as error:  # any kind: a bad address, certificates, the connection
            reason = shortened(str(error).split("\n")[0], 100) or type(error).__name__
            raise WorkersError(
                f"no scheduler answers at {self.address}: {reason}; start one with: dask scheduler"
            ) from None
        try:
            pool = _DaskPool(client, self.address, plan.written())
            pool.check_versions()
            yield pool
        finally:
            with suppress(Exception):  # a fault of the cluster was reported before
                client.run(close_workers, pool.campaign, on_error="ignore")
            with suppress(Exception):
                client.close(timeout=5)


class _DaskPool(WorkerPool):
    def __init__(self, client: Any, address: str, plan: dict[str, Any]) -> None:
        self.client, self.address, self.plan = client, address, plan
        self.campaign = uuid4().hex
        """Distinguishes campaigns that use the cluster at the same time."""
        self.seen = monotonic()
        self.workers = 0

    def submit(self, items: Sequence[Item]) -> "_Task":
        try:
            what = (self.campaign, self.plan, installed(), list(items))
            future = self.client.submit(do_batch, *what, pure=False)
        except Exception as error:  # any kind: the client is closed
            raise WorkersError(f"the scheduler at {self.address} is gone") from error
        return _Task(future)

    def cancel(self, future: Any) -> None:
        """Do nothing: the task may be running already."""

    def check(self) -> None:
        if self.client.status == "running":
            self.seen = monotonic()
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            self.workers = sum(each["nthreads"] for each in workers)
        elif self.client.status == "closed" or monotonic() - self.seen > PATIENCE:
            raise WorkersError(f"the scheduler at {self.address} is gone")

    def check_versions(self) -> None:
        """Raise InputError if a worker has another version of netwright, or none."""
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
    """Adapter: a Dask future with the interface of `concurrent.futures.Future`."""

    def __init__(self, future: Any) -> None:
        self.future = future

    def add_done_callback(self, call: Any) -> None:
        self.future.add_done_callback(lambda _: call(self))

    def cancelled(self) -> bool:
        return bool(self.future.cancelled())

    def result(self) -> BatchResult:
        from distributed import KilledWorker

        try:
            return BatchResult(*self.future.result(timeout=60))
        except (KilledWorker, CancelledError, OSError, TimeoutError) as error:
            raise LostError(f"its workers are gone: {error}") from None
