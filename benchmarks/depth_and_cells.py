"""RNN and Neural GPU from their weights, as ratios within one run.

    python benchmarks/depth_and_cells.py [--json]

The busy beaver to its halt beside a dictionary simulator; what a step costs as stacks become deep
and Neural GPUs long; how long inputs take to be read; the first run of a process; very many
machines. A machine walks to the end of its input and then toggles between two cells for ever: on
the RNN the left stack holds the whole input meanwhile, on the Neural GPU there is a cell for each
of its symbols. The cost of a step is that of the toggling alone: a longer run less a shorter one.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter, process_time
from typing import Any

from netwright.benchmark import dictionary_run
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.running import run, run_many
from netwright.verify.draw import random_machine

KINDS = ("rnn", "neural-gpu")
DEPTHS = {"rnn": (100, 10_000, 1_000_000), "neural-gpu": (10, 100, 300)}
INPUTS = {"rnn": (10_000, 1_000_000), "neural-gpu": (1_000, 10_000)}
STEPS, MACHINES, CORES = 10_000_000, 10_000, 2


def wiggle() -> TuringMachine:
    return TuringMachine(
        states=["walk", "left", "right"],
        symbols=["_", "a"],
        blank="_",
        start="walk",
        delta={
            ("walk", "a"): Action("walk", "a", Move.R),
            ("walk", "_"): Action("left", "a", Move.L),
            ("left", "a"): Action("right", "a", Move.R),
            ("right", "a"): Action("left", "a", Move.L),
        },
    )


def cpu(machine: TuringMachine, word: str, steps: int, on: str) -> float:
    started = process_time()
    run(machine, word, steps, on=on, engine="fast")
    return process_time() - started


def times_dictionary(on: str) -> float:
    """To its halt, CPU of all of it: compiling the network, its tables and its steps."""
    machine = library_machine("busy-beaver-5")
    peer = min(dictionary_run(machine, (), 2_000_000).seconds / 2_000_000 for _ in range(3))
    own = min(cpu(machine, "", 10**8, on) for _ in range(3)) / 47_176_870
    return peer / own


def nanoseconds_a_step(on: str, depth: int) -> float:
    machine, word = wiggle(), "a" * depth
    pairs = ((depth + 1000, depth + 1000 + STEPS) for _ in range(3))
    return (
        1e9 * min(cpu(machine, word, b, on) - cpu(machine, word, a, on) for a, b in pairs) / STEPS
    )


def first_run(on: str) -> float:
    """CPU of a process that does 1,000 steps; nothing is kept between processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["run", "busy-beaver-5", "--on", on, "--max-steps", "1000", "--engine", "fast"]
    subprocess.run([sys.executable, "-m", "netwright", *command], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def some_machines(seed: int) -> int:
    draw = random.Random(seed)
    many = [random_machine(draw, 5, 2) for _ in range(MACHINES // CORES)]
    return sum(1 for _ in run_many(many, (), 1000, to="rnn"))


def seconds_of_many() -> float:
    started = perf_counter()
    with ProcessPoolExecutor(CORES) as processes:
        assert sum(processes.map(some_machines, range(CORES))) == MACHINES
    return perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for on in KINDS:
        found[on] = {
            "times_dictionary": times_dictionary(on),
            "nanoseconds_a_step": {depth: nanoseconds_a_step(on, depth) for depth in DEPTHS[on]},
            "seconds_of_input": {size: cpu(wiggle(), "a" * size, 0, on) for size in INPUTS[on]},
            "first_run_seconds": first_run(on),
        }
    found["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found[f"seconds_of_{MACHINES}_machines"] = seconds_of_many()
    if arguments.json:
        json.dump(found, sys.stdout)
        print()
        return
    for on in KINDS:
        row = found[on]
        print(f"{on}: {row['times_dictionary']:.1f} × the dictionary simulator, to the halt")
        first = next(iter(row["nanoseconds_a_step"].values()))
        for depth, cost in row["nanoseconds_a_step"].items():
            print(f"  {depth:9,} symbols{cost:8.1f} ns a step{cost / first:7.2f} ×")
        for size, seconds in row["seconds_of_input"].items():
            print(f"  {size:9,} symbols read in {seconds:.2f} s")
        print(f"  the first run of a process: {row['first_run_seconds']:.2f} s of CPU")
    print(f"peak memory of all of it: {found['peak_megabytes']:.0f} MB")
    many = found[f"seconds_of_{MACHINES}_machines"]
    print(f"{MACHINES:,} machines, 1,000 steps on the RNN, {CORES} processes: {many:.1f} s")


if __name__ == "__main__":
    main()
