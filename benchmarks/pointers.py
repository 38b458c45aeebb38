"""Networks that follow pointers: inputs, cells, states, and very many machines.

    python benchmarks/pointers.py [steps | input | cells | states | many]

Each of them in a process of its own, for its peak memory; CPU seconds of all of it, from the
machine to its answer. `states` and `many` are warm: the loop is compiled, and for the universal
network, which is one for all machines, most of what tokens come to is known.
"""

import random
import resource
import subprocess
import sys
from time import process_time

from netwright.machine.library import library_machine
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.networks.running import network_of, run, run_many
from netwright.verify.draw import random_machine

KINDS = ("pointer-transformer", "universal-transformer")
LONG = 1_000_000


def cpu(machine: TuringMachine, word: str, steps: int, on: str) -> float:
    started = process_time()
    run(machine, word, steps, on=on, engine="fast")
    return process_time() - started


def many_states(count: int) -> TuringMachine:
    """In its first 1,000 steps it comes to most of its states."""
    names = [f"q{n}" for n in range(count)]
    delta = {}
    for n, name in enumerate(names):
        delta[name, "_"] = Action(names[(n + 1) % count], "a", Move.R)
        delta[name, "a"] = Action(names[(n + 7) % count], "_", Move.L if n % 3 else Move.R)
    return TuringMachine(states=names, symbols="_a", blank="_", start=names[0], delta=delta)


def steps(on: str) -> str:
    seconds = min(cpu(library_machine("busy-beaver-5"), "", 10**8, on) for _ in range(3))
    return f"{1e9 * seconds / 47_176_870:.1f} ns a step, the 5-state busy beaver to its halt"


def input(on: str) -> str:
    word = "".join(random.Random(1).choices("01", k=LONG))
    return f"{LONG:,} symbols in {cpu(library_machine('binary-increment'), word, 10**8, on):.2f} s"


def cells(on: str) -> str:
    return f"{10 * LONG:,} cells in {cpu(load_machine('1RA1RA'), '', 10 * LONG, on):.2f} s"


def states(on: str) -> str:
    cpu(library_machine("busy-beaver-5"), "", 1000, on)
    found = []
    for count in (50, 100, 200, 400):
        network = network_of(many_states(count), on, ())
        started = process_time()
        network.run((), 1000, engine="fast")
        found.append(f"{count} {1e3 * (process_time() - started):.0f} ms")
    return f"the first 1,000 steps by states: {', '.join(found)}"


def many(on: str) -> str:
    draw = random.Random(1)
    machines = [random_machine(draw, 5, 2) for _ in range(1000)]
    list(run_many(machines[:500], (), 1000, to=on))
    started = process_time()
    list(run_many(machines[500:], (), 1000, to=on))
    return f"{2 * (process_time() - started):.2f} ms a machine of 5 × 2, 1,000 steps"


def main() -> None:
    measures = {each.__name__: each for each in (steps, input, cells, states, many)}
    if len(sys.argv) == 3:
        print(measures[sys.argv[1]](sys.argv[2]), end="")
        print(f"; {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
        return
    for name in sys.argv[1:] or measures:
        for on in KINDS:
            print(f"{on:22}", end="", flush=True)
            subprocess.run([sys.executable, __file__, name, on], check=True)


if __name__ == "__main__":
    main()
