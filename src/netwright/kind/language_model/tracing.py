"""Traces of a language model's text by its definition: every vector, and what heads look at.

Time t is token t of the text, from 1 on, within one context; the stream after token t determines
token t + 1.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from netwright.definitions.transformer import hardmax
from netwright.engine.attended import Attention, ListedAttention
from netwright.engine.following.tracing import EndedError, Tracing
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.language_model.construction import CompiledLanguageModel
from netwright.kind.language_model.reading import run_language_model
from netwright.kind.language_model.text import Follower, tape_of
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import Engine, Run


class LanguageModelTracing(Tracing[Any]):
    """A trace of one context of a text."""

    def __init__(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> None:
        self.compiled, self.word, self.max_steps = compiled, tuple(word), max_steps
        heads = [head for block in compiled.network.blocks for head in block.heads]
        self.attentions = tuple(head.name for head in heads)

    @cached_property
    def tokens(self) -> list[int]:
        """The prompt and what the model writes, to the end of the run or of the context."""
        compiled = self.compiled
        ids = compiled.vocabulary.prompt(self.word)
        follower = Follower(compiled.vocabulary, self.word)
        evaluator = compiled.by_definition()
        logits = evaluator.extend(ids)
        while len(ids) < compiled.context:
            ids.append(int(logits.argmax()))
            follower.take(ids[-1])
            if ids[-1] in (ACCEPT, REJECT) or follower.steps > self.max_steps:
                break
            if len(ids) < compiled.context:
                logits = evaluator.extend(ids[-1:])
        return ids

    @cached_property
    def _streams(self) -> "dict[str, NDArray[np.float64]]":
        """The stream of all tokens between the parts of the model, by name."""
        return self.compiled.network.streams(self.tokens)

    def names(self, t: int) -> tuple[str, ...]:
        """The same at every time."""
        return self.compiled.network.stream_names

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """The stream of a token."""
        self.check(t)
        return self._vectors_at(t)

    def _vectors_at(self, t: int) -> Mapping[str, Vector]:
        layout = self.compiled.network.stream
        return {name: exact(rows[t - 1], layout) for name, rows in self._streams.items()}

    def attention(self, t: int) -> Mapping[str, Attention]:
        """The attention of every head to the tokens so far."""
        self.check(t)
        found: dict[str, Attention] = {}
        for n, block in enumerate(self.compiled.network.blocks):
            x = self._streams[f"block.{n}.input"][:t]
            for head in block.heads:
                q, keys = (
                    [exact(row, head.Q.columns) for row in rows]
                    for rows in self.compiled.network.asked(head, x)
                )
                found[head.name] = ListedAttention(q[-1], keys, Vector.dot, hardmax)
        return found

    def last(self) -> int:
        """The last token of the text."""
        return len(self.tokens)

    def check(self, t: int) -> None:
        """Raise EndedError if `t` is past the end of the text."""
        if t > len(self.tokens):
            full = len(self.tokens) == self.compiled.context
            why = f"the context of {self.compiled.context:,} tokens is full" if full else "it ends"
            raise EndedError(f"there is no time {t:,}: {why} at time {len(self.tokens):,}")

    go_to = check

    def run(self) -> Run:
        """The whole run of the machine, also beyond the context."""
        evaluator = self.compiled.by_definition()
        run = self.compiled, self.word, self.max_steps
        return run_language_model(*run, evaluator, Engine.REFERENCE)

    def configuration(self, t: int) -> Configuration | None:
        """The machine's configuration; None if token t is not a step."""
        self.check(t)
        return self._configuration_at(t)

    def _configuration_at(self, t: int) -> Configuration | None:
        vocabulary = self.compiled.vocabulary
        step = vocabulary.step_of(self.tokens[t - 1])
        if step is None or step.state in vocabulary.pauses:
            return None
        follower = Follower(vocabulary, self.word)
        for token in self.tokens[:t]:
            follower.take(token)
        blank = self.compiled.given.blank
        tape = tape_of(follower.tape, blank)
        return Configuration.on_tape(follower.state, follower.head, tape, blank)


