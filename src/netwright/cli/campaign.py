"""`netwright campaign`: run, verify or certify very many machines."""

import sys
from collections.abc import Iterable
from csv import writer as csv_writer
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.campaign import Dask, Local, Plan, Status, run, status
from netwright.campaign.manifest import Work
from netwright.campaign.packed import ask, pack
from netwright.campaign.plan import COLUMNS, DOINGS
from netwright.campaign.store import Store
from netwright.campaign.summary import Summary
from netwright.campaign.work import Row
from netwright.cli.arguments import AsJson, Force, read_count
from netwright.cli.campaign_tables import (
    CampaignProgress,
    print_answer,
    print_status,
    print_summary,
)
from netwright.cli.kind_options import with_kind_options
from netwright.cli.output import print_json, save_file, say
from netwright.cli.progress import Working
from netwright.errors import InputError, StoppedError
from netwright.files import locked
from netwright.kind.registry import MACHINE, REGISTRY
from netwright.machine.formats import bbchallenge
from netwright.machine.simulate import Outcome
from netwright.text import counted, shortened

EXAMPLE = """\b
Examples:
  netwright campaign all:3x2 --on transformer,rnn,neural-gpu --do certify -o bb3
  netwright campaign machines.txt.gz --max-steps 10000 -o long-runs
  netwright campaign --resume -o long-runs
  netwright campaign show long-runs
  netwright campaign show long-runs --sql "select max(steps) from rows"
  netwright campaign show long-runs --holdouts undecided.txt
  netwright campaign random:5x2:1000 --scheduler tcp://127.0.0.1:8786 -o on-dask"""
STATUS, PACK, SHOW = WORDS = ("status", "pack", "show")


@with_kind_options
def command(
    options: dict[str, Any],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE…",
            help="Lists of machines (FILE, FILE:1000-2000, - for standard input; also .gz, .zst), "
            "seed databases, folders, library, all:3x2 (tree normal form; all:3x2:1RB), every:2x2, "
            "random:5x2:1000. Or status DIR, pack DIR, show DIR.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NETWORKS",
            help=f"{MACHINE}, {', '.join(REGISTRY)}, with commas between them."
            "  [default: machine,transformer]",
        ),
    ] = None,
    do: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(DOINGS),
            help="What to do, with commas between them.  [default: run]",
        ),
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=read_count, help="Stop each run after N steps.  [default: 1000]"
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Keep the rows here.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes on this machine.  [default: all cores]"),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work on the Dask cluster of this scheduler."),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Machines at once.  [default: seconds of work]"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the campaign in DIR.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Pass over lines that are no machine.")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=lambda text: read_count(text, "--sample", "machines"),
            help="Take N machines, drawn at random.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="S", help="Draw with this seed.  [default: 0]")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="For each machine and network.  [default: 300]"),
    ] = None,
    sql: Annotated[
        str | None, typer.Option(metavar="QUESTION", help="With show: over the table `rows`.")
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="With show: all rows, or --sql, as CSV.")
    ] = False,
    holdouts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With show: write the machines that are undecided, as a list of machines.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With show: draw steps, scores and halting times."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> int:
    """Run, verify or certify very many machines, and keep every row."""
    said = {"on": on, "do": do, "max_steps": max_steps, "time_limit": time_limit}
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if options:
        given["options"] = options
    names = sources or []
    if names and names[0] in WORDS:
        others = {**given, "-o": output, "--resume": resume, "--workers": workers}
        others |= {"--scheduler": scheduler, "--sample": sample, "--batch": batch}
        _check_word(names, {name: value for name, value in others.items() if value})
        shown = {"--sql": sql, "--plot": plot, "--csv": csv or None, "--holdouts": holdouts}
        shown = {name: value for name, value in shown.items() if value is not None}
        return _word(names[0], Path(names[1]), shown, force, as_json)
    for name, value in (("--sql", sql), ("--plot", plot), ("--csv", csv), ("--holdouts", holdouts)):
        if value:
            raise InputError(f"{name} belongs to: netwright campaign show DIR")
    if output is None:
        raise InputError("where are the rows to be kept? name a folder: -o DIR")
    if workers is not None and scheduler is not None:
        raise InputError("--workers is for this machine, --scheduler for a cluster; name one")
    plan: Plan | None = None
    store = Store(output)
    if resume and store.exists:
        if given:  # what is not said is as it was
            plan = Plan(**{**store.manifest()["plan"], **given})
    else:
        plan = Plan(**given)
    with CampaignProgress() as progress:
        found = run(
            names or None,
            plan,
            output,
            Dask(scheduler) if scheduler is not None else Local(workers),
            resume=resume,
            skip_bad=skip_bad,
            sample=sample,
            seed=seed,
            batch=batch,
            progress=progress,
            stdin=getattr(sys.stdin, "buffer", None),
        )
    _show(store, found, as_json)
    return found.exit_code


