"""The fast engine for Turing machines: a compiled loop (`jit`) over packed rules (`packed`).

The tape is an array; Python enlarges it whenever the head walks off either end.
"""

from time import perf_counter
from typing import Any

import numpy as np

from netwright.errors import InputError
from netwright.exact.arrays import IntArray
from netwright.exact.snapshot import (
    FARTHEST,
    CheckpointStore,
    Snapshot,
    checked_array,
    require_consistent,
)
from netwright.jit import compiled
from netwright.machine.configuration import Tape
from netwright.machine.packed import Cells, rule_table
from netwright.machine.simulate import (
    Engine,
    Interrupted,
    Progress,
    Run,
    held_interrupt,
    outcome_of,
)
from netwright.machine.turing_machine import TuringMachine

CHUNK = 1 << 23  # steps between two checks for Ctrl-C and progress: about 30 ms


def _advance(rules: Any, tape: Any, position: Any, limit: int) -> None:
    """Step until the machine halts, the head is off either end, or `limit` steps are done.

    `position` holds the state's row, the head and the steps. They and the tape change in place.
    """
    row, head, steps = position
    cells = tape.size
    while steps < limit and 0 <= head < cells:
        rule = rules[row + tape[head]]
        if rule < 0:
            break
        tape[head] = (rule >> 2) & 0x3FFFFFFF
        head += (rule & 3) - 1
        row = rule >> 32
        steps += 1
    position[0], position[1], position[2] = row, head, steps


def resume(
    machine: TuringMachine,
    run: Run,
    max_steps: int,
    progress: Progress | None = None,
    store: CheckpointStore | None = None,
) -> Run:
    """Continue `run` until the machine halts or has done `max_steps` steps.

    If the store has a snapshot, continue from that instead.
    """
    rules, states, symbols = rule_table(machine)
    width, blank = len(symbols), symbols[machine.blank]
    tape, origin = _lay_out(run, symbols, blank)
    position = np.array([states[run.state] * width, run.head - origin, run.steps], dtype=np.int64)

    if store and (kept := store.read()):
        cells, origin, position = _restore(kept, len(states), width, max_steps)
        tape = cells.astype(tape.dtype)
    advance, compile_seconds = compiled(_advance, rules, tape, position, int(position[2]))
    started = perf_counter()

    def reached() -> Run:
        row, head, steps = map(int, position)
        state = machine.states[row // width]
        under = machine.symbols[tape[head]] if 0 <= head < tape.size else machine.blank
        return Run(
            outcome_of(machine, state, under),
            steps,
            state,
            head + origin,
            _read_off(tape, origin, machine, blank),
            Engine.FAST,
            run.seconds + perf_counter() - started,
            compile_seconds,
        )

    def keep() -> None:
        if store is not None:
            where = {"position": position.copy(), "origin": np.array([origin], dtype=np.int64)}
            store.write({**where, "tape": tape.astype(np.int64)})

    last_save = started
    try:
        with held_interrupt() as interrupted:
            while (before := int(position[2])) < max_steps:
                advance(rules, tape, position, min(before + CHUNK, max_steps))
                if not 0 <= position[1] < tape.size:
                    larger, shift = _enlarge(tape, position[1] < 0, blank)
                    tape, origin, position[1] = larger, origin - shift, position[1] + shift
                elif position[2] < min(before + CHUNK, max_steps):
                    break  # it halted
                if progress:
                    progress(int(position[2]), len(_written_cells(tape, blank)))
                if interrupted():
                    raise KeyboardInterrupt
                if store is not None and perf_counter() - last_save >= store.every:
                    keep()
                    last_save = perf_counter()
    except KeyboardInterrupt:
        keep()
        raise Interrupted(reached()) from None
    except MemoryError:
        raise InputError(
            f"no memory for a tape of more than {tape.size:,} cells, after {position[2]:,} steps"
        ) from None
    if position[2] >= max_steps:
        keep()  # so that a run with a higher limit can resume
    return reached()


def _restore(
    kept: Snapshot, states: int, symbols: int, max_steps: int
) -> tuple[IntArray, int, IntArray]:
    """Return tape, origin and position from a snapshot; raise FormatError for a damaged one."""
    tape = checked_array(kept, "tape", (None,), 0, symbols - 1)
    origin = int(checked_array(kept, "origin", (1,), -FARTHEST, FARTHEST)[0])
    position = checked_array(kept, "position", (3,), -1, FARTHEST).copy()
    row, head, steps = position.tolist()
    require_consistent(0 <= row < states * symbols and row % symbols == 0, f"no state {row}")
    require_consistent(-1 <= head <= tape.size and tape.size, f"the head is at {head}")
    require_consistent(steps >= 0, f"{steps} steps")
    if steps > max_steps:
        raise InputError(
            f"the saved run is at step {steps:,}, beyond the limit of {max_steps:,} steps"
        )
    return tape, origin, position


def _lay_out(run: Run, symbols: dict[str, int], blank: int) -> tuple[Cells, int]:
    """Copy the tape into an array with margins; return it and the cell of its first item."""
    first = min(run.tape.start, run.head)
    last = max(run.tape.start + len(run.tape.cells), run.head + 1)
    margin = max(512, last - first)
    origin = first - margin
    dtype = np.uint8 if len(symbols) <= 256 else np.int32
    tape = np.full(last - first + 2 * margin, blank, dtype=dtype)
    written = [symbols[symbol] for symbol in run.tape.cells]
    tape[run.tape.start - origin : run.tape.start - origin + len(written)] = written
    return tape, origin


def _enlarge(tape: Cells, to_the_left: bool, blank: int) -> tuple[Cells, int]:
    """Double the tape; return it and by how much the old cells moved to the right."""
    shift = tape.size if to_the_left else 0
    return np.pad(tape, (shift, tape.size - shift), constant_values=blank), shift


def _read_off(tape: Cells, origin: int, machine: TuringMachine, blank: int) -> Tape:
    cells = _written_cells(tape, blank)
    symbols = tuple(map(machine.symbols.__getitem__, tape[cells.start : cells.stop].tolist()))
    return Tape(origin + cells.start if symbols else 0, symbols)


def _written_cells(tape: Cells, blank: int) -> range:
    """The indices from the first to the last cell that is not blank."""
    written = np.flatnonzero(tape != blank)
    return range(int(written[0]), int(written[-1]) + 1) if written.size else range(0)
