"""What a campaign shows in a terminal: its progress, how far it is, what came of it."""

from collections.abc import Sequence
from typing import Any

from netwright.campaign import Status
from netwright.campaign.plan import CERTIFY, VERIFY
from netwright.campaign.summary import MOST_WRONG, Summary
from netwright.cli.output import console, print_indented, say, visible
from netwright.cli.progress import Bar
from netwright.text import counted, shortened

MOST_SHOWN = 1000
"""Rows of an answer on a terminal."""


def _duration(seconds: float | None) -> str:
    """A time as people say it.

    >>> _duration(7.4), _duration(75), _duration(7500), _duration(200_000)
    ('7 s', '1 min 15 s', '2 h 5 min', '2 d 7 h')
    """
    if seconds is None:
        return "?"
    whole = round(seconds)
    for unit, name, part, small in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= unit:
            return f"{whole // unit} {name} {whole % unit // part} {small}"
    return f"{whole} s"


def _troubles(found: Status) -> str:
    """What is wrong, if anything is."""
    told = [
        counted(found.disagreements, "disagreement") if found.disagreements else "",
        f"{found.uncertified:,} not certified" if found.uncertified else "",
        f"{found.failures:,} without an answer" if found.failures else "",
    ]
    return ", ".join(filter(None, told))


class CampaignProgress(Bar):
    """How far a campaign is; call it with a `Status`."""

    def __call__(self, found: Status) -> None:
        """Show how far it is."""
        if not self.shown:
            return
        if self.bar is None:
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (BarColumn(bar_width=16), TextColumn("{task.description}"))
            self.bar = Progress(*columns, console=console(stderr=True), transient=True)
            self.task = self.bar.add_task("", total=found.total)
            self.bar.start()
        rate = f"{found.rate:,.0f}/s" if found.rate else "beginning"
        told = [f"{found.done:,}/{found.total:,}", rate]
        if found.seconds_left is not None:
            told.append(f"{_duration(found.seconds_left)} left")
        told.append(counted(found.workers or 0, "worker"))
        told.append(_troubles(found))
        self.bar.update(self.task, completed=found.done, description="  ".join(filter(None, told)))


def print_status(found: Status) -> None:
    """How far a campaign is."""
    part = f" ({found.done / found.total:.1%})" if found.total else ""
    say(f"{found.done:,} of {counted(found.total, 'machine')}{part}, {counted(found.rows, 'row')}")
    if found.running:
        told = [counted(found.workers or 0, "worker")]
        if found.rate:
            told.append(f"{found.rate:,.1f} machines a second")
        if found.seconds_left is not None:
            told.append(f"{_duration(found.seconds_left)} left")
        say(f"  running: {', '.join(told)}")
    elif found.finished:
        say("  finished")
    else:
        say(f"  stopped; go on with: netwright campaign --resume -o {found.folder}")
    say(f"  {_troubles(found) or 'no disagreement, nothing without an answer'}")
    say(f"  digest {found.digest}")


def print_summary(summary: Summary, found: Status, manifest: dict[str, Any]) -> None:
    """Everything that came of a campaign, what is wrong first."""
    from rich.table import Table

    out = console()
    for title, name, rows in (
        ("DISAGREE with the machine", "disagreements", summary.disagreements),
        ("NOT CERTIFIED", "uncertified", summary.uncertified),
        ("without an answer", "failures", summary.failures),
    ):
        if rows:
            out.print(f"{counted(summary.wrong[name], 'row')} {title}:")
            for row in rows[:MOST_WRONG]:
                told = visible(row["note"] or row["outcome"] or "")
                print_indented(out, f"{row['on']}: {told}")
                print_indented(out, f"  {visible(summary.command(row))}")
            if summary.wrong[name] > len(rows):
                out.print(f"  … and {summary.wrong[name] - len(rows):,} more")
            out.print()
    plan = manifest["plan"]
    names = ", ".join(each["source"] for each in manifest["sources"])
    state = "" if found.finished else f"; {found.total - found.done:,} are left"
    out.print(f"{visible(shortened(names, 50))}: {counted(summary.machines, 'machine')}{state}")
    bad = sum(len(each["bad"]) for each in manifest["sources"])
    if bad:
        out.print(f"{bad:,} passed over, which {'is' if bad == 1 else 'are'} no machine")
    table = Table(box=None, pad_edge=False)
    outcomes = list(dict.fromkeys(o for counts in summary.outcomes.values() for o in counts))
    table.add_column("on")
    extra = ["agree"] if any(summary.agree.values()) else []
    extra += ["checks"] if VERIFY in plan["do"] else []
    extra += ["certified"] if CERTIFY in plan["do"] else []
    for name in [*outcomes, *extra]:
        table.add_column(name, justify="right")
    for on, counts in summary.outcomes.items():
        sums = {"agree": summary.agree, "checks": summary.checks, "certified": summary.certified}
        cells = [f"{counts[name]:,}" for name in outcomes]
        empty = on == "machine"
        cells += ["" if empty else f"{sums[name][on]:,}" for name in extra]
        table.add_row(on, *cells)
    out.print(table)
    for title, best, column in (
        ("most steps", summary.longest, "steps"),
        ("most cells not blank", summary.fullest, "non_blank"),
    ):
        if best.rows:
            _print_best(out, title, best.rows, column)
    if summary.slowest.rows:
        _print_best(out, "slowest (seconds of CPU)", summary.slowest.rows, "seconds")
    verdict = _troubles(found) or "no disagreement, nothing without an answer"
    out.print(f"\n{counted(summary.rows, 'row')}, {_duration(summary.seconds)} of CPU: {verdict}")
    out.print(f"digest {found.digest}")


def _print_best(out: Any, title: str, rows: Sequence[dict[str, Any]], column: str) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    table.add_column()
    for row in rows:
        value = row[column]
        shown = f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
        others = f"on {row['on']}" if column == "seconds" else ""
        table.add_row(shown, visible(shortened(row["machine"], 60)), others)
    out.print(f"\n{title}")
    out.print(table)


def print_answer(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """The answer to a question in SQL."""
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(header):
        numbers = all(isinstance(row[place], int | float) for row in rows)
        table.add_column(visible(name), justify="right" if numbers else "left", overflow="fold")
    shown = rows[:MOST_SHOWN] if out.is_terminal else rows  # a file has all of them
    for row in shown:
        table.add_row(*(visible(str(value)) if value is not None else "" for value in row))
    out.print(table)
    if len(rows) > len(shown):
        out.print(f"… and {len(rows) - len(shown):,} more: --csv, --json, or into a file, has all")
