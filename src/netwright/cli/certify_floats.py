"""`netwright certify` for language models: the right token is the argmax, proved in floats."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netwright.certificates.reading import Obligation
from netwright.cli.arguments import load
from netwright.cli.output import Working, save_file, say, visible
from netwright.cli.report import Report
from netwright.errors import FormatError, InputError, StoppedError
from netwright.files import open_regular, read_file
from netwright.machine.turing_machine import TuringMachine
from netwright.network.running import machine_in
from netwright.text import Notify

NOT_CERTIFIED = 1
LONGEST_PROMPT = 1 << 24
"""In bytes."""


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
    universal: bool
    states: int | None
    symbols: int | None
    prompt: Path | None
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
            more = (self.partial_sums, self.output, self.prompt)
            if dtypes or any(each is not None for each in more):
                raise InputError("--check proves what FILE says, and writes nothing")
            found, wrong = self._working(
                lambda tell: check_float_certificate(check, self.model, wanted, tell)
            )
            return self._shown(found, wrong, None, f"{check}: ")
        assert self.model is not None
        folder, parts = self.model, self.partial_sums or 0
        asked = self._of_folder(folder)
        if _failing(asked):
            return self._refused(asked)
        found = self._working(lambda tell: certify_folder(folder, wanted, dtypes, parts, tell))
        return self._shown(found, [], None, "", asked)

    def of_all_machines(
        self, machine: str | None, check: Path | None, on: str | None, options: dict[str, Any]
    ) -> int:
        """Prove the universal model of some size."""
        from netwright.certificates.language_model.llama.universal import LlamaUniversal
        from netwright.certificates.language_model.universal import Universal
        from netwright.kind.language_model.kind import ARCHITECTURE, LLAMA, read_context
        from netwright.kind.language_model.universal import UniversalVocabulary
        from netwright.network.float_certificate import certify_universal, greatest_contexts

        kind = ARCHITECTURE.read(options.get("architecture", LLAMA if on == LLAMA else "gpt2"))
        strange = {*options} - {"architecture", "context", "dtype"}
        if (
            strange
            or on not in (None, "language-model", LLAMA)
            or any((machine, self.machine, check, self.model))
        ):
            raise InputError(
                "--universal is for all machines: it takes no MACHINE, --machine, --model or "
                "--check, and of the network options only --architecture, --context and --dtype"
            )
        if on == LLAMA != kind:
            raise InputError(f"--on llama is --architecture llama; got {kind}")
        dtypes, parts = _dtypes(options), self.partial_sums or 0
        states = 16 if self.states is None else self.states
        symbols = 8 if self.symbols is None else self.symbols
        context = read_context(options.get("context", 2048))
        known = UniversalVocabulary.of(states, symbols, context)
        about = LlamaUniversal if kind == LLAMA else Universal
        asked = self._asked(about(known.states, known.symbols), context)
        if _failing(asked):
            return self._refused(asked)
        found = self._working(
            lambda tell: certify_universal(states, symbols, context, dtypes, parts, tell, kind)
        )
        longest = None
        if self.greatest:
            longest = self._working(lambda tell: greatest_contexts(found.about, parts, tell, kind))
        return self._shown(found, [], longest, "", asked)

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

    def _of_folder(self, folder: Path) -> list[Obligation]:
        """What is asked of the prompt, if there is one, for the model in a folder."""
        from netwright.network.float_certificate import universal_of

        return [] if self.prompt is None else self._asked(*universal_of(folder))

    def _asked(self, about: Any, context: int) -> list[Obligation]:
        """What is asked of the prompt, if there is one."""
        from netwright.certificates.language_model.universal import prompt_obligations

        if self.prompt is None:
            return []
        return prompt_obligations(about, read_words(self.prompt), context)

    def _refused(self, asked: list[Obligation]) -> int:
        """Print where a prompt fails."""
        report = Report({"certified": False, "prompt": [each._asdict() for each in asked]})
        _add_prompt(report, asked)
        report.line("not certified: nothing is proved of this prompt")
        report.show(as_json=self.as_json)
        return NOT_CERTIFIED

    def _working(self, call: Callable[[Notify], Any]) -> Any:
        """Call it with progress; raise StoppedError after Ctrl-C."""
        found = None
        with Working() as work:
            found = call(work.tell)
        if work.interrupted or found is None:
            raise StoppedError("interrupted; nothing is certified")
        return found

    def _shown(
        self,
        found: Any,
        wrong: list[str],
        longest: dict[str, int | None] | None,
        label: str,
        asked: Sequence[Obligation] = (),
    ) -> int:
        """Print a certificate, and write it."""
        from netwright.certificates.language_model.checker import SORTS
        from netwright.certificates.language_model.file import lead_text
        from netwright.certificates.language_model.rounding import promises

        if self.output is not None:
            save_file(self.output, found.to_bytes(), force=self.force)
        certified = found.holds and not wrong
        report = Report({**found.facts, "certified": certified, "wrong": wrong})
        report.facts["promises"] = list(promises(found.model["architecture"]))
        if asked:
            report.facts["prompt"] = [each._asdict() for each in asked]
            _add_prompt(report, asked)
        about, sizes = found.model, found.facts.get("universal")
        sums = f", {found.partial_sums} stored parts of a sum" if found.partial_sums else ""
        whose = f"for {sizes['states']:,} states, {sizes['symbols']:,} symbols, " if sizes else ""
        report.line(
            f"{about['architecture']}, {whose}{about['parameters']:,} parameters, context "
            f"{about['context']:,}{sums}",
            whole=True,
        )
        headings = ["format", "", *SORTS]
        rows = []
        for proof in found.proofs:
            leads = {sort: lead_text(lead.least) for sort, lead in proof.leads.items()}
            verdict = "certified" if proof.holds else "NOT CERTIFIED"
            if proof is found.proofs[0] and proof.failure:
                verdict = "nothing said"
            row = [proof.format, verdict, *(leads.get(sort) or "" for sort in SORTS)]
            if longest is not None:
                top = longest.get(proof.format)
                row.append(f"{top:,}" if top else "" if proof.format == "exact" else "none")
            rows.append(row)
        if longest is not None:
            headings.append("to context")
            report.facts["greatest_contexts"] = longest
        report.table(headings, rows, right=headings[2:])
        report.line(
            "least lead of the right token by sort, in units of an address's weights; where:"
        )
        for proof in found.proofs:
            report.line(f"{proof.format}: {proof.tightest}", indented=True)
        for each in wrong:
            report.line(f"{label}{each}")
        names = ", ".join(proof.format for proof in found.proofs[1:])
        if not certified:
            report.line("not certified; a runtime would have to promise:")
        else:
            every = "input and resumed configuration"
            if sizes:
                every = "machine of this size and input, in a prompt as --prompt-file checks it"
            if asked:
                every = "run of the machine in this prompt"
            report.line(
                f"certified: on every {every}, in every context of at most {about['context']:,} "
                f"tokens, the next token of the run has the greatest logit in {names}, in any "
                "order of sums, in a runtime with these promises:"
            )
        for promise in report.facts["promises"]:
            report.line(promise, indented=True)
        report.show(as_json=self.as_json)
        if self.output is not None and not self.as_json:
            say(f"wrote {self.output}")
        return 0 if certified else NOT_CERTIFIED


def read_words(path: Path) -> list[str]:
    """The words of a prompt in a file; what separates them must do so for every tokenizer."""
    data = read_file(path, LONGEST_PROMPT, "prompt")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8: byte {error.start}") from None
    return [*filter(None, re.split(r"[ \t\r\n]", text))]


def _failing(asked: Sequence[Obligation]) -> bool:
    return any(each.failure is not None for each in asked)


def _add_prompt(report: Report, asked: Sequence[Obligation]) -> None:
    """What is asked of a prompt, and where it fails."""
    rows = [(each.name, each.cases, "FAILS" if each.failure else "holds") for each in asked]
    report.table(("of the prompt", "cases", ""), rows)
    for each in asked:
        if each.failure is not None:
            report.line(visible(each.failure))


def _dtypes(options: dict[str, Any]) -> list[str] | None:
    from netwright.certificates.language_model.rounding import FORMATS

    chosen = options.get("dtype")
    if chosen is not None and chosen not in FORMATS:
        raise InputError(f"dtype is {str(chosen)[:40]!r}; expected one of {', '.join(FORMATS)}")
    return None if chosen is None else [str(chosen)]
