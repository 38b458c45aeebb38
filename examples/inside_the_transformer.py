"""What the three decoder layers of Theorem 3.4 add to a token, block by block.

    python examples/inside_the_transformer.py

The machine adds one to 11 in binary. The token shown is the one of its first real step, after the
network has read the input and gone back to its beginning.
"""

from itertools import islice

from netwright import load_machine
from netwright.theorems.theorem_3_4_transformer.construction import to_transformer

compiled = to_transformer(load_machine("binary-increment"))
word = "11"
tokens = compiled.network.tokens(compiled.recognizer.embed(word), compiled.seed)
start = 2 * len(word) + 3  # the time at which the given machine begins
token = next(islice(tokens, start, None))

print(f"in           {token.input}")
for number, layer in enumerate(token.layers, start=1):
    attended = [j for j, weight in enumerate(layer.self_weights) if weight]
    seen = "all tokens" if len(attended) > 1 else f"token {attended[0]}"
    print(f"layer {number}      {layer.z}  (attends to {seen})")
print(f"out          {token.y}")
