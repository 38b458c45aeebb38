"""Block 2: a step token takes over the far address of the token before it.

The step token S comes right after the token that computed it, an address token or `<run>`, and is
followed by the address FAR that was computed there: A against T once more, and FAR into Z.
"""

from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Block
from netwright.kind.language_model.parts import lookup


def address_block(stream: Layout, number: int) -> Block:
    """One head, no units."""
    return Block((lookup(stream, f"block.{number}.head.0", "A", "T", {"FAR": "Z"}),))
