"""Cases which show that a normal form, or a machine without stays, simulates the given one."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from netwright.certificates.reading import Cases, Machine, read_machine

NORMAL_FORM = "normal form: M simulates the given machine"


def read_normal(written: Mapping[str, Any]) -> tuple[Machine, Machine, list[str], set[str]]:
    """The given machine, its normal form, the names of q_init, q_read and q_rewind, the pauses."""
    normal = written["normal"]
    names = [normal[name] for name in ("q_init", "q_read", "q_rewind")]
    machine = read_machine(normal["machine"], written)
    return Machine(written["given"]), machine, names, set(normal["pauses"])


def normal_form_cases(
    given: Machine,
    normal: Machine,
    names: Sequence[str],
    pauses: set[str],
    final: set[str],
    *,
    stays: bool = False,
) -> Cases:
    """The normal form of Theorem 3.4; with `stays` the machine may stay where the given one does.

    `names` are q_init, q_read and q_rewind, `pauses` the states in the middle of a stay.
    """
    q_init, q_read, q_rewind = names
    sharp = normal.blank
    inner = set(given.states)
    own = [q_init, q_read, q_rewind, *sorted(pauses)]
    yield len(set(own)) == len(own) and not inner & set(own), "states share names"
    yield (
        set(normal.states) == inner | set(own),
        "its states are not its own and the given machine's",
    )
    yield set(normal.symbols) == set(given.symbols) | {sharp}, "the wrong symbols"
    yield sharp == given.blank or sharp not in given.symbols, "# is a symbol of the input"
    yield normal.start == q_init, "it begins in the wrong state"
    yield normal.accepting == given.final, "it accepts in the wrong states"

    def stands_for(symbol: str) -> str:
        return given.blank if symbol == sharp else symbol

    delta = normal.delta
    yield delta.get((q_init, sharp)) == (q_read, sharp, "R"), "q_init"
    yield delta.get((q_read, sharp)) == (q_rewind, sharp, "L"), "q_read on #"
    yield delta.get((q_rewind, sharp)) == (given.start, sharp, "R"), "q_rewind on #"
    for symbol in normal.symbols:
        if symbol != sharp:
            yield delta.get((q_read, symbol)) == (q_read, symbol, "R"), f"q_read on {symbol}"
            yield delta.get((q_rewind, symbol)) == (q_rewind, symbol, "L"), f"q_rewind on {symbol}"
            yield (q_init, symbol) not in delta, f"q_init on {symbol}"
    yield from same_steps(given, normal, pauses, final, stands_for, stays=stays)


def same_steps(
    given: Machine,
    other: Machine,
    pauses: set[str],
    final: set[str],
    stands_for: Callable[[str], str],
    *,
    stays: bool = False,
) -> Cases:
    """In every given state both do the same step; a stay may be a move right and back."""
    delta = other.delta
    for state, symbol in product(given.states, other.symbols):
        rule = None if state in final else delta.get((state, symbol))
        wanted = given.rule(state, stands_for(symbol))
        at = f"δ({state}, {symbol})"
        if state in final:
            yield (state, symbol) not in delta, f"{at} leaves a final state"
            yield wanted is None, f"{at}: the given machine continues in a final state"
        elif wanted is None or rule is None:
            yield wanted is None and rule is None, f"{at} is not the given machine's"
        else:
            target, write, move = wanted
            yield stands_for(rule[1]) == write, f"{at} writes {rule[1]}"
            if move == "S" and not stays:
                yield rule[0] in pauses and rule[2] == "R", f"{at} is not a stay"
                for symbol_there in other.symbols:
                    back = delta.get((rule[0], symbol_there))
                    right = back is not None and (back[0], back[2]) == (target, "L")
                    right = right and stands_for(back[1]) == stands_for(symbol_there)  # type: ignore[index]  # it is there
                    yield right, f"δ({rule[0]}, {symbol_there}) does not go back"
            else:
                yield (rule[0], rule[2]) == (target, move), f"{at} is {rule}"
