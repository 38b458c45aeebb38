"""What a campaign costs beside its machines' own work, and whether its memory stays flat.

python benchmarks/campaign.py [MACHINES [ROWS]]

The first line does the work of every machine in a loop, the second the same as a campaign on all
cores, with all of its processes; then very many short runs, to see the memory of the process that
hands them out.
"""

import resource
import sys
import tempfile
from pathlib import Path
from time import monotonic, process_time

import netwright as nw
from netwright.campaign import Local, Plan, Status
from netwright.campaign.enumeration import random_table
from netwright.campaign.work import Item, rows_of

machines = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
plan = Plan(max_steps=1000)
items = [Item(n, random_table(5, 2, 0, n)) for n in range(machines)]


def cpu() -> float:
    """Of this process and of those that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


for item in items[:3]:
    list(rows_of(item, plan))  # the code is compiled now
started, clock = process_time(), monotonic()
for item in items:
    list(rows_of(item, plan))
alone, wall = process_time() - started, monotonic() - clock
print(f"a loop: {machines:,} machines, {alone:.1f} s of CPU, {machines / wall:,.0f} a second")

with tempfile.TemporaryDirectory() as folder:
    started = cpu()
    nw.campaign.run("random:5x2:1", plan, Path(folder) / "one")
    begin = cpu() - started
    started, clock = cpu(), monotonic()
    found = nw.campaign.run(f"random:5x2:{machines}", plan, Path(folder) / "c")
    whole, wall = cpu() - started, monotonic() - clock
    own = sum(row["seconds"] for row in nw.campaign.rows(Path(folder) / "c"))
assert found.exit_code == 0
workers = Local().workers
print(f"a campaign: {whole:.1f} s of CPU, {machines / wall:,.0f} a second on {workers} cores")
print(f"  the machines' own {own:.1f} s, and {begin:.1f} s to begin, which any process takes")
print(f"  beside these: {(whole - own - begin) / own:.1%}")

peaks: dict[int, int] = {}


def look(now: Status) -> None:
    """Remember how much memory it was at each tenth."""
    tenth = 10 * now.done // now.total
    peaks.setdefault(tenth, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


with tempfile.TemporaryDirectory() as folder:
    short = Plan(on="machine", max_steps=20)
    clock = monotonic()
    nw.campaign.run(f"random:5x2:{rows}", short, Path(folder) / "c", progress=look)
    wall = monotonic() - clock
    size = sum(path.stat().st_size for path in (Path(folder) / "c").glob("rows-*"))
told = ", ".join(f"{tenth}0 %: {peak} MB" for tenth, peak in sorted(peaks.items()))
print(f"{rows:,} rows at {rows / wall:,.0f} a second, {size / rows:.0f} bytes each; memory {told}")
