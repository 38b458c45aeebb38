"""Running a Turing machine: the definition, and one call that picks the engine.

`configurations` is the definition: every faster engine, here and in the networks, must agree with
it. `simulate` runs to an outcome. The reference engine folds over the definition, the fast engine
(`fast_simulate`) is compiled, and `auto` switches from the first to the second, so that a short run
never waits for a compiler. `finish` drives the engines that can be resumed, and `held_interrupt`
lets a loop finish a moment before Ctrl-C ends it.
"""

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from sys import maxsize
from time import perf_counter
from typing import TYPE_CHECKING

from netwright.errors import InputError, unknown
from netwright.html import table
from netwright.machine.configuration import Configuration, Tape
from netwright.machine.turing_machine import TuringMachine
from netwright.text import counted, shortened

if TYPE_CHECKING:
    from netwright.exact.snapshot import CheckpointStore, Snapshot  # they import numpy

AUTO_REFERENCE_STEPS = 50_000  # about 60 ms: the time to load the compiler and to use it
Progress = Callable[..., None]
"""A callback that receives the number of steps and the length of the tape now and then; from the
accelerated engine, also the number of moves."""
HELD = 2.0  # seconds that Ctrl-C is held back at most


class Outcome(StrEnum):
    """How a run ended; a step limit is never called a rejection."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    HALTED = "halted"
    UNDECIDED = "undecided"


class Engine(StrEnum):
    """Which code runs the machine; all give the same answer."""

    AUTO = "auto"
    """The first of the others that suits the network and the run."""
    FAST = "fast"
    """What depends on finitely many values is evaluated once for each case."""
    FULL = "full"
    """As fast, but a network applies every weight at every moment."""
    ACCELERATED = "accelerated"
    """As fast, but a whole run of equal cells is done at once; for machines and stacks."""
    REFERENCE = "reference"
    """The definition itself."""
    TORCH = "torch"
    """Runs a language model's checkpoint with transformers."""


@dataclass(frozen=True, repr=False)
class Run:
    """The result of a run after `steps` steps, and the time it took in seconds."""

    outcome: Outcome
    steps: int
    state: str
    head: int
    tape: Tape
    engine: Engine
    seconds: float
    compile_seconds: float = 0.0
    network_steps: int | None = None
    """The network's time in this configuration; None if the machine itself was run."""
    dimension: int | None = None
    note: str | None = None
    """Why the run was slower or shorter than asked for."""
    moves: int | None = None
    """How many moves the accelerated engine made, each of one step or of very many."""
    before_end: bool = False
    """Whether state, head and tape are from before the last step, which no output shows."""

    @property
    def accepted(self) -> bool:
        """Whether the machine accepted its input."""
        return self.outcome is Outcome.ACCEPTED

    @property
    def decided(self) -> bool:
        """Whether the run ended before the step limit."""
        return self.outcome is not Outcome.UNDECIDED

    @property
    def verdict(self) -> bool:
        """Whether the machine accepted its input; raise InputError if the run did not end."""
        if not self.decided:
            raise InputError(f"undecided after {self.steps:,} steps; raise max_steps to find out")
        return self.accepted

    def __repr__(self) -> str:
        steps, tape = counted(self.steps, "step"), shortened(self.tape, 40) or "blank"
        where = f"{'before the last: ' if self.before_end else ''}in {self.state}"
        return f"<{self.outcome} after {steps} {where}, head {self.head}, tape {tape}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("state", self.state),
            ("head", f"cell {self.head}"),
            ("tape", shortened(self.tape, 120) or "blank"),
        ]
        if self.network_steps is not None:
            rows.append(("network", f"time {self.network_steps:,}, dimension {self.dimension}"))
        rows.append(("time", f"{self.seconds:.3f} s, {self.engine} engine"))
        return table(f"{self.outcome} after {self.steps:,} steps", [], rows)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `run` is the result so far."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(f"interrupted after {run.steps:,} steps")


