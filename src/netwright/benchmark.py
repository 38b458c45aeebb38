"""Benchmarks: the same machine on each kind of network and on three simulators, in one process.

Timings are noisy, so compare ratios within one benchmark. Compiling is not counted, and of repeated
measurements the best counts. Peak memory is that of a process that does nothing else.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

from netwright.kind.registry import MACHINE, exact_kinds
from netwright.machine.normal_form import fresh_name
from netwright.machine.simulate import Engine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.running import run, run_many
from netwright.verify.draw import random_machine

DICTIONARY, AUTOMATA = "dictionary simulator", "automata-lib DTM"
MACHINES, MOST_SECONDS = 20, 5
FULL_STEPS = 2_000_000  # for the full engine, which applies every weight at every moment
SECOND_PEER = 50_000  # steps; automata-lib does about 80,000 a second
RAN = (0, 1, 3)  # exit codes of a run that has an answer


class Measured(NamedTuple):
    """A measurement: steps and the seconds they took."""

    steps: int
    seconds: float

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def nanoseconds(self) -> float | None:
        """The time of a step; None if there was no step."""
        return 1e9 * self.seconds / self.steps if self.steps else None


@dataclass
class Benchmark:
    """The results, by name: rates, growth of the cost with the steps, peak memory in bytes."""

    rates: dict[str, Measured] = field(default_factory=dict)
    growth: dict[str, list[Measured]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    """Seconds of a new process for a first run of 1,000 steps."""
    machines: dict[str, float] = field(default_factory=dict)
    """Random machines of the same size per second, 1,000 steps each."""

    def ratio(self, name: str, peer: str) -> float | None:
        """The rate as a multiple of a peer's; None if one is missing."""
        if name not in self.rates or peer not in self.rates or not self.rates[peer].rate:
            return None
        return self.rates[name].rate / self.rates[peer].rate

    def as_json(self) -> dict[str, Any]:
        """All results as one JSON object."""
        return {
            "rates": {
                name: {
                    "steps": measured.steps,
                    "seconds": round(measured.seconds, 6),
                    "steps_per_second": round(measured.rate),
                    "times_dictionary": _rounded(self.ratio(name, DICTIONARY)),
                    "times_automata_lib": _rounded(self.ratio(name, AUTOMATA)),
                }
                for name, measured in self.rates.items()
            },
            "growth": {
                name: [
                    {
                        "steps": each.steps,
                        "seconds": round(each.seconds, 6),
                        "nanoseconds_per_step": _rounded(each.nanoseconds),
                    }
                    for each in row
                ]
                for name, row in self.growth.items()
            },
            "peak_memory_bytes": self.memory,
            "first_run_seconds": {name: _rounded(value) for name, value in self.first.items()},
            "machines_per_second": {name: round(value, 1) for name, value in self.machines.items()},
        }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


def measure(
    found: Benchmark, machine: TuringMachine, word: tuple[str, ...], arguments: Sequence[str] = ()
) -> Iterator[str]:
    """Measure everything into `found`; yield the name of each thing before it is measured.

    `arguments` are those of `netwright run`, to measure its memory.
    """
    for target, kind in exact_kinds().items() if arguments else ():
        # First, while this process is small: on Linux a child's peak includes its parent's memory.
        yield f"memory of {target}"
        peak = peak_memory(arguments, target, kind.reading.benchmark_steps)
        if peak is not None:
            found.memory[target] = peak
        yield f"first run on {target}"
        found.first[target] = first_run(arguments, target)
    yield DICTIONARY
    found.rates[DICTIONARY] = _best(lambda: dictionary_run(machine, word, 2_000_000))
    yield AUTOMATA
    peer = automata_run(machine, word, SECOND_PEER)
    if peer is not None:
        found.rates[AUTOMATA] = peer
    yield MACHINE
    _measure_run(machine, word, MACHINE, 1000)  # compiles
    found.rates["fast simulator"] = _best(lambda: _measure_run(machine, word, MACHINE, 10**8))
    for target, kind in exact_kinds().items():
        yield target
        _measure_run(machine, word, target, 1000)
        row = found.growth.setdefault(target, [])
        for measured in _growth(machine, word, target, kind.reading.benchmark_steps):
            row.append(measured)
            found.rates[target] = measured
        yield f"many machines on {target}"
        found.machines[target] = _machines_a_second(machine, target)
        if kind.reading.has_tables:
            yield f"{target}, full"
            found.rates[f"{target}, full"] = _best(
                lambda: _measure_run(machine, word, target, FULL_STEPS, Engine.FULL)  # noqa: B023
            )


