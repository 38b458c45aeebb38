"""Block 0: an address token takes over its step, and finds the rule and both addresses.

*Head.* Token i asks for position i − 1 (A against T): an address token takes over state, symbol and
move of the step before it. The token before any other one has none of them.

*Units.* All sums are whole numbers; a unit is 1 where its reason holds, and its sum is at most −1
elsewhere, so that no small error passes.

- The rule (q, a) → (q', w, m): 2·q1[q] + 2·s1[a] + 2·isP − 5 is 1 for an address token of that
  step, and at most −1 elsewhere. A token that resumes a run (ld) has no rule: it writes its own
  symbol, and the last one of them goes right into the state that it names.
- R is the far address after a right move and the near one, i − 3, after a left move: the token
  before the step before is the address token of the previous visit. The right neighbour of a letter
  is the next position. `<run>` points to itself, A, in both directions: it is NULL, and writes #.
  For a bit β = ±1 under an open gate, relu(β + 2·gates − 2·(number of gates)) is 1 if β = 1, else
  0; twice that, less 1 for the open gate, is β.
- L likewise, with R and L exchanged.
"""

from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Block, Units
from netwright.kind.language_model.parts import UnitList, lookup
from netwright.kind.language_model.vocabulary import Vocabulary


def block_0(stream: Layout, vocabulary: Vocabulary) -> Block:
    """The head and the units."""
    carried = {"q1": "q1", "s1": "s1", "m1": "m1", "ld": "ld"}
    previous = lookup(stream, "block.0.head.0", "A", "T", carried)
    return Block((previous,), _units(stream, vocabulary))


def _units(stream: Layout, vocabulary: Vocabulary) -> Units:
    units = UnitList(stream)
    for (state, symbol), action in vocabulary.machine.delta.items():
        units.add(
            f"rule {state!r}, {symbol!r}",
            {("q1", state): 2, ("s1", symbol): 2, "isP": 2, "ld": -2},
            -5,
            {("q2", action.state): 1, ("w", action.write): 1, ("m2", str(action.move)): 1},
        )
    for state in vocabulary.machine.states:
        resumed = {("q2", state): 1, ("m2", "R"): 1}
        units.add(f"goto {state!r}", {("q1", state): 2, "ld": 2, "isP": 2}, -5, resumed)
    for symbol in vocabulary.symbols:
        units.add(
            f"left {symbol!r}", {("s1", symbol): 2, "ld": 2, "isP": 2}, -5, {("w", symbol): 1}
        )
    add_addresses(units, stream)
    return units.done()


def add_addresses(units: UnitList, stream: Layout) -> None:
    """Add the units of R and L, bit by bit, and the gates that take 1 off each."""
    after = {"R": ("m1", "R"), "L": ("m1", "L")}
    for k in stream.labels("R"):
        for side, other in (("R", "L"), ("L", "R")):
            add = {(side, k): 2}
            units.add(f"{side}{k} far", {("far", k): 1, after[side]: 2, "isP": 2}, -4, add)
            units.add(f"{side}{k} near", {("N", k): 1, after[other]: 2, "isP": 2}, -4, add)
            units.add(f"{side}{k} of <run>", {("A", k): 1, "isRUN": 2}, -2, add)
        units.add(f"R{k} of a letter", {("T", k): 1, "isX": 2}, -2, {("R", k): 2})
    both = {(side, k): -1 for side in "RL" for k in stream.labels("R")}
    right = {("R", k): -1 for k in stream.labels("R")}
    units.add("gate after R", {("m1", "R"): 2, "isP": 2}, -3, both)
    units.add("gate after L", {("m1", "L"): 2, "isP": 2}, -3, both)
    units.add("gate of a letter", {"isX": 2}, -1, right)
    units.add("gate of <run>", {"isRUN": 2}, -1, both)
