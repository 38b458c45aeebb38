"""`netwright certify`: a network proved right for all inputs and all time, by finite checks.

A language model is proved in floats, for all contexts up to its length: `certify_floats`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from netwright.certificates.check import certificate, read_certificate
from netwright.certificates.reading import Obligation
from netwright.cli.arguments import (
    AsJson,
    Force,
    FormatName,
    OnKind,
    Output,
    load,
    with_kind_options,
)
from netwright.cli.certify_floats import Floats, is_of_floats
from netwright.cli.output import Working, save_file, say, visible
from netwright.cli.report import Report
from netwright.cli.rules import bbchallenge_text, print_rules
from netwright.errors import InputError, StoppedError
from netwright.files import check_output, read_file
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import machine_of
from netwright.network.certificate import LARGEST, check_written
from netwright.network.network import Network
from netwright.network.running import machine_in, network_of
from netwright.text import counted, shortened

EXAMPLE = """\b
Examples:
  netwright certify palindrome
  netwright certify palindrome --on rnn -o palindrome-rnn.json
  netwright certify --check palindrome-rnn.json
  netwright certify --check palindrome-rnn.json --machine palindrome
  netwright certify palindrome --on language-model --context 2048
  netwright certify --model palindrome-gpt2 --machine palindrome
  netwright certify --universal --states 16 --symbols 8 --context 2048
  netwright certify --model universal --prompt-file palindrome.txt"""
NOT_CERTIFIED = 1


@with_kind_options
def command(
    options: dict[str, Any],
    machine: Annotated[
        str | None,
        typer.Argument(metavar="MACHINE", help="A machine, or a saved network."),
    ] = None,
    on: OnKind = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check the certificate in FILE again.")
    ] = None,
    expected: Annotated[
        str | None,
        typer.Option(
            "--machine", metavar="MACHINE", help="The machine that FILE or FOLDER must be about."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Prove a GPT-2, OPT or Llama in a folder, in floats."),
    ] = None,
    partial_sums: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Of a language model: the runtime stores K parts of a sum.  [0]"
        ),
    ] = None,
    greatest: Annotated[
        bool,
        typer.Option("--greatest", help="Of a language model: find the greatest context, too."),
    ] = False,
    universal: Annotated[
        bool, typer.Option("--universal", help="Prove the language model for all machines.")
    ] = False,
    states: Annotated[
        int | None,
        typer.Option(metavar="N", help="Its states, one of them accepting.  [16]"),
    ] = None,
    symbols: Annotated[int | None, typer.Option(metavar="N", help="Its symbols.  [8]")] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(
            "--prompt-file",
            metavar="FILE",
            help="Of a universal model: check that the proof is about the prompt in FILE.",
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Prove that a network simulates its machine on every input, for ever."""
    if output is not None:
        check_output(output, force=force)
    if not universal and (states, symbols) != (None, None):
        raise InputError("--states and --symbols are for --universal")
    if prompt is not None and model is None and not universal:
        raise InputError("--prompt-file is for a universal model: --model FOLDER, or --universal")
    how = universal, states, symbols, prompt, output, force, as_json, format_name
    floats = Floats(model, expected, partial_sums, greatest, *how)
    if universal:
        return floats.of_all_machines(machine, check, on, options)
    if model is None:
        _check_call(machine, check, expected, options or on)
    if model is not None or (check is not None and is_of_floats(check)):
        return floats.of_files(machine, check, on, options)
    compiled = None
    if machine is not None:
        compiled = network_of(load(machine, format_name=format_name), on, (), **options)
        if compiled.kind.proof.in_floats:
            return floats.of_network(compiled, options)
    if partial_sums is not None or greatest:
        raise InputError("--partial-sums and --greatest are for language models")
    target, network, label = _subject(compiled, check)
    wanted = _wanted(expected, "given" in network, label, format_name)
    found = _checked(target, network, label, as_json)
    about = machine_of(network["given"]) if "given" in network else None
    if output is not None:
        save_file(output, certificate(target, network, found), force=force)
    holds = all(each.failure is None for each in found)
    same = wanted is None or (about is not None and wanted.digest == about.digest)
    certified = holds and same
    given = about and {"digest": about.digest, "text": bbchallenge_text(about), **network["given"]}
    report = _report(target, found, certified, universal=about is None)
    report.facts |= {"certified": certified, "holds": holds}
    report.facts |= {} if wanted is None else {"is_the_machine": same}
    report.facts["machine"] = given
    report.show(as_json=as_json)
    if not as_json:
        _say_more(None if check is None else about, label, None if same else expected, output)
    return 0 if certified else NOT_CERTIFIED


