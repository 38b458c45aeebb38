"""Thousands of machines from a list: run each on a network, then a CSV and the undecided ones.

    python examples/many_machines.py [COUNT]

The same from the command line:

    netwright campaign run machines.txt --max-steps 200 -o found
    netwright campaign show found --csv > rows.csv
    netwright campaign show found --holdouts undecided.txt
"""

import csv
import random
import sys
from pathlib import Path
from tempfile import mkdtemp

import netwright as nw

count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
folder = Path(mkdtemp())
draw = random.Random(0)


def rule() -> str:
    """A random rule such as 1RB."""
    return f"{draw.choice('01')}{draw.choice('LR')}{draw.choice('ABCZ')}"


machines = ["_".join(rule() + rule() for _ in range(3)) for _ in range(count)]
(folder / "machines.txt").write_text("\n".join(machines) + "\n")

if __name__ == "__main__":
    plan = nw.campaign.Plan(on="machine,transformer", max_steps=200)
    status = nw.campaign.run(str(folder / "machines.txt"), plan, folder / "found")
    rows = list(nw.campaign.rows(folder / "found"))
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    undecided = {row["machine"] for row in rows if row["outcome"] == "undecided"}
    (folder / "undecided.txt").write_text("".join(f"{text}\n" for text in sorted(undecided)))
    halted = sum(row["outcome"] == "halted" and row["on"] == "transformer" for row in rows)
    print(f"{status.done:,} machines, {len(rows):,} rows, {status.disagreements} disagreements")
    print(f"{halted:,} halt within 200 steps, {len(undecided):,} texts are undecided: {folder}")
