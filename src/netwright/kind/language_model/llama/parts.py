"""Heads that look a number of tokens back, units that multiply, and the logits of offsets."""

from collections.abc import Mapping, Sequence
from typing import Any

from netwright.exact.layout import Layout
from netwright.kind.language_model.definition import Head
from netwright.kind.language_model.llama.definition import Gated, LlamaBlock, RealMatrix
from netwright.kind.language_model.llama.phases import Phases
from netwright.kind.language_model.parts import place

Sum = Mapping[Any, float]


def carrying(
    stream: Layout, carried: Mapping[str, str], name: str, Q: RealMatrix, K: RealMatrix
) -> Head:
    """A head with these queries and keys that carries blocks over."""
    values = Layout.of({target: stream.labels(target) or ("",) for target in carried.values()})
    V, O = RealMatrix(stream, values), RealMatrix(values, stream)
    for source, target in carried.items():
        V.connect(source, target, 1.0)
        O.connect(target, target, 1.0)
    return Head(name, Q, K, V, O)


def look_back(
    stream: Layout, name: str, phases: Phases, carried: Mapping[str, str], offset: int | str
) -> Head:
    """A head that looks back by a number, or by the offset whose phase is in a block.

    `phases` proves that it finds that token.
    """
    slots = Layout.of(pair=phases.labels)
    Q, K = RealMatrix(stream, slots), RealMatrix(stream, slots)
    radii = [*phases.radii, *phases.radii]
    if isinstance(offset, str):
        for label, radius in zip(phases.labels, radii, strict=True):
            Q.set((offset, label), ("pair", label), radius)
    else:
        products = (r * x for r, x in zip(radii, phases.of(offset), strict=True))
        Q.set_row(stream.index("one"), "pair", products)
    for label, radius in zip(phases.labels, phases.radii, strict=False):  # the real parts
        K.set(("one", ""), ("pair", label), radius)
    return carrying(stream, carried, name, Q, K)


class GatedList:
    """A builder of units: each adds gate · up to its outputs."""

    def __init__(self, stream: Layout) -> None:
        self.stream = stream
        self._units: dict[str, tuple[Sum, Sum, Sum]] = {}

    def add(self, name: str, gate: Sum, up: Sum, outputs: Sum) -> None:
        """Add one unit."""
        self._units[name] = gate, up, outputs

    def done(self) -> Gated:
        """The three matrices of all units."""
        names = Layout.of(unit=tuple(self._units))
        G, U = RealMatrix(self.stream, names), RealMatrix(self.stream, names)
        D = RealMatrix(names, self.stream)
        for name, (gate, up, outputs) in self._units.items():
            for matrix, numbers in ((G, gate), (U, up)):
                for source, weight in numbers.items():
                    matrix.set(place(source), ("unit", name), weight)
            for target, weight in outputs.items():
                D.set(("unit", name), place(target), weight)
        return Gated(G, U, D)


def add_offsets_behind(units: GatedList, phases: Phases) -> None:
    """Add the units that set R or L, whichever is behind the head, to the phase of 2.

    The cell behind was visited by the address token before, 2 tokens back. R and L both have the
    offset of the token's own address; a unit replaces one of them.
    """
    for label, number in zip(phases.labels, phases.of(2), strict=True):
        for move, behind in (("R", "L"), ("L", "R")):
            units.add(
                f"{behind} {label} is behind",
                {("M1", move): 1},
                {"one": number, (behind, label): -1},
                {(behind, label): 1},
            )


def choosing(stream: Layout, phases: Phases) -> GatedList:
    """The units of block 1: by the move, the offset of the next cell, and that on the other side.

    Whoever comes back to this cell comes from the side to which it was left now; so OPP, the
    neighbour on the other side, is what that visit will want.
    """
    units = GatedList(stream)
    for move, ahead, other in (("R", "R", "L"), ("L", "L", "R")):
        for label in phases.labels:
            gate: Sum = {("m2", move): 1}
            units.add(f"SEL {label}, {move}", gate, {(ahead, label): 1}, {("SEL", label): 1})
            units.add(f"OPP {label}, {move}", gate, {(other, label): 1}, {("OPP", label): 1})
    return units


def visiting(stream: Layout, phases: Phases, number: int) -> LlamaBlock:
    """The block that looks the next cell's last visit up, and adds offsets.

    The head looks SEL tokens back, and takes what was written there, and that visit's OPP. The
    offset of the next far visit, from the next address token, is SEL + OPP + 2: the product of
    their phases, turned by the phase of 2.
    """
    carried = {"w": "Ys", "OPP": "OP"}
    head = look_back(stream, f"block.{number}.head.0", phases, carried, "SEL")
    products = GatedList(stream)
    two = phases.of(2)
    for j in range(phases.pairs):
        c, s = two[j], two[phases.pairs + j]
        real, imaginary = ("FAR", f"re{j}"), ("FAR", f"im{j}")
        # (x + iy)(u + iv)(c + is): xu and yv are real, xv and yu imaginary.
        for x, u, re, im in (
            ("re", "re", c, s),
            ("im", "im", -c, -s),
            ("re", "im", -s, c),
            ("im", "re", -s, c),
        ):
            products.add(
                f"SEL {x}{j} OP {u}{j}",
                {("SEL", f"{x}{j}"): 1},
                {("OP", f"{u}{j}"): 1},
                {real: re, imaginary: im},
            )
    return LlamaBlock((head,), products=products.done())


def telling(stream: Layout, phases: Phases, number: int) -> LlamaBlock:
    """The last block: a step token takes over FAR from the token before it."""
    return LlamaBlock((look_back(stream, f"block.{number}.head.0", phases, {"FAR": "FAR"}, 1),))


def offset_logits(
    stream: Layout, tokens: Layout, first: int, phases: Phases, taken_off: Sequence[str]
) -> RealMatrix:
    """U for the tokens `@k`, less 4 for each of some flags; −3 for all tokens before them.

    With ⟨·,·⟩ weighted by a_j, the phase of k and FAR have the product 1 for the right k and
    1 − gap at most for all others; times 2/gap, the logit is 1, and −1 at most.
    """
    U = RealMatrix(stream, tokens)
    one, far, steep = stream.index("one"), stream.places("FAR"), 2 / phases.gap
    weights = [*phases.weights, *phases.weights]
    for token in range(first):
        U.at(one, token, -3)
    for k in range(phases.context):
        for row, a, x in zip(far, weights, phases.of(k), strict=True):
            U.at(row, first + k, steep * a * x)
        U.at(one, first + k, 1 - steep)
        for flag in taken_off:
            U.at(stream.index(flag), first + k, -4)
    return U
