"""Lemma B.4 (lem:vli): attention finds the last visit of the cell that the head goes to.

Q₃, K₃ and V₃ such that token i attends to ℓ(i+1) alone: the latest j ≤ i with c^(j) = c^(i+1), or i
if the head was never there. The attention is ⟦v^(ℓ(i+1))⟧ in s4 and ℓ(i+1) in x7.

With ε_k = 1/(k+1), x = ε_i ε_j and Δ = c^(i+1) − c^(j), the product of query and key is
χ_j = x (Δ + x/3), and hard attention takes the least |χ_j|.

- Visits of the cell, Δ = 0: |χ_j| = x²/3 ≤ ε_i²/3, and it falls as j grows. The latest visit wins
  over the others.
- Other cells: |Δ| ≥ 1, so |χ_j| ≥ x (1 − x/3) ≥ 2ε_i²/3, more than any visit's: as ε_j ≥ ε_i,
  x ≥ ε_i², and x (1 − x/3) grows in x on (0, 1].
- No visit at all: the head moves one cell at a time, so Δ ≥ 1 for all j or Δ ≤ −1 for all j. Then
  |χ_j| ≥ x (1 ± x/3), with equality for |Δ| = 1, which holds for j = i; x = ε_i ε_j is least for
  j = i, and both bounds grow in x. So i wins, alone. This covers both sides of the tape: two-way
  tapes need no care. (In print the case Δ ≤ −1 is left out, by the third assumption.)

In print "|χ_j| < |χ_i| for j < i" has its indices reversed, and "argmin 1/(j+1)" must be argmax j.
"""

from flint import fmpq

from netwright.definitions.transformer import Layer
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.kind.transformer.lemma_b2_transition import cancel_external_attention


def last_visit_layer(layout: Layout) -> Layer:
    """The third decoder layer."""
    return Layer(
        # Token i has c^(i+1)/(i+1) in x4, 1/(i+1) in x10 and 1/(i+1)² in x11: the query is
        # (ε_i c^(i+1), ε_i, ε_i²/3) in x9, x10, x11.
        Q=affine_network(layout, {("x4", "x9"): 1, ("x10", "x10"): 1, ("x11", "x11"): fmpq(1, 3)}),
        # Token j has c^(j)/(j+1) in x5: the key is (ε_j, −ε_j c^(j), ε_j²) in x9, x10, x11. Their
        # product is ε_i ε_j c^(i+1) − ε_i ε_j c^(j) + ε_i² ε_j²/3 = χ_j. QED.
        K=affine_network(layout, {("x10", "x9"): 1, ("x5", "x10"): -1, ("x11", "x11"): 1}),
        # Token j has ⟦v^(j)⟧ in s2, j + 1 in x9 and 1 in x8: the value is ⟦v^(j)⟧ and j.
        V=affine_network(layout, {("s2", "s4"): 1, ("x9", "x7"): 1, ("x8", "x7"): -1}),
        O=affine_network(layout, cancel_external_attention()),
    )
