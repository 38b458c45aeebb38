"""Lemma B.2 (lem:M): a two-layer network O₁ computes the transition function.

From a¹_i, which has ⟦q^(i)⟧ ⟦s^(i)⟧ m^(i−1) in its first group, O₁ gives

    −⟦q^(i)⟧ −⟦s^(i)⟧ −m^(i−1)  in q1 s1 x1, which clears them in the residual sum, and
    ⟦q^(i+1)⟧ ⟦v^(i)⟧ m^(i) m^(i−1)  in q2 s2 x2 x3.

Departures from the print: the affine maps h₂, h₃, h₄ after the nonlinearity are one; δ is partial,
and where it is undefined the row of M^δ is 0: the next state, the written symbol and the move are
then 0, and the network sits in the dead vector for ever.
"""

from collections.abc import Mapping
from functools import lru_cache

from flint import fmpq

from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.machine.turing_machine import TuringMachine


@lru_cache(maxsize=256)
def pairs_of(layout: Layout) -> tuple[Mapping[tuple[str, str], str], Affine]:
    """The pairs of a state and a symbol, by the names of hidden coordinates, and h₁."""
    states, symbols = layout.labels("q1"), layout.labels("s1")
    pair = {(q, s): f"{q!r}, {s!r}" for q in states for s in symbols}
    hidden = Layout.of(q=states, s=symbols, m="", qs=tuple(pair.values()))

    # h₁. The hidden ⟦q⟧ and ⟦s⟧ are copies: they are 0 or 1, where σ is the identity. So is
    # m̂ = m/2 + 1/2, which is 0, 1/2 or 1. The hidden coordinate of the pair (q, s) is
    # ⟦q^(i)⟧_q + ⟦s^(i)⟧_s − 1: 1 if q^(i) = q and s^(i) = s, else 0 or −1. After σ it is the
    # one-hot vector ⟦(q^(i), s^(i))⟧, and 0 throughout if ⟦q^(i)⟧ is 0. QED (f₁ in print).
    h1 = Affine.of(
        layout,
        hidden,
        {
            ("q1", "q"): 1,
            ("s1", "s"): 1,
            ("x1", "m"): fmpq(1, 2),
            ("q1", "qs"): {(q, label): 1 for (q, _), label in pair.items()},
            ("s1", "qs"): {(s, label): 1 for (_, s), label in pair.items()},
        },
        bias={"m": fmpq(1, 2), "qs": dict.fromkeys(pair.values(), -1)},
    )
    return pair, h1


def transition_network(layout: Layout, machine: TuringMachine) -> FeedForward:
    """O₁ = h₄ h₃ h₂ σ h₁, with |Q| + |Σ| + 1 + |Q||Σ| hidden coordinates."""
    pair, h1 = pairs_of(layout)
    hidden = h1.output

    # h₄ h₃ h₂. The row of a pair (q, s) with δ(q, s) = (p, v, m) is ⟦p⟧ ⟦v⟧ m in q2 s2 x2, so
    # ⟦(q^(i), s^(i))⟧ is mapped to ⟦q^(i+1)⟧ ⟦v^(i)⟧ m^(i). The rest moves and negates what h₁
    # copied: m = 2m̂ − 1 goes to x3, and −m = −2m̂ + 1 to x1. QED.
    rules = {pair[key]: action for key, action in machine.delta.items()}
    h2 = Affine.of(
        hidden,
        layout,
        {
            ("q", "q1"): -1,
            ("s", "s1"): -1,
            ("m", "x1"): -2,
            ("m", "x3"): 2,
            ("qs", "q2"): {(label, action.state): 1 for label, action in rules.items()},
            ("qs", "s2"): {(label, action.write): 1 for label, action in rules.items()},
            ("qs", "x2"): {(label, ""): action.move.offset for label, action in rules.items()},
        },
        bias={"x1": 1, "x3": -1},
    )
    return FeedForward((h1, h2))


def cancel_external_attention() -> Mapping[tuple[str, str], fmpq]:
    """The weights of O₂ and O₃: −1/2 on s3 and x6, 0 elsewhere.

    The attention of Equation 10 is in every decoder layer and cannot be left out. In layers 2 and 3
    the query p still has (1, i+1) in x8, x9, so by Lemma B.1 it adds ⟦α^(i+1)⟧ and β^(i+1) in s3
    and x6 a second time: a has twice p there and p elsewhere. Then z = O(a) + a is
    −a/2 + a = a/2 = p in s3 and x6, and a = p elsewhere. QED. (In print: "not difficult".)
    """
    return {("s3", "s3"): fmpq(-1, 2), ("x6", "x6"): fmpq(-1, 2)}
