"""Audit a file or folder: check every link of the chain of trust again.

    machine digest → certificate → network file → export → campaign row

No claim of a file about itself is trusted. The code of an export is not run: its files are written
again from the exact network in it, and compared. Some rows of a campaign are done again.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from netwright.errors import FormatError, InputError, NetwrightError
from netwright.files import array_digest, open_regular, read_file, unseal
from netwright.html import table
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.certificate import check_certificate
from netwright.network.float_certificate import certify_folder, check_float_certificate
from netwright.network.network import Network
from netwright.network.saved import load
from netwright.text import Notify, counted, shortened

SAMPLE = 20  # rows of a campaign that are done again by default


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    holds: bool | None
    """None if it cannot be decided here."""
    detail: str = ""


@dataclass(frozen=True)
class Audit:
    """All findings about a file or a folder."""

    path: str
    kind: str
    digest: str | None
    """Of the machine, or of the whole campaign."""
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether no check failed."""
        return all(each.holds is not False for each in self.findings)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        verdict = "is what it says" if self.holds else "is NOT what it says"
        return f"<{self.kind} {self.path} {verdict}: {counted(len(self.findings), 'finding')}>"

    def _repr_html_(self) -> str:
        rows = [(each.what, SIGNS[each.holds], each.detail) for each in self.findings]
        return table(repr(self)[1:-1], ["", "", ""], rows)


Findings = Iterator[Finding | str]
"""Findings one after the other; a string is the digest."""
SIGNS = {True: "yes", False: "NO", None: "unknown"}


def audit(
    path: PathLike[str] | str,
    *,
    digest: str | None = None,
    sample: int | None = SAMPLE,
    progress: Notify | None = None,
) -> Audit:
    """Check a certificate, saved network, checkpoint, export or campaign: `netwright.audit`.

    Args:
        path: the file or folder; for a machine's file, the audit has its digest.
        digest: the expected digest of its machine or of the campaign.
        sample: how many rows of a campaign are done again; None means all.
        progress: a callback that gets a few words on the current check.

    Raise FormatError for any other file or folder.
    """
    if not isinstance(path, str | PathLike):
        raise FormatError(f"expected a path; got {path!r}")
    if sample is not None and (not isinstance(sample, int) or sample < 0):
        raise InputError(f"a sample of {sample!r} rows; expected 0 or more")
    notify = progress or (lambda _: None)
    kind, found = _findings(Path(path), sample, notify)
    findings = []
    own: str | None = None
    try:
        for each in found:
            if isinstance(each, str):
                own = each
            else:
                findings.append(each)
                notify(each.what)
    except NetwrightError as error:
        findings.append(Finding("it can be read", False, str(error).replace("\n", "; ")))
    if digest is not None:
        findings.append(Finding("its digest is the one asked for", own == digest, own or "none"))
    return Audit(str(path), kind, own, tuple(findings))


def _findings(place: Path, sample: int | None, notify: Notify) -> tuple[str, Findings]:
    """Recognise a file or folder by its content; return what it is, and its findings."""
    if place.is_dir():
        if (place / "campaign.json").exists():
            return "campaign", _campaign(place, sample, notify)
        if (place / "checked.json").exists():
            return "export", _export(place)
        raise FormatError(f"{place} is neither a campaign nor an export; it has no checked.json")
    if not place.exists():
        raise FormatError(f"{place}: there is no such file or folder")
    with open_regular(place, "certificate, network or machine") as file:
        begin = file.read(256)
    if begin[8:9] == b"{" and b"netwright checkpoint" in _header(place):
        return "checkpoint", _checkpoint(place)
    if begin[8:9] == b"{" and int.from_bytes(begin[:8], "little") < 1 << 32:
        return "network", _network(place)
    if begin.lstrip().startswith(b"{") and b'"netwright float certificate' in begin:
        return "certificate", _float_certificate(place, notify)
    if begin.lstrip().startswith(b"{") and b'"netwright certificate' in begin:
        return "certificate", _certificate(place)
    return "machine", _machine(place)