def exact(numbers: NDArray[np.float64], layout: Layout) -> Vector:
    """An array as an exact vector."""
    places = np.flatnonzero(numbers).tolist()
    return Vector(layout, {k: fmpq(*float(numbers[k]).as_integer_ratio()) for k in places})


class Visited(Attention):
    """The step at which a pointer head looks; scores, which are over tokens, are left out."""

    scores: tuple[()] = ()
    weights: tuple[()] = ()
    winners: tuple[int, ...] = ()
    score = runner_up = None

    def __init__(self, step: int | None) -> None:
        """The step, or None if the cell is fresh."""
        self.winners = () if step is None else (step,)

    def __len__(self) -> int:
        return 0


class StepTracing(LanguageModelTracing):
    """A trace of the same text by steps: time t is the step of the machine at time t − 1.

    The vectors are those of its address token, which computes the next step; the last step of a run
    has no address token and shows its own. `AHEAD` is the head for the cell to which the machine
    moves.
    """

    AHEAD = "ahead"

    def __init__(
        self, compiled: CompiledLanguageModel, word: Sequence[str], max_steps: int
    ) -> None:
        super().__init__(compiled, word, max_steps)
        self.attentions = (self.AHEAD, *self.attentions)
        self.seeker = _AllAtOnce(self)  # type: ignore[assignment]  # as much of one as pages need

    @cached_property
    def places(self) -> list[int]:
        """For each step the token, from 1 on, whose vectors it shows."""
        first = self._first + 1
        return [min(place + 1, len(self.tokens)) for place in range(first, len(self.tokens), 2)]

    @property
    def _first(self) -> int:
        """The position of the machine's first step."""
        return self.compiled.vocabulary.steps_from(len(self.word))

    def _step_at(self, token: int) -> int | None:
        """The step whose address token this is; None for any token before the first."""
        step = (token - self._first) // 2
        return step if step >= 1 else None

    def check(self, t: int) -> None:
        """Raise EndedError if `t` is past the last step of the text."""
        if t > len(self.places):
            raise EndedError(
                f"there is no step {t:,} in this text; the last is {len(self.places):,}"
            )

    go_to = check

    def last(self) -> int:
        """The last step of the text."""
        return len(self.places)

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """The vectors of its address token."""
        self.check(t)
        return super()._vectors_at(self.places[t - 1])

    def attention(self, t: int) -> Mapping[str, Attention]:
        """The two visits that the heads look up, by their steps."""
        self.check(t)
        token = self.places[t - 1]
        heads = dict(self.compiled.pointers)
        found: dict[str, Attention] = {
            name: Visited(self._step_at(int(self._winners[name][token - 1]) + 1)) for name in heads
        }
        m2 = self.compiled.network.stream.places("m2")
        right, left = self._streams["block.1.input"][token - 1][m2]
        ahead = next(name for name, side in heads.items() if side in (None, "R" if right else "L"))
        return {self.AHEAD: found[ahead] if right or left else Visited(None), **found}

    def pointed(self, t: int) -> list[tuple[str, int, int]]:
        """The pointer heads by side, and the tokens that each finds, as a slice of the text.

        These are a step's two tokens, or one of the prompt. A head for both sides is `ahead`.
        """
        found = []
        for name, side in self.compiled.pointers:
            place = int(self._winners[name][self.places[t - 1] - 1])
            found.append((side or self.AHEAD, place - (place > self._first), place + 1))
        return found

    @cached_property
    def _winners(self) -> "dict[str, NDArray[np.int64]]":
        return self.compiled.network.forward(self.tokens)[1]

    def configuration(self, t: int) -> Configuration | None:
        """The machine's configuration."""
        self.check(t)
        return super()._configuration_at(self._first - 1 + 2 * t)


class _AllAtOnce:
    """The part of a seeker that pages need; all moments of a text are computed at once."""

    lost = None

    def __init__(self, tracing: StepTracing) -> None:
        self._tracing = tracing

    def nearest(self, t: int) -> int:
        """The moment itself, as every moment is at hand."""
        return t

    @property
    def moments(self) -> int:
        """The number of moments."""
        return self._tracing.last()

    end = moments

    @property
    def result(self) -> Run:
        """The run."""
        return self._tracing.run()
