"""The work on one machine: a row for each target, which is the machine itself or a kind of network.

A network's run is compared with the machine's own in every column, whether or not the machine has
a row. An error of one machine does not end the campaign: it is reported in the machine's row.
"""

import hashlib
import json
from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

from netwright.campaign.plan import CERTIFY, COLUMNS, RUN, VERIFY, Plan
from netwright.errors import NetworkError, NetwrightError
from netwright.kind.registry import MACHINE, kind_named
from netwright.machine.formats import bbchallenge
from netwright.machine.formats.draft import Source
from netwright.machine.simulate import Engine, Outcome, Run, simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import machine_of
from netwright.network.network import Network, network_for_word
from netwright.text import shortened

COMPARED = ("outcome", "steps", "state", "head", "non_blank", "tape_digest")
MOST_SPELLED = 1 << 22
"""Cells of a tape whose digest is that of its symbols; that of a longer one is of its runs."""
Row = dict[str, Any]


class Item(NamedTuple):
    """One machine of a source."""

    number: int
    machine: str
    remark: str = ""
    given: dict[str, Any] | None = None
    """The machine as JSON, if it is not bbchallenge text."""


def _empty_row(item: Item, on: str) -> Row:
    about = {"number": item.number, "machine": item.machine, "remark": item.remark, "on": on}
    return {**dict.fromkeys(COLUMNS), **about}


def failed_row(item: Item, on: str, outcome: str, note: str, seconds: float) -> Row:
    """The row of a machine whose worker crashed or timed out."""
    return {**_empty_row(item, on), "outcome": outcome, "note": note, "seconds": round(seconds, 6)}


def written_row(row: Row) -> bytes:
    """A row as a line of JSON."""
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"


def rows_of(item: Item, plan: Plan, skip: int = 0) -> Iterator[Row]:
    """Do the work on a machine: yield a row for each target after the first `skip`."""
    subject: Subject | None = None
    for on in plan.targets[skip:]:
        started = process_time()
        row = _empty_row(item, on)
        try:
            subject = subject or Subject(item, plan)
            row.update(subject.answers(on))
        except NetworkError as error:  # its vectors show no machine: it is not the machine's run
            row.update(outcome="error", agrees=False, note=shortened(str(error), 300))
        except NetwrightError as error:
            row.update(outcome="refused", note=shortened(str(error), 300))
        except Exception as error:  # any kind: it concerns this machine only
            note = shortened(f"{type(error).__name__}: {error}", 300)
            row.update(outcome="error", note=note)
        row["seconds"] = round(process_time() - started, 6)
        yield row


def machine_of_item(item: Item) -> TuringMachine:
    """The machine of an item."""
    if item.given is not None:
        return machine_of(item.given)
    return bbchallenge.read(item.machine, Source(item.machine))


class Subject:
    """A machine, with its own run computed once for all targets."""

    def __init__(self, item: Item, plan: Plan) -> None:
        self.machine, self.plan = machine_of_item(item), plan
        self.word = self.machine.default_input
        self.truth: Row = {}
        if RUN in plan.do:
            run = simulate(self.machine, self.word, plan.max_steps, engine=plan.engine)
            self.truth = self._columns(run)

    def answers(self, on: str) -> Row:
        """The columns that the plan asks for on one target."""
        if on == MACHINE:
            return self.truth
        kind = kind_named(on)
        own = {option.name for option in kind.options}
        options = {name: value for name, value in self.plan.options.items() if name in own}
        network = network_for_word(self.machine, kind, self.word, **options)
        found: Row = {}
        notes: list[str] = []
        if RUN in self.plan.do:
            found.update(self._run(network, notes))
        if VERIFY in self.plan.do:
            compared = network.compare(self.word, self.plan.max_steps)
            found.update(verified_steps=compared.steps, checks=compared.checks)
            found["agrees"] = found.get("agrees", True) and compared.difference is None
            if compared.difference is not None:
                notes.append(str(compared.difference))
        if CERTIFY in self.plan.do:
            certificate = network.certify()
            found["certified"] = certificate.holds
            if certificate.first_failure is not None:
                notes.append(certificate.first_failure)
        if notes:
            found["note"] = shortened("; ".join(notes), 600)
        return found

    def _run(self, network: Network, notes: list[str]) -> Row:
        """Run a network, compare it with the machine; append differences to `notes`."""
        reading, engine = network.kind.reading, Engine(self.plan.engine)
        engine = engine if engine in reading.engines else reading.fastest
        run = network.run(self.word, self.plan.max_steps, engine=engine)
        found = self._columns(run)
        compared = COMPARED[:2] if run.before_end else COMPARED  # the rest is of an earlier step
        truth = self.truth
        if run.outcome is Outcome.UNDECIDED and run.steps < self.plan.max_steps:  # run.note: why
            now = simulate(self.machine, self.word, run.steps, engine=self.plan.engine)
            truth = self._columns(now)
        differ = [name for name in compared if found[name] != truth[name]]
        found["agrees"] = not differ
        notes += [f"{name} is {found[name]}, the machine's is {truth[name]}" for name in differ]
        if run.note is not None:
            notes.append(run.note)
        return found

    def _columns(self, run: Run) -> Row:
        blank, tape = self.machine.blank, run.tape
        cells = tape.runs if len(tape.cells) > MOST_SPELLED else tuple(tape.cells)
        written = json.dumps([tape.start, cells]).encode()
        return {
            "outcome": run.outcome.value,
            "steps": run.steps,
            "network_steps": run.network_steps,
            "state": run.state,
            "non_blank": run.tape.non_blank(blank),
            "head": run.head,
            "tape_digest": hashlib.sha256(written).hexdigest()[:16],
            "engine": run.engine.value,
        }
