"""The arrays of the loop over tokens: every pointer is the index of a slot, a slot a visited cell.

Token i + 1 takes the slot of the token that token i looked up, or of token i itself where that
looked at no single one: it is the next visit of the same cell, and by the lemma of linked visits
nobody looks up the former visit any more. That is not believed: a slot has the number of the token
in it, a pointer the number of the token that it is to, and a look-up that finds another one ends
the loop. Token 0 keeps its slot.

`records[c, v]` is what comes of a case c for a value v that was looked up (the last v: of no
single token). A slot has a token's number, its value, and its two pointers.
"""

from collections.abc import Callable
from functools import cache

DONE, MISSING, STALE, NO_ROOM = range(4)
"""Why it stopped: all tokens, a case without a record, a pointer to a token that is gone, no slot.
"""
CARRIED = ("case", "here", "token", "used", "follows", "value", "a", "a token", "b", "b token")
"""Places of the clock: the case, the token's slot and number, the slots in use; the pointer that
the token follows (−1: none, −2: not known yet) and its value; its two pointers, each a slot and a
token's number."""
CASE, _, TOKEN, USED, FOLLOWS, VALUE, FIRST, _, SECOND, _ = range(len(CARRIED))
STATUS, NOBODY, ROOM = range(len(CARRIED), len(CARRIED) + 3)
"""And: why it stopped, the last value, and how many slots there are."""
CLOCK = ROOM + 1
ROW, NEXT, NEXT_FOLLOWS, NEXT_VALUE, MOVE, SECOND_MOVE = range(6)
"""Fields of a record: the number of the row of codes, the case of the next token with what it
follows and its value, and where each of the next token's pointers comes from."""
RECORD = 8  # numbers: a line of the processor's cache


@cache
def compiled() -> Callable[..., int]:
    """The loop: do `count` tokens, return how many were done."""
    from netwright.runtime.pointers.native import Writer  # the compiler

    return Writer().compiled(optimised=True)
