"""Find the head that looks up the last visit of a cell, in TransformerLens.

    pip install 'netwright[torch]' transformer-lens
    python examples/find_the_head.py

Without TransformerLens the module has the same two calls. examples/find_the_head.ipynb explains it.
"""

import sys

import netwright as nw

net = nw.compile("palindrome")
try:
    model = net.to_torch()
except nw.NetwrightError as error:
    sys.exit(print(f"skipped: {error}"))
word, count = "abba", 26
states = model.generate(word, count)
_, cache = model.run_with_cache(model.word(word), states[:-1])

move, cell, cells = model.names["layouts"]["vector"].index("x1"), -1, []
for y in states[1:]:  # where the head is at each token, from the moves that the outputs show
    cells.append(cell)
    cell += round(y[move].item())
cells.append(cell)
wanted = [
    max((j for j in range(i + 1) if cells[j] == cells[i + 1]), default=i) for i in range(count)
]

for name, pattern in cache.items():
    if name.startswith("decoder") and name.endswith("self.pattern"):
        hits = sum(row.nonzero()[:, 0].tolist() == [wanted[i]] for i, row in enumerate(pattern))
        print(f"{name:<24} looks at the last visit, and only there, at {hits:>2} of {count} tokens")
