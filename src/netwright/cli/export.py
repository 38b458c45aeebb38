"""`netwright export`: a network for numpy, ONNX, PyTorch or Hugging Face, checked there."""

from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    FormatName,
    Separator,
    choice_of,
    complete_machine,
    read_count,
)
from netwright.cli.given import check_word, split_word, word_text
from netwright.cli.kind_options import OnKind, with_kind_options
from netwright.cli.output import console, counted, print_json, say, visible
from netwright.cli.progress import Working
from netwright.errors import InputError, StoppedError
from netwright.export.folder import OUTPUTS, CheckFailedError, Export, export
from netwright.export.subject import prediction_text
from netwright.export.targets import TARGETS
from netwright.export.zoo import Animal, write_zoo
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.kinds import KINDS, kind_named, kinds
from netwright.networks.network import Network
from netwright.networks.running import load, machine_in, network_of
from netwright.text import shortened

EXAMPLE = """\b
Examples:
  netwright export palindrome --to numpy -o palindrome-numpy
  netwright export palindrome --to torch -o model --input abba --input ab
  netwright export palindrome --on rnn --to onnx -o rnn
  netwright export busy-beaver-4 --to hf -o bb4
  netwright export busy-beaver-5 --to torch --dtype float32 --score recency -o bb5
  netwright export --zoo --to numpy -o zoo"""
FAILED = 1
DTYPES = tuple(dict.fromkeys(name for target in TARGETS.values() for name in target.dtypes))


@with_kind_options
def command(
    options: dict[str, Any],
    machine: Annotated[
        str | None,
        typer.Argument(
            metavar="MACHINE",
            help="As for `netwright run`; or a saved network.",
            show_default=False,
            autocompletion=complete_machine,
        ),
    ] = None,
    to: Annotated[str, choice_of("--to", TARGETS, "What to write.")] = "numpy",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")
    ] = None,
    on: OnKind = None,
    dtype: Annotated[
        str | None,
        choice_of(
            "--dtype", DTYPES, "The type of all numbers.  [float64; bfloat16 for gpt2 and opt]"
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="WORD",
            help="An input to check on; may be given several times.  [the machine's own]",
        ),
    ] = None,
    check: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=lambda value: read_count(value, "--check", "outputs"),
            help="Compare so many outputs of each input with the exact run.",
        ),
    ] = OUTPUTS,
    keep_failed: Annotated[
        bool, typer.Option("--keep-failed", help="Write it even if the check finds it wrong.")
    ] = False,
    zoo: Annotated[
        bool, typer.Option("--zoo", help="All machines of the library; goes on where it stopped.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite DIR if it is an export.")
    ] = False,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Write a network for another tool, and check it there."""
    if output is None:
        raise InputError("say which folder to write: -o DIR")
    if zoo:
        if machine or words or options or keep_failed or separator or format_name:
            raise InputError("--zoo takes all machines of the library as they are, and no others")
        return _zoo(to, output, on, dtype, check, force, as_json)
    if machine is None:
        raise InputError("say which machine to export, or --zoo for all of the library")
    given = [split_word(word, separator) for word in words or ()]
    letters = [symbol for word in given for symbol in word]
    on = on or _only_kind(to)
    source = load(machine, format_name=format_name, also=letters)
    turing = machine_in(source)
    inputs = [check_word(turing, word, separator) for word in given] or [turing.default_input]
    network = _network(source, turing, on, inputs, options)
    with Working() as work:
        try:
            made = export(
                network,
                to,
                output,
                dtype=dtype,
                inputs=inputs,
                check=check,
                keep_failed=keep_failed,
                force=force,
                say=work.tell,
            )
        except CheckFailedError as error:
            if not as_json:
                say(f"netwright: {error}".replace("\n", "\n  "), err=True)
            else:
                print_json({**error.export.about, "folder": None})
            return FAILED
    if work.interrupted:
        raise StoppedError(f"interrupted; {output} was not written")
    if as_json:
        print_json({**made.about, "folder": str(output)})
    else:
        _print(made, turing, separator)
    return 0 if made.holds else FAILED


def _only_kind(to: str) -> str | None:
    """The kind that a target takes, if it is one that goes past the paper; None for any other."""
    taken = [name for name in kinds() if TARGETS[to].takes(name)]
    return taken[0] if len(taken) == 1 and taken[0] not in KINDS else None


def _network(
    source: TuringMachine | Network,
    turing: TuringMachine,
    on: str | None,
    inputs: list[tuple[str, ...]],
    options: dict[str, Any],
) -> Network:
    """A network that takes all of the inputs; of a machine, one that is made for floats."""
    letters = [symbol for word in inputs for symbol in word]
    if isinstance(source, TuringMachine):
        options = dict(kind_named(on or next(iter(KINDS))).for_export(options, turing))
    return network_of(source, on, letters, **options)


def _print(made: Export, machine: TuringMachine, separator: str | None) -> None:
    from rich.table import Table

    say(f"wrote {made.folder}")
    say(f"for {made.target} in {made.dtype}: {made.title}")
    if not made.checks:
        say("not checked")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("input", "way", "outputs"):
        table.add_column(heading, overflow="fold")
    for each in made.checks:
        word = visible(shortened(word_text(machine, each.word, separator), 24))
        table.add_row(word or "(empty)", each.way, visible(str(each)))
    console().print(table)
    for line in filter(None, map(prediction_text, made.about["predicted"])):
        say(line)


def _zoo(
    to: str,
    output: Path,
    on: str | None,
    dtype: str | None,
    check: int,
    force: bool,
    as_json: bool,
) -> int:
    """Each network as it is finished."""
    found: list[Animal] = []
    chosen = None if on is None else [on]
    with Working() as work:
        animals = write_zoo(
            to, output, on=chosen, dtype=dtype, check=check, force=force, say=work.tell
        )
        for animal in animals:
            found.append(animal)
            if not as_json:
                kept = "" if animal.fresh else " (was there)"
                say(f"{animal.folder:<36} {animal.verdict}{kept}")
    if as_json:
        rows = [vars(animal) for animal in found]
        print_json({"folder": str(output), "interrupted": work.interrupted, "networks": rows})
    if work.interrupted:
        raise StoppedError(
            f"interrupted after {counted(len(found), 'network')}; the same command goes on"
        )
    if not as_json:
        wrong = sum(not animal.holds for animal in found)
        say(f"{counted(len(found), 'network')} in {output}, {wrong} of them not right to the end")
    return 0