def _check_word(names: list[str], others: dict[str, Any]) -> None:
    word, *folders = names
    if len(folders) != 1:
        raise InputError(
            f"{word} takes one folder: netwright campaign {word} DIR (a file of that "
            f"name is ./{word})"
        )
    if others:
        option = next(iter(others))
        option = option if option.startswith("-") else f"--{option.replace('_', '-')}"
        raise InputError(f"{option} has nothing to do with {word}")


def _word(word: str, folder: Path, shown: dict[str, Any], force: bool, as_json: bool) -> int:
    store = Store(folder)
    manifest = store.manifest()
    if word != SHOW and shown:
        raise InputError(f"{next(iter(shown))} belongs to show, not to {word}")
    if word == STATUS:
        found = status(folder)
        if as_json:
            print_json({**asdict(found), "finished": found.finished})
        else:
            print_status(found)
    elif word == PACK:
        with locked(folder / "rows", f"a process works on the campaign in {folder}; wait for it"):
            store.tidy()
            with Working() as work:
                work.tell("packing")
                rows, parts = pack(store)
        if work.interrupted:
            raise StoppedError("interrupted; what is packed is packed, and nothing is lost")
        if as_json:
            print_json({"rows": rows, "parts": parts})
        else:
            say(f"packed {counted(rows, 'row')} into {counted(parts, 'part')} of Parquet")
    elif {"--sql", "--plot"} <= shown.keys() or {"--holdouts", "--csv"} <= shown.keys():
        raise InputError(f"{' and '.join(shown)} are several answers; ask for one")
    elif "--holdouts" in shown:
        _write_holdouts(Work(manifest, folder).rows(store), shown["--holdouts"], force, as_json)
    elif "--sql" in shown or "--csv" in shown:
        _answer(store, shown, as_json)
    else:
        plot = shown.get("--plot")
        if plot is not None:
            from netwright.cli.plots import check_plot

            check_plot(plot, force=force)
        summary = _show(store, status(folder), as_json)
        if plot is not None:
            from netwright.cli.campaign_plots import campaign_plot

            save_file(plot, campaign_plot(summary, str(folder), plot.suffix), force=force)
            if not as_json:
                say(f"wrote {plot}")
    return 0


def _answer(store: Store, shown: dict[str, Any], as_json: bool) -> None:
    """The answer to a question in SQL, or all rows: as a table, as JSON or as CSV."""
    if "--sql" in shown:
        header, rows = ask(store, shown["--sql"])
    else:
        header = list(COLUMNS)
        found = Work(store.manifest(), store.folder).rows(store)
        rows = [tuple(row.values()) for row in found]
    if as_json:
        print_json({"columns": header, "rows": [list(map(_plain, row)) for row in rows]})
    elif "--csv" in shown:
        writer = csv_writer(sys.stdout, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    else:
        print_answer(header, rows)


def _write_holdouts(rows: Iterable[Row], path: Path, force: bool, as_json: bool) -> None:
    """Write the machines that some run left undecided, once each: a list that campaigns read."""
    machines: dict[int, str] = {}
    others: set[str] = set()
    for row in rows:
        if row["outcome"] == Outcome.UNDECIDED and row["number"] not in machines:
            if bbchallenge.is_text(row["machine"]):
                machines[row["number"]] = row["machine"]
            else:
                others.add(row["machine"])
    if others:
        raise InputError(
            f"{counted(len(others), 'machine')} that are undecided are no bbchallenge text, which "
            f"a list is made of: {shortened(', '.join(sorted(others)), 60)}"
        )
    save_file(path, "".join(f"{text}\n" for text in machines.values()).encode(), force=force)
    if as_json:
        print_json({"holdouts": len(machines), "file": str(path)})
    else:
        say(f"wrote {counted(len(machines), 'machine')} to {path}")


def _plain(value: object) -> object:
    """What JSON can say; other things as text."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _show(store: Store, found: Status, as_json: bool) -> Summary:
    manifest = store.manifest()
    with Working() as work:
        work.tell("reading the rows")
        summary = Summary.of(Work(manifest, store.folder).rows(store), manifest["plan"])
    if work.interrupted:
        raise StoppedError("interrupted; the rows are kept")
    if as_json:
        told = {**asdict(found), "finished": found.finished, "plan": manifest["plan"]}
        told["bad"] = sum(len(each["bad"]) for each in manifest["sources"])
        told["sources"] = [each["source"] for each in manifest["sources"]]
        print_json({**told, **summary.as_json()})
    else:
        print_summary(summary, found, manifest)
    return summary
