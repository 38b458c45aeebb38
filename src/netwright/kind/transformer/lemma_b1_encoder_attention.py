"""Lemma B.1 (lem:enc-attention): attending to the encoder finds the input symbol.

For a query with 1 in x8 and j in x9, whatever else it holds, the attention over the encoder is
⟦α^(j)⟧ in s3 and β^(j) in x6, where α^(j) = s_j and β^(j) = j for j ≤ n, and s_n and n beyond.
"""

from netwright.definitions.transformer import Layer
from netwright.exact.feed_forward import FeedForward, affine_network
from netwright.exact.layout import Layout


def encoder_layer(layout: Layout) -> Layer:
    """A layer that changes nothing.

    V = 0 makes every attention 0, whatever the scores, so a_i = 0 + x_i by the residual connection;
    O = 0 makes z_i = 0 + a_i = x_i.
    """
    nothing = affine_network(layout)
    return Layer(Q=nothing, K=nothing, V=nothing, O=nothing)


def keys(layout: Layout) -> FeedForward:
    """K: k_i has i in x8 and −1 in x9.

    x_i has (1, i) in (x8, x9) from pos(i), so swapping them with a sign gives (i, −1). Against a
    query with (1, j) there, ⟨q, k_i⟩ = 1·i + j·(−1) = i − j, as k_i is 0 elsewhere. The score
    −|i − j| has its only maximum over 1 ≤ i ≤ n at i = j for j ≤ n, and at i = n beyond. QED.
    """
    return affine_network(layout, {("x9", "x8"): 1, ("x8", "x9"): -1})


def values(layout: Layout) -> FeedForward:
    """V: v_i has ⟦s_i⟧ in s3 and i in x6.

    x_i has ⟦s_i⟧ in s3 from the embedding and i in x9 from pos(i).
    """
    return affine_network(layout, {("s3", "s3"): 1, ("x9", "x6"): 1})
