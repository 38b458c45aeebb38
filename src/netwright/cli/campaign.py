"""`netwright campaign`: run, verify or certify very many machines, and keep every row."""

import sys
from collections.abc import Iterable
from csv import writer as csv_writer
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright import campaign
from netwright.campaign import Dask, Local, Plan, Status
from netwright.campaign.manifest import Work
from netwright.campaign.packed import ask
from netwright.campaign.packed import pack as packed
from netwright.campaign.plan import COLUMNS, DOINGS
from netwright.campaign.store import Store
from netwright.campaign.summary import Summary
from netwright.campaign.work import Row
from netwright.cli.arguments import AsJson, Force, read_count, with_kind_options
from netwright.cli.campaign_report import (
    CampaignProgress,
    draw_campaign,
    report_of_answer,
    report_of_status,
    report_of_summary,
)
from netwright.cli.output import Working, print_json, save_file, say
from netwright.cli.report import check_plot, save_plot
from netwright.errors import InputError, StoppedError
from netwright.files import locked
from netwright.kind.registry import MACHINE, REGISTRY
from netwright.machine.formats import bbchallenge
from netwright.machine.simulate import Outcome
from netwright.text import counted, shortened

VERBS = {
    "run": "Run, verify or certify the machines of some sources.",
    "show": "Show what came of a campaign, ask in SQL, or plot it.",
    "status": "Show the progress of a campaign.",
    "pack": "Pack the rows of a campaign into Parquet files.",
}
DEFAULT = "run"
HELP = "Run, verify or certify very many machines, and keep every row."
EXAMPLE = """\b
Examples:
  netwright campaign run machines.txt.gz --max-steps 10000 -o long-runs
  netwright campaign show long-runs
  netwright campaign all:3x2 --do certify -o bb3     (run may be left out)"""
EXAMPLES = {
    "run": """\b
Examples:
  netwright campaign run all:3x2 --on transformer,rnn --do certify -o bb3
  netwright campaign run machines.txt.gz --max-steps 10000 -o long-runs
  netwright campaign run --resume -o long-runs
  netwright campaign run random:5x2:1000 --scheduler tcp://127.0.0.1:8786 -o d""",
    "show": """\b
Examples:
  netwright campaign show long-runs
  netwright campaign show long-runs --sql "select max(steps) from rows"
  netwright campaign show long-runs --holdouts undecided.txt""",
    "status": "Example: netwright campaign status long-runs --json",
    "pack": "Example: netwright campaign pack long-runs",
}
Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of a campaign.", show_default=False)
]


