"""Measure what README and docs say about sizes, horizons and speed, and write docs/results.md.

    python docs/results.py                    # all but the slow ones, some four minutes
    python docs/results.py sizes speed        # these; what was measured before stays
    python docs/results.py --slow             # the campaign and the long float64 runs, too

Each figure is read off the output of a command that its row names. docs/results.json keeps the
figures with the machine, the version and the day they were measured; results.md is written from it.
Speeds are ratios within one run.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA, PAGE = HERE / "results.json", HERE / "results.md"
U15_2 = (
    "0RB1RA_1RC1RA_0LG0LE_0LF1LE_1RA1LD_1LD1LD_0LH1LG_1LI1LG_0RA1LJ_1LK---_0RL1RN_0RM1RL_0LB1RL_"
    "0LC0RO_0RN1RN"
)
Row = tuple[str, str, str]
"""What is measured, the figure, and the command."""


def netwright(line: str) -> Any:
    """What `netwright LINE --json` prints; an exit code other than 0 is part of some results."""
    command = [sys.executable, "-m", "netwright", *line.split(), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(f"netwright {line}: {done.stderr}")
    return json.loads(done.stdout)


def sizes() -> list[Row]:
    """Dimensions, weights and neurons."""
    rows: list[Row] = []
    for machine in ("palindrome", "busy-beaver-5"):
        kinds = "transformer", "pointer-transformer", "universal", "universal-text"
        for kind in (*kinds, "rnn", "neural-gpu"):
            line = f"compile {machine} --on {kind}"
            found = netwright(line)
            rows.append((f"{machine}, {kind}", f"dimension {found['dimension']}", line))
    for size in ("21", "16"):
        line = f"compile palindrome --on universal --size {size}"
        found = netwright(line)
        figure = f"dimension {found['dimension']}, {found['nonzeros']} weights that are not 0"
        rows.append((f"universal Transformer, --size {size}", figure, line))
    for name, machine in (("U(15,2)", U15_2), ("(4,6)", "universal-4-6")):
        line = f"compile {machine} --on rnn"
        rows.append((f"universal RNN, {name}", f"dimension {netwright(line)['dimension']}", line))
    return rows


def first_wrong(line: str) -> str:
    """The first wrong index, output and reading that `netwright precision` finds."""
    result = netwright(line)["results"][0]
    index, vector, reading = (result[name] for name in ("index", "vector", "reading"))
    parts = [f"index at token {index['token']:,}" if index else "no wrong index"]
    if vector:
        parts.append(f"output y_{vector['output']}")
    if reading:
        parts.append(f"symbol read at y_{reading['output']}")
    return f"{', '.join(parts)}; {result['outputs']:,} outputs"


def horizons() -> list[Row]:
    """Where short formats fail first."""
    rows: list[Row] = []
    for score in ("paper", "recency"):
        for dtype in ("bfloat16", "float16", "float32"):
            for machine in ("sweeper", "binary-counter", "busy-beaver-5"):
                line = f"precision {machine} --dtype {dtype} --score {score} --max-steps 2000"
                rows.append((f"{machine}, {dtype}, {score}", first_wrong(line), line))
    return rows


def first_errors(line: str) -> list[str]:
    """What `first_wrong` says of each variant of a network that a command compares."""
    return [
        f"{result['name']}: index at token {result['index']['token']:,}"
        if result["index"]
        else f"{result['name']}: no wrong index in {result['outputs']:,} outputs"
        for result in netwright(line)["results"]
    ]


def other_horizons() -> list[Row]:
    """Pointers and stacks."""
    rows: list[Row] = []
    for dtype in ("bfloat16", "float16", "float32"):
        line = f"precision busy-beaver-5 --on pointer-transformer --dtype {dtype}"
        rows.append((f"pointers, {dtype}", "; ".join(first_errors(line)), line))
    for dtype in ("bfloat16", "float16", "float32", "float64"):
        line = f"precision sweeper --on rnn --base 4 --dtype {dtype}"
        [result] = netwright(line)["results"]
        wrong = result["reading"]
        figure = f"wrong at step {wrong['time']}, with {wrong['depth']} digits on the stack"
        rows.append((f"stacks, {dtype}", figure, line))
    return rows


def long_horizons() -> list[Row]:
    """Where float64 fails first."""
    rows: list[Row] = []
    for score, steps in (("paper", 110_000), ("recency", 200_010)):
        line = f"precision busy-beaver-5 --dtype float64 --score {score} --max-steps {steps}"
        rows.append((f"busy-beaver-5, float64, {score}", first_wrong(line), line))
    return rows


def speed() -> list[Row]:
    """Steps a second from the weights, as multiples of a simulator in plain Python."""
    rates = netwright("bench busy-beaver-5")["rates"]
    return [
        (name, f"{found['times_dictionary']:.3g} times", "bench busy-beaver-5")
        for name, found in rates.items()
        if name != "dictionary simulator"
    ]


def long_runs() -> list[Row]:
    """The 5-state busy beaver to its halt, and a bouncer for 10^12 steps."""
    rows: list[Row] = []
    kinds = "transformer", "rnn", "neural-gpu", "pointer-transformer", "universal"
    lines = [f"run busy-beaver-5 --on {kind} --max-steps 50000000" for kind in kinds]
    lines.append("run 1RB1LA_1LA1RB --on rnn --engine accelerated --max-steps 1000000000000")
    for line in lines:
        found = netwright(line)
        figure = f"{found['outcome']} after {found['steps']:,} steps, {found['engine']} engine"
        rows.append((line.split(" --max")[0].removeprefix("run "), figure, line))
    return rows


def campaign() -> list[Row]:
    """Every small machine on the paper's three networks, certified."""
    with tempfile.TemporaryDirectory() as folder:
        line = (
            "campaign run every:2x2 all:3x2 all:2x3 --on transformer,rnn,neural-gpu "
            "--do run,certify --max-steps 200 -o "
        )
        command = [sys.executable, "-m", "netwright", *line.split(), f"{folder}/small"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    rows = [(each.split()[0], "halted, undecided, agree, certified: " + ", ".join(each.split()[1:]),
             f"{line}small") for each in lines[2:5]]  # fmt: skip
    last = next(each for each in lines if each.endswith("without an answer"))
    return [(lines[0], last, f"{line}small"), *rows]


QUICK: dict[str, Callable[[], list[Row]]] = {
    "sizes": sizes,
    "horizons": horizons,
    "other horizons": other_horizons,
    "speed": speed,
    "long runs": long_runs,
}
SLOW: dict[str, Callable[[], list[Row]]] = {"long horizons": long_horizons, "campaign": campaign}
OTHERS = {
    "language-model.md#noise-and-fine-tuning": ["python -P benchmarks/robustness.py"],
    "run-anywhere.md#measured": ["python -P benchmarks/llama.py"],
    "tour.md#long-runs": [
        "netwright bench busy-beaver-5",
        "python benchmarks/depth_and_cells.py",
    ],
    "architecture.md#how-an-engine-is-kept-honest": ["python benchmarks/accelerated.py"],
    "universal.md": ["python benchmarks/accelerated.py", "python benchmarks/explore.py"],
    "campaigns.md#every-small-machine-certified": ["python docs/results.py campaign"],
    "export.md#what-a-check-says": [
        "netwright export busy-beaver-5 --to torch --dtype float32 --keep-failed -o bb5"
    ],
    "proofs.md": ["make proofs"],
}
"""Where there are figures of other scripts, and their commands."""


def processor() -> str:
    """The name of the processor, if the system says it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def provenance() -> dict[str, str]:
    """Where and when something is measured."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": f"{processor()}, {os.cpu_count()} cores, load {load} at the start",
        "versions": f"netwright {version('netwright')}, Python {platform.python_version()}, "
        f"numpy {version('numpy')}, python-flint {version('python-flint')}",
    }


