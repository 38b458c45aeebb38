"""What a step costs as stacks become deep and Neural GPUs long, as ratios within one run.

    python benchmarks/depth_and_cells.py [--json]

A machine walks to the end of its input and then toggles between two cells for ever. On the RNN the
left stack holds the whole input meanwhile; on the Neural GPU there is a cell for each of its
symbols. The cost of a step is that of the toggling alone: a longer run less a shorter one.
"""

import argparse
import json
import sys

from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.networks.running import run

DEPTHS = {"rnn": (100, 1000, 10_000), "neural-gpu": (10, 100, 300)}
STEPS = {"rnn": 1_000_000, "neural-gpu": 10_000}


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


def nanoseconds_a_step(on: str, depth: int) -> float:
    machine, word = wiggle(), "a" * depth
    best = float("inf")
    for _ in range(3):
        times = []
        for more in (1000, 1000 + STEPS[on]):
            times.append(run(machine, word, depth + more, on=on, engine="fast").seconds)
        best = min(best, times[1] - times[0])
    return 1e9 * best / STEPS[on]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = {on: {n: nanoseconds_a_step(on, n) for n in depths} for on, depths in DEPTHS.items()}
    if arguments.json:
        json.dump({"nanoseconds_a_step": found}, sys.stdout)
        print()
        return
    for on, costs in found.items():
        first = next(iter(costs.values()))
        for depth, cost in costs.items():
            print(f"{on:12}{depth:8,} symbols{cost:12,.0f} ns a step{cost / first:8.2f}×")


if __name__ == "__main__":
    main()
