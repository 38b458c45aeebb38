"""A smaller universal Transformer of rules: d = 16, 11 hidden units, 49 weights that are not 0.

It differs from `construction`'s in three ways.

*State and symbol share the coordinate x* = code₂(q) + code₁(a), since only that sum is asked for,
and it determines both. *Moves are 1 and 0*, right and left. *Nothing halts*: a dead state, with a
rule to itself for every symbol, follows where the machine has no rule; and one more token,
`accepted`, follows an accepting state and itself. So there is no gate, and the price is |Σ| + 1
tokens.

| token                | kap                 | er            | ew       | em     | ea       |
|----------------------|---------------------|---------------|----------|--------|----------|
| symbol a             | 5                   | 0             | 0        | 0      | code₁(a) |
| (q, a) → (p, b, D)   | code₂(q) + code₁(a) | code₂(p)      | code₁(b) | 1 or 0 | 0        |
| (q, a), q accepts    | the same            | 1             | 0        | 1      | 0        |
| no rule, or q dead   | the same            | code₂(dead)   | code₁(a) | 1      | 0        |
| accepted             | 1                   | 1             | 0        | 1      | 0        |

kap stands in `on`, er in `r2`, ew in `w2`, em in `m2`, ea in `al`.

| blocks            | content of token i                                                       |
|-------------------|--------------------------------------------------------------------------|
| x on R L          | y_i: state and symbol (1: accepted); 1; pointers as 1/(j+1)              |
| r2 w2 m2 al       | from the encoder: the rule; in layer 2 the input's next symbol           |
| m3 sel e_ one_    | move, pointer to follow; copy of e; 1                                    |
| RR LL             | what the look-up found                                                   |
| n e               | i + 1, 1/(i+1): the positional encoding                                  |

Proof. `on` is 1 in every output, by F's bias. Layer 1 has e_ = one_ = 0, so the query meets a token
with kap − x. That is 0 for the rule of (q, a) alone, or for `accepted` alone, since sums of codes
are unique and below 1, and at least 4 for symbols. O₁ adds the next state to al, which a rule has 0
in, chooses the pointer, and clears x and on. So layer 2 meets token j with j/(i+1) − 1, as in
`construction`: al gets the input's symbol i + 1, or 0 after the input. The look-up adds to al what
the token that is followed wrote. While the input is read that is NULL's #, which is 0; so one of
the two is 0, the other the next symbol's code, and al = code₂(p) + code₁(b) is the next x. After an
accepting state, and after `accepted`, al is 1 or more, and x = σ(al) = 1: for ever. The pointers
are those of the lemma of `linked_visits`. QED.

`proofs/Universal16.v` has this proof in Coq. A form with dot products is not known: kap² would need
a coordinate that layer 2 reads as 0.
"""

from functools import cache

from netwright.definitions.transformer import Layer, Transformer, score_phi
from netwright.exact.feed_forward import FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.kind.pointer_transformer.units import Unit, positions_in, unit_network

SHOWN = ("x", "on", "R", "L")
RULE = ("r2", "w2", "m2", "al")
BLOCKS = (*SHOWN, *RULE, "m3", "sel", "e_", "one_", "RR", "LL", "n", "e")


@cache
def small_universal_transformer() -> Transformer:
    """The network, which is the same for all machines.

    >>> network = small_universal_transformer()
    >>> network.layout.dimension, len(network.decoder)
    (16, 2)
    """
    layout = Layout.of(dict.fromkeys(BLOCKS, ""))
    nothing = affine_network(layout)
    # Key j is (kap, −1) in (on, x) and (j, −1) in (e_, one_); embeddings have 1 in one_.
    keys = {("on", "on"): 1, ("one_", "x"): -1, ("n", "e_"): 1, ("one_", "one_"): -1}
    look_up = Layer(
        Q=affine_network(layout, {("sel", "n"): 1, ("one_", "one_"): -1}),
        K=affine_network(layout, {("n", "n"): 1, ("one_", "one_"): 1}),
        V=affine_network(layout, {("w2", "al"): 1, ("R", "RR"): 1, ("L", "LL"): 1}),
        O=nothing,
    )
    return Transformer(
        layout=layout,
        encoder=(),
        K=affine_network(layout, keys),
        V=affine_network(layout, {(block, block): 1 for block in RULE}),
        decoder=(Layer(Q=nothing, K=nothing, V=nothing, O=_rule_network(layout)), look_up),
        F=_next_network(layout),
        score=score_phi,
        pos=positions_in(layout, ("n", "e")),
    )


def _rule_network(layout: Layout) -> FeedForward:
    """O₁: six units; on becomes 0, as it was 1, and one_ 1."""
    return unit_network(
        layout,
        [
            Unit("next state", {"r2": 1}, 0, {"al": 1}),
            Unit("move", {"m2": 1}, 0, {"m3": 1}),
            # R + m2 − 1 is R for m2 = 1, and else at most 0, as R ≤ 1; L − m2 is L for m2 = 0.
            Unit("follow R", {"R": 1, "m2": 1}, -1, {"sel": 1}),
            Unit("follow L", {"L": 1, "m2": -1}, 0, {"sel": 1}),
            Unit("position", {"e": 1}, 0, {"e_": 1}),
            Unit("clear x", {"x": 1}, 0, {"x": -1}),
        ],
        bias={"on": -1, "one_": 1},
    )


def _next_network(layout: Layout) -> FeedForward:
    """F: five units, and on = 1. The pointers are as in the pointer Transformer, for m3 = 1, 0."""
    return unit_network(
        layout,
        [
            Unit("state and symbol", {"al": 1}, 0, {"x": 1}),
            Unit("R found", {"RR": 1, "m3": 1}, -1, {"R": 1}),
            Unit("R new", {"e": 1, "m3": -1}, 0, {"R": 1}),
            Unit("L found", {"LL": 1, "m3": -1}, 0, {"L": 1}),
            Unit("L new", {"e": 1, "m3": 1}, -1, {"L": 1}),
        ],
        bias={"on": 1},
    )
