"""Certificates of networks: obligations that imply simulation, checked, saved and checked again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from netwright.certificates.check import certificate, obligations, read_certificate
from netwright.certificates.reading import Obligation
from netwright.certificates.schema import shown
from netwright.errors import FormatError, InputError
from netwright.files import check_output, output_path, read_file, write_whole
from netwright.html import table
from netwright.kind.registry import SHORT, exact_kinds, is_kind, kind_named
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import machine_of

LARGEST = 1_000_000_000
"""Bytes of a certificate: a network of hundreds of states and symbols has some tens of millions."""


@dataclass(frozen=True)
class Certificate:
    """Obligations; if all hold, the network simulates its machine on every input for ever."""

    on: str
    written: Mapping[str, Any]
    obligations: tuple[Obligation, ...]

    @property
    def holds(self) -> bool:
        """Whether all obligations hold."""
        return self.first_failure is None

    @property
    def first_failure(self) -> str | None:
        """The first obligation that fails, and how; None if all hold."""
        failed = (each for each in self.obligations if each.failure is not None)
        return next((f"{each.name}: {each.failure}" for each in failed), None)

    @property
    def machine(self) -> TuringMachine:
        """The machine that it is about; raise InputError if it is for all machines."""
        if "given" not in self.written:
            raise InputError("this certificate is of a universal network, for all machines")
        return machine_of(self.written["given"])

    def to_bytes(self) -> bytes:
        """The content of a file for `check_certificate`."""
        return certificate(self.on, self.written, list(self.obligations))

    def save(self, path: PathLike[str] | str, *, force: bool = False) -> None:
        """Write it to a file; an existing one is overwritten only with `force`."""
        place = output_path(path)
        check_output(place, force=force)
        write_whole(place, self.to_bytes())

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        cases = sum(each.cases for each in self.obligations)
        verdict = "certified" if self.holds else "not certified"
        return f"<{self.on}, {verdict}: {len(self.obligations)} obligations, {cases:,} cases>"

    def _repr_html_(self) -> str:
        rows = [(each.name, each.cases, each.failure or "holds") for each in self.obligations]
        return table(repr(self)[1:-1], ["obligation", "cases", ""], rows)


def check_written(
    on: str, written: Mapping[str, Any], label: str = "the certificate"
) -> Iterator[Obligation]:
    """Check the data of a network of a kind; raise FormatError if the kind is unknown."""
    if on in SHORT or not is_kind(on):
        certified = ", ".join(exact_kinds())
        raise FormatError(f"{label}: on: expected one of {certified}, got {shown(on)}")
    return obligations(kind_named(on).require_checker(), written, label)


def check_certificate(
    path: PathLike[str] | str, machine: TuringMachine | PathLike[str] | str | None = None
) -> Certificate:
    """Check the certificate in a file again; its own verdict is not trusted.

    With `machine`, a machine or what `load_machine` takes, raise InputError if it is about another
    one. Raise FormatError for a file that is not a certificate.
    """
    if not isinstance(path, str | PathLike):
        raise FormatError(f"expected the path of a certificate; got {path!r}")
    label = fspath(path)
    on, written = read_certificate(read_file(Path(path), LARGEST, "certificate"), label)
    found = Certificate(on, written, tuple(check_written(on, written, label)))
    if machine is not None:
        wanted = machine if isinstance(machine, TuringMachine) else load_machine(machine)
        if wanted.digest != found.machine.digest:
            name = wanted.name or "the machine"
            raise InputError(
                f"{label} is about another machine than {name}: sha256 {found.machine.digest}, "
                f"expected {wanted.digest}"
            )
    return found
