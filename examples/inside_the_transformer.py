"""What the three decoder layers of Theorem 3.4 add to a token, block by block.

    python examples/inside_the_transformer.py

The machine adds one to 11 in binary. The token shown is the one of its first real step, after the
network has read the input and gone back to its beginning.
"""

import netwright as nw

word = "11"
trace = nw.compile("binary-increment").trace(word)
token = trace[2 * len(word) + 4]  # the token after the one that shows the machine's start

print(f"in           {token['decoder.1.input']}")
for layer in (1, 2, 3):
    winner = token.attention[f"decoder.{layer}.self"].winner
    seen = f"token {winner}" if winner else "all tokens"
    print(f"layer {layer}      {token[f'decoder.{layer}.z']}  (attends to {seen})")
print(f"out          {token['y']}")
