"""`netwright certify`: a network proved right for all inputs and all time, by finite checks."""

from pathlib import Path
from typing import Annotated, Any

import typer

from netwright import pipeline
from netwright.cli.arguments import (
    AsJson,
    Base,
    Force,
    FormatName,
    Output,
    Score,
    check_score,
    read_base,
)
from netwright.cli.output import console, counted, print_json, save_file
from netwright.cli.progress import Working
from netwright.errors import FormatError, InputError
from netwright.files import check_output
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.pipeline import Target
from netwright.theorems.theorem_2_3_rnn.construction import compile_rnn
from netwright.theorems.theorem_3_4_transformer.construction import (
    Scoring,
    compile_transformer,
)
from netwright.theorems.theorem_4_1_neural_gpu import compile_neural_gpu
from netwright.verify.certificate.check import certificate, check_written, read_certificate
from netwright.verify.certificate.export import written
from netwright.verify.certificate.reading import Obligation
from netwright.verify.damage import Compiled

EXAMPLE = """\b
Examples:
  netwright certify palindrome
  netwright certify palindrome --on rnn -o palindrome-rnn.json
  netwright certify --check palindrome-rnn.json"""
NOT_CERTIFIED = 1


def command(
    machine: Annotated[
        str | None,
        typer.Argument(metavar="MACHINE", help="As for `netwright run`; or a saved network."),
    ] = None,
    on: Annotated[Target, typer.Option(help="Which network.")] = Target.TRANSFORMER,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check the certificate in FILE anew.")
    ] = None,
    blanks: Annotated[
        bool, typer.Option("--blanks", help="A Transformer for inputs with blanks in them.")
    ] = False,
    base: Base = None,
    score: Score = None,
    output: Output = None,
    force: Force = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Prove that a network simulates its machine on every input, for ever."""
    if (machine is None) == (check is None):
        raise InputError("name a MACHINE to certify, or a file to --check, and not both")
    if output is not None:
        check_output(output, force=force)
    if check is not None:
        if (blanks, base, score, format_name) != (False, None, None, None):
            raise InputError("--check looks at what is in FILE, and takes no options of a network")
        try:
            target, network = read_certificate(check.read_bytes(), str(check))
        except OSError as error:
            raise FormatError(f"{check} cannot be read: {error.strerror}") from None
    else:
        target = on.value
        network = written(_compiled(machine or "", on, blanks, base, score, format_name))
    found: list[Obligation] = []
    with Working() as tell:
        for each in check_written(target, network):
            found.append(each)
            tell(f"{len(found)} obligations")
    holds = all(each.failure is None for each in found)
    if output is not None:
        save_file(output, certificate(target, network, found), force=force)
    rows = [each._asdict() for each in found]
    if as_json:
        print_json({"on": target, "certified": holds, "obligations": rows})
    else:
        _print(rows, holds, target)
    return 0 if holds else NOT_CERTIFIED


def _compiled(
    argument: str,
    on: Target,
    blanks: bool,
    base: str | None,
    score: Scoring | None,
    format_name: str | None,
) -> Compiled:
    source = pipeline.load(argument, format_name=format_name)
    check_score(score, on, source)
    if on is Target.MACHINE:
        raise InputError("a machine needs no certificate; --on transformer, rnn or neural-gpu")
    if on is Target.TRANSFORMER:
        if base is not None:
            raise InputError(f"a base is for the stacks of rnn and neural-gpu; {on} has none")
        if isinstance(source, TuringMachine):
            return compile_transformer(normalize(source, blanks_in_input=blanks), score)
        return source
    if blanks:
        raise InputError("--blanks is for Transformers; other networks take blanks anyway")
    if not isinstance(source, TuringMachine):
        raise InputError(f"{argument} is a Transformer, and no {on}")
    rnn = compile_rnn(source, read_base(base))
    return rnn if on is Target.RNN else compile_neural_gpu(rnn)


def _print(rows: list[dict[str, Any]], holds: bool, on: str) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("obligation")
    table.add_column("cases", justify="right")
    table.add_column("")
    for row in rows:
        verdict = "holds" if row["failure"] is None else "FAILS"
        table.add_row(row["name"], f"{row['cases']:,}", verdict)
    out.print(table, markup=False)
    cases = sum(row["cases"] for row in rows)
    if holds:
        out.print(
            f"certified: the {on} simulates the machine on every input, for ever "
            f"({counted(cases, 'case')})",
            markup=False,
        )
    for row in rows:
        if row["failure"] is not None:
            out.print(f"not certified: {row['name']}\n  {row['failure']}", markup=False)
