"""`netwright certify`: a network proved right for all inputs and all time, by finite checks."""

from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.certificates.check import certificate, read_certificate
from netwright.certificates.reading import Obligation
from netwright.cli.arguments import AsJson, Force, FormatName, Output
from netwright.cli.given import load
from netwright.cli.kind_options import OnKind, with_kind_options
from netwright.cli.output import console, print_indented, print_json, save_file, say, visible
from netwright.cli.progress import Working
from netwright.cli.rules import bbchallenge_text, print_rules
from netwright.errors import InputError, StoppedError
from netwright.files import check_output, read_file
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import machine_of
from netwright.network.certificate import LARGEST, check_written
from netwright.network.running import machine_in, network_of
from netwright.text import counted, shortened

EXAMPLE = """\b
Examples:
  netwright certify palindrome
  netwright certify palindrome --on rnn -o palindrome-rnn.json
  netwright certify --check palindrome-rnn.json
  netwright certify --check palindrome-rnn.json --machine palindrome"""
NOT_CERTIFIED = 1


@with_kind_options
def command(
    options: dict[str, Any],
    machine: Annotated[
        str | None,
        typer.Argument(metavar="MACHINE", help="As for `netwright run`; or a saved network."),
    ] = None,
    on: OnKind = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check the certificate in FILE anew.")
    ] = None,
    expected: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="MACHINE", help="With --check: the machine it must be about."
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Prove that a network simulates its machine on every input, for ever."""
    if (machine is None) == (check is None):
        raise InputError("name a MACHINE to certify, or a file to --check, and not both")
    if expected is not None and check is None:
        raise InputError("--machine says which machine the file of --check must be about")
    if output is not None:
        check_output(output, force=force)
    label = "the network"
    if check is not None:
        if options or on is not None:
            raise InputError("--check looks at what is in FILE, and takes no options of a network")
        label = str(check)
        target, network = read_certificate(read_file(check, LARGEST, "certificate"), label)
    else:
        source = load(machine or "", format_name=format_name)
        compiled = network_of(source, on, (), **options)
        target, network = compiled.kind.name, compiled.to_prove()
    wanted = None
    if expected is not None:
        if "given" not in network:
            raise InputError(
                f"{label} is of a universal network, for all machines: it is about none alone, and "
                "takes no --machine"
            )
        wanted = machine_in(load(expected, format_name=format_name))
    found: list[Obligation] = []
    with Working() as work:
        for each in check_written(target, network, label):
            found.append(each)
            work.tell(f"{len(found)} obligations")
    if work.interrupted:
        if as_json:
            rows = [each._asdict() for each in found]
            done = {"certified": False, "interrupted": True}
            print_json({"on": target, **done, "obligations": rows})
        else:
            _print(found, False, target, universal=False)
        raise StoppedError(
            f"interrupted after {counted(len(found), 'obligation')}: nothing is certified"
        )
    holds = all(each.failure is None for each in found)
    if output is not None:
        save_file(output, certificate(target, network, found), force=force)
    about = machine_of(network["given"]) if "given" in network else None
    same = wanted is None or (about is not None and wanted.digest == about.digest)
    if as_json:
        rows = [each._asdict() for each in found]
        given = None
        if about is not None:
            given = {"digest": about.digest, "text": bbchallenge_text(about), **network["given"]}
        answer = {"on": target, "certified": holds and same, "holds": holds}
        if expected is not None:
            answer["is_the_machine"] = same
        print_json({**answer, "machine": given, "obligations": rows})
    else:
        _print(found, holds and same, target, universal=about is None)
        if check is not None and about is not None:
            _print_machine(about)
        if not same:
            name = shortened(visible(expected or ""), 60)
            say(f"not certified: {check} is about the machine above, and not about {name}")
        if output is not None:
            say(f"wrote {output}")
    return 0 if holds and same else NOT_CERTIFIED


def _print(found: list[Obligation], certified: bool, on: str, *, universal: bool) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("obligation")
    table.add_column("cases", justify="right")
    table.add_column("")
    for each in found:
        verdict = "holds" if each.failure is None else "FAILS"
        table.add_row(each.name, f"{each.cases:,}", verdict)
    out.print(table)
    if certified:
        what = "every machine" if universal else "the machine"
        out.print(f"certified: the {on} simulates {what} on every input, for ever")
    for each in found:
        if each.failure is not None:
            out.print(f"not certified: {each.name}")
            print_indented(out, visible(each.failure))


def _print_machine(machine: TuringMachine) -> None:
    """Which machine it is, so that nobody takes it for another."""
    say(f"\nthe machine that it is about\nsha256 {machine.digest}")
    text = bbchallenge_text(machine)
    if text is None:
        print_rules(machine)
    else:
        say(text)
