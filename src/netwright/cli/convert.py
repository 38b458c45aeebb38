"""`netwright convert`: a machine in another format."""

from typing import Annotated

import typer

from netwright.cli.arguments import AsJson, Force, FormatName, Machine, Output, load
from netwright.cli.output import print_json, save_file, say
from netwright.machine.formats import WRITABLE, write_text
from netwright.network.running import machine_in

EXAMPLE = "Example: netwright convert palindrome --to morphett -o palindrome.txt"


def command(
    machine: Machine,
    to: Annotated[str, typer.Option(metavar="FORMAT", help=f"One of {', '.join(WRITABLE)}.")],
    output: Output = None,
    force: Force = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Write a machine in another format; reading it back gives an equal machine."""
    text = write_text(machine_in(load(machine, format_name=format_name)), to)
    if output is not None:
        save_file(output, text.encode(), force=force)
    if as_json:
        print_json({"machine": machine, "to": to, "text": text, "output": output and str(output)})
    elif output is not None:
        say(f"wrote {output} ({to})")
    else:
        say(text, end="")
