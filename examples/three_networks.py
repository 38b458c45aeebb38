"""One machine on all networks: the same answer, from vectors that could not differ more.

The first three are the paper's. All are exact, but for the stock language model, in floats.

python examples/three_networks.py [MACHINE [INPUT]]
"""

import sys

import netwright as nw

name, *rest = sys.argv[1:] or ["palindrome"]
machine = nw.load_machine(name)
word = rest[0] if rest else None

for kind in nw.kinds():
    run = nw.compile(machine, to=kind).run(word, max_steps=300)
    print(f"{kind:25} {run}, time {run.network_steps}, dimension {run.dimension}")
print(f"{'machine':25} {machine.run(word, max_steps=300)}")
