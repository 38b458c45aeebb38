"""What a moment of a trace costs, beside the run to there: ratios within one run.

    python benchmarks/trace.py [TIME]

Run first, then the same time in a new trace, its neighbours, and a moment half-way.
"""

import sys
from time import process_time

import netwright as nw


def seconds(work: object) -> float:
    """The CPU time of a call."""
    assert callable(work)
    started = process_time()
    work()
    return process_time() - started


def measure(kind: str, name: str, t: int) -> None:
    """One line for a kind of network."""
    net = nw.compile("busy-beaver-5", to=kind)
    net.run(max_steps=20_000, engine="fast")  # the loops are compiled now
    run = seconds(lambda: net.run(max_steps=t, engine="fast"))
    trace = net.trace(max_steps=2 * t)
    parts = {
        "first": lambda: trace[t][name],
        "next": lambda: trace[t + 1][name],
        "before": lambda: trace[t - 1][name],
        "ten back": lambda: trace[t - 10][name],
        "half-way": lambda: trace[t // 2][name],
        "configuration": lambda: trace[t].configuration,
    }
    found = {part: seconds(work) for part, work in parts.items()}
    shown = "  ".join(f"{part} {value / run:.4f}" for part, value in found.items())
    print(f"{kind:12} run {run:.3f} s; of that time: {shown}")


time = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
measure("transformer", "decoder.3.z", time)
measure("rnn", "g", time // 10)
measure("neural-gpu", "cell", time // 10)
