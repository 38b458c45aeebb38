"""Block 1: both visits are looked up by their addresses, and the one ahead is kept.

*Heads.* R and L against A, the address of every token: the last visits of the cells to the right
and to the left. What was written there, and their own R and L, are carried over. At `<run>` the
query R + 2 is positive in every bit, so that it asks for the address 11…1: position 0, the first
letter.

*Units.* Of the two, that of the side to which the rule moves (m2): the symbol there is the next one
under the head, and by the lemma of linked visits its R (its L, after a left move) is the next far
address. Where there is no move, all of these units are 0.
"""

from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Block
from netwright.kind.language_model.parts import UnitList, lookup

SIDES = (("R", "vA", "RR"), ("L", "vB", "LL"))


def block_1(stream: Layout) -> Block:
    """Two heads and the units."""
    ask_for_the_first = {"isRUN": 2}
    heads = (
        lookup(stream, "block.1.head.0", "R", "A", {"w": "vA", "R": "RR"}, also=ask_for_the_first),
        lookup(stream, "block.1.head.1", "L", "A", {"w": "vB", "L": "LL"}),
    )
    units = UnitList(stream)
    for move, v, pointer in SIDES:
        for a in stream.labels(v):
            units.add(f"read {a!r}, {move}", {(v, a): 1, ("m2", move): 1}, -1, {("Ys", a): 1})
        add_far_address(units, stream, move, pointer)
    return Block(heads, units.done())


def add_far_address(units: UnitList, stream: Layout, move: str, pointer: str) -> None:
    """Add the units of FAR, bit by bit, for one move."""
    for k in stream.labels("FAR"):
        inputs = {(pointer, k): 1, ("m2", move): 2}
        units.add(f"FAR{k}, {move}", inputs, -2, {("FAR", k): 2})
    closing = {("FAR", k): -1 for k in stream.labels("FAR")}
    units.add(f"FAR gate, {move}", {("m2", move): 1}, 0, closing)
