"""`netwright export`: a network for numpy, PyTorch, llama.cpp and others, checked there."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    FormatName,
    OnKind,
    Separator,
    check_word,
    choice_of,
    complete_machine,
    completer,
    load,
    read_count,
    split_word,
    with_kind_options,
    word_text,
)
from netwright.cli.output import Working, print_json, say
from netwright.cli.report import Report
from netwright.errors import InputError, StoppedError
from netwright.export.checkpoint import TextTarget
from netwright.export.folder import (
    OUTPUTS,
    CheckFailedError,
    Export,
    certificate_lines,
    export,
)
from netwright.export.subject import prediction_text
from netwright.export.targets import TARGETS
from netwright.export.universal import export_universal
from netwright.export.zoo import Animal, write_zoo
from netwright.kind.language_model.kind import read_context
from netwright.kind.registry import DEFAULT, kind_named
from netwright.machine.turing_machine import TuringMachine
from netwright.network.running import machine_in, network_of
from netwright.text import counted, shortened

EXAMPLE = """\b
Examples:
  netwright export palindrome --to numpy -o palindrome-numpy
  netwright export palindrome --to torch -o model --input abba --input ab
  netwright export palindrome --to gpt2 --context 256 -o palindrome-gpt2
  netwright export palindrome --to transformers-js -o palindrome-js
  netwright export palindrome --to gguf --quantize Q4_K_M -o palindrome.gguf
  netwright export --universal --states 16 --symbols 8 --to gpt2 -o universal
  netwright export --zoo --to numpy -o zoo"""
FAILED = 1
QUANTIZED = TARGETS["gguf"].dtypes
DTYPES = tuple(
    dict.fromkeys(
        name for target in TARGETS.values() for name in target.dtypes if name not in QUANTIZED
    )
)


@with_kind_options
def command(
    options: dict[str, Any],
    machine: Annotated[
        str | None,
        typer.Argument(
            metavar="MACHINE",
            help="A machine, or a saved network.",
            show_default=False,
            autocompletion=complete_machine,
        ),
    ] = None,
    to: Annotated[str, choice_of("--to", TARGETS, "What to write.")] = "numpy",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="The folder to write; or a file NAME.gguf."
        ),
    ] = None,
    on: OnKind = None,
    dtype: Annotated[
        str | None,
        choice_of(
            "--dtype",
            DTYPES,
            "The type of numbers.  [float64; bfloat16 for gpt2, opt, llama]",
        ),
    ] = None,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="Of a GGUF file: F16, Q6_K, ….  [Q8_0]",
            autocompletion=completer(QUANTIZED),
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="WORD",
            help="An input to check on.  [the machine's own; repeatable]",
        ),
    ] = None,
    check: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=lambda value: read_count(value, "--check", "outputs"),
            help="Compare N outputs for each input with the exact run.",
        ),
    ] = OUTPUTS,
    keep_failed: Annotated[
        bool, typer.Option("--keep-failed", help="Write it even if the check fails.")
    ] = False,
    universal: Annotated[
        bool,
        typer.Option("--universal", help="One language model for all machines."),
    ] = False,
    states: Annotated[
        int | None,
        typer.Option(metavar="N", help="Its states, one of them accepting.  [16]"),
    ] = None,
    symbols: Annotated[int | None, typer.Option(metavar="N", help="Its symbols.  [8]")] = None,
    zoo: Annotated[
        bool, typer.Option("--zoo", help="Export the library, or resume doing so.")
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
    if quantize is not None:
        if to != "gguf" or dtype is not None:
            raise InputError("--quantize TYPE is for --to gguf, in place of --dtype")
        dtype = quantize
    if not universal and (states, symbols) != (None, None):
        raise InputError("--states and --symbols are for --universal")
    about_machines = (machine, words, separator, format_name)
    write: Callable[..., Export]
    show = _print
    if universal:
        if any((*about_machines, zoo, on)) or {*options} - {"context", "architecture"}:
            raise InputError(
                "--universal is for all machines: it takes no MACHINE, --input, --separator, "
                "--format, --zoo or --on, and of the network options only --context and "
                "--architecture"
            )
        write = _universal(to, output, states, symbols, options)
    elif zoo:
        if any((*about_machines, options, keep_failed)):
            raise InputError("--zoo takes all machines of the library as they are, and no others")
        return _zoo(to, output, on, dtype, check, force, as_json)
    elif machine is None:
        raise InputError("say which machine to export, or --zoo for all of the library")
    else:
        given = [split_word(word, separator) for word in words or ()]
        source = load(machine, format_name=format_name, also=chain.from_iterable(given))
        turing = machine_in(source)
        inputs = [check_word(turing, word, separator) for word in given] or [turing.default_input]
        if not TARGETS[to].is_exact and isinstance(source, TuringMachine):
            kind = kind_named(on or TARGETS[to].on or DEFAULT)
            options = dict(kind.construction.for_export(options, turing))
        letters = [symbol for word in inputs for symbol in word]  # the network takes all of them
        network = network_of(source, on or TARGETS[to].on, letters, **options)
        write = partial(export, network, to, output, inputs=inputs)
        show = partial(_print, machine=turing, separator=separator)
    return _written(write, dtype, check, keep_failed, force, output, as_json, show)


def _universal(
    to: str, output: Path, states: int | None, symbols: int | None, options: dict[str, Any]
) -> Callable[..., Export]:
    """Write the language model that takes the rules of any machine in its prompt."""
    return partial(
        export_universal,
        to,
        output,
        states=16 if states is None else states,
        symbols=8 if symbols is None else symbols,
        context=read_context(options.get("context", 2048)),
        architecture=options.get("architecture"),
    )


def _written(
    write: Callable[..., Export],
    dtype: str | None,
    check: int,
    keep_failed: bool,
    force: bool,
    output: Path,
    as_json: bool,
    show: Callable[[Export], None],
) -> int:
    """Write an export, and say what came of it."""
    options = {"dtype": dtype, "check": check, "keep_failed": keep_failed, "force": force}
    with Working() as work:
        try:
            made = write(**options, notify=work.tell)
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
        show(made)
    return 0 if made.holds else FAILED


def _print(
    made: Export, machine: TuringMachine | None = None, separator: str | None = None
) -> None:
    report = Report()
    report.line(f"wrote {made.folder}")
    report.line(f"for {made.target} in {made.dtype}: {made.title}", whole=True)
    if made.checks:
        words = [
            word_text(machine, each.word, separator) if machine else " ".join(each.word)
            for each in made.checks
        ]
        report.table(
            ("input", "way", "outputs"),
            [
                (shortened(word, 24) or "(empty)", each.way, str(each))
                for word, each in zip(words, made.checks, strict=True)
            ],
        )
        if isinstance(target := TARGETS[made.target], TextTarget):
            other = target.elsewhere()
            report.line(f"checked in {target.checked_in()}{other}", whole=True)
        for line in filter(None, map(prediction_text, made.about["predicted"])):
            report.line(line)
        for line in certificate_lines(made.about.get("certificate")):
            report.line(line)
    else:
        report.line("not checked")
    report.show(as_json=False)


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
            to, output, on=chosen, dtype=dtype, check=check, force=force, notify=work.tell
        )
        for animal in animals:
            found.append(animal)
            if not as_json:
                kept = "" if animal.fresh else " (existed)"
                say(f"{animal.folder:<36} {animal.verdict}{kept}")
    if as_json:
        rows = [vars(animal) for animal in found]
        print_json({"folder": str(output), "interrupted": work.interrupted, "networks": rows})
    if work.interrupted:
        raise StoppedError(
            f"interrupted after {counted(len(found), 'network')}; the same command resumes it"
        )
    if not as_json:
        wrong = sum(not animal.holds for animal in found)
        say(f"{counted(len(found), 'network')} in {output}, {wrong} of them not right to the end")
    return 0
