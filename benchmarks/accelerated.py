"""The accelerated engine beside the fast one: CPU time, as ratios within one run.

    python benchmarks/accelerated.py

After set-up the loops are compiled and most entries are known. Then 200 random machines of three
and four states, with blocks of digits and without them.
"""

import random
from statistics import median
from time import process_time
from typing import Any

import netwright as nw
from netwright.engine.following.drive import finish
from netwright.exact import blocks
from netwright.machine.simulate import Engine
from netwright.network.running import run


def seconds(work: object) -> float:
    """The least CPU time of three calls."""
    assert callable(work)
    found = []
    for _ in range(3):
        started = process_time()
        work()
        found.append(process_time() - started)
    return min(found)


def after_set_up(name: str, on: str, steps: int) -> float:
    """The CPU time of a run whose first 20,000 steps are done, with its tape at the end."""
    best, net = 1e9, nw.compile(name, to=on)
    for _ in range(5):
        reading: Any = net.kind.reading
        ongoing = reading.ongoing(net.compiled, (), steps, Engine.ACCELERATED)
        while ongoing.follower.moments < 20_000:
            ongoing.follower.take(ongoing.moments.advance(1000))
        started = process_time()
        ran = finish(ongoing)
        best = min(best, process_time() - started)
    print(f"  {ran.steps:,} steps, {ran.moves:,} moves, state {ran.state}, head {ran.head}")
    return best


for kind in ("rnn", "neural-gpu", "pointer-transformer", "universal-transformer"):
    print(f"{kind}: the 5-state busy beaver to halting")
    print(f"  {1000 * after_set_up('busy-beaver-5', kind, 10**8):.2f} ms after set-up")
    print(f"{kind}: the bouncer 1RB1LA_1LA1RB, 10^12 steps")
    print(f"  {after_set_up('1RB1LA_1LA1RB', kind, 10**12):.3f} s after set-up")
    for name in ("busy-beaver-5", "binary-counter"):
        net = nw.compile(name, to=kind)
        fast, accelerated = (
            seconds(lambda engine=engine, net=net: net.run(max_steps=2 * 10**7, engine=engine))
            for engine in ("fast", "accelerated")
        )
        print(f"{kind}: {name}, 2·10^7 steps: {fast / accelerated:.2f} times as fast as `fast`")


def random_machine(draw: random.Random) -> nw.TuringMachine:
    """A machine of three or four states and two symbols, with a rule for every pair."""
    states = "ABCD"[: draw.choice([3, 4])]
    rules = ["".join(map(draw.choice, ("01", "LR", states))) for _ in range(2 * len(states) - 1)]
    rules.insert(0, "1RB")
    return nw.load_machine("_".join(map("".join, zip(rules[::2], rules[1::2], strict=True))))


draw, chains = random.Random(38), [0, 0]
ratios: list[float] = []
while len(ratios) < 200:
    machine, moves = random_machine(draw), []
    for each, good in enumerate((0, blocks.GOOD)):
        blocks.GOOD = good  # with 0 no blocks are tried
        ran = run(machine, (), 10**6, on="machine", engine="accelerated")
        assert ran.moves is not None
        moves.append(ran.moves)
        chains[each] += 2 * ran.moves < ran.steps
    ratios.append(moves[0] / moves[1])
better = [ratio for ratio in ratios if ratio > 1.1]
print("200 random machines of three and four states, 10^6 steps: fewer than half as many moves as")
print(f"steps in {chains[0]} of them without blocks, in {chains[1]} with blocks")
print(f"fewer moves with blocks: {len(better)}, at the median by a factor of {median(better):.0f}")
