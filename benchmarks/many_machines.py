"""Very many machines: random ones of five states, 1,000 steps each.

python benchmarks/many_machines.py [MACHINES [KIND]]
"""

import random
import sys
from time import process_time

import netwright as nw
from netwright.benchmark import dictionary_run


def random_machine(draw: random.Random) -> nw.TuringMachine:
    """Five states and two symbols, and a rule for every pair."""
    states = "ABCDE"
    delta = {
        (state, symbol): (draw.choice(states), draw.choice("01"), draw.choice("LR"))
        for state in states
        for symbol in "01"
    }
    return nw.TuringMachine([*states], "01", "0", "A", delta)


count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
kind = sys.argv[2] if len(sys.argv) > 2 else "transformer"
draw = random.Random(0)
machines = [random_machine(draw) for _ in range(count)]

started = process_time()
peer = sum(dictionary_run(machine, (), 1000).steps for machine in machines)
plain = process_time() - started
list(nw.run_many(machines[:1], to=kind))  # the code is compiled now
started = process_time()
steps = sum(run.steps for run in nw.run_many(machines, to=kind))
mine = process_time() - started
assert steps == peer
rate, times = count / mine, mine / plain
print(f"{kind}: {count:,} machines, {steps:,} steps in {mine:.1f} s of CPU, {rate:,.0f} a second")
print(f"{1e3 * mine / count:.2f} ms a machine, {times:.1f} times the dictionary simulator's time")