def _header(place: Path) -> bytes:
    """The header of a safetensors file, or its first megabyte."""
    with open_regular(place, "network") as file:
        return file.read(8 + min(int.from_bytes(file.read(8), "little"), 1 << 20))


def _machine(place: Path) -> Findings:
    machine = load_machine(str(place))
    yield machine.digest
    size = f"{counted(len(machine.states), 'state')}, {counted(len(machine.symbols), 'symbol')}"
    yield Finding("it is a machine without faults", True, size)


def _certificate(place: Path) -> Findings:
    found = check_certificate(place)
    about = "for all machines"
    if "given" in found.written:
        about = "of one machine"
        yield found.machine.digest
    yield Finding("it can be read", True, f"{found.on}, {about}")
    cases = sum(each.cases for each in found.obligations)
    detail = f"{counted(len(found.obligations), 'obligation')}, {cases:,} cases"
    yield Finding("all obligations hold, checked again", found.holds, found.first_failure or detail)


def _float_certificate(place: Path, notify: Notify) -> Findings:
    found, wrong = check_float_certificate(place, notify=notify)
    if found.machine is not None:
        yield found.machine.digest
    yield Finding("it can be read", True, f"{found!r}"[1:-1])
    yield Finding("the model is compiled again", not wrong, wrong[0] if wrong else "the same")
    for proof in found.proofs[1:]:
        yield Finding(f"it is proved in {proof.format}", proof.holds, proof.tightest)


def _network(place: Path) -> Findings:
    yield from _of_network(load(place))


def _of_network(network: Network) -> Findings:
    yield network.machine.digest
    yield Finding("the network is whole", True, repr(network)[1:-1])
    if network.changes:
        yield Finding("it is as it was compiled", None, f"it says: {', '.join(network.changes)}")
    standing = network.standing
    holds = None if standing.verdict.startswith("no certificate") else not standing.is_doubtful
    yield Finding("it is certified for its machine", holds, str(standing))


def _checkpoint(place: Path) -> Findings:
    about, arrays = unseal(read_file(place, 1 << 34, "checkpoint"), str(place), "checkpoint")
    run, digests = about.get("run"), about.get("arrays")
    if not isinstance(run, dict) or not isinstance(digests, dict):
        raise FormatError(
            f"{place} is not an intact netwright checkpoint: it does not say of what run"
        )
    whole = {name: array_digest(array) for name, array in arrays.items()} == digests
    yield Finding("its arrays are whole", whole, counted(len(arrays), "array"))
    facts = [f"{name} {shortened(run[name], 30)}" for name in ("on", "input", "engine", "version")]
    state = f"{', '.join(facts)}; --resume continues it"
    yield Finding("it is a state of that run", None, state)


def _export(place: Path) -> Findings:
    from netwright.export.place import digests, read_report
    from netwright.export.targets import TARGETS

    report = read_report(place)
    if report is None:
        raise FormatError(f"{place / 'checked.json'} is damaged, or of another version")
    found = digests(place)
    files = counted(len(found), "file")
    yield _compared("its files are those checked", _differ(report["files"], found), files)
    if more := sorted(set(found) - set(report["files"])):
        yield Finding("there are no others", False, f"{more[0]} is not part of the export")
    exact = place / "netwright.safetensors"
    if not exact.exists():
        yield Finding("the exact network is in it", None, "a universal model has none")
        target = TARGETS.get(str(report.get("target")))
        if target is not None and target.is_certified:
            yield from _proved(place, None, report)
        return
    network = load(exact)
    yield from _of_network(network)
    same = report.get("machine_digest") == network.machine.digest
    yield Finding("it is of the machine that it names", same, network.machine.name)
    holds = report.get("holds") if report.get("checked") else None
    yield Finding("its check went well", holds, f"{report.get('checked', 0):,} outputs")
    target = TARGETS.get(str(report.get("target")))
    if target is not None and target.is_certified:
        yield from _proved(place, network.machine, report)
    if target is None or report["versions"].get("netwright") != version("netwright"):
        said = f"netwright {report['versions'].get('netwright')} wrote it"
        yield Finding("they are the exact network's", None, said)
        return
    with TemporaryDirectory() as again:
        try:
            target.write(target.named(network), Path(again), str(report["dtype"]))
        except (ImportError, NetwrightError) as error:
            yield Finding("they are the exact network's", None, str(error))
            return
        new = digests(Path(again))
    yield _compared("they are the exact network's", _differ(new, found), ", ".join(new))


