"""A machine's rules packed into integers, for compiled loops.

States and symbols become their indices. A rule is one integer at index row(state) + symbol, where
row(state) = state·|Σ|: the row of the next state in bits 32 and up, the symbol to write in bits 2
to 31, the move plus one in bits 0 and 1; −1 if there is no rule.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from netwright.machine.turing_machine import TuringMachine

Cells: TypeAlias = NDArray[Any]  # uint8, or int32 for more than 256 symbols


def rule_table(
    machine: TuringMachine,
) -> tuple[NDArray[np.int64], dict[str, int], dict[str, int]]:
    """Pack the rules of a machine; return them with the indices of states and of symbols."""
    states = {state: n for n, state in enumerate(machine.states)}
    symbols = {symbol: n for n, symbol in enumerate(machine.symbols)}
    width = len(symbols)
    rules = np.full(len(states) * width, -1, dtype=np.int64)
    for state, symbol in machine.delta:
        if action := machine.action(state, symbol):
            rules[states[state] * width + symbols[symbol]] = (
                states[action.state] * width << 32
                | symbols[action.write] << 2
                | action.move.offset + 1
            )
    return rules, states, symbols