def page(data: dict[str, Any]) -> str:
    """The page, from what was measured."""
    parts = [
        "# Results, and where they come from\n",
        "The figures that README and docs quote on sizes, horizons and speed. `python "
        "docs/results.py` measures them again and writes this page; each row names the command, "
        "machine and input. Nothing is drawn at random, so there are no seeds. Without an input "
        "a machine runs on its default one, which is the empty tape for the busy beavers. Sizes, "
        "horizons and steps are the same on every processor; speeds are ratios within one run.\n",
    ]
    for name, function in {**QUICK, **SLOW}.items():
        if name not in data:
            continue
        found = data[name]
        parts.append(f"## {name.capitalize()}\n\n{(function.__doc__ or '').strip()}\n")
        rows = [
            f"| {what} | {figure} | `netwright {line}` |" for what, figure, line in found["rows"]
        ]
        parts.append("| | | command |\n|---|---|---|\n" + "\n".join(rows) + "\n")
        where = found["provenance"]
        parts.append(f"({where['day']}; {where['processor']}; {where['versions']}.)\n")
    parts.append("## Measured by other scripts\n")
    rows = [f"| [{at}]({at}) | `{'`, `'.join(calls)}` |" for at, calls in OTHERS.items()]
    parts.append("| where the figures are | commands |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def main(names: list[str]) -> None:
    """Measure, keep, write."""
    data = json.loads(DATA.read_text(encoding="utf-8")) if DATA.is_file() else {}
    known = {**QUICK, **SLOW}
    chosen = [name for name in names if name != "--slow"] or list(QUICK)
    chosen += list(SLOW) if "--slow" in names else []
    if unknown := set(chosen) - set(known):
        raise SystemExit(f"{', '.join(unknown)}: expected some of {', '.join(known)}, or --slow")
    for name in chosen:
        where = provenance()
        data[name] = {"provenance": where, "rows": known[name]()}
        print(f"{name}: {len(data[name]['rows'])} figures", flush=True)
        DATA.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
