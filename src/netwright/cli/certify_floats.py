"""`netwright certify` for language models: the right token is the argmax, proved in floats."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwright.cli.arguments import load
from netwright.cli.output import Working, save_file, say
from netwright.cli.report import Report
from netwright.errors import InputError, StoppedError
from netwright.files import open_regular
from netwright.machine.turing_machine import TuringMachine
from netwright.network.running import machine_in
from netwright.text import Notify

NOT_CERTIFIED = 1


def is_of_floats(path: Path) -> bool:
    """Whether a file says that it is a certificate in floats."""
    from netwright.certificates.language_model.file import is_float_certificate

    with open_regular(path, "certificate") as file:
        return is_float_certificate(file.read(256))


@dataclass(frozen=True)
class Floats:
    """The options of a call."""

    model: Path | None
    machine: str | None
    partial_sums: int | None
    greatest: bool
    output: Path | None
    force: bool
    as_json: bool
    format_name: str | None

    def of_files(
        self, machine: str | None, check: Path | None, on: str | None, options: dict[str, Any]
    ) -> int:
        """Prove a folder, or what a certificate is about."""
        from netwright.network.float_certificate import certify_folder, check_float_certificate

        dtypes = _dtypes(options)
        if machine is not None or on is not None or {*options} - {"dtype"} or self.greatest:
            raise InputError("--model and --check take --machine, and no options of a network")
        wanted = None
        if self.machine is not None:
            wanted = machine_in(load(self.machine, format_name=self.format_name))
        if check is not None:
            if dtypes or self.partial_sums is not None or self.output is not None:
                raise InputError("--check proves what FILE says, and writes nothing")
            found, wrong = self._working(
                lambda tell: check_float_certificate(check, self.model, wanted, tell)
            )
            return self._shown(found, wrong, None, f"{check}: ")
        if wanted is None:
            raise InputError("say which machine it must run: --machine MACHINE")
        assert self.model is not None
        folder, parts = self.model, self.partial_sums or 0
        found = self._working(lambda tell: certify_folder(folder, wanted, dtypes, parts, tell))
        return self._shown(found, [], None, "")

    def of_network(self, network: Any, options: dict[str, Any]) -> int:
        """Prove the checkpoint that a network is exported as."""
        from netwright.network.float_certificate import certify_language_model, greatest_contexts

        if self.machine is not None:
            raise InputError("--machine says which machine FILE or FOLDER must be about")
        parts = self.partial_sums or 0
        found = self._working(
            lambda tell: certify_language_model(network, _dtypes(options), parts, tell)
        )
        longest = None
        if self.greatest:
            given: TuringMachine = network.machine
            kind = found.model["architecture"]
            longest = self._working(lambda tell: greatest_contexts(given, parts, tell, kind))
        return self._shown(found, [], longest, "")

    def _working(self, call: Callable[[Notify], Any]) -> Any:
        """Call it with progress; raise StoppedError after Ctrl-C."""
        found = None
        with Working() as work:
            found = call(work.tell)
        if work.interrupted or found is None:
            raise StoppedError("interrupted; nothing is certified")
        return found

    def _shown(
        self, found: Any, wrong: list[str], longest: dict[str, int | None] | None, label: str
    ) -> int:
        """Print a certificate, and write it."""
        from netwright.certificates.language_model.file import lead_text
        from netwright.certificates.language_model.rounding import promises

        if self.output is not None:
            save_file(self.output, found.to_bytes(), force=self.force)
        certified = found.holds and not wrong
        report = Report({**found.facts, "certified": certified, "wrong": wrong})
        about = found.model
        report.facts["promises"] = list(promises(about["architecture"]))
        sums = f", {found.partial_sums} stored parts of a sum" if found.partial_sums else ""
        report.line(
            f"{about['architecture']}, {about['parameters']:,} parameters, context "
            f"{about['context']:,}{sums}",
            whole=True,
        )
        headings = ["format", "", "step", "address", "end"]
        rows = []
        for proof in found.proofs:
            leads = {sort: lead_text(lead.least) for sort, lead in proof.leads.items()}
            verdict = "certified" if proof.holds else "NOT CERTIFIED"
            if proof is found.proofs[0] and proof.failure:
                verdict = "nothing said"
            row = [proof.format, verdict, *(leads.get(sort) or "" for sort in headings[2:])]
            if longest is not None:
                top = longest.get(proof.format)
                row.append(f"{top:,}" if top else "" if proof.format == "exact" else "none")
            rows.append(row)
        if longest is not None:
            headings.append("to context")
            report.facts["greatest_contexts"] = longest
        report.table(headings, rows, right=headings[2:])
        report.line("the least leads of the right token, in units of an address's weights; least:")
        for proof in found.proofs:
            report.line(f"{proof.format}: {proof.tightest}", indented=True)
        for each in wrong:
            report.line(f"{label}{each}")
        names = ", ".join(proof.format for proof in found.proofs[1:])
        if certified:
            report.line(
                "certified: on every input and resumed configuration, in every context of at most "
                f"{about['context']:,} tokens, the next token of the run has the greatest logit in "
                f"{names}, in any order of sums, in a runtime with these promises:"
            )
        else:
            report.line("not certified; a runtime would have to promise:")
        for promise in report.facts["promises"]:
            report.line(promise, indented=True)
        report.show(as_json=self.as_json)
        if self.output is not None and not self.as_json:
            say(f"wrote {self.output}")
        return 0 if certified else NOT_CERTIFIED


def _dtypes(options: dict[str, Any]) -> list[str] | None:
    from netwright.certificates.language_model.rounding import FORMATS

    chosen = options.get("dtype")
    if chosen is not None and chosen not in FORMATS:
        raise InputError(f"dtype is {str(chosen)[:40]!r}; expected one of {', '.join(FORMATS)}")
    return None if chosen is None else [str(chosen)]