def _say_more(
    about: TuringMachine | None, label: str, other: str | None, output: Path | None
) -> None:
    """Which machine a certificate is about, that it is another one, and where it was written."""
    if about is not None:
        _print_machine(about)
    if other is not None:
        name = shortened(visible(other), 60)
        say(f"not certified: {label} is about the machine above, not about {name}")
    if output is not None:
        say(f"wrote {output}")


def _check_call(
    machine: str | None, check: Path | None, expected: str | None, of_network: object
) -> None:
    """Raise InputError for arguments that do not go together."""
    if (machine is None) == (check is None):
        raise InputError("name a MACHINE to certify, or a file to --check, and not both")
    if expected is not None and check is None:
        raise InputError("--machine says which machine the file of --check must be about")
    if check is not None and of_network:
        raise InputError("--check looks at what is in FILE, and takes no options of a network")


def _subject(network: Network | None, check: Path | None) -> tuple[str, Mapping[str, Any], str]:
    """The kind, the network as data, and what messages call it: out of a file, or compiled."""
    if check is not None:
        written = read_certificate(read_file(check, LARGEST, "certificate"), str(check))
        return *written, str(check)
    assert network is not None
    return network.kind.name, network.to_prove(), "the network"


def _wanted(
    expected: str | None, is_of_one: bool, label: str, format_name: str | None
) -> TuringMachine | None:
    """The machine that a certificate must be about; None if any is good."""
    if expected is None:
        return None
    if not is_of_one:
        raise InputError(
            f"{label} is for a universal network and all machines, so it takes no --machine"
        )
    return machine_in(load(expected, format_name=format_name))


def _checked(target: str, network: Any, label: str, as_json: bool) -> list[Obligation]:
    """All obligations, checked; raise StoppedError at Ctrl-C, after showing those that were."""
    found: list[Obligation] = []
    with Working() as work:
        for each in check_written(target, network, label):
            found.append(each)
            work.tell(f"{len(found)} obligations")
    if work.interrupted:
        report = _report(target, found, False, universal=False)
        report.facts |= {"certified": False, "interrupted": True}
        report.show(as_json=as_json)
        raise StoppedError(
            f"interrupted after {counted(len(found), 'obligation')}: nothing is certified"
        )
    return found


def _report(on: str, found: list[Obligation], certified: bool, *, universal: bool) -> Report:
    report = Report({"on": on, "obligations": [each._asdict() for each in found]})
    report.table(
        ("obligation", "cases", ""),
        [(each.name, each.cases, "FAILS" if each.failure else "holds") for each in found],
    )
    if certified:
        what = "every machine" if universal else "the machine"
        report.line(f"certified: the {on} simulates {what} on every input, for ever")
    for each in found:
        if each.failure is not None:
            report.line(f"not certified: {each.name}")
            report.line(visible(each.failure), indented=True)
    return report


def _print_machine(machine: TuringMachine) -> None:
    """Which machine it is, so that nobody takes it for another."""
    say(f"\nthe machine that it is about\nsha256 {machine.digest}")
    text = bbchallenge_text(machine)
    if text is None:
        print_rules(machine)
    else:
        say(text)