def configurations(
    machine: TuringMachine, word: Iterable[str] | None = None, head: int = 0
) -> Iterator[Configuration]:
    """Iterate over the configurations at times 0, 1, 2, …: the definition of a run.

    Without a word the machine runs on its default input.

    >>> from netwright.machine.library import library_machine
    >>> increment = library_machine("binary-increment")
    >>> [c.state for c in configurations(increment, "11")]
    ['right', 'right', 'right', 'carry', 'carry', 'carry', 'done']
    """
    symbols = machine.check_word(machine.default_input if word is None else word)
    start = Configuration.initial(machine.start, symbols, machine.blank, head)
    yield from configurations_from(machine, start)


def configurations_from(machine: TuringMachine, now: Configuration) -> Iterator[Configuration]:
    """Iterate over the configurations from one on."""
    yield now
    while action := machine.action(now.state, now.symbol):
        now = now.after(action)
        yield now


def first_steps(count: int, run: Iterator[Configuration]) -> Iterator[Configuration]:
    """Cut a run off after time `count`."""
    return islice(run, min(count + 1, maxsize))


def check_limit(max_steps: int) -> None:
    """Raise InputError unless the limit is a whole number, 0 or more."""
    whole = hasattr(max_steps, "__index__") and not isinstance(max_steps, bool)
    if not whole or max_steps < 0:
        got = shortened(repr(max_steps), 60)
        raise InputError(f"the limit is {got} steps; expected a whole number, 0 or more")


def read_engine(engine: Engine | str) -> Engine:
    """Look up an engine by its name; raise InputError for an unknown one."""
    if engine not in list(Engine):
        raise InputError(unknown("engine", str(engine), list(Engine)))
    return Engine(engine)


def outcome_of(machine: TuringMachine, state: str, symbol: str) -> Outcome:
    """The outcome of a run that is in this state over this symbol."""
    if machine.action(state, symbol):
        return Outcome.UNDECIDED
    if not machine.accepting:
        return Outcome.HALTED
    return Outcome.ACCEPTED if state in machine.accepting else Outcome.REJECTED


def simulate(
    machine: TuringMachine,
    word: Iterable[str] | None = None,
    max_steps: int = 10_000_000,
    progress: Progress | None = None,
    store: "CheckpointStore | None" = None,
    *,
    head: int = 0,
    engine: Engine | str = Engine.AUTO,
) -> Run:
    """Run the machine until it halts, or for `max_steps` steps, on a word or its default input.

    >>> from netwright.machine.library import library_machine
    >>> simulate(library_machine("palindrome"), "abba").outcome
    <Outcome.ACCEPTED: 'accepted'>
    """
    check_limit(max_steps)
    engine = read_engine(engine)
    if engine == Engine.TORCH:
        raise InputError("engine torch is for language models, not for machines")
    if engine == Engine.FULL:
        engine = Engine.FAST  # a machine has no weights that could be left out
    symbols = machine.check_word(machine.default_input if word is None else word)
    is_fast = engine in (Engine.FAST, Engine.ACCELERATED)
    if store is not None and engine == Engine.REFERENCE:
        raise InputError("only the fast engine keeps checkpoints of a machine's run")
    if is_fast or store is not None:
        start = _reference(machine, symbols, 0, head, None)
    else:
        limit = max_steps if engine == Engine.REFERENCE else min(max_steps, AUTO_REFERENCE_STEPS)
        start = _reference(machine, symbols, limit, head, progress)
        if start.outcome is not Outcome.UNDECIDED or start.steps == max_steps:
            return start
    now: OngoingMachine
    if engine == Engine.ACCELERATED:
        from netwright.machine.accelerated import AcceleratedMachine

        now = AcceleratedMachine(machine, start)
    else:
        from netwright.machine.fast_simulate import FastMachine  # imports the compiler

        now = FastMachine(machine, start)
    return finish(now, max_steps, progress, store)


