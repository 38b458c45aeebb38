"""Theorem 3.4, "Vectors and encodings": the vectors of Trans_M, of dimension d = 2|Q| + 4|Σ| + 11.

Four groups of blocks, as in print. Their content in the final vector z³_i:

| blocks                  | content                                                            |
|-------------------------|--------------------------------------------------------------------|
| q1 s1 x1                | ⟦q^(i)⟧ ⟦s^(i)⟧ m^(i−1): the output y_i, cleared by O₁             |
| q2 s2 x2 x3 x4 x5       | ⟦q^(i+1)⟧ ⟦v^(i)⟧ m^(i) m^(i−1) c^(i+1)/(i+1) c^(i)/(i+1)          |
| s3 x6 s4 x7             | ⟦α^(i+1)⟧ β^(i+1) ⟦v^(ℓ(i+1))⟧ ℓ(i+1)                              |
| x8 x9 x10 x11           | 1, i+1, 1/(i+1), 1/(i+1)²: the positional encoding                 |
| x12                     | 1/(i+1)³, with the score by recency alone (`scores`)               |

In print f(s) has ⟦s_i⟧ where it must have ⟦s⟧.
"""

from collections.abc import Iterable

from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.machine.normal_form import NormalMachine


def vector_layout(normal: NormalMachine, positions: Iterable[str]) -> Layout:
    """The layout of the vectors for a machine, with these blocks for the positional encoding."""
    states, symbols = normal.machine.states, normal.machine.symbols
    first = {"q1": states, "s1": symbols, "x1": ""}
    second = {"q2": states, "s2": symbols, "x2": "", "x3": "", "x4": "", "x5": ""}
    third = {"s3": symbols, "x6": "", "s4": symbols, "x7": ""}
    return Layout.of({**first, **second, **third, **dict.fromkeys(positions, "")})


def embedding(layout: Layout, symbol: str) -> Vector:
    """f(s): ⟦s⟧ in s3."""
    return Vector.of(layout, s3=symbol)


def seed(layout: Layout, normal: NormalMachine) -> Vector:
    """y_0: q_init over a blank, and no move before: m^(−1) = 0, as Lemma B.3 needs."""
    return Vector.of(layout, q1=normal.q_init, s1=normal.machine.blank)
