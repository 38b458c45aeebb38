"""One machine on all networks: the same answer, from vectors that could not differ more.

Three of them are the paper's, and exact; the last is a stock language model, in floats.

python examples/three_networks.py [MACHINE [INPUT]]
"""

import sys

import netwright as nw

name, *rest = sys.argv[1:] or ["palindrome"]
machine = nw.load_machine(name)
word = rest[0] if rest else None

for kind in nw.kinds():
    run = nw.compile(machine, to=kind).run(word, max_steps=300)
    print(f"{kind:14} {run}, time {run.network_steps}, dimension {run.dimension}")
print(f"{'machine':14} {machine.run(word, max_steps=300)}")
