"""The loop over tokens: every pointer is the index of a slot, and a slot is a visited cell.

Token i + 1 takes the slot of the token that token i looked up, or of token i itself where that
looked at no single one: it is the next visit of the same cell, and by the lemma of linked visits
nobody looks up the former visit any more. That is not believed: a slot has the number of the token
in it, a pointer the number of the token that it is to, and a look-up that finds another one ends
the loop. Token 0 keeps its slot.
"""

from typing import Any

import numpy as np

DONE, MISSING, STALE, NO_ROOM = range(4)
"""Why it stopped: all tokens, a case without a record, a pointer to a token that is gone, no slot.
"""
OUTPUT, SLOT, TOKEN, USED, LOOKED_UP, COUNT, FOLLOWS, VALUE, FIRST, SECOND = (*range(9), 10)
"""Places of the clock: the case, the token's slot and number, the slots in use, the value that was
looked up when a record was missing, how many tokens were done; the pointer that the token follows
(−1: none, −2: not known yet) and its value; its two pointers, each a slot and a token's number."""
CLOCK = 12
ROW, NEXT, NEXT_FOLLOWS, NEXT_VALUE, MOVE, SECOND_MOVE = range(6)
"""Fields of a record: the number of the row of codes, the case of the next token with what it
follows and its value, and where each of the next token's pointers comes from."""
RECORD = 8  # numbers: a line of the processor's cache


def follow(records: Any, slots: Any, clock: Any, numbers: Any, count: int) -> int:
    """Do `count` tokens; returns why it stopped, and clock[COUNT] how many were done.

    `records[c, v]` is what comes of a case c for a value v that was looked up (the last v: of no
    single token). A slot has a token's number, its value, and its two pointers.
    """
    nobody = records.shape[1] - 1
    case, here, token, used = clock[0], clock[1], clock[2], clock[3]
    follows, value = clock[6], clock[7]
    a, a_token, b, b_token = clock[8], clock[9], clock[10], clock[11]
    done = 0
    status = 0
    while done < count:
        if follows == -2:
            status = 1
            clock[4] = -1
            break
        looked = -1
        found = nobody
        c = c_token = d = d_token = 0
        if follows >= 0:
            looked = b if follows else a
            there = np.uint64(looked)  # no index from the end
            if slots[there, 0] != (b_token if follows else a_token):
                status = 2
                break
            found = slots[there, 1]
            c, c_token = slots[there, 2], slots[there, 3]
            d, d_token = slots[there, 4], slots[there, 5]
        record = records[np.uint64(case), np.uint64(found)]
        if record[0] < 0:
            status = 1
            clock[4] = found
            break
        if here < 0:
            if used == slots.shape[0]:
                status = 3
                break
            here = used
            used += 1
        numbers[done] = record[0]
        slot = slots[np.uint64(here)]
        slot[0] = token
        slot[1] = value
        slot[2], slot[3] = a, a_token
        slot[4], slot[5] = b, b_token
        first, second = record[4], record[5]
        e, e_token, f, f_token = a, a_token, b, b_token
        if first == 2:
            a, a_token = here, token
        elif first == 5:
            a, a_token = c, c_token
        elif first == 6:
            a, a_token = d, d_token
        elif first == 4:
            a, a_token = f, f_token
        elif first < 2:
            a, a_token = 0, 0
        if second == 2:
            b, b_token = here, token
        elif second == 6:
            b, b_token = d, d_token
        elif second == 5:
            b, b_token = c, c_token
        elif second == 3:
            b, b_token = e, e_token
        elif second < 2:
            b, b_token = 0, 0
        case, follows, value = record[1], record[2], record[3]
        if looked > 0:
            here = looked
        elif looked == 0 or here == 0:
            here = -1
        token += 1
        done += 1
    clock[0], clock[1], clock[2], clock[3] = case, here, token, used
    clock[5], clock[6], clock[7] = done, follows, value
    clock[8], clock[9], clock[10], clock[11] = a, a_token, b, b_token
    return status
