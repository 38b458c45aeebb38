"""`netwright audit`: whether a file or folder is what it says."""

from dataclasses import asdict
from typing import Annotated

import typer

from netwright.cli.arguments import AsJson
from netwright.cli.output import console, print_indented, print_json, visible
from netwright.cli.progress import Working
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
    """Check a file or a folder anew, and all that it is made from.

    The exit code is 0 if it is what it says, and 1 if it is not.
    """
    if all_rows and sample is not None:
        raise InputError("--sample does some rows again, --all all of them; name one")
    count = None if all_rows else SAMPLE if sample is None else sample
    found = None
    with Working() as work:
        found = audit(path, digest=digest, sample=count, progress=work.tell)
    if work.interrupted or found is None:
        raise StoppedError("interrupted; nothing is said of it")
    if as_json:
        print_json({**asdict(found), "holds": found.holds})
        return 0 if found.holds else DIFFERS
    from rich.table import Table

    out = console()
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column()
    grid.add_column()
    grid.add_column(overflow="fold")
    for each in found.findings:
        grid.add_row(SIGNS[each.holds], each.what, visible(each.detail))
    out.print(grid)
    if found.digest is not None:
        print_indented(out, f"digest {found.digest}")
    verdict = "is what it says" if found.holds else "is NOT what it says"
    out.print(f"{found.kind} {visible(found.path)}: {verdict}", soft_wrap=True)
    return 0 if found.holds else DIFFERS
