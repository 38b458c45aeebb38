"""Lemma B.5 (lem:yr+1): the final network F gives the next state, symbol and move.

F(z³_r) = y_{r+1} = [⟦q^(r+1)⟧, ⟦s^(r+1)⟧, m^(r), 0, …]. State and move are copied; the symbol is

    α^(r+1)         if r + 1 ≤ n: still reading, the input's symbol
    #               if r + 1 > n and ℓ(r+1) = r: a cell never visited
    v^(ℓ(r+1))      otherwise: what was written there last

The first line needs c^(i) = i for i ≤ n + 1, which the walk in q_init and q_read gives: at time r
+ 1 ≤ n the head is on the input's symbol r + 1. Beyond it no cell of the input is fresh, so a
fresh cell is blank. The second needs that the head never stays: were c^(r+1) = c^(r), ℓ(r+1) = r
would be a visit.

F = f₄ f₃ f₂ σ f₁ where f₂ and f₃ are if-networks of Lemma B.6. Affine maps that follow each other
are merged, which leaves four maps with three activations between them.
"""

from flint import fmpq

from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.kind.transformer.lemma_b6_if import if_maps


def next_symbol_network(layout: Layout, blank: str) -> FeedForward:
    """The network F."""
    states, symbols = layout.labels("q1"), layout.labels("s1")
    conditions = Layout.of(
        {
            "q": states,
            "m": ("+", "-"),
            "alpha": symbols,
            "b1": "",
            "v": symbols,
            "blank": symbols,
            "b2": "",
        }
    )
    # f₁. ⟦m⟧ = [m/2 + 1/2, −m/2 + 1/2] is [1, 0] or [0, 1], and [1/2, 1/2] in the dead vector,
    # where only its difference 0 is used. b₁ is (r+1) − β^(r+1): 0 while β^(r+1) = r + 1, that is
    # r + 1 ≤ n, and at least 1 beyond; after σ it is 0 or 1. b₂ is ℓ(r+1) − (r+1) + 2: as
    # ℓ(r+1) ≤ r it is 1 for ℓ(r+1) = r; else ℓ(r+1) ≤ r − 1 and it is at most 0. All others are 0
    # or 1 before σ. QED. On the empty word the external attention is 0, so β = 0 and
    # b₁ = σ(r + 1) = 1: never reading.
    f1 = Affine.of(
        layout,
        conditions,
        {
            ("q2", "q"): 1,
            ("x2", "m"): {("", "+"): fmpq(1, 2), ("", "-"): fmpq(-1, 2)},
            ("s3", "alpha"): 1,
            ("x9", "b1"): 1,
            ("x6", "b1"): -1,
            ("s4", "v"): 1,
            ("x7", "b2"): 1,
            ("x9", "b2"): -1,
        },
        bias={"m": {"+": fmpq(1, 2), "-": fmpq(1, 2)}, "blank": blank, "b2": 2},
    )
    # f₂: if b₂ then ⟦#⟧ else ⟦v^(ℓ(r+1))⟧.
    visited, chosen = if_maps(
        conditions, x=("q", "m", "alpha", "b1"), y="v", z="blank", b="b2", result="written"
    )
    # f₃: if b₁ then that else ⟦α^(r+1)⟧.
    reading, symbol = if_maps(
        chosen.output, x=("q", "m"), y="alpha", z="written", b="b1", result="s"
    )
    # f₄: to their places in y, with m = ⟦m⟧₊ − ⟦m⟧₋.
    f4 = Affine.of(
        symbol.output,
        layout,
        {("q", "q1"): 1, ("s", "s1"): 1, ("m", "x1"): {("+", ""): 1, ("-", ""): -1}},
    )
    return FeedForward((f1, visited, chosen.then(reading), symbol.then(f4)))
