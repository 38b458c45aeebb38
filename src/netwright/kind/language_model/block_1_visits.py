"""Block 1: both visits are looked up by their addresses, and the one ahead is kept.

*Heads.* R and L against A, the address of every token: the last visits of the cells to the right
and to the left. What was written there, and their own R and L, are carried over. A slot of its
own adds 4b or more to a score of at least −b, where all others have b at most:

- to the right, `<run>` looks at the first letter, which position 0 marks as `first`;
- to the left, `<run>`, every address token and `<unk>` itself look at an `<unk>` before them, if
  there is one, and take its flag over as `rej`.

*Units.* Of the two, that of the side to which the rule moves (m2): the symbol there is the next one
under the head, and by the lemma of linked visits its R (its L, after a left move) is the next far
address. Where there is no move, all of these units are 0.
"""

from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Block, Head
from netwright.kind.language_model.parts import UnitList, lookup

SIDES = (("R", "vA", "RR"), ("L", "vB", "LL"))


def block_1(stream: Layout) -> Block:
    """Two heads and the units."""
    heads = (
        first_lookup(stream, "block.1.head.0"),
        refusing_lookup(stream, "block.1.head.1", "rej"),
    )
    units = UnitList(stream)
    for move, v, pointer in SIDES:
        for a in stream.labels(v):
            units.add(f"read {a!r}, {move}", {(v, a): 2, ("m2", move): 2}, -3, {("Ys", a): 1})
        add_far_address(units, stream, move, pointer)
    return Block(heads, units.done())


def first_lookup(stream: Layout, name: str) -> Head:
    """The last visit to the right; for `<run>` the first letter."""
    carried = {"w": "vA", "R": "RR"}
    return lookup(stream, name, "R", "A", carried, instead=(("isRUN",), "first"))


def refusing_lookup(stream: Layout, name: str, end: str) -> Head:
    """The last visit to the left; or an `<unk>`, whose flag is taken over as that of an end."""
    carried = {"w": "vB", "L": "LL", "isUNK": end}
    return lookup(stream, name, "L", "A", carried, instead=(("isRUN", "isP", "isUNK"), "isUNK"))


def add_far_address(units: UnitList, stream: Layout, move: str, pointer: str) -> None:
    """Add the units of FAR, bit by bit, for one move."""
    for k in stream.labels("FAR"):
        inputs = {(pointer, k): 1, ("m2", move): 2}
        units.add(f"FAR{k}, {move}", inputs, -2, {("FAR", k): 2})
    closing = {("FAR", k): -1 for k in stream.labels("FAR")}
    units.add(f"FAR gate, {move}", {("m2", move): 2}, -1, closing)