@with_kind_options
def run(
    options: dict[str, Any],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE…",
            help="Lists of machines (FILE, FILE:1000-2000, - for standard input; also .gz, .zst), "
            "seed databases, folders, library, all:3x2 (tree normal form; all:3x2:1RB), every:2x2, "
            "random:5x2:1000.",
            show_default=False,
        ),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            metavar="NETWORKS",
            help=f"{MACHINE}, {', '.join(REGISTRY)}, separated by commas."
            "  [default: machine,transformer]",
        ),
    ] = None,
    do: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(DOINGS),
            help="What to do with each, separated by commas.  [run]",
        ),
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=read_count, help="Stop each run after N steps.  [default: 1000]"
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="fast|accelerated", help="The code that runs them.  [fast]"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder for the rows.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the campaign in DIR.")] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Time limit for each machine and network.  [300]"),
    ] = None,
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
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip lines that are not machines.")
    ] = False,
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
        typer.Option(
            metavar="N", min=1, help="Machines in one unit of work.  [some seconds' worth]"
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run, verify or certify very many machines, and keep every row."""
    if output is None:
        raise InputError("no folder for the rows; name one: -o DIR")
    if workers is not None and scheduler is not None:
        raise InputError("--workers is for this machine, --scheduler for a cluster; name one")
    said = {"on": on, "do": do, "max_steps": max_steps, "time_limit": time_limit, "engine": engine}
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    if options:
        given["options"] = options
    store = Store(output)
    with CampaignProgress() as progress:
        found = campaign.run(
            sources or None,
            _plan(store, given) if resume and store.exists else Plan(**given),
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


def _plan(store: Store, given: dict[str, Any]) -> Plan | None:
    """The plan of a campaign that is resumed, with what is given anew; None if nothing is."""
    return Plan(**{**store.manifest()["plan"], **given}) if given else None


def show(
    folder: Folder,
    sql: Annotated[
        str | None,
        typer.Option(metavar="QUESTION", help="Answer a question in SQL over the table `rows`."),
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print all rows, or the answer to --sql, as CSV.")
    ] = False,
    holdouts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the undecided machines to FILE, as a list for another campaign.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw steps, scores and halting times (.png, .svg, .pdf)."
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show what came of a campaign: what is wrong first, then totals and records."""
    asked = {"--sql": sql, "--plot": plot, "--csv": csv or None, "--holdouts": holdouts}
    shown = [name for name, value in asked.items() if value is not None]
    if {"--sql", "--plot"} <= {*shown} or {"--holdouts", "--csv"} <= {*shown}:
        raise InputError(f"{' and '.join(shown)} are several answers; ask for one")
    if plot is not None:
        check_plot(plot, force=force)
    store = Store(folder)
    rows = partial(Work(store.manifest(), folder).rows, store)
    if holdouts is not None:
        _write_holdouts(rows(), holdouts, force, as_json)
    elif sql is not None:
        _answer(*ask(store, sql), csv, as_json)
    elif csv:
        _answer(list(COLUMNS), [tuple(row.values()) for row in rows()], csv, as_json)
    else:
        summary = _show(store, campaign.status(folder), as_json)
        if plot is not None:
            draw = partial(draw_campaign, summary)
            save_plot(plot, str(folder), draw, force=force, quiet=as_json)


def status(folder: Folder, as_json: AsJson = False) -> None:
    """Show the progress of a campaign, while it runs or after it stopped."""
    Store(folder).manifest()
    report_of_status(campaign.status(folder)).show(as_json=as_json)


def pack(folder: Folder, as_json: AsJson = False) -> None:
    """Pack the rows of a campaign into Parquet files, which take less room."""
    store = Store(folder)
    store.manifest()
    with locked(
        folder / "rows", f"another process is working on the campaign in {folder}; wait for it"
    ):
        store.tidy()
        with Working() as work:
            work.tell("packing")
            rows, parts = packed(store)
    if work.interrupted:
        raise StoppedError("interrupted; what was packed stays packed, and nothing is lost")
    if as_json:
        print_json({"rows": rows, "parts": parts})
    else:
        say(f"packed {counted(rows, 'row')} into {counted(parts, 'part')} of Parquet")


def _answer(header: list[str], rows: list[tuple[Any, ...]], csv: bool, as_json: bool) -> None:
    """Print the answer to a question in SQL, or all rows: as a table, as JSON or as CSV."""
    if csv and not as_json:
        writer = csv_writer(sys.stdout, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
        return
    report = report_of_answer(header, rows)
    report.facts |= {"columns": header, "rows": [list(map(_as_data, row)) for row in rows]}
    report.show(as_json=as_json)


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
            f"{counted(len(others), 'undecided machine')} cannot be written to a list, which has "
            f"only bbchallenge text: {shortened(', '.join(sorted(others)), 60)}"
        )
    save_file(path, "".join(f"{text}\n" for text in machines.values()).encode(), force=force)
    if as_json:
        print_json({"holdouts": len(machines), "file": str(path)})
    else:
        say(f"wrote {counted(len(machines), 'machine')} to {path}")


def _as_data(value: object) -> object:
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
    report = report_of_summary(summary, found, manifest)
    report.show(as_json=as_json)
    return summary
