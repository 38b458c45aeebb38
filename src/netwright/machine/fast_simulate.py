"""The fast run of a Turing machine: rules in integer arrays, the loop compiled by numba.

States and symbols become their indices. The rules lie in one array with a row for each pair
(state, symbol), at index state·|Σ| + symbol: next state or −1, symbol to write, move of the head.
The tape is an array that Python makes larger whenever the head walks off either end.
"""

from time import perf_counter
from typing import Any, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

from netwright.errors import InputError
from netwright.machine.configuration import Tape
from netwright.machine.simulate import Engine, Interrupted, Progress, Run, outcome_of
from netwright.machine.turing_machine import TuringMachine

Cells: TypeAlias = "NDArray[np.uint8] | NDArray[np.int32]"
CHUNK = 1 << 23  # steps between two looks at Ctrl-C and the progress bar: some 30 ms


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # numba has no types
def _advance(rules: Any, symbols: int, tape: Any, position: Any, limit: int) -> None:
    """Step until the machine halts, the head is off either end, or `limit` steps are done.

    `position` holds state, head and steps. They and the tape change in place, together, so that a
    Ctrl-C that Python sees as this returns finds them in agreement.
    """
    state, head, steps = position
    cells = tape.size
    while steps < limit and 0 <= head < cells:
        rule = state * symbols + tape[head]
        target = rules[rule, 0]
        if target < 0:
            break
        tape[head] = rules[rule, 1]
        head += rules[rule, 2]
        state = target
        steps += 1
    position[0], position[1], position[2] = state, head, steps


def resume(
    machine: TuringMachine, run: Run, max_steps: int, progress: Progress | None = None
) -> Run:
    """Go on from where `run` stands until the machine halts or has done `max_steps` steps."""
    symbol_index = {symbol: i for i, symbol in enumerate(machine.symbols)}
    state_index = {state: i for i, state in enumerate(machine.states)}
    rules = _rule_table(machine, state_index, symbol_index)
    blank = symbol_index[machine.blank]
    tape, origin = _lay_out(run, symbol_index, blank)
    position = np.array([state_index[run.state], run.head - origin, run.steps], dtype=np.int64)

    started = perf_counter()
    # A call with no step to do compiles, or loads what an earlier run compiled.
    _advance(rules, len(machine.symbols), tape, position, run.steps)
    compile_seconds = perf_counter() - started
    started = perf_counter()

    def reached() -> Run:
        state, head, steps = map(int, position)
        under = machine.symbols[tape[head]] if 0 <= head < tape.size else machine.blank
        return Run(
            outcome_of(machine, machine.states[state], under),
            steps,
            machine.states[state],
            head + origin,
            _read_off(tape, origin, machine, blank),
            Engine.FAST,
            run.seconds + perf_counter() - started,
            compile_seconds,
        )

    try:
        while (before := int(position[2])) < max_steps:
            _advance(rules, len(machine.symbols), tape, position, min(before + CHUNK, max_steps))
            if not 0 <= position[1] < tape.size:
                larger, shift = _enlarge(tape, position[1] < 0, blank)
                tape, origin, position[1] = larger, origin - shift, position[1] + shift
            elif position[2] < min(before + CHUNK, max_steps):
                break  # it halted
            if progress:
                progress(int(position[2]), int(tape.size))
    except KeyboardInterrupt:
        raise Interrupted(reached()) from None
    except MemoryError:
        raise InputError(
            f"no memory for a tape of more than {tape.size:,} cells after {position[2]:,} steps; "
            f"run again with a limit of {position[2]} steps to see where it stands"
        ) from None
    return reached()


def _rule_table(
    machine: TuringMachine, state_index: dict[str, int], symbol_index: dict[str, int]
) -> NDArray[np.int32]:
    rules = np.full((len(machine.states) * len(machine.symbols), 3), -1, dtype=np.int32)
    for state, symbol in machine.delta:
        if action := machine.action(state, symbol):
            rules[state_index[state] * len(machine.symbols) + symbol_index[symbol]] = (
                state_index[action.state],
                symbol_index[action.write],
                action.move.offset,
            )
    return rules


def _lay_out(run: Run, symbol_index: dict[str, int], blank: int) -> tuple[Cells, int]:
    """An array with the run's tape and its head well inside, and the cell of its first item."""
    first = min(run.tape.start, run.head)
    last = max(run.tape.start + len(run.tape.cells), run.head + 1)
    margin = max(512, last - first)
    origin = first - margin
    dtype = np.uint8 if len(symbol_index) <= 256 else np.int32
    tape = np.full(last - first + 2 * margin, blank, dtype=dtype)
    written = [symbol_index[symbol] for symbol in run.tape.cells]
    tape[run.tape.start - origin : run.tape.start - origin + len(written)] = written
    return tape, origin


def _enlarge(tape: Cells, to_the_left: bool, blank: int) -> tuple[Cells, int]:
    """Twice the tape, and by how much its old cells moved to the right in the array."""
    more = np.full_like(tape, blank)
    if to_the_left:
        return np.concatenate([more, tape]), more.size
    return np.concatenate([tape, more]), 0


def _read_off(tape: Cells, origin: int, machine: TuringMachine, blank: int) -> Tape:
    written = np.flatnonzero(tape != blank)
    if not written.size:
        return Tape(0, ())
    first, last = int(written[0]), int(written[-1])
    return Tape(
        origin + first, tuple(map(machine.symbols.__getitem__, tape[first : last + 1].tolist()))
    )
