"""`netwright claims`: the paper's statements as executable experiments."""

import textwrap
from importlib.metadata import version
from typing import Annotated, Any

import typer

from netwright.claims.experiments import Claim, claim_names, run_claim
from netwright.claims.proofs import Proofs, in_coq, proofs_here
from netwright.cli.arguments import AsJson
from netwright.cli.output import Working, console
from netwright.cli.report import Report
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
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Check more cases of each statement.")
    ] = False,
    deviations: Annotated[
        bool, typer.Option("--deviations", help="Show where each departs from the print, and why.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check every numbered statement of the paper, and ours beyond it, by experiment."""
    claims: list[Claim] = []
    names = claim_names(labels or [])
    with Working() as work:
        for name in names:
            work.tell(name)
            claims.append(run_claim(name, thorough))
    failed = [claim for claim in claims if claim.failure is not None]
    report = Report({"version": version("netwright"), "thorough": thorough})
    report.facts |= {"claims": [_row(claim) for claim in claims], "failed": len(failed)}
    report.facts["interrupted"] = work.interrupted
    proved = in_coq(names)
    proofs = proofs_here() if proved else None
    if proofs is not None:
        report.facts["proofs"] = _proofs(proofs, proved)
    _tell(report, claims, deviations, proofs)
    report.show(as_json=as_json)
    if work.interrupted:
        raise StoppedError(f"interrupted after {len(claims)} of {counted(len(names), 'statement')}")
    return FAILED if failed else 0


def _row(claim: Claim) -> dict[str, Any]:
    return {
        "statement": claim.name,
        "title": claim.title,
        "checked": claim.checked,
        "cases": claim.cases,
        "holds": claim.failure is None,
        "failure": claim.failure,
        "deviation": claim.deviation or None,
        "ours": claim.is_ours,
        "on": list(claim.on),
    }


def _proofs(proofs: Proofs, proved: list[str]) -> dict[str, Any]:
    return {
        "compiled": proofs.missing is None,
        "result": proofs.result,
        "coq": proofs.coq,
        "theorems": proofs.theorems,
        "statements": proved,
    }


def _checked(claim: Claim) -> str:
    """What is checked, and on what: the first cases, and how many there are."""
    on = f"{', '.join(claim.on[:2])}{', …' if len(claim.on) > 2 else ''}"
    return f"{claim.checked} ({len(claim.on)}: {on})" if claim.on else claim.checked


def _tell(report: Report, claims: list[Claim], deviations: bool, proofs: Proofs | None) -> None:
    """The table, the proofs, where statements depart from the print, and what fails."""
    marks = [" (ours)" if each.is_ours else " *" if each.deviation else "" for each in claims]
    report.table(
        ("statement", "what is checked", "cases", ""),
        [
            (each.name + mark, _checked(each), each.cases, "FAILS" if each.failure else "holds")
            for each, mark in zip(claims, marks, strict=True)
        ],
        whole=("cases", ""),
    )
    if proofs is not None:
        by = f" by Coq {proofs.coq}, {counted(proofs.theorems, 'theorem')}" if proofs.coq else ""
        report.line(f"proofs in Coq: {proofs.result}{by}")
    report.line(f"netwright {version('netwright')}; a random network's number is its seed")
    departing = [claim for claim in claims if claim.deviation]
    if departing:
        hint = "" if deviations else " (--deviations explains)"
        report.line(f"* not quite as printed{hint}")
    for claim in departing if deviations else ():
        report.line(f"\n{textwrap.fill(f'{claim.name}: {claim.deviation}', width=console().width)}")
    for claim in claims:
        if claim.failure is not None:
            report.line(f"\n{claim.name} ({claim.title}) fails:\n  {claim.failure}")
