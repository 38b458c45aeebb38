"""The loop over tokens: every pointer is the index of a slot, and a slot is a visited cell.

Token i + 1 takes the slot of the token that token i looked up, or of token i itself where that
looked at no single one: it is the next visit of the same cell, and by the lemma of linked visits
nobody looks up the former visit any more. That is not believed: a slot has the number of the token
in it, a pointer the number of the token that it is to, and a look-up that finds another one ends
the loop. Token 0 keeps its slot.
"""

from typing import Any

DONE, MISSING, STALE, NO_ROOM = range(4)
"""Why it stopped: all tokens, a case without a row, a pointer to a token that is gone, no slot."""
OUTPUT, SLOT, TOKEN, USED, LOOKED_UP = range(5)
"""Places of the clock: the output's number, the token's slot and number, the slots in use, and the
value that was looked up when a row was missing."""


def follow(
    follows: Any,
    values: Any,
    rows: Any,
    outputs: Any,
    moves: Any,
    slots: Any,
    own: Any,
    clock: Any,
    numbers: Any,
    count: int,
) -> int:
    """Do `count` tokens; returns why it stopped, and clock[5] how many were done.

    `follows[c]` and `values[c]` are a case's pointer and value, `rows[c, v]` the row for what it
    looked up (the last v: no single token); `outputs[r]` and `moves[r]` what comes out. A slot has
    a token's number, its value, and its pointers with their tokens' numbers; `own` has those of
    the token that comes next.
    """
    pointers = moves.shape[1]
    nobody = rows.shape[1] - 1
    done = 0
    status = 0
    while done < count:
        case = clock[0]
        if follows[case] == -2:
            status = 1
            clock[4] = -1
            break
        looked = -1
        found = nobody
        if follows[case] >= 0:
            looked = own[2 * follows[case]]
            if slots[looked, 0] != own[2 * follows[case] + 1]:
                status = 2
                break
            found = slots[looked, 1]
        row = rows[case, found]
        if row < 0:
            status = 1
            clock[4] = found
            break
        here = clock[1]
        if here < 0:
            if clock[3] == slots.shape[0]:
                status = 3
                break
            here = clock[3]
            clock[3] += 1
        token = clock[2]
        new = moves[row]
        numbers[done] = row
        # The next token's pointers come from this one's and from those in the slot looked up,
        # which is not overwritten before the next token.
        slots[here, 0] = token
        slots[here, 1] = values[case]
        for k in range(pointers):
            slots[here, 2 + 2 * k] = own[2 * k]
            slots[here, 3 + 2 * k] = own[2 * k + 1]
        for k in range(pointers):
            move = new[k]
            if move == 2:
                own[2 * k] = here
                own[2 * k + 1] = token
            elif move < 2:
                own[2 * k] = 0
                own[2 * k + 1] = 0
            elif move < 3 + pointers:
                own[2 * k] = slots[here, 2 + 2 * (move - 3)]
                own[2 * k + 1] = slots[here, 3 + 2 * (move - 3)]
            else:
                own[2 * k] = slots[looked, 2 + 2 * (move - 3 - pointers)]
                own[2 * k + 1] = slots[looked, 3 + 2 * (move - 3 - pointers)]
        if looked > 0:
            clock[1] = looked
        elif looked < 0 and here > 0:
            clock[1] = here
        else:
            clock[1] = -1
        clock[0] = outputs[row]
        clock[2] = token + 1
        done += 1
    clock[5] = done
    return status
