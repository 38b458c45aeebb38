"""What is exported: a network of a machine, with the inputs on which it is checked."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from netwright.export.check import Checked, ExactRun, check_outputs
from netwright.export.checkpoint import CheckedText, CheckpointTarget
from netwright.export.target import AT_ONCE, Opened, Target
from netwright.kind.language_model.tracing import LanguageModelTracing
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT
from netwright.network.network import Network
from netwright.network.running import run_difference
from netwright.network.saved import to_bytes
from netwright.network.tensors import NamedTensors
from netwright.text import Notify, printable

PAPER = (
    '"On the Turing Completeness of Modern Neural Network Architectures" (Pérez, Marinković, '
    "Barceló, ICLR 2019)"
)


class Subject(ABC):
    """Something that has tensors and names, and can be checked where it was written."""

    title: str
    kind: str
    name: str
    """Of the machine; "" if there is none."""
    dimension: int
    tensors: NamedTensors
    count: int
    """How many outputs of each input are compared."""
    digest: str | None = None
    """Of the machine."""
    trust: str = "compiled"
    """What is known of the network before it is exported."""
    runs_as_the_machine: bool | None = None
    """Whether the exact run on all inputs is the machine's; None if that was not looked at."""
    fault: str | None = None
    """Why it is not the network that it says it is."""

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """What every target has besides its own files."""

    @abstractmethod
    def introduction(self) -> str:
        """What it is, for a README."""

    @abstractmethod
    def check(self, target: Target, opened: Opened, notify: Notify) -> list[Checked]:
        """Every input, in every way that the target has."""

    def predicted(self, checks: Sequence[Checked], dtype: str, notify: Notify) -> list[Any]:
        """What `netwright precision` finds in its own arithmetic, if it can."""
        return []

    def advice(self, dtype: str) -> list[str]:
        """What to do about floats that go wrong too early."""
        return []


class NetworkSubject(Subject):
    """A network, and words."""

    def __init__(self, network: Network, words: Sequence[tuple[str, ...]], count: int) -> None:
        self.network, self.words, self.count = network, words, count
        self.title, self.kind = repr(network)[1:-1], network.kind.name
        self.name, self.dimension = network.machine.name, network.dimension
        self.tensors = network.tensors()
        self.digest, self.trust = network.machine.digest, str(network.standing)
        if count:
            found = [run_difference(network, word, count) for word in words]
            wrong = next(filter(None, found), None)
            self.runs_as_the_machine = wrong is None
            if not network.changes:  # of one that was changed nobody expects it
                self.fault = wrong

    def files(self) -> dict[str, bytes]:
        """The exact network."""
        return {"netwright.safetensors": to_bytes(self.network)}

    def introduction(self) -> str:
        """The machine's description, and where the construction is from."""
        about = self.network.machine.description.strip()
        about = "\n".join(f"> {in_markdown(line)}" for line in about.splitlines())
        where = f"{self.network.kind.construction.introduction(PAPER)}, by netwright"
        title = in_markdown(self.title)
        return "\n\n".join([*([about] if about else []), f"{where}: {title}."])

    def check(self, target: Target, opened: Opened, notify: Notify) -> list[Checked]:
        """Outputs and attended indices; of a language model, tokens."""
        if isinstance(target, CheckpointTarget):
            return target.check(opened, [self._text(word) for word in self.words], notify)
        found = []
        for word in self.words:
            exact = ExactRun(self.network, self.tensors, word, self.count)
            exact.compute(lambda done: notify(f"exact run: {done:,} of {self.count:,} outputs"))
            for n, (way, steps) in enumerate(target.ways(opened, word, exact.outputs).items()):

                def tell(done: int, about: str = f"{target.name}, {way}") -> None:
                    notify(f"{about}: {done:,} of {self.count:,} outputs")

                most = AT_ONCE if n else self.count
                found.append(check_outputs(exact, opened, way, steps, most, tell))
        return found

    def _text(self, word: tuple[str, ...]) -> CheckedText:
        """What a language model writes by its definition: so many tokens behind the prompt."""
        tracing = self.network.kind.reading.trace(self.network.compiled, word, self.count)
        assert isinstance(tracing, LanguageModelTracing)
        prompt = len(word) + 1
        tokens = tracing.tokens[: prompt + self.count]
        ended = tokens == tracing.tokens and tokens[-1] in (ACCEPT, REJECT)
        return CheckedText(word, tokens, prompt, ended)

    def predicted(self, checks: Sequence[Checked], dtype: str, notify: Notify) -> list[Any]:
        """For a network as it was compiled, if the laboratory knows its exports."""
        from netwright.precision.formats import FORMATS

        if self.network.changes or not self.network.kind.proof.is_predicted:
            return []
        found = []
        outputs: dict[tuple[str, ...], int] = {}
        for each in checks:
            outputs[each.word] = max(each.outputs, outputs.get(each.word, 0))
        for word, compared in outputs.items():
            # Not beyond the end of a run; a wrong output ended the check, and may come later here.
            ended = all(each.holds and each.ended for each in checks if each.word == word)
            steps = compared + 1 if ended else self.count
            notify(f"netwright precision: {steps:,} outputs in {dtype}")
            settings: Any = {"formats": [FORMATS[dtype]], "steps": steps}
            row = next(self.network.precision(word, **settings))
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
        """Options that may help."""
        options, machine = self.network.options, self.network.machine
        ways: list[str] = []
        if self.network.changes:
            return ways
        if dtype != "float64" and self.network.kind.proof.is_predicted:
            ways.append("--dtype float64")
        if "score" in options and str(options["score"]) != "recency":
            ways.append("--score recency")
        if "base" in options and options["base"] != 4 and len(machine.symbols) <= 3:
            ways.append("--base 4")
        return ways


def prediction_text(predicted: dict[str, Any]) -> str | None:
    """A prediction in words; None if nothing is predicted to go wrong."""
    parts = []
    if predicted["wrong_index"] is not None:
        parts.append(f"index at token {predicted['wrong_index']:,}")
    if predicted["wrong_output"] is not None:
        parts.append(f"output y_{predicted['wrong_output']:,}")
    if predicted["wrong_step"] is not None:
        parts.append(f"step of the machine {predicted['wrong_step']:,}")
    return f"netwright precision predicts the first wrong {', '.join(parts)}" if parts else None


def in_markdown(text: str) -> str:
    """A text in which nothing is markup, whatever is in it, on one line."""
    shown = printable(text).replace("\n", "\\n")
    return re.sub(r"([|`\\*_<>#\[\]])", r"\\\1", shown)