def _proved(place: Path, machine: TuringMachine | None, report: Mapping[str, Any]) -> Findings:
    """Whether the files are certified in floats; what the report says of it is not trusted."""
    dtype = str(report["dtype"])
    proof = certify_folder(place, machine, [dtype]).proofs[-1]
    said = report.get("certificate")
    holds = proof.holds or (False if isinstance(said, dict) and said.get("certified") else None)
    yield Finding(f"its files are certified in {dtype}", holds, proof.tightest)


def _differ(wanted: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    return [f"{name} is not" for name, digest in wanted.items() if found.get(name) != digest]


def _compared(what: str, differences: Sequence[str], detail: str) -> Finding:
    """A finding that holds if there are no differences; else it has the first."""
    return Finding(what, not differences, differences[0] if differences else detail)


def _campaign(place: Path, sample: int | None, notify: Notify) -> Findings:
    from netwright.campaign.manifest import Work
    from netwright.campaign.store import Store

    store = Store(place)
    work = Work(store.manifest(), place)
    yield Finding("its plan is whole", True, counted(work.total, "machine"))
    parts, tally = store.verified()
    yield store.digest(tally)
    gone = store.missing()
    detail = f"{len(gone)} missing, such as {gone[0]}" if gone else counted(len(parts), "part")
    yield Finding("its parts are whole", not gone, detail)
    rows = {(row["number"], row["on"]): row for row in work.rows(store)}
    counts = [f"{count:,} {name}" for name, count in tally.counts.items()]
    yield Finding("its rows are those of the plan", True, ", ".join(counts))
    numbers = sorted({number for number, _ in rows})
    finished = len(numbers) == work.total or None
    yield Finding("every machine is done", finished, f"{len(numbers):,} of {work.total:,}")
    if sample != 0:
        yield from _rows_again(work, rows, numbers, sample, notify)


def _rows_again(
    work: Any,
    rows: dict[tuple[int, str], dict[str, Any]],
    numbers: list[int],
    sample: int | None,
    notify: Notify,
) -> Findings:
    """Do some machines of a campaign again, from their sources."""
    from netwright.campaign.plan import MEASURED
    from netwright.campaign.work import rows_of

    targets = len(work.plan.targets)
    count = len(numbers) if sample is None else min(len(numbers), -(-sample // targets))
    chosen = sorted(random.Random(0).sample(numbers, count))
    wrong: list[str] = []
    try:
        unchanged = work.changed_source() is None
    except NetwrightError as error:
        yield Finding("its sources are as they were", None, str(error))
        return
    yield Finding("its sources are as they were", unchanged, counted(len(work.sources), "source"))
    if not unchanged:
        return
    done = 0
    for item in chain.from_iterable(work.items(number, number + 1) for number in chosen):
        for new in rows_of(item, work.plan):
            old = rows[item.number, new["on"]]
            if old["outcome"] in ("crashed", "timeout"):
                continue  # they depend on the worker, not on the machine
            done += 1
            differ = [n for n in new if n not in MEASURED and new[n] != old[n]]
            if differ:
                place = f"machine {item.number} on {new['on']}"
                wrong.append(f"{place}: {differ[0]} is {old[differ[0]]}, not {new[differ[0]]}")
        notify(f"{counted(done, 'row')} done again")
    yield _compared("rows done again are the same", wrong, counted(done, "row"))
