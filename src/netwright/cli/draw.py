"""`netwright draw`: a machine's states, its run, or a network's attention, as SVG or PNG."""

from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    Force,
    FormatName,
    Head,
    Input,
    Machine,
    MaxSteps,
    OnKind,
    Separator,
    choice_of,
    load_with_word,
    with_kind_options,
)
from netwright.cli.output import print_json, save_file, say
from netwright.drawing.machines import ATTENTION, KINDS, RUN, STATES, draw
from netwright.drawing.picture import FORMATS
from netwright.errors import InputError
from netwright.files import check_output
from netwright.network.running import network_of

EXAMPLE = """\b
Examples:
  netwright draw palindrome -o states.svg
  netwright draw palindrome abba -o run.png
  netwright draw busy-beaver-5 --what run --max-steps 5e7 -o bb5.png
  netwright draw palindrome abba --only decoder.3.self -o attention.svg
  netwright draw palindrome abba --on rnn --t 10 -o moment.svg"""


@with_kind_options
def command(
    machine: Machine,
    options: dict[str, Any],
    word: Input = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, .svg or .png."),
    ] = None,
    what: Annotated[
        str | None,
        choice_of("--what", KINDS, "What to draw.  [states; with INPUT, run]"),
    ] = None,
    attention: Annotated[
        str,
        typer.Option("--only", metavar="NAME", help="Draw one attention, such as decoder.3.self."),
    ] = "",
    t: Annotated[
        int | None,
        typer.Option(
            "--t", min=1, metavar="TIME", help="Draw a network at this time, as explore shows it."
        ),
    ] = None,
    on: OnKind = None,
    max_steps: MaxSteps = 10_000_000,
    force: Force = False,
    head: Head = 0,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Draw the states of a machine, its tape over time, or what a network attends to."""
    if output is None or output.suffix.lower() not in FORMATS:
        raise InputError("say which file to write, in SVG or PNG: -o FILE.svg or -o FILE.png")
    check_output(output, force=force)
    source, _, symbols = load_with_word(machine, word, separator, format_name, head)
    chosen = what or (ATTENTION if attention else STATES if word is None else RUN)
    if t is not None:
        if what is not None or attention:
            raise InputError("--t draws one time of a network; leave out --what and --only")
        from netwright.explorer.explored import Explored
        from netwright.explorer.pictures import moment_picture

        chosen, network = "moment", network_of(source, on, symbols, **options)
        picture = moment_picture(Explored(network, tuple(symbols), max_steps), t)
    else:
        if chosen == ATTENTION:
            source = network_of(source, on, symbols, **options)
        elif on is not None or options or attention:
            raise InputError(
                f"--what {chosen} is for machines; networks have --what {ATTENTION}, and --t TIME"
            )
        picture = draw(source, symbols, what=chosen, max_steps=max_steps, attention=attention)
    save_file(output, picture.content(output), force=force)
    if as_json:
        about = {"machine": machine, "what": chosen, "title": picture.title}
        print_json({**about, "output": str(output)})
    else:
        say(f"wrote {output}: {picture.title}")
