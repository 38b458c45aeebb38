"""A machine's run, read off the text that its language model writes."""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic, perf_counter

from netwright.errors import InputError, NetworkError
from netwright.interrupts import held_interrupt
from netwright.machine.configuration import Tape
from netwright.machine.simulate import Engine, Interrupted, Outcome, Progress, Run
from netwright.runtime.language_model import Evaluator
from netwright.theorems.beyond.language_model.construction import CompiledLanguageModel
from netwright.theorems.beyond.language_model.text import Follower, NoRoomError
from netwright.theorems.beyond.language_model.vocabulary import ACCEPT, REJECT

OFTEN = 0.1  # seconds between two looks at the progress bar


def run_language_model(
    compiled: CompiledLanguageModel,
    word: Sequence[str],
    max_steps: int,
    evaluator: Evaluator,
    engine: Engine,
    progress: Progress | None = None,
) -> Run:
    """The given machine's run as the model writes it, one context after the other."""
    vocabulary = compiled.vocabulary
    follower = Follower(vocabulary, word)
    started = perf_counter()
    tokens = 0
    outcome = Outcome.UNDECIDED

    def reached() -> Run:
        blank = vocabulary.machine.blank
        low, high = min(follower.tape, default=0), max(follower.tape, default=-1)
        cells = [follower.tape.get(cell, blank) for cell in range(low, high + 1)]
        return Run(
            outcome,
            max(0, follower.steps),
            follower.state,
            max(follower.head, 0) if follower.steps < 0 else follower.head,
            Tape.of(cells, low, blank),
            engine,
            perf_counter() - started,
            network_steps=tokens,
            dimension=compiled.network.stream.dimension,
        )

    shown = monotonic()
    with held_interrupt() as interrupted:
        prompt = follower.start.prompt(vocabulary)
        while True:
            evaluator.restart()
            logits = evaluator.extend(prompt)
            length = len(prompt)
            while length < compiled.context:
                token = int(logits.argmax())
                tokens, length = tokens + 1, length + 1
                ends = token in (ACCEPT, REJECT)
                at_the_limit = follower.steps >= max_steps
                if at_the_limit and not ends and follower.state not in vocabulary.pauses:
                    return reached()
                if (wrong := follower.take(token)) is not None:
                    raise NetworkError(f"token {tokens:,}, {compiled.text(token)}, {wrong}")
                if ends:
                    decided = Outcome.ACCEPTED if token == ACCEPT else Outcome.REJECTED
                    outcome = decided if vocabulary.machine.accepting else Outcome.HALTED
                    return reached()
                if length < compiled.context:
                    logits = evaluator.extend([token])
                if monotonic() - shown > OFTEN:
                    shown = monotonic()
                    if progress is not None:
                        progress(max(0, follower.steps), len(follower.tape))
                    if interrupted():
                        raise Interrupted(reached())
            if follower.step is None:
                raise InputError(
                    f"a context of {compiled.context:,} tokens has no room for a step; take a "
                    "larger one: --context"
                )
            try:
                prompt = follower.resumed().prompt(vocabulary)
            except NoRoomError as error:
                follower.end_stay()
                return replace(reached(), note=str(error))
            follower.go_on()
