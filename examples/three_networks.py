"""One machine on three networks: the same answer, from vectors that could not differ more.

python examples/three_networks.py [MACHINE [INPUT]]
"""

import sys

from netwright import load_machine
from netwright.networks.kinds import KINDS
from netwright.networks.running import run

name, *rest = sys.argv[1:] or ["palindrome"]
machine = load_machine(name)
word = rest[0] if rest else None

for target in [*KINDS, "machine"]:
    answer = run(machine, word, max_steps=300, on=target)
    size = f"time {answer.network_steps}, dimension {answer.dimension}"
    print(
        f"{target:12} {answer.outcome.value} after {answer.steps} steps in "
        f"{answer.state}, tape {''.join(answer.tape.cells) or 'blank'}"
        + (f" ({size})" if answer.dimension else "")
    )
