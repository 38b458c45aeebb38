"""What an export is about: a network, with the inputs on which it is checked."""

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netwright.certificates.language_model.file import written
from netwright.errors import NetwrightError
from netwright.export.check import Checked, ExactRun, Tell, check_outputs
from netwright.export.checkpoint import CheckedText, TextTarget
from netwright.export.json_target import JsonTarget
from netwright.export.target import AT_ONCE, Opened, Target
from netwright.kind.language_model.tracing import LanguageModelTracing
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT
from netwright.machine.turing_machine import TuringMachine
from netwright.network.float_certificate import certify_folder
from netwright.network.network import Network
from netwright.network.running import run_difference
from netwright.network.saved import to_bytes
from netwright.network.tensors import RATIONAL, NamedTensors
from netwright.text import Notify, printable
from netwright.verify.draw import random_words

PAPER = (
    '"On the Turing Completeness of Modern Neural Network Architectures" (Pérez, Marinković, '
    "Barceló, ICLR 2019)"
)

DRAWN = 20
"""The number of random words of which the longest texts are checked first."""


class Subject(ABC):
    """Something with tensors and names that can be exported and checked."""

    title: str
    kind: str
    name: str
    """The machine's name; "" for a universal model."""
    machine: TuringMachine | None = None
    """None for a universal model."""
    dimension: int
    tensors: NamedTensors
    count: int
    """The number of outputs to compare for each input; 0 for no check."""
    digest: str | None = None
    """The machine's digest."""
    trust: str = "compiled"
    """The network's standing before the export."""
    runs_as_the_machine: bool | None = None
    """Whether the exact run on all inputs is the machine's; None if not checked."""
    fault: str | None = None
    """How the exact run differs from the machine's although the network claims to be compiled."""

    def files(self) -> dict[str, bytes]:
        """Return files that are written for every target."""
        return {}

    @abstractmethod
    def introduction(self) -> str:
        """Describe the network for the README."""

    @abstractmethod
    def check(self, target: Target, opened: Opened, notify: Notify) -> list[Checked]:
        """Check every input in every way that the target offers."""

    def predicted(self, checks: Sequence[Checked], dtype: str, notify: Notify) -> list[Any]:
        """Predict the first faults with `netwright precision`, where it applies."""
        return []

    def certificate(
        self, target: Target, folder: Path, dtype: str, notify: Notify
    ) -> dict[str, Any] | None:
        """Prove what was written in its format, for all inputs; None if nothing reads its files."""
        if not target.is_certified:
            return None
        try:
            found = certify_folder(folder, self.machine, [dtype], notify=notify)
        except NetwrightError as error:
            return {"certified": False, "reason": str(error)}
        about = {} if found.machine else {"universal": found.facts["universal"]}
        return {"context": found.model["context"], **about, **written(found.proofs[-1])}

    def advice(self, dtype: str) -> list[str]:
        """Suggest options against floats that go wrong too early."""
        return []


