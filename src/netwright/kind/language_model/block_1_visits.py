"""Block 1: both visits are looked up by their addresses, and the one ahead is kept.

*Heads.* R and L against A, the address of every token: the last visits of the cells to the right
and to the left. What was written there, and their own R and L, are carried over. At `<run>` the
query R + 2 is positive in every bit, so that it asks for the address 11…1: position 0, the first
letter.

The head to the left also refuses: `<run>`, every address token and `<unk>` itself look at an
`<unk>` before them if there is one, as that adds more than 4b to a score of at least −b, and all
others have b at most. They take its flag over as `rej`.

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
    ask_for_the_first = {"isRUN": 2}
    heads = (
        lookup(stream, "block.1.head.0", "R", "A", {"w": "vA", "R": "RR"}, also=ask_for_the_first),
        refusing_lookup(stream, "block.1.head.1", "rej"),
    )
    units = UnitList(stream)
    for move, v, pointer in SIDES:
        for a in stream.labels(v):
            units.add(f"read {a!r}, {move}", {(v, a): 1, ("m2", move): 1}, -1, {("Ys", a): 1})
        add_far_address(units, stream, move, pointer)
    return Block(heads, units.done())


def refusing_lookup(stream: Layout, name: str, end: str) -> Head:
    """The last visit to the left; or an `<unk>`, whose flag is taken over as that of an end."""
    carried = {"w": "vB", "L": "LL", "isUNK": end}
    weight = 1 << (4 * len(stream.labels("L"))).bit_length()  # above 4b; floats have powers of two
    asking = dict.fromkeys(("isRUN", "isP", "isUNK"), weight)
    return lookup(stream, name, "L", "A", carried, extra=(asking, "isUNK"))


def add_far_address(units: UnitList, stream: Layout, move: str, pointer: str) -> None:
    """Add the units of FAR, bit by bit, for one move."""
    for k in stream.labels("FAR"):
        inputs = {(pointer, k): 1, ("m2", move): 2}
        units.add(f"FAR{k}, {move}", inputs, -2, {("FAR", k): 2})
    closing = {("FAR", k): -1 for k in stream.labels("FAR")}
    units.add(f"FAR gate, {move}", {("m2", move): 1}, 0, closing)
