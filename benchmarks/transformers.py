"""The Transformers from their weights, as ratios within one run.

    python benchmarks/transformers.py [speed | input | cells | states | many | certify] …

`speed`: the 5-state busy beaver by tables, in full and verified, as multiples of a dictionary
simulator's speed. `input`: a million symbols. `cells`: ten million cells. `states`: the first 1,000
steps of machines with more and more states. `many`: 10,000 random machines, 1,000 steps each, on
two processes. `certify`: 1,000 states, on every kind that has certificates. Each of them is done in
a process of its own, for its peak memory; seconds are of CPU but for `many`.
"""

import random
import resource
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from time import perf_counter, process_time

from netwright.benchmark import dictionary_run
from netwright.kind.registry import exact_kinds
from netwright.machine.library import library_machine
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.running import network_of, run, run_many
from netwright.verify.draw import random_machine

KINDS = ("transformer", "pointer-transformer", "universal-transformer")
LONG, STEPS, MACHINES = 1_000_000, 10_000_000, 10_000


def cpu(machine: TuringMachine, word: str, steps: int, on: str, engine: str = "fast") -> float:
    started = process_time()
    run(machine, word, steps, on=on, engine=engine)
    return process_time() - started


def many_states(count: int) -> TuringMachine:
    """In its first 1,000 steps it comes to most of its states."""
    names = [f"q{n}" for n in range(count)]
    delta = {}
    for n, name in enumerate(names):
        delta[name, "_"] = Action(names[(n + 1) % count], "a", Move.R)
        delta[name, "a"] = Action(names[(n + 7) % count], "_", Move.L if n % 3 else Move.R)
    return TuringMachine(states=names, symbols="_a", blank="_", start=names[0], delta=delta)


def speed(on: str) -> str:
    machine, network = (
        library_machine("busy-beaver-5"),
        network_of(library_machine("busy-beaver-5"), on, ()),
    )

    def verified() -> float:
        started = process_time()
        assert network.compare("", STEPS).difference is None
        return process_time() - started

    ways: dict[str, Callable[[], float]] = {
        "tables": partial(cpu, machine, "", STEPS, on),
        "full": partial(cpu, machine, "", STEPS, on, "full"),
        "verify": verified,
    }
    best = dict.fromkeys(ways, 1e9)
    peer = 1e9
    for _ in range(3):  # interleaved, as other work comes and goes
        peer = min(peer, dictionary_run(machine, (), 2_000_000).seconds * STEPS / 2_000_000)
        for name, measured in ways.items():
            best[name] = min(best[name], measured())
    shown = (
        f"{name} {peer / seconds:.1f} × ({1e9 * seconds / STEPS:.1f} ns)"
        for name, seconds in best.items()
    )
    return f"{', '.join(shown)}; dictionary {1e9 * peer / STEPS:.0f} ns"


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
        network.run("", 1000, engine="fast")
        found.append(f"{count}: {1e3 * (process_time() - started):.0f} ms")
    return f"first 1,000 steps by states: {', '.join(found)}"


def _some_machines(on: str, seed: int) -> int:
    draw = random.Random(seed)
    machines = [random_machine(draw, 5, 2) for _ in range(MACHINES // 2)]
    return sum(1 for _ in run_many(machines, (), 1000, to=on))


def many(on: str) -> str:
    started = perf_counter()
    with ProcessPoolExecutor(2) as processes:
        assert sum(processes.map(partial(_some_machines, on), range(2))) == MACHINES
    return f"{MACHINES:,} machines, 1,000 steps each, in {perf_counter() - started:.1f} s"


def certify(on: str) -> str:
    network = network_of(random_machine(random.Random(3), 1000, 2), on, ())
    started = process_time()
    assert network.certify().holds
    return f"1,000 states certified in {process_time() - started:.2f} s"


PARTS = {each.__name__: each for each in (speed, input, cells, states, many, certify)}


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[2] in exact_kinds():
        found = PARTS[sys.argv[1]](sys.argv[2])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{sys.argv[2]}: {found}; peak {peak:.0f} MB", flush=True)
        return
    for name in sys.argv[1:] or PARTS:
        for on in exact_kinds() if name == "certify" else KINDS:
            subprocess.run([sys.executable, __file__, name, on], check=True)


if __name__ == "__main__":
    main()
