"""Experiments: run a machine's network in several formats and report where it goes wrong."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar

from netwright.exact.arrays import AnyArray
from netwright.exact.rational import Number
from netwright.kind.rnn.construction import CompiledRNN, compile_rnn
from netwright.kind.transformer.construction import (
    CompiledTransformer,
    compile_transformer,
    to_transformer,
)
from netwright.kind.transformer.scores import PAPER, Score, read_score
from netwright.machine.turing_machine import TuringMachine
from netwright.precision.arithmetic import Arithmetic
from netwright.precision.failures import Report, as_data, first_failures
from netwright.precision.float_arithmetic import arithmetic_of
from netwright.precision.formats import NATIVE_BITS, Format
from netwright.precision.growth import rnn_sizes, transformer_sizes
from netwright.precision.horizon import first_possible, safe_until, search_limit
from netwright.precision.softmax import snapped
from netwright.precision.stacks import digits_held, first_stack_failures, rnn_hidden
from netwright.precision.transformer import Temperature
from netwright.precision.wiggle import meeting
from netwright.text import Notify

NO_PREDICTION: dict[str, Any] = {
    **{"safe_until": None, "searchable": False, "searched": False},
    **{"first_possible": None, "worst_machine": None},
}


@dataclass(frozen=True)
class Experiment(ABC):
    """A machine's network in several formats, compared with the exact run."""

    has_attention: ClassVar[bool] = False
    machine: TuringMachine
    word: tuple[str, ...]
    formats: list[Format]
    sums: Format | None = None
    steps: int = 10_000

    @property
    def rows(self) -> int:
        """The number of rows that `results` yields."""
        return len(self.formats)

    @abstractmethod
    def results(self, notify: Notify = lambda _: None) -> Iterator[dict[str, Any]]:
        """Yield a row for each format, as plain data."""

    @abstractmethod
    def growth(self) -> list[dict[str, Any]]:
        """The bits of numbers of the exact run at sample times."""

    def _about(self, form: Format, snap: bool = False) -> dict[str, Any]:
        name = f"{form.name}, snapped" if snap else form.name
        sums = (self.sums or form).name
        return {"name": name, "format": form.name, "bits": form.bits, "accumulated_in": sums}

    def _report(self, notify: Notify, name: str, unit: str) -> Report:
        return lambda done: notify(f"{name}: {done:,} of {self.steps:,} {unit}")


@dataclass(frozen=True)
class AttentionExperiment(Experiment):
    """A Transformer, with hard attention or softmax, plain or snapped."""

    has_attention: ClassVar[bool] = True
    score: Score = PAPER
    temperature: Temperature = None
    snapping: tuple[bool, ...] = (False,)
    blanks: bool = False
    """Whether the network takes inputs with blanks, even if the word has none."""
    search: bool = False
    """Whether to search for possible failures even where that takes long."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", read_score(self.score))

    @property
    def rows(self) -> int:
        """One row for each format, plain and snapped."""
        return len(self.formats) * len(self.snapping)

    def results(self, notify: Notify = lambda _: None) -> Iterator[dict[str, Any]]:
        """Yield the first failures and the prediction."""
        compiled = self._compiled()
        for form, snap in product(self.formats, self.snapping):
            about = self._about(form, snap)
            found = first_failures(
                snapped(compiled) if snap else compiled,
                self.word,
                arithmetic_of(form, self.sums),
                self.steps,
                self.temperature,
                self._report(notify, about["name"], "outputs"),
            )
            predicted = self._predicted(form, notify)
            yield {**about, "snapped": snap, **as_data(found), "predicted": predicted}

    def _compiled(self) -> CompiledTransformer:
        blanks = [self.machine.blank] if self.blanks else []
        return to_transformer(self.machine, [*self.word, *blanks], self.score)

    def growth(self) -> list[dict[str, Any]]:
        """Those of z³ and of the scores."""
        sizes = transformer_sizes(self._compiled(), self.word, self.steps)
        return [size._asdict() for size in sizes]

    def _predicted(self, form: Format, notify: Notify) -> dict[str, Any]:
        """For hard attention: the bound, the first possible failure, a machine that meets it."""
        predicted = dict(NO_PREDICTION)
        if self.temperature is not None:
            return predicted
        predicted["safe_until"] = safe_until(form, self.score)
        native = (self.sums or form).bits <= NATIVE_BITS
        predicted["searchable"] = native and form.bits <= self.score.searched
        most = self.score.searched if self.search else self.score.searched_at_once
        if form.bits > most or not native:
            return predicted
        search = partial(
            first_possible,
            form,
            self.score,
            search_limit(form, self.score),
            sums=self.sums,
            report=lambda i: notify(f"{form.name}: possible failures, token {i:,}"),
        )
        possible, one_way = search(two_way=True), search()
        worst = None
        if one_way and one_way.cell > 0:
            normal, word = meeting(one_way)
            network = compile_transformer(normal, self.score)
            found = first_failures(network, word, arithmetic_of(form, self.sums), one_way.token + 1)
            worst = {
                "met": as_data(one_way),
                "states": len(normal.machine.states),
                "input_length": len(word),
                "wrong_output": found.reading.output if found.reading else None,
            }
        predicted |= {"searched": True, "first_possible": as_data(possible)}
        return predicted | {"worst_machine": worst}


Hidden = Callable[[CompiledRNN, tuple[str, ...], Arithmetic[Any]], Iterator[AnyArray]]


@dataclass(frozen=True)
class StackExperiment(Experiment):
    """A network whose numbers are stacks: an RNN, or one that simulates an RNN."""

    base: Number | None = None
    hidden: Hidden = rnn_hidden
    """Computes the hidden vectors of the network in an arithmetic."""

    def results(self, notify: Notify = lambda _: None) -> Iterator[dict[str, Any]]:
        """Yield where a stack is first inexact, and where it first shows a wrong configuration."""
        rnn = compile_rnn(self.machine, self.base)
        for form in self.formats:
            about, arithmetic = self._about(form), arithmetic_of(form, self.sums)
            found = first_stack_failures(
                rnn,
                self.hidden(rnn, self.word, arithmetic),
                self.word,
                arithmetic,
                self.steps,
                self._report(notify, about["name"], "steps"),
            )
            yield {**about, **as_data(found), "digits_held": digits_held(form, rnn)}

    def growth(self) -> list[dict[str, Any]]:
        """Those of the larger stack."""
        rnn = compile_rnn(self.machine, self.base)
        return [size._asdict() for size in rnn_sizes(rnn, self.word, self.steps)]