class OngoingMachine(ABC):
    """A machine's run that an engine continues from a configuration."""

    engine: Engine
    compile_seconds = 0.0
    moves: int | None = None
    """How many moves the accelerated engine has made."""

    def __init__(self, machine: TuringMachine, run: Run) -> None:
        self.machine, self.seconds = machine, run.seconds

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of steps."""

    @property
    @abstractmethod
    def place(self) -> tuple[str, str, int]:
        """The state, the symbol under the head, and the head."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The length of the tape."""

    @abstractmethod
    def tape(self) -> Tape:
        """The tape."""

    @abstractmethod
    def advance(self, limit: int) -> None:
        """Do at least one step and at most `limit`, if a rule applies."""

    @abstractmethod
    def snapshot(self) -> "Snapshot":
        """The configuration as arrays."""

    @abstractmethod
    def restore(self, kept: "Snapshot") -> None:
        """Continue from a snapshot; FormatError if it is damaged."""


def check_saved(steps: int, max_steps: int) -> None:
    """Raise InputError if a saved run is beyond the limit already."""
    if steps > max_steps:
        raise InputError(
            f"the saved run is at step {steps:,}, beyond the limit of {max_steps:,} steps"
        )


def report(progress: Progress, steps: int, cells: int, moves: int | None) -> None:
    """Call a progress callback; with the moves, if there are any."""
    progress(steps, cells, *(() if moves is None else (moves,)))


def finish(
    now: OngoingMachine,
    max_steps: int,
    progress: Progress | None = None,
    store: "CheckpointStore | None" = None,
) -> Run:
    """Continue until the machine halts or has done `max_steps` steps.

    If the store has a snapshot, continue from that instead. The run is saved periodically, at
    Ctrl-C, and at the limit, which a resumed run may raise.
    """
    if store is not None and (kept := store.read()):
        now.restore(kept)
        check_saved(now.steps, max_steps)
    started = last_saved = perf_counter()

    def reached() -> Run:
        state, symbol, head = now.place
        return Run(
            outcome_of(now.machine, state, symbol),
            now.steps,
            state,
            head,
            now.tape(),
            now.engine,
            now.seconds + perf_counter() - started,
            now.compile_seconds,
            moves=now.moves,
        )

    try:
        with held_interrupt() as interrupted:
            while now.steps < max_steps and now.machine.action(*now.place[:2]):
                now.advance(max_steps - now.steps)
                if progress:
                    report(progress, now.steps, now.cells, now.moves)
                if interrupted():
                    raise KeyboardInterrupt
                if store is not None and perf_counter() - last_saved >= store.every:
                    store.write(now.snapshot())
                    last_saved = perf_counter()
    except KeyboardInterrupt:
        if store is not None:
            store.write(now.snapshot())
        raise Interrupted(reached()) from None
    if store is not None and now.steps >= max_steps:
        store.write(now.snapshot())
    return reached()


def _reference(
    machine: TuringMachine,
    word: tuple[str, ...],
    max_steps: int,
    head: int,
    progress: Progress | None,
) -> Run:
    """Run the definition."""
    started = perf_counter()
    steps, now = 0, Configuration.initial(machine.start, word, machine.blank, head)

    def reached() -> Run:
        return Run(
            outcome_of(machine, now.state, now.symbol),
            steps,
            now.state,
            now.head,
            now.tape,
            Engine.REFERENCE,
            perf_counter() - started,
        )

    try:
        for steps, now in enumerate(first_steps(max_steps, configurations(machine, word, head))):
            if progress and steps % 65_536 == 0:
                progress(steps, len(now.tape.cells))
    except KeyboardInterrupt:
        raise Interrupted(reached()) from None
    return reached()


@contextmanager
def held_interrupt() -> Iterator[Callable[[], bool]]:
    """Defer the first SIGINT; yields a callable that returns True once one has arrived.

    If the callable is not called within `HELD` seconds, because one moment takes long, the
    KeyboardInterrupt is raised after all. A second SIGINT is not deferred.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    came = False
    before = signal.getsignal(signal.SIGINT)

    def hold(_number: int, _frame: object) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, before)
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, let_through)
            signal.setitimer(signal.ITIMER_REAL, HELD)

    def let_through(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    def asked() -> bool:
        if came and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        return came

    signal.signal(signal.SIGINT, hold)
    try:
        yield asked
    finally:
        asked()
        signal.signal(signal.SIGINT, before)
