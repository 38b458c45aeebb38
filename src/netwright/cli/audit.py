"""`netwright audit`: whether a file or folder is what it says."""

from dataclasses import asdict
from typing import Annotated

import typer

from netwright.cli.arguments import AsJson
from netwright.cli.output import Working, visible
from netwright.cli.report import Report
from netwright.errors import InputError, StoppedError
from netwright.network.audit import SAMPLE, SIGNS, audit

EXAMPLE = """\b
Examples:
  netwright audit palindrome-rnn.json
  netwright audit network.safetensors --digest 0a7a989b…
  netwright audit exported-folder
  netwright audit my-campaign --sample 100"""
DIFFERS = 1


def command(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A certificate, saved network, checkpoint, machine file; or the folder of an "
            "export or a campaign.",
        ),
    ],
    digest: Annotated[
        str | None,
        typer.Option(
            metavar="SHA256", help="What the digest of the machine, or campaign, must be."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help=f"Rows of a campaign to do again.  [default: {SAMPLE}]"
        ),
    ] = None,
    all_rows: Annotated[
        bool, typer.Option("--all", help="Do all rows of a campaign again.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check a file or a folder again, and everything that it was made from.

    The exit code is 0 if it is what it says, and 1 if it is not.
    """
    if all_rows and sample is not None:
        raise InputError("--sample does some rows again, --all all of them; name one")
    count = None if all_rows else SAMPLE if sample is None else sample
    found = None
    with Working() as work:
        found = audit(path, digest=digest, sample=count, progress=work.tell)
    if work.interrupted or found is None:
        raise StoppedError("interrupted; no verdict")
    report = Report({**asdict(found), "holds": found.holds})
    report.table(
        ("", "", ""), [(SIGNS[each.holds], each.what, each.detail) for each in found.findings]
    )
    if found.digest is not None:
        report.line(f"digest {found.digest}", indented=True)
    verdict = "is what it says" if found.holds else "is NOT what it says"
    report.line(f"{found.kind} {visible(found.path)}: {verdict}", whole=True)
    report.show(as_json=as_json)
    return 0 if found.holds else DIFFERS
