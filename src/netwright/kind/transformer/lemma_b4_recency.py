"""Lemma B.4 with another score, which prefers recent tokens by a margin that shrinks more slowly.

The paper's χ_j = x (Δ + x/3) tells two visits j₁ < j₂ of a cell apart by the difference of their
x²/3, which is of order i⁻⁵. With a fifth position 1/i³ in x12 query and key can be

    Q = (ε_i c^(i+1), ε_i, ε_i²/3, −ε_i³/3),    K = (ε_j, −ε_j c^(j), 1, j),

and with ε_k = 1/(k+1) and Δ = c^(i+1) − c^(j) their product is, as ε_i² = (i+1) ε_i³,

    χ_j = ε_i ε_j Δ + (i + 1 − j) ε_i³/3.

Token i again attends to ℓ(i+1) alone, the least |χ_j|:

- Visits of the cell, Δ = 0: χ_j = (i+1−j) ε_i³/3 ≤ ε_i²/3, and it falls as j grows. The latest
  visit wins over the others, by ε_i³/3 at least for each step between them.
- Other cells: |Δ| ≥ 1, so |χ_j| ≥ ε_i ε_j − (i+1−j) ε_i³/3 ≥ ε_i² − ε_i²/3 = 2ε_i²/3, more than
  any visit's.
- No visit at all: Δ ≥ 1 for all j or Δ ≤ −1 for all j, and |Δ| = 1 for j = i. In the first case
  both terms of χ_j are least for j = i. In the second |χ_j| ≥ g_j = ε_i ε_j − (i+1−j) ε_i³/3, with
  equality for j = i, and for j < i g_j − g_i = (i−j) (ε_i² ε_j − ε_i³/3) > 0, as ε_j ≥ ε_i. So i
  wins, alone.

Everything else of Theorem 3.4 stays as it is: only what wins by how much has changed.
"""

from flint import fmpq

from netwright.definitions.transformer import Layer
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.kind.transformer.lemma_b4_last_visit import last_visit_layer


def recency_layer(layout: Layout) -> Layer:
    """The third decoder layer; its V and O are those of the paper's score."""
    papers = last_visit_layer(layout)
    return Layer(
        # Token i has c^(i+1)/(i+1) in x4 and 1/(i+1), 1/(i+1)², 1/(i+1)³ in x10, x11, x12.
        Q=affine_network(
            layout,
            {
                ("x4", "x9"): 1,
                ("x10", "x10"): 1,
                ("x11", "x11"): fmpq(1, 3),
                ("x12", "x12"): fmpq(-1, 3),
            },
        ),
        # Token j has 1 in x8, j + 1 in x9, 1/(j+1) in x10 and c^(j)/(j+1) in x5.
        K=affine_network(
            layout,
            {
                ("x10", "x9"): 1,
                ("x5", "x10"): -1,
                ("x8", "x11"): 1,
                ("x9", "x12"): 1,
                ("x8", "x12"): -1,
            },
        ),
        V=papers.V,
        O=papers.O,
    )