class NetworkSubject(Subject):
    """A network, checked on words."""

    def __init__(
        self,
        network: Network,
        words: Sequence[tuple[str, ...]],
        count: int,
        tensors: NamedTensors,
    ) -> None:
        self.network, self.words, self.count = network, words, count
        self.machine = network.machine
        self.title, self.kind = repr(network)[1:-1], network.kind.name
        self.name, self.dimension = network.machine.name, network.dimension
        self.tensors = tensors
        self.digest, self.trust = network.machine.digest, str(network.standing)
        if count:
            found = (run_difference(network, word, count) for word in words)
            wrong = next(filter(None, found), None)
            self.runs_as_the_machine = wrong is None
            if not network.changes:  # a changed network makes no such claim
                self.fault = wrong

    def files(self) -> dict[str, bytes]:
        """Return the exact network as a file."""
        return {"netwright.safetensors": to_bytes(self.network)}

    def introduction(self) -> str:
        """Quote the machine's description and name the construction."""
        lines = self.network.machine.description.strip().splitlines()
        quoted = "\n".join(f"> {in_markdown(line)}" for line in lines)
        where = self.network.kind.construction.introduction(PAPER)
        source = f"{where}, by netwright: {in_markdown(self.title)}."
        return f"{quoted}\n\n{source}" if quoted else source

    def check(self, target: Target, opened: Opened, notify: Notify) -> list[Checked]:
        """Compare outputs and attended indices, or the tokens of a language model."""
        if isinstance(target, TextTarget):
            texts = [self._text(word, self.count) for word in self.words]
            return target.check(opened, [*texts, *self._more(texts, target.least)], notify)
        if isinstance(target, JsonTarget):
            return target.check(self.network, opened, self.words, self.count)

        def tell(about: str) -> Tell:
            return lambda done: notify(f"{about}: {done:,} of {self.count:,} outputs")

        found = []
        for word in self.words:
            exact = ExactRun(self.network, self.tensors, word, self.count, tell("exact run"))
            for n, (way, steps) in enumerate(target.ways(opened, word, exact.outputs).items()):
                most, callback = AT_ONCE if n else self.count, tell(f"{target.name}, {way}")
                found.append(check_outputs(exact, opened, way, steps, most, callback))
        return found

    def _text(self, word: tuple[str, ...], count: int) -> CheckedText:
        """Return the prompt and at most `count` more tokens, by the model's definition."""
        tracing = self.network.kind.reading.trace(self.network.compiled, word, count)
        assert isinstance(tracing, LanguageModelTracing)
        prompt = len(self.network.compiled.vocabulary.prompt(word))
        tokens = tracing.tokens[: prompt + count]
        ended = tokens == tracing.tokens and tokens[-1] in (ACCEPT, REJECT)
        return CheckedText(word, tokens, prompt, ended)

    def _more(self, texts: Sequence[CheckedText], least: int) -> Iterator[CheckedText]:
        """Yield texts of random words, the longest of some, until all have `least` tokens together.

        They are long, so that far offsets occur in them.
        """
        done = sum(len(text.tokens) - text.prompt for text in texts)
        machine, draw = self.network.machine, random.Random(0)
        longest = min(least // 2, (self.network.compiled.context - 5) // 3)
        while done < least:
            words = random_words(draw, machine, DRAWN, longest)
            drawn = [self._text(word, least) for word in words if word not in self.words]
            for text in sorted(drawn, key=lambda text: text.prompt - len(text.tokens)):
                if done < least:
                    yield text
                    done += len(text.tokens) - text.prompt

    def predicted(self, checks: Sequence[Checked], dtype: str, notify: Notify) -> list[Any]:
        """Predict for networks as they were compiled, of kinds that `precision` knows."""
        if dtype == RATIONAL or self.network.changes or not self.network.kind.proof.is_predicted:
            return []
        found = []
        for word in dict.fromkeys(each.word for each in checks):
            own = [each for each in checks if each.word == word]
            # Predict to the end of the run. After a wrong output, which ended the check, predict
            # to the limit: here the fault may come later.
            ended = all(each.holds and each.ended for each in own)
            steps = max(each.outputs for each in own) + 1 if ended else self.count
            notify(f"netwright precision: {steps:,} outputs in {dtype}")
            row = next(self.network.precision(word, formats=[dtype], steps=steps))
            index, reading = row.get("index"), row["reading"] or {}
            found.append(
                {
                    "word": list(word),
                    "wrong_index": index and index["token"],
                    "wrong_output": reading.get("output"),
                    "wrong_step": reading.get("time"),
                }
            )
        return found

    def advice(self, dtype: str) -> list[str]:
        """Suggest options of the command line that may help."""
        options, machine = self.network.options, self.network.machine
        if self.network.changes:
            return []
        ways = []
        if dtype != "float64" and self.network.kind.proof.is_predicted:
            ways.append("--dtype float64")
        if "score" in options and str(options["score"]) != "recency":
            ways.append("--score recency")
        if "base" in options and options["base"] != 4 and len(machine.symbols) <= 3:
            ways.append("--base 4")
        return ways


def prediction_text(predicted: dict[str, Any]) -> str | None:
    """Put a prediction into words; None if no fault is predicted."""
    templates = {
        "wrong_index": "index at token {:,}",
        "wrong_output": "output y_{:,}",
        "wrong_step": "step of the machine {:,}",
    }
    found = [(text, predicted[key]) for key, text in templates.items()]
    parts = [text.format(number) for text, number in found if number is not None]
    return f"netwright precision predicts the first wrong {', '.join(parts)}" if parts else None


def in_markdown(text: str) -> str:
    """Escape a text as one line of Markdown."""
    shown = printable(text).replace("\n", "\\n")
    return re.sub(r"([|`\\*_<>#\[\]])", r"\\\1", shown)
