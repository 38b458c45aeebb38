"""What `netwright campaign` reports: its progress, how far it is, what came of it, a plot."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from netwright.campaign import Status
from netwright.campaign.plan import CERTIFY, VERIFY
from netwright.campaign.summary import MOST_WRONG, Summary
from netwright.cli.output import Bar, console, visible
from netwright.cli.report import COLOURS, Report
from netwright.errors import InputError
from netwright.text import counted, shortened

MOST_SHOWN = 1000
"""Rows of an answer on a terminal."""
NO_TROUBLE = "no disagreement, nothing without an answer"


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


def report_of_status(found: Status) -> Report:
    """How far a campaign is."""
    report = Report({**asdict(found), "finished": found.finished})
    part = f" ({found.done / found.total:.1%})" if found.total else ""
    done = f"{found.done:,} of {counted(found.total, 'machine')}{part}"
    report.line(f"{done}, {counted(found.rows, 'row')}")
    if found.running:
        told = [counted(found.workers or 0, "worker")]
        if found.rate:
            told.append(f"{found.rate:,.1f} machines per second")
        if found.seconds_left is not None:
            told.append(f"{_duration(found.seconds_left)} left")
        report.line(f"  running: {', '.join(told)}")
    elif found.finished:
        report.line("  finished")
    else:
        report.line(f"  stopped; resume with: netwright campaign run --resume -o {found.folder}")
    report.line(f"  {_troubles(found) or NO_TROUBLE}")
    report.line(f"  digest {found.digest}")
    return report


def report_of_summary(summary: Summary, found: Status, manifest: dict[str, Any]) -> Report:
    """Everything that came of a campaign, what is wrong first."""
    sources = manifest["sources"]
    bad = sum(len(each["bad"]) for each in sources)
    report = Report({**asdict(found), "finished": found.finished, "plan": manifest["plan"]})
    names = [each["source"] for each in sources]
    report.facts |= {"bad": bad, "sources": names, **summary.as_json()}
    _tell_what_is_wrong(report, summary)
    state = "" if found.finished else f"; {found.total - found.done:,} are left"
    source = visible(shortened(", ".join(names), 50))
    report.line(f"{source}: {counted(summary.machines, 'machine')}{state}")
    if bad:
        report.line(f"{bad:,} skipped: {'not a machine' if bad == 1 else 'not machines'}")
    _tell_outcomes(report, summary, manifest["plan"]["do"])
    for title, best, column in (
        ("most steps", summary.longest, "steps"),
        ("most cells not blank", summary.fullest, "non_blank"),
        ("slowest (seconds of CPU)", summary.slowest, "seconds"),
    ):
        if best.rows:
            report.line(f"\n{title}")
            report.table(("", "", ""), [_best(row, column) for row in best.rows])
    verdict = _troubles(found) or NO_TROUBLE
    report.line(f"\n{counted(summary.rows, 'row')}, {_duration(summary.seconds)} of CPU: {verdict}")
    report.line(f"digest {found.digest}")
    return report


def _tell_what_is_wrong(report: Report, summary: Summary) -> None:
    for title, name, rows in (
        ("DISAGREE with the machine", "disagreements", summary.disagreements),
        ("NOT CERTIFIED", "uncertified", summary.uncertified),
        ("without an answer", "failures", summary.failures),
    ):
        if not rows:
            continue
        report.line(f"{counted(summary.wrong[name], 'row')} {title}:")
        for row in rows[:MOST_WRONG]:
            told = visible(row["note"] or row["outcome"] or "")
            report.line(f"{row['on']}: {told}", indented=True)
            report.line(f"  {visible(summary.command(row))}", indented=True)
        if summary.wrong[name] > len(rows):
            report.line(f"  … and {summary.wrong[name] - len(rows):,} more")
        report.line()


def _tell_outcomes(report: Report, summary: Summary, doings: Sequence[str]) -> None:
    """By network: how many runs had each outcome, agree, and are certified."""
    outcomes = list(dict.fromkeys(o for counts in summary.outcomes.values() for o in counts))
    sums = {"agree": summary.agree} if any(summary.agree.values()) else {}
    sums |= {"checks": summary.checks} if VERIFY in doings else {}
    sums |= {"certified": summary.certified} if CERTIFY in doings else {}
    rows = []
    for on, counts in summary.outcomes.items():
        others = (None if on == "machine" else each[on] for each in sums.values())
        rows.append((on, *(counts[name] for name in outcomes), *others))
    report.table(("on", *outcomes, *sums), rows)


def _best(row: dict[str, Any], column: str) -> tuple[Any, ...]:
    value = f"{row[column]:.3f}" if column == "seconds" else row[column]
    return value, shortened(row["machine"], 60), f"on {row['on']}" if column == "seconds" else ""


def report_of_answer(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Report:
    """The answer to a question in SQL; a terminal shows the first rows, a file has all."""
    report = Report()
    most = MOST_SHOWN if console().is_terminal else None
    report.table(header, rows, most=most, more=": --csv, --json, or into a file, has all")
    return report


def draw_campaign(summary: Summary, figure: Any, title: str) -> None:
    """Plot steps against cells, and how many machines halt when, side by side."""
    if not summary.ends:
        raise InputError("--plot shows machines that halt; the campaign has none")
    scores, times = figure.subplots(1, 2)
    steps = [steps for steps, _ in summary.ends]
    cells = [cells for _, cells in summary.ends]
    sizes = [12 + 6 * count.bit_length() for count in summary.ends.values()]
    scores.scatter(steps, cells, s=sizes, color=COLOURS[0], alpha=0.5, linewidths=0)
    scores.set_xlabel("steps until it halts")
    scores.set_ylabel("cells that are not blank")
    scores.set_title(f"{counted(sum(summary.ends.values()), 'machine')} that halt", fontsize=10)
    halting: Counter[int] = Counter()
    for (when, _), count in summary.ends.items():
        halting[when] += count
    longest = max(halting)
    if longest > 60:
        scores.set_xscale("symlog")
        edges = [0, *(2**k for k in range(longest.bit_length() + 1))]
        times.set_xscale("symlog")
    else:
        edges = list(range(longest + 2))
        for axis in (scores.xaxis, times.xaxis):
            axis.get_major_locator().set_params(integer=True)
    if max(cells) > 60:
        scores.set_yscale("symlog")
    else:
        scores.yaxis.get_major_locator().set_params(integer=True)
    times.hist(list(halting), bins=edges, weights=list(halting.values()), color=COLOURS[1])
    times.set_yscale("log")
    times.set_xlabel("steps until it halts")
    times.set_ylabel("machines")
    times.set_title("halting times", fontsize=10)
    for axes in (scores, times):
        axes.grid(alpha=0.3)
    figure.suptitle(title, fontsize=10, parse_math=False)
