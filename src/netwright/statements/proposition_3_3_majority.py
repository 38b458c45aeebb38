"""Proposition 3.3 (prop:more-than-regular): a two-dimensional Transformer recognises majority.

Without positional encodings, for any score and any normaliser, one encoder layer and one decoder
layer recognise the words over a and b with strictly more a than b, which is not a regular language:
y_i = [c_w, 0] for all i ≥ 1, where c_w = (#a − #b)/n.

In print "p_i = y_i for i ∈ {0, …, i}" must be {0, …, r}, and the display of a_i is that for i > 0;
a_0 = [0, c_w] leads to the same z_0. On the empty word the attention is 0, c_w = 0: rejected.
"""

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import (
    Layer,
    Normalizer,
    Score,
    Transformer,
    hardmax,
    score_phi,
)
from netwright.exact.feed_forward import affine_network
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector

LAYOUT = Layout.of(x="", y="")


def majority_recognizer(score: Score = score_phi, rho: Normalizer = hardmax) -> Recognizer:
    """The recognizer of the proof.

    >>> recognizer = majority_recognizer()
    >>> recognizer.accepts_at("aab", 5), recognizer.accepts_at("ab", 5)
    (1, None)
    """
    nothing = affine_network(LAYOUT)
    identity = affine_network(LAYOUT, {("x", "x"): 1, ("y", "y"): 1})
    network = Transformer(
        layout=LAYOUT,
        # Null functions: the residual connections leave every vector as it is.
        encoder=(Layer(Q=nothing, K=nothing, V=nothing, O=nothing),),
        # Equal keys have equal scores, whatever the score, and each weight is 1/n, whatever the
        # normaliser: the external attention is the mean [0, c_w] of the embeddings.
        K=nothing,
        V=identity,
        decoder=(
            Layer(
                Q=nothing,
                K=nothing,
                V=nothing,
                # O([x, y]) = [y − x, −y], so O(a) + a = [y, 0] for a = [x, y]; and y = c_w in a_i,
                # as y_i has 0 there. So z_i = [c_w, 0]. QED.
                O=affine_network(LAYOUT, {("x", "x"): -1, ("y", "x"): 1, ("y", "y"): -1}),
            ),
        ),
        F=identity,
        score=score,
        rho=rho,
    )
    return Recognizer(
        alphabet=("a", "b"),
        embedding={"a": Vector.of(LAYOUT, y=1), "b": Vector.of(LAYOUT, y=-1)},
        network=network,
        seed=Vector.zero(LAYOUT),
        final=lambda y: y.number("x") > 0,  # 𝔽 = ℚ⁺ × ℚ
    )
