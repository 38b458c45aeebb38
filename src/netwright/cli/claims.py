"""`netwright claims`: the paper's statements as executable experiments."""

import textwrap
from typing import Annotated

import typer

from netwright.cli.arguments import AsJson
from netwright.cli.output import console, print_json
from netwright.cli.progress import Working
from netwright.verify.claims import Claim, claim_names, run_claim

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
    """Check every numbered statement of the paper by experiment."""
    claims: list[Claim] = []
    with Working() as tell:
        for name in claim_names(labels or []):
            tell(name)
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
            }
            for claim in claims
        ]
        print_json({"claims": rows, "failed": len(failed)})
    else:
        _print(claims, failed, deviations)
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
        mark = " *" if claim.deviation else ""
        table.add_row(claim.name + mark, claim.checked, f"{claim.cases:,}", verdict)
    out.print(table, markup=False)
    if any(claim.deviation for claim in claims):
        hint = "" if deviations else " (--deviations tells)"
        out.print(f"* not quite as printed{hint}", markup=False)
    for claim in claims if deviations else ():
        if claim.deviation:
            text = textwrap.fill(f"{claim.name}: {claim.deviation}", width=out.width)
            out.print(f"\n{text}", markup=False)
    for claim in failed:
        out.print(f"\n{claim.name} ({claim.title}) fails:\n  {claim.failure}", markup=False)
