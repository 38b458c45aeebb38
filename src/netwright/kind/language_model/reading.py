"""A machine's run, read off the text that its language model writes, one context after another."""

from collections.abc import Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from netwright.engine.following.drive import follow
from netwright.engine.moments import AT_ONCE, Codes, rows_of
from netwright.errors import InputError, NetworkError
from netwright.kind.language_model.construction import CompiledLanguageModel
from netwright.kind.language_model.evaluators import Evaluator
from netwright.kind.language_model.text import Follower, tape_of
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, NoRoomError
from netwright.machine.simulate import Engine, Interrupted, Outcome, Progress, Run


class Text:
    """The tokens that a model writes: engine and follower in one, as a new context needs both.

    A moment is a token; its code is the token's number.
    """

    compile_seconds = 0.0
    most_at_once = AT_ONCE
    fast = False  # one token at a time

    def __init__(
        self,
        compiled: CompiledLanguageModel,
        word: Sequence[str],
        max_steps: int,
        evaluator: Evaluator,
    ) -> None:
        self.compiled, self.max_steps, self.evaluator = compiled, max_steps, evaluator
        self.inner = Follower(compiled.vocabulary, word)
        self.reason: str | None = None
        """Why the run could not continue."""
        self.outcome: Outcome | None = None
        self.tokens = 0
        self._read(self.inner.start.prompt(compiled.vocabulary))

    def _read(self, prompt: list[int]) -> None:
        """Start a context with a prompt."""
        self.evaluator.restart()
        self.written, self.length = prompt, len(prompt)

    # The engine.

    def advance(self, count: int) -> NDArray[np.int64]:
        """The next token; an empty array if the tape has become too long for a context."""
        if self.length == self.compiled.context:
            if self.inner.step is None:
                raise InputError(
                    f"a context of {self.compiled.context:,} tokens has no room for a step; take a "
                    "larger one: --context"
                )
            try:
                prompt = self.inner.resumed().prompt(self.compiled.vocabulary)
            except NoRoomError as error:
                self.reason = str(error)
                return np.zeros((0, 1), dtype=np.int64)
            self.inner.go_on()
            self._read(prompt)
        token = int(self.evaluator.extend(self.written).argmax())
        self.written, self.length = [token], self.length + 1
        return np.array([[token]])

    # The follower.

    @property
    def steps(self) -> int:
        """Steps of the given machine."""
        return self.inner.steps

    @property
    def cells(self) -> int:
        """The number of cells that are not blank."""
        return len(self.inner.tape)

    def remaining(self) -> int:
        """1: the run advances one token at a time."""
        return 1

    def take(self, codes: Codes) -> None:
        """Advance by one token; set the outcome at the end of the run or at the limit."""
        machine, inner = self.compiled.vocabulary.machine, self.inner
        if not len(codes):
            inner.end_stay()
            self.outcome = Outcome.UNDECIDED
            return
        token = int(rows_of(codes)[0, 0])
        self.tokens += 1
        ends = token in (ACCEPT, REJECT)
        at_the_limit = inner.steps >= self.max_steps
        if at_the_limit and not ends and inner.state not in self.compiled.vocabulary.pauses:
            self.outcome = Outcome.UNDECIDED
        elif (wrong := inner.take(token)) is not None:
            raise NetworkError(f"token {self.tokens:,}, {self.compiled.text(token)}, {wrong}")
        elif ends:
            decided = Outcome.ACCEPTED if token == ACCEPT else Outcome.REJECTED
            self.outcome = decided if machine.accepting else Outcome.HALTED


def run_language_model(
    compiled: CompiledLanguageModel,
    word: Sequence[str],
    max_steps: int,
    evaluator: Evaluator,
    engine: Engine,
    progress: Progress | None = None,
) -> Run:
    """The given machine's run as the model writes it."""
    started = perf_counter()
    text = Text(compiled, word, max_steps, evaluator)

    def reached() -> Run:
        inner = text.inner
        return Run(
            text.outcome or Outcome.UNDECIDED,
            max(0, inner.steps),
            inner.state,
            max(inner.head, 0) if inner.steps < 0 else inner.head,
            tape_of(inner.tape, compiled.vocabulary.machine.blank),
            engine,
            perf_counter() - started,
            network_steps=text.tokens,
            dimension=compiled.network.stream.dimension,
            note=text.reason,
        )

    try:
        follow(text, text, progress)
    except KeyboardInterrupt:
        raise Interrupted(reached()) from None
    return reached()
