"""The bbchallenge seed database: 5-state 2-symbol machines, 30 bytes each, after a header of 30.

The header holds three big-endian 32-bit counts (undecided by time, undecided by space, all). A
machine is ten groups of (symbol to write, move with R = 0 and L = 1, next state with A = 1): next
state 0 means no rule, 6 halts. The real file has 2.6 GB: this reader seeks and never reads it all.
"""

import os
from typing import BinaryIO

from netwright.errors import FormatError
from netwright.machine.formats.draft import Draft, Source
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "bbchallenge-seeds"
RECORD = 30
STATES = "ABCDE"
HALT = "Z"


def count_machines(file: BinaryIO) -> int | None:
    """The number of machines in the file, or None if it is not a seed database."""
    header = file.read(RECORD)
    by_time, by_space, total = (int.from_bytes(header[i : i + 4], "big") for i in (0, 4, 8))
    fits = by_time + by_space == total and os.fstat(file.fileno()).st_size == RECORD * (total + 1)
    return total if fits and total and header[12] <= 1 and not any(header[13:]) else None


def read_record(file: BinaryIO, machines: int, source: Source) -> TuringMachine:
    """Read the machine whose number is the part of the source."""
    if source.number is None or source.number >= machines:
        asked = f"no machine {source.part!r}" if source.part else f"{machines:,} machines"
        raise FormatError(
            f"{source.label} is a seed database with {asked}; "
            f"name one of them: {source.label}:0 to {source.label}:{machines - 1}"
        )
    file.seek(RECORD * (source.number + 1))
    record = file.read(RECORD)
    draft = Draft(source, NAME)
    for group in range(10):
        state, symbol = STATES[group // 2], str(group % 2)
        write, move, target = record[3 * group : 3 * group + 3]
        place = f"machine {source.part}, state {state}, symbol {symbol}"
        if write > 1 or move > 1 or target > 6:
            draft.fault(place, f"bytes {write} {move} {target} are not a rule")
        elif target:
            action = Action((STATES + HALT)[target - 1], str(write), Move("RL"[move]))
            draft.rule(place, state, symbol, action)
    halts = any(action.state == HALT for action in draft.delta.values())
    return draft.build(
        blank="0",
        start="A",
        states=[*STATES, *([HALT] if halts else [])],
        symbols="01",
        name=f"{source.label}:{source.part}",
    )


def text_of(record: bytes) -> str | None:
    """Convert a record to bbchallenge text; None if its bytes are not a machine.

    >>> text_of(bytes([1, 0, 2, 0, 1, 6, *24 * [0]]))
    '1RB0LZ_------_------_------_------'
    """
    cells = []
    for write, move, target in zip(record[::3], record[1::3], record[2::3], strict=True):
        if write > 1 or move > 1 or target > 6:
            return None
        cells.append(f"{write}{'RL'[move]}{(STATES + HALT)[target - 1]}" if target else "---")
    return "_".join("".join(cells[k : k + 2]) for k in range(0, len(cells), 2))
