"""The fast run of a machine against three slower ones, as ratios within one run of this script.

    python benchmarks/machine_speed.py [--json]

On the 5-state busy beaver: steps a second of the fast run (to halting), of the definition, of a
plain-Python simulator with a dictionary for a tape, and of automata-lib's DTM, each on as many
steps as it does in a second or so. Times are the best of three.
"""

import argparse
import json
import sys
from collections.abc import Callable
from itertools import islice
from time import perf_counter

from automata.tm.dtm import DTM

from netwright import Engine, TuringMachine, configurations, load_machine, simulate

BEAVER = "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA"


def dictionary_run(machine: TuringMachine, steps: int) -> int:
    """What everybody writes first."""
    delta = {key: (q, w, {"L": -1, "R": 1, "S": 0}[m]) for key, (q, w, m) in machine.delta.items()}
    tape: dict[int, str] = {}
    state, head, blank = machine.start, 0, machine.blank
    for _ in range(steps):
        state, tape[head], move = delta[state, tape.get(head, blank)]
        head += move
    return head


def automata_run(machine: TuringMachine, steps: int) -> object:
    transitions: dict[str, dict[str, tuple[str, str, str]]] = {}
    for (state, symbol), (target, write, move) in machine.delta.items():
        transitions.setdefault(state, {})[symbol] = (target, write, move.value)
    peer = DTM(
        states=set(machine.states),
        input_symbols={"1"},
        tape_symbols=set(machine.symbols),
        transitions=transitions,
        initial_state=machine.start,
        blank_symbol=machine.blank,
        final_states=set(machine.halting_states),
    )
    return next(islice(peer.read_input_stepwise(""), steps, None))


def best_rate(run: Callable[[TuringMachine, int], object], steps: int) -> float:
    machine = load_machine(BEAVER)
    best = float("inf")
    for _ in range(3):
        started = perf_counter()
        run(machine, steps)
        best = min(best, perf_counter() - started)
    return steps / best


def measure() -> dict[str, float]:
    simulate(load_machine(BEAVER), (), 1000, engine=Engine.FAST)  # compile first
    return {
        "fast": best_rate(lambda m, n: simulate(m, (), n, engine=Engine.FAST), 47_176_870),
        "definition": best_rate(lambda m, n: next(islice(configurations(m), n, None)), 300_000),
        "dictionary": best_rate(dictionary_run, 2_000_000),
        "automata-lib": best_rate(automata_run, 50_000),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rates = measure()
    ratios = {name: rates["fast"] / rate for name, rate in rates.items()}
    if arguments.json:
        json.dump({"machine": BEAVER, "steps_per_second": rates, "fast_is": ratios}, sys.stdout)
        print()
        return
    print(f"{'':14}{'steps/s':>14}{'fast run is':>14}")
    for name, rate in rates.items():
        print(f"{name:14}{rate:14,.0f}{ratios[name]:13,.1f}×")


if __name__ == "__main__":
    main()
