"""Files with something in them changed at random, the same ones for the same seed."""

import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.certified import leaves, replaced
from tests.damaged_checkpoints import Arrays

JFLAP = """<?xml version="1.0"?><structure><type>turing</type><automaton>
<state id="0" name="q0"><initial/></state><state id="1" name="q1"/>
<block id="2" name="h"><final/></block>
<transition><from>0</from><to>1</to><read>a</read><write>b</write><move>R</move></transition>
<transition><from>1</from><to>0</to><read>~</read><write>~</write><move>L</move></transition>
<transition><from>1</from><to>2</to><read/><write/><move>S</move></transition>
<transition><from>0</from><to>2</to><read>!a</read><write>a</write></transition>
</automaton></structure>"""
AUTOMATA_LIB = json.dumps(
    {
        "states": ["q0", "q1", "q2"],
        "input_symbols": ["0", "1"],
        "tape_symbols": ["0", "1", "x", "."],
        "transitions": {
            "q0": {"0": ["q1", "x", "R"], "x": ["q0", "x", "N"]},
            "q1": {"1": ["q0", "0", "L"], ".": ["q2", ".", "R"]},
        },
        "initial_state": "q0",
        "blank_symbol": ".",
        "final_states": ["q2"],
    }
)
TURINGMACHINE_IO = """# Adds one.
# $ACCEPT: ["done"]
input: '1011'
blank: ' '
start state: right
synonyms:
  go: {R: right}
table:
  right:
    [1, 0]: R
    ' ': {L: carry}
    'x,y': go
  carry:
    1: {write: 0, L}
    [0, ' ']: {write: 1, L: done}
  done:
"""
MORPHETT = """; Adds one.
; $INITIAL_TAPE: 1011
0 1 1 r 0
0 * * r 0
0 _ _ l carry
carry 1 0 l carry
* 0 1 * halt-accept
carry _ 1 l halt ; done !
"""
SIMULATOR = """// adds one
name: increment
init: q0
accept: qYes, qEnd

q0,0
q0,0,>
q0,1
q0,1,>
q0,_
q1,_,<
q1,1
q1,0,<
q1,0
qYes,1,-
"""
BBCHALLENGE = """# some machines
1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA Halt 47176870 4098
1RB---_0LA1RB
1RB2LA1RZ_1LB1LA0RA
"""


def _seeds() -> bytes:
    machines = [bytes([1, 0, 2, 1, 1, 3] * 5), bytes([0, 0, 0, 1, 1, 6] * 5)]
    return struct.pack(">III", 1, 1, 2) + b"\1" + bytes(17) + b"".join(machines)


MACHINES = {
    "jflap": JFLAP.encode(),
    "automata-lib": AUTOMATA_LIB.encode(),
    "turingmachine.io": TURINGMACHINE_IO.encode(),
    "morphett": MORPHETT.encode(),
    "turingmachinesimulator": SIMULATOR.encode(),
    "bbchallenge": BBCHALLENGE.encode(),
    "bbchallenge-seeds": _seeds(),
}
"""A file of each format, with all that the format has."""
_TOKENS = (
    *(
        b"\0",
        b"\xff",
        b"\n",
        b"\r\n",
        b"\t",
        b" ",
        b"",
        b"\x1b[31m",
        b"\xef\xbb\xbf",
        b"\xe2\x96\xa1",
    ),
    *(b"---", b"_", b"*", b"~", b"!", b",,", b",", b"'", b'"', b"{", b"}", b"[", b"]", b":", b"|"),
    *(b"<", b">", b"/>", b"</a>", b"&lt;", b"<!--", b"-->", b"\\u0000", b"\\", b"null", b"true"),
    *(b"NaN", b"1e999", b"-1", b"99999999999999999999", b"0x10", b"&a ", b"*a", b"!!int ", b"? "),
    *(
        b"1RB",
        b"1LZ",
        b"---",
        b"halt",
        b"accept",
        b"$START:",
        b"$BLANK: 7",
        b"#",
        b";",
        b"//",
        b"q0",
    ),
    *(b"table:", b"init:", b"a" * 300, b"[" * 60, b"{" * 60),
)


def mutated_bytes(data: bytes, draw: random.Random, other: bytes) -> bytes:
    """A change or some: bytes, slices, tokens, lines, or a part of another file."""
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        first, last = sorted((draw.randint(0, len(data)), draw.randint(0, len(data))))
        short = min(last, first + draw.randint(0, 12))
        lines = data.split(b"\n")
        changes: tuple[Callable[[], bytes], ...] = (
            lambda: data[:first] + bytes([draw.randrange(256)]) + data[first + 1 :],  # noqa: B023
            lambda: data[:first] + data[short:],  # noqa: B023
            lambda: data[:short] + data[first:],  # noqa: B023
            lambda: data[:first] + draw.choice(_TOKENS) + data[short:],  # noqa: B023
            lambda: data[:first] + draw.choice(_TOKENS) + data[first:],  # noqa: B023
            lambda: data[:first],  # noqa: B023
            lambda: data[:first] + other[first:last] + data[last:],  # noqa: B023
            lambda: b"\n".join(draw.sample(lines, len(lines))),  # noqa: B023
            lambda: b"\n".join([*lines, draw.choice(lines)]),  # noqa: B023
        )
        data = draw.choice(changes)()
    return data


def mutated_json(text: bytes, draw: random.Random) -> bytes:
    """JSON with one to three leaves changed, swapped, or a part of it copied elsewhere."""
    value = json.loads(text)
    places = list(leaves(value))
    for _ in range(draw.randint(1, 3)):
        place = draw.choice(places)
        cut = place[: draw.randint(1, len(place))]
        source = draw.choice(places)
        strange: list[Any] = [None, True, -1, 0, 1, 2**31, 10**30, 0.5, "", "0", "1/2", [], {}]
        try:
            new = value
            for key in source[: draw.randint(1, len(source))]:
                new = new[key]
            copies = [json.loads(json.dumps(new))] * 8
            replaced(value, cut, draw.choice([*strange, *copies]))
        except (LookupError, TypeError):
            continue  # what was there is gone
    return json.dumps(value).encode()


def mutated_arrays(arrays: Arrays, draw: random.Random) -> Arrays:
    """Arrays with one to three numbers changed, or one of another shape or type."""
    found = {name: array.copy() for name, array in arrays.items()}
    for _ in range(draw.randint(1, 3)):
        name = draw.choice(sorted(found))
        array = found[name]
        if array.size and array.dtype == np.int64 and draw.random() < 0.8:
            near = int(array.flat[draw.randrange(array.size)])
            numbers = [
                near,
                near + 1,
                near - 1,
                -near,
                0,
                1,
                -1,
                2,
                7,
                1 << 31,
                -(1 << 62),
                1 << 62,
            ]
            array.flat[draw.randrange(array.size)] = draw.choice(numbers)
        else:
            others = (array[:-1], array[None], array.ravel(), array.astype(np.int32), array[:0])
            found[name] = np.ascontiguousarray(draw.choice(others))
    return found
