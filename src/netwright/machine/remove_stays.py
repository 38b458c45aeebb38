"""A machine whose head always moves: a stay becomes a step to the right and one back.

The first assumption of Theorem 3.4's proof. A rule δ(q, s) = (p, w, S) becomes (p′, w, R), and the
new state p′ of the target p goes back with whatever it reads: δ(p′, x) = (p, x, L). One state for
each target of a stay; rules that leave accepting states never apply and are left out. The new
machine is in a state of the given machine exactly when it stands in a configuration of the given
machine, so steps can be counted from its trace.
"""

from netwright.machine.turing_machine import Action, Move, TuringMachine


def remove_stays(machine: TuringMachine) -> tuple[TuringMachine, frozenset[str]]:
    """The machine without stays, and its new states.

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
            continue  # it never applies
        if action.move is Move.S:
            if action.state not in back:
                back[action.state] = fresh_name(f"{action.state}'", names)
                names.add(back[action.state])
            action = Action(back[action.state], action.write, Move.R)
        delta[key] = action
    for target, state in back.items():
        for symbol in machine.symbols:
            delta[state, symbol] = Action(target, symbol, Move.L)
    moving = TuringMachine(
        states=[*machine.states, *back.values()],
        symbols=machine.symbols,
        blank=machine.blank,
        start=machine.start,
        delta=delta,
        accepting=machine.accepting,
        default_input=machine.default_input,
        input_symbols=machine.input_symbols,
        name=machine.name,
        description=machine.description,
    )
    return moving, frozenset(back.values())


def fresh_name(wanted: str, taken: set[str]) -> str:
    """The name, with as many primes as keep it from being one of those taken."""
    while wanted in taken:
        wanted += "'"
    return wanted
