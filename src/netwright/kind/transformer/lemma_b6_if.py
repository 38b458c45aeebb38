"""Lemma B.6 (lem:if): a two-layer network for if-then-else.

    f([x, y, z, b]) = [x, y] if b = 0, and [x, z] if b = 1,

for y and z with coordinates 0 or 1, b ∈ {0, 1}, and x with coordinates in [0, 1]. (In print x is
binary; Lemma B.5 passes b₁ and ⟦m⟧ through, and ⟦0⟧ = [1/2, 1/2].)
"""

from collections.abc import Sequence

from netwright.exact.feed_forward import Affine
from netwright.exact.layout import Layout


def if_maps(
    layout: Layout, x: Sequence[str], y: str, z: str, b: str, result: str
) -> tuple[Affine, Affine]:
    """f₁ and f₂ with f = f₂ σ f₁, for blocks x, y, z and b; the choice goes to block `result`.

    f₁ gives x, y − b·1 and z + (b − 1)·1. For b = 0 that is y and z − 1 ≤ 0, for b = 1 it is
    y − 1 ≤ 0 and z: σ keeps the one and makes the other 0. σ is the identity on x ⊂ [0, 1]. f₂ adds
    the two. QED.
    """
    labels = layout.labels(y)
    kept: dict[str, object] = {block: layout.labels(block) for block in x}
    between = Layout.of({**kept, "y": labels, "z": layout.labels(z)})
    first = Affine.of(
        layout,
        between,
        {
            **{(block, block): 1 for block in x},
            (y, "y"): 1,
            (z, "z"): 1,
            (b, "y"): {("", label): -1 for label in labels},
            (b, "z"): {("", label): 1 for label in layout.labels(z)},
        },
        bias={"z": dict.fromkeys(layout.labels(z), -1)},
    )
    after = Layout.of({**kept, result: labels})
    second = Affine.of(
        between, after, {**{(block, block): 1 for block in x}, ("y", result): 1, ("z", result): 1}
    )
    return first, second
