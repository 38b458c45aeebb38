"""Lemma B.3 (lem:ci): equal attention to all tokens finds the head's position.

Q₂, K₂ and V₂ such that the attention of token i is c^(i+1)/(i+1) in x4 and c^(i)/(i+1) in x5, where
c^(i) = m^(0) + ⋯ + m^(i−1) is the cell under the head at time i.
"""

from netwright.definitions.transformer import Layer
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.kind.transformer.lemma_b2_transition import cancel_external_attention


def head_position_layer(layout: Layout) -> Layer:
    """The second decoder layer.

    All queries and keys are 0, so all scores are equal and hard attention is the mean of the
    i + 1 values. V₂ takes m^(j) from x2 to x4 and m^(j−1) from x3 to x5. The means are
    (m^(0) + ⋯ + m^(i))/(i+1) = c^(i+1)/(i+1) and, as m^(−1) = 0 in the seed,
    (m^(−1) + ⋯ + m^(i−1))/(i+1) = c^(i)/(i+1). QED.
    """
    nothing = affine_network(layout)
    return Layer(
        Q=nothing,
        K=nothing,
        V=affine_network(layout, {("x2", "x4"): 1, ("x3", "x5"): 1}),
        O=affine_network(layout, cancel_external_attention()),
    )
