"""The arrays of the loop over tokens: a pointer is the index of a slot, a slot is a visited cell.

Token i + 1 takes the slot of the token that token i looked up, or of token i itself where that
looked at no single one: it is the next visit of the same cell, and by the lemma of linked visits
the former visit is never looked up again. This is checked: a slot has the number of the token in
it, a pointer the number of its target, and a look-up that finds another token ends the loop. Token
0 keeps its slot.

A slot is 32 bytes: a token's number (48 bits) and the number of its value (16 bits), the slots of
its two pointers (32 bits each), and the numbers of the tokens that these are to (64 bits each).

A *case* is an output with the symbol of the input that is read. It has a base: the record of its
result for value v is `records[base + v]` (v = −1: of no single token). While the input is read, the
header of the next case is that of the next output for the next symbol; after the input, it is in
the record itself.
"""

from collections.abc import Callable
from functools import cache

DONE, MISSING, STALE, NO_ROOM = range(4)
"""Why it stopped: all tokens done, no record, a pointer to a replaced token, no free slot."""
CARRIED = ("case", "follows", "value", "here", "token", "used", "a", "a token", "b", "b token")
"""Fields of the clock: the case's base, the pointer that the token follows (−1: none, −2: not yet
known) and its value; the token's slot and number, the slots in use; its two pointers, each a slot
and a token's number."""
CASE, _, _, _, TOKEN, USED, FIRST, _, SECOND, _ = range(len(CARRIED))
STATUS, ROOM = range(len(CARRIED), len(CARRIED) + 2)
"""Two more fields: why it stopped, and how many slots there are."""
CLOCK = ROOM + 1
ROW, MOVE, SECOND_MOVE, HEADERS, NEXT = range(5)
"""Fields of a record: the number of the row of codes, the origins of the next token's two pointers,
the next output's first header, or −1, and the next case's header; 0 if there is no record."""
HEADER = 3
"""A header is a case's base, the pointer that it follows, and its value."""
RECORD = 8  # numbers: a line of the processor's cache
SLOT = 4
TOKENS, VALUES, SLOTS = 1 << 47, 1 << 16, 1 << 31
"""The limits of their numbers."""
RECORDED = ("here", "looked", "a token", "b token")
"""What is recorded of each token, on request: its slot, the slot that it looks up, and the targets
of its pointers."""


@cache
def compiled(*, recording: bool = False) -> Callable[..., int]:
    """The loop: it does `count` tokens, and returns how many it did."""
    from netwright.engine.pointers.native import Writer  # the compiler

    return Writer(recording=recording).compiled(optimised=True)
