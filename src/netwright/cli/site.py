"""`netwright site`: gallery, page, playground and walk as a static folder."""

from pathlib import Path
from typing import Annotated

import typer

from netwright.cli.arguments import AsJson, Force
from netwright.cli.output import Working, print_json, say
from netwright.errors import InputError, StoppedError

EXAMPLE = """\b
Examples:
  netwright site -o site
  netwright site -o public --url https://example.org/netwright/ --force"""


def command(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write into this new folder."),
    ] = None,
    url: Annotated[
        str,
        typer.Option(
            "--url",
            metavar="URL",
            help="Where the site will be, so that links to it show a picture.",
        ),
    ] = "",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a static site: a gallery of the library, its networks at work, a playground, a walk.

    The folder opens from a file manager and from any static host. Its pages run the networks
    themselves, and ask nobody for anything.
    """
    from netwright.explorer.site import write_site

    if output is None:
        raise InputError("say which folder to write: -o DIR")
    with Working() as work:
        found = write_site(output, url=url, force=force, tell=work.tell)
    if work.interrupted:
        raise StoppedError(f"{output} was not written")
    if as_json:
        print_json(found)
    else:
        say(
            f"wrote {output}: {found['files']} files, {found['bytes'] / 1e6:.2f} MB; "
            f"{len(found['machines'])} machines, {len(found['kinds'])} kinds of network\n"
            f"open {output / 'index.html'} in a browser, or serve the folder"
        )
