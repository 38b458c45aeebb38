"""`netwright parse`: from the text of a language model back to the run of a machine."""

import sys
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated

import typer

from netwright.cli.arguments import AsJson, FormatName, complete_machine
from netwright.cli.output import print_json, say, visible
from netwright.errors import InputError
from netwright.export.texts import parse
from netwright.files import read_file
from netwright.machine.load import load_machine
from netwright.text import counted, shortened

EXAMPLE = """\b
Examples:
  netwright parse "1 1 <run> R:r:1>1 @1 R:r:1>1 @2 R:r:_ <halt>"
  netwright parse generated.txt --machine palindrome
  netwright parse generated.txt --model palindrome-gpt2
  netwright parse first.txt second.txt --machine palindrome
  python generate.py | netwright parse -"""
WRONG = 1
LARGEST = 1 << 28  # bytes


def command(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT|FILE|-…",
            help="What the model wrote, prompt and all; then the texts that go on with it.",
        ),
    ],
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="MACHINE",
            help="The machine whose model wrote it.",
            autocompletion=complete_machine,
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The exported model that wrote it.")
    ] = None,
    damaged: Annotated[
        bool,
        typer.Option("--damaged", help="Take a model whose files are not those that were checked."),
    ] = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Read the run off a text of a language model, and check the text.

    The exit code is 0 if the text is right, whatever the run comes to, and 1 if it is not.
    """
    known = None if machine is None else load_machine(machine, format_name=format_name)
    first, *others = map(_text, text)
    found = parse(first, known, model=model, then=others, damaged=damaged)
    if as_json:
        print_json(
            {
                "outcome": found.outcome.value,
                "steps": found.steps,
                "state": found.state,
                "head": found.head,
                "tape": list(found.tape.cells),
                "tape_start": found.tape.start,
                "tokens": found.tokens,
                "against": found.against,
                "problem": found.problem,
                "resumed": found.resumed,
                "resumed_from": found.begins[0],
            }
        )
    else:
        since = f" from {visible(found.begins[0] or '')} on" if found.resumed else ""
        say(f"{found.outcome.value} after {counted(found.steps, 'step')}{since}")
        say(f"  state  {visible(found.state or 'none')}")
        say(f"  head   cell {found.head}")
        tape = "".join(map(visible, found.tape.cells))
        say(f"  tape   {shortened(tape, get_terminal_size().columns - 9) or 'blank'}")
        tokens = counted(found.tokens, "token")
        say(f"  text   {visible(found.problem or f'{tokens}, right against {found.against}')}")
        if found.resumed:
            say("         resumed: the text says itself where it begins; it is not a run from the")
            say("         beginning; to check the texts as one, also name those before it")
    return 0 if found.holds else WRONG


def _text(given: str) -> str:
    """A text, or what is in a file or on standard input."""
    if given == "-":
        return sys.stdin.read()
    path = Path(given)
    try:
        is_file = len(given) < 4096 and path.is_file()
    except (OSError, ValueError):
        is_file = False
    if is_file:
        return read_file(path, LARGEST, "text").decode(errors="replace")
    if "<run>" not in given and " " not in given:
        raise InputError(f"{given[:60]!r} is neither a file nor a text of a language model")
    return given