def _measure_run(
    machine: TuringMachine,
    word: tuple[str, ...],
    target: str,
    steps: int,
    engine: Engine = Engine.FAST,
) -> Measured:
    done = run(machine, word, steps, on=target, engine=engine)
    return Measured(done.steps, done.seconds)


def _growth(
    machine: TuringMachine, word: tuple[str, ...], target: str, longest: int
) -> Iterator[Measured]:
    """Measure runs of 10⁵, 10⁶, … steps, until `longest` or the halt."""
    steps = 10**5
    while steps <= longest:
        measured = _best(lambda: _measure_run(machine, word, target, steps), times=2)  # noqa: B023
        yield measured
        if measured.steps < steps:
            return
        steps *= 10


def _machines_a_second(machine: TuringMachine, target: str) -> float:
    """Run random machines of the size of a given one, one after the other."""
    draw = random.Random(0)
    size = len(machine.states), len(machine.symbols)
    many = [random_machine(draw, *size) for _ in range(MACHINES)]
    started, done = perf_counter(), 0
    for _ in run_many(many, (), 1000, to=target):
        done += 1
        if perf_counter() - started > MOST_SECONDS:
            break
    return done / (perf_counter() - started)


def _best(measurement: Callable[[], Measured], times: int = 3) -> Measured:
    return max((measurement() for _ in range(times)), key=lambda measured: measured.rate)


def dictionary_run(machine: TuringMachine, word: tuple[str, ...], limit: int) -> Measured:
    """Measure the simulator that everybody writes first: dictionaries for tape and rules."""
    rules = machine.delta.items()
    delta = {k: (q, w, m.offset) for k, (q, w, m) in rules if k[0] not in machine.accepting}
    tape = dict(enumerate(word))
    state, head, blank, steps = machine.start, 0, machine.blank, 0
    started = perf_counter()
    try:
        for steps in range(limit):  # noqa: B007  # the number of steps when it halts
            state, tape[head], move = delta[state, tape.get(head, blank)]
            head += move
        steps = limit
    except KeyError:
        pass  # it halted
    return Measured(steps, perf_counter() - started)


def automata_run(machine: TuringMachine, word: tuple[str, ...], limit: int) -> Measured | None:
    """Measure automata-lib's DTM; None if it is not installed or refuses the machine."""
    try:
        from automata.base.exceptions import AutomatonException, RejectionException
        from automata.tm.dtm import DTM
    except ImportError:
        return None
    if any(len(symbol) != 1 for symbol in machine.symbols):
        return None  # its symbols must be characters
    transitions: dict[str, dict[str, tuple[str, str, str]]] = {}
    for (state, symbol), (target, write, move) in machine.delta.items():
        if state not in machine.accepting:
            offset = move.value if move.value in "LR" else "N"
            transitions.setdefault(state, {})[symbol] = (target, write, offset)
    # Where the machine declares no accepting states, the peer gets one that is never reached.
    final = machine.accepting or {fresh_name("accept", set(machine.states))}
    try:
        peer = DTM(
            states={*machine.states, *final},
            input_symbols=set(machine.symbols) - {machine.blank},
            tape_symbols=set(machine.symbols),
            transitions=transitions,
            initial_state=machine.start,
            blank_symbol=machine.blank,
            final_states=set(final),
        )
        started = perf_counter()
        steps = -1
        with suppress(RejectionException):  # its word for a halt
            for _ in islice(peer.read_input_stepwise("".join(word)), limit + 1):
                steps += 1
        return Measured(steps, perf_counter() - started)
    except AutomatonException:
        return None


def first_run(arguments: Sequence[str], target: str) -> float:
    """The seconds that a new process takes for a run of 1,000 steps."""
    command = _command(arguments, target, 1000)
    started = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return perf_counter() - started


def peak_memory(arguments: Sequence[str], target: str, steps: int) -> int | None:
    """The peak memory of a process for a run; None if it is unknown."""
    if not hasattr(os, "wait4"):
        return None
    command = _command(arguments, target, steps)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.kill()  # Ctrl-C
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in RAN:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return int(usage.ru_maxrss) * unit


def _command(arguments: Sequence[str], target: str, steps: int) -> list[str]:
    command = [sys.executable, "-m", "netwright", "run", "--on", target]
    return [*command, "--max-steps", str(steps), "--engine", "fast", "--json", *arguments]
