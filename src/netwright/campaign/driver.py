"""Campaigns as users call them: begin one or go on with it, see how far it is, read its rows."""

import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from time import sleep
from typing import Any, BinaryIO

from netwright.campaign.crew import Engine, Local
from netwright.campaign.manifest import Work, check_same, check_sources, surveyed
from netwright.campaign.plan import Plan
from netwright.campaign.store import (
    PROGRESS,
    STDIN,
    Store,
    check_folder,
    missing_from,
)
from netwright.campaign.under_way import Campaign, Status, Told
from netwright.errors import FormatWarning, InputError, OutputError
from netwright.files import TakenError, is_part, locked, output_path


def run(
    source: Any,
    plan: Plan | None = None,
    folder: os.PathLike[str] | str = "campaign",
    engine: Engine | None = None,
    *,
    resume: bool = False,
    skip_bad: bool = False,
    sample: int | None = None,
    seed: int | None = None,
    batch: int | None = None,
    progress: Told | None = None,
    stdin: BinaryIO | None = None,
) -> Status:
    """Do something with very many machines, and keep the rows in a folder: `campaign.run`.

    Args:
        source: what `netwright campaign` takes as SOURCE, or several of them; None goes on with
            those of the folder.
        plan: what to do with each; None goes on with that of the folder.
        folder: where the rows are kept.
        engine: `Local(n)`, processes on this machine, or `Dask(address)`.
        resume: go on with the campaign in the folder, if there is one.
        skip_bad: pass over lines that are no machine.
        sample: take so many machines of the sources, drawn with `seed`.
        seed: for `sample` and for random machines; 0 unless said.
        batch: how many machines a worker gets at once; none means some seconds of work.
        progress: is called about every second with a `Status`.
        stdin: what the source `-` reads.

    StoppedError after Ctrl-C: rows are kept, and `resume` goes on.
    """
    names = _names(source)
    _check_arguments(plan, engine, sample, seed, batch)
    store = Store(output_path(folder))
    if store.exists and not resume:
        raise InputError(
            f"{folder} has a campaign already; go on with it: --resume, or name another folder"
        )
    if not store.exists and source is None:
        raise InputError(f"{folder} has no campaign to go on with; name a SOURCE")
    new = not store.folder.exists()
    check_folder(store.folder)
    if not store.exists and any(not is_part(path) for path in store.folder.iterdir()):
        raise OutputError(f"{folder} is not empty, and has no campaign; name another folder")
    try:
        with _alone(store):
            asked = {"sample": sample, "seed": seed, "skip_bad": skip_bad}
            if store.exists:
                check_same(store, names, plan, asked)
            else:
                asked["seed"] = seed or 0
                found = surveyed(store, names or [], asked, stdin)
                store.begin(
                    {
                        "version": version("netwright"),
                        "plan": (plan or Plan()).written(),
                        **asked,
                        "sources": found,
                    }
                )
            manifest = store.manifest()
            work = Work(manifest, store.folder)
            check_sources(work)
            for said in store.repair(work.expected):
                warnings.warn(said, FormatWarning, stacklevel=2)
            store.tidy()
            campaign = Campaign(store, work, Plan(**manifest["plan"]), batch, progress)
            return campaign.run(engine or Local())
    finally:
        if not store.exists:  # nothing came of it
            with suppress(OSError):
                (store.folder / STDIN).unlink(missing_ok=True)
                if new:
                    store.folder.rmdir()


def _names(source: object) -> list[str] | None:
    """The sources by their names; None if none is given."""
    if source is None:
        return None
    names = []
    for each in source if isinstance(source, list | tuple) else [source]:
        if not isinstance(each, str | os.PathLike):
            raise InputError(f"expected a source such as all:3x2, a path, or a list; got {each!r}")
        names.append(os.fsdecode(each))
    return names


def _check_arguments(
    plan: object, engine: object, sample: object, seed: object, batch: object
) -> None:
    """InputError for what is none of what is expected, before anything is written."""
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"expected a Plan; got {plan!r}")
    if engine is not None and not isinstance(engine, Engine):
        raise InputError(f"expected Local(…) or Dask(…); got {engine!r}")
    for name, value in (("sample", sample), ("seed", seed), ("batch", batch)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise InputError(f"{name} is {value!r}; expected a whole number")
    if isinstance(batch, int) and batch < 1:
        raise InputError(f"a batch of {batch} machines; expected 1 or more")


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """Keep others from working on a campaign; who only looks whether somebody does is soon gone."""
    taken = f"another process works on the campaign in {store.folder}"
    for last in (False, False, False, True):
        try:
            with locked(store.folder / "rows", taken):
                yield
                return
        except TakenError:
            if last:
                raise
            sleep(0.1)


def status(folder: os.PathLike[str] | str) -> Status:
    """How far the campaign in a folder is, also while it runs."""
    store = Store(Path(folder))
    work = Work(store.manifest(), store.folder)
    live: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        found = json.loads((store.folder / PROGRESS).read_text(encoding="utf-8"))
        if is_worked_on(store):
            live = {name: found[name] for name in ("workers", "rate", "seconds_left")}
    parts, tally = store.verified()
    missing = missing_from(work.spans, [(part.first, part.last + 1) for part in parts])
    done, running = work.total - work.count(missing), is_worked_on(store)
    told = {**tally.counts, "digest": store.digest(tally), **live}
    return Status(str(folder), work.total, done, running=running, **told)


def rows(folder: os.PathLike[str] | str) -> Iterator[dict[str, Any]]:
    """The rows of a campaign, in the order of their machines."""
    store = Store(Path(folder))
    return Work(store.manifest(), store.folder).rows(store)


def is_worked_on(store: Store) -> bool:
    """Whether a process works on a campaign now."""
    try:
        with locked(store.folder / "rows", ""):
            return False
    except OutputError:
        return os.access(store.folder, os.W_OK)
