"""`netwright claims`: the paper's statements as executable experiments."""

import textwrap
from typing import Annotated

import typer

from netwright.claims.experiments import Claim, claim_names, run_claim
from netwright.cli.arguments import AsJson
from netwright.cli.output import console, print_json
from netwright.cli.progress import Working
from netwright.errors import StoppedError
from netwright.text import counted

EXAMPLE = """\b
Examples:
  netwright claims
  netwright claims "Theorem 3.4" lem:vli
  netwright claims --thorough --json"""
FAILED = 1


def command(
    labels: Annotated[
        list[str] | None,
        typer.Argument(metavar="LABEL…", help="Statements, such as 'Lemma B.4' or lem:vli."),
    ] = None,
    thorough: Annotated[bool, typer.Option("--thorough", help="More cases of each.")] = False,
    deviations: Annotated[
        bool, typer.Option("--deviations", help="Where each departs from the print, and why.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check every numbered statement of the paper, and ours past it, by experiment."""
    claims: list[Claim] = []
    names = claim_names(labels or [])
    with Working() as work:
        for name in names:
            work.tell(name)
            claims.append(run_claim(name, thorough))
    failed = [claim for claim in claims if claim.failure is not None]
    if as_json:
        rows = [
            {
                "statement": claim.name,
                "title": claim.title,
                "checked": claim.checked,
                "cases": claim.cases,
                "holds": claim.failure is None,
                "failure": claim.failure,
                "deviation": claim.deviation or None,
                "ours": claim.is_ours,
            }
            for claim in claims
        ]
        print_json({"claims": rows, "failed": len(failed), "interrupted": work.interrupted})
    else:
        _print(claims, failed, deviations)
    if work.interrupted:
        raise StoppedError(f"interrupted after {len(claims)} of {counted(len(names), 'statement')}")
    return FAILED if failed else 0


def _print(claims: list[Claim], failed: list[Claim], deviations: bool) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("statement", no_wrap=True)
    table.add_column("what is checked")
    table.add_column("cases", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for claim in claims:
        verdict = "holds" if claim.failure is None else "FAILS"
        mark = " (ours)" if claim.is_ours else " *" if claim.deviation else ""
        table.add_row(claim.name + mark, claim.checked, f"{claim.cases:,}", verdict)
    out.print(table)
    if any(claim.deviation for claim in claims):
        hint = "" if deviations else " (--deviations tells)"
        out.print(f"* not quite as printed{hint}")
    for claim in claims if deviations else ():
        if claim.deviation:
            text = textwrap.fill(f"{claim.name}: {claim.deviation}", width=out.width)
            out.print(f"\n{text}")
    for claim in failed:
        out.print(f"\n{claim.name} ({claim.title}) fails:\n  {claim.failure}")
