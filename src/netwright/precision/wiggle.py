"""The machine that meets a predicted failure: it walks to a cell, comes back to it, looks again.

`meeting` makes the machine of a `WrongOrder`: its head is on cell c at times j₁, j₂ and i + 1, and
in between on others. It walks right to cell (j₁ + c)/2 and back, so it is on c at j₁; one step to
the right and back, and it is there at j₂; then (i + 1 − j₂)/2 steps to the right and back. At every
visit but j₂ it leaves an a, at j₂ a b. So at token i it must read b, and reads a if the network
takes an earlier visit for the latest.

The machine already is in the normal form of Theorem 3.4: it begins in q_init, reads the input
in q_read, and has nothing to rewind.
"""

from netwright.machine.normal_form import NormalMachine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.precision.horizon import WrongOrder

BLANK, A, B = "_", "a", "b"


def meeting(order: WrongOrder) -> tuple[NormalMachine, tuple[str, ...]]:
    """Return the machine that meets a failure at a cell right of the start, and its input.

    >>> normal, word = meeting(WrongOrder(token=10, cell=3, earlier=3, later=5))
    >>> "".join(word), len(normal.machine.states)
    ('aa', 10)
    """
    assert order.cell > 0, order
    turn = (order.earlier + order.cell) // 2
    away = (order.token + 1 - order.later) // 2
    # The moves from the first blank on, which is cell `turn` at time `turn`.
    script = [Move.L] * (turn - order.cell) + [Move.R, Move.L]
    script += [Move.R] * away + [Move.L] * away
    states = ["q_read", *(f"w{n}" for n in range(1, len(script) + 1))]
    delta = {("q_init", BLANK): Action("q_read", BLANK, Move.R)}
    delta |= {("q_read", symbol): Action("q_read", symbol, Move.R) for symbol in (A, B)}
    steps = zip(states, states[1:], script, strict=False)
    for time, (state, target, move) in enumerate(steps, start=turn):
        written = B if time == order.later else A
        for symbol in (BLANK, A, B):
            if state != "q_read" or symbol == BLANK:
                delta[state, symbol] = Action(target, written, move)
    machine = TuringMachine(
        ["q_init", *states], [BLANK, A, B], BLANK, "q_init", delta, name="wiggle"
    )
    return in_normal_form(machine), tuple(A * (turn - 1))


def in_normal_form(machine: TuringMachine) -> NormalMachine:
    """Wrap a machine with states q_init and q_read that is in normal form already."""
    return NormalMachine(machine, machine, "q_init", "q_read", "q_read", frozenset())
