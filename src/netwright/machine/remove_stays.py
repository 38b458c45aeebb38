"""A machine whose head always moves: a stay becomes a step to the right and one back.

The first assumption of Theorem 3.4's proof. A rule δ(q, s) = (p, w, S) becomes (p′, w, R), and the
new state p′ of the target p goes back with whatever it reads: δ(p′, x) = (p, x, L). Each target of
a stay gets one new state; rules of accepting states never apply and are left out. The new machine
is in a state of the given machine exactly when it is in a configuration of the given machine, so
steps can be counted from its trace.
"""

from dataclasses import replace

from netwright.machine.turing_machine import Action, Move, TuringMachine


def remove_stays(machine: TuringMachine) -> tuple[TuringMachine, frozenset[str]]:
    """Return the machine without stays, and its new states.

    >>> machine = TuringMachine(["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "S")})
    >>> moving, new = remove_stays(machine)
    >>> moving.delta["a", "0"], sorted(new)
    (Action(state="b'", write='1', move=<Move.R: 'R'>), ["b'"])
    """
    names = set(machine.states)
    back: dict[str, str] = {}
    delta: dict[tuple[str, str], Action] = {}
    for key, action in machine.delta.items():
        if key[0] in machine.accepting:
            continue
        if action.move is Move.S:
            if action.state not in back:
                back[action.state] = fresh_name(f"{action.state}'", names)
                names.add(back[action.state])
            action = Action(back[action.state], action.write, Move.R)
        delta[key] = action
    for target, state in back.items():
        for symbol in machine.symbols:
            delta[state, symbol] = Action(target, symbol, Move.L)
    moving = replace(machine, states=(*machine.states, *back.values()), delta=delta)
    return moving, frozenset(back.values())


def fresh_name(wanted: str, taken: set[str]) -> str:
    """Append primes to a name until it is not taken."""
    while wanted in taken:
        wanted += "'"
    return wanted
