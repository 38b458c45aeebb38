"""A Transformer with two decoder layers that follows pointers: no averages, no 1/i².

For a machine in the normal form of Theorem 3.4 it is smaller than Trans_M by a layer and, with the
score −|⟨q, k⟩|, by a coordinate: d = 2|Q| + 4|Σ| + 10. With d = 2|Q| + 4|Σ| + 11 the score is the
plain dot product of Vaswani et al., and with two coordinates more the machine may stay where it is.

| blocks       | content of token i                                                     |
|--------------|------------------------------------------------------------------------|
| q1 s1 R L    | y_i: ⟦q^(i)⟧ ⟦s^(i)⟧ and the pointers of `linked_visits`, as 1/(j+1)   |
| q2 w m sel   | ⟦q^(i+1)⟧ ⟦v^(i)⟧ m^(i), and the pointer to follow                     |
| mR mL mS     | instead of m, where the machine stays at times: which move it is       |
| al be        | what the encoder says of i + 1: ⟦α^(i+1)⟧ β^(i+1) (Lemma B.1)          |
| v RR LL      | what the look-up found: ⟦v^(j)⟧ R_j L_j                                |
| one n e      | 1, i + 1, 1/(i+1): the positional encoding                             |
| e2           | 1/(i+1)², with dot products alone                                      |

| layer     | self attention               | feed-forward                                 |
|-----------|------------------------------|----------------------------------------------|
| decoder 1 | none                         | O₁: the rule, and which pointer it follows   |
| decoder 2 | the token that is pointed to | none                                         |
| after     |                              | F: the next symbol and the next two pointers |

Preconditions, all of them used: the normal form's first three states never stay, q_init writes # on
#, the input has no # in it, and no rule leaves an accepting state.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flint import fmpq

from netwright.definitions.transformer import Layer, Transformer, dot_product, score_phi
from netwright.exact.feed_forward import Affine, FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledNormalDecoder
from netwright.kind.pointer_transformer.units import positions_in
from netwright.machine.normal_form import NormalMachine
from netwright.machine.turing_machine import Action, Move, TuringMachine

HALF = fmpq(1, 2)
MOVES = {Move.R: "mR", Move.L: "mL", Move.S: "mS"}
BlockWeights = dict[tuple[str, str], Any]
"""Weights by the blocks that they lead from and to."""
Rules = dict[str, tuple[tuple[str, str], Action]]
"""The pair and the action of each rule, by the label of its unit."""


class Attention(StrEnum):
    """The score of every attention of the network."""

    ABSOLUTE = "absolute"
    """−|⟨q, k⟩|, as in the paper."""
    DOT_PRODUCT = "dot-product"
    """⟨q, k⟩, as in practice."""


@dataclass(frozen=True, kw_only=True)
class CompiledPointerTransformer(CompiledNormalDecoder):
    """A machine in normal form, and the Transformer that follows pointers through its run."""

    attention: Attention

    @property
    def stays(self) -> bool:
        """Whether the machine may stay, so that the layout has a block mS."""
        return "mS" in dict(self.layout.blocks)


def stays(machine: TuringMachine) -> bool:
    """Whether some rule that applies leaves the head where it is."""
    return any(
        action.move is Move.S
        for (state, _), action in machine.delta.items()
        if state not in machine.accepting
    )


def vector_layout(machine: TuringMachine, attention: Attention) -> Layout:
    """The layout of the vectors for a machine in normal form."""
    states, symbols = machine.states, machine.symbols
    moves = MOVES.values() if stays(machine) else ["m"]
    blocks: dict[str, Any] = {"q1": states, "s1": symbols, "R": "", "L": ""}
    blocks |= {"q2": states, "w": symbols, **dict.fromkeys(moves, ""), "sel": ""}
    blocks |= {"al": symbols, "be": "", "v": symbols, "RR": "", "LL": ""}
    return Layout.of({**blocks, **dict.fromkeys(positions(attention), "")})


def positions(attention: Attention) -> tuple[str, ...]:
    """The blocks of the positional encoding."""
    return ("one", "n", "e", "e2")[: 4 if attention is Attention.DOT_PRODUCT else 3]


def compile_pointer_transformer(
    normal: NormalMachine, attention: Attention = Attention.ABSOLUTE
) -> CompiledPointerTransformer:
    """The network of a machine in normal form, which may stay at times.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.machine.normal_form import normalize
    >>> compiled = compile_pointer_transformer(normalize(library_machine("palindrome")))
    >>> compiled.layout.dimension  # 2·11 + 4·3 + 10
    44
    """
    machine = normal.machine
    layout = vector_layout(machine, attention)
    nothing = affine_network(layout)
    is_dot = attention is Attention.DOT_PRODUCT
    network = Transformer(
        layout=layout,
        encoder=(),
        K=_encoder_keys_by_dot_product(layout) if is_dot else _encoder_keys(layout),
        # V: token j has ⟦a_j⟧ in s1 from the embedding and j in n from pos(j).
        V=affine_network(layout, {("s1", "al"): 1, ("n", "be"): 1}),
        decoder=(
            Layer(Q=nothing, K=nothing, V=nothing, O=rule_network(layout, machine)),
            _look_up_by_dot_product(layout) if is_dot else _look_up(layout),
        ),
        F=next_network(layout, machine),
        score=dot_product if is_dot else score_phi,
        pos=positions_in(layout, positions(attention)),
    )
    return CompiledPointerTransformer(
        normal=normal,
        network=network,
        embedding={symbol: Vector.of(layout, s1=symbol) for symbol in normal.input_alphabet},
        # Token 0 is NULL: it writes # by q_init's rule, and both of its pointers are itself.
        seed=Vector.of(layout, q1=normal.q_init, s1=machine.blank, R=1, L=1),
        final_states=machine.accepting,
        attention=attention,
    )


def _encoder_keys(layout: Layout) -> FeedForward:
    """K^e: key j is (j, −1) in (one, n); against (1, i+1) the product is j − (i+1) (Lemma B.1).

    In both layers the query p has pos(i + 1) there, and nothing else is in the keys. So −|·| is
    greatest at input token min(i+1, n), and there alone.
    """
    return affine_network(layout, {("n", "one"): 1, ("one", "n"): -1})


def _encoder_keys_by_dot_product(layout: Layout) -> FeedForward:
    """K^e: key j is (2ε_j, −ε_j²) in (e, one), where ε_j = 1/j; the query has ε_{i+1} and 1 there.

    The product is 2 ε_j ε_{i+1} − ε_j² = ε_{i+1}² − (ε_{i+1} − ε_j)². ε_j falls as j grows: the
    only maximum is at j = min(i+1, n).
    """
    return affine_network(layout, {("e", "e"): 2, ("e2", "one"): -1})


def _look_up(layout: Layout) -> Layer:
    """Layer 2 attends to the token that `sel` points to, and takes what it wrote and its pointers.

    Token j has (j+1, 1) in (n, one), so with sel = 1/(P+1) the product of query (sel, −1) and key
    is (j+1)/(P+1) − 1 = (j − P)/(P+1): 0 for j = P, and 1/(P+1) at least in absolute value else.
    With sel = 0, at a stay or after the halt, all products are −1 and the attention is a mean.
    """
    return Layer(
        Q=affine_network(layout, {("sel", "n"): 1, ("one", "one"): -1}),
        K=affine_network(layout, {("n", "n"): 1, ("one", "one"): 1}),
        V=_found(layout),
        O=affine_network(layout),
    )


def _look_up_by_dot_product(layout: Layout) -> Layer:
    """The same with the score ⟨q, k⟩.

    With ε_j = 1/(j+1), the product of query (2 sel, −1) and key (ε_j, ε_j²) in (e, e2) is
    2 sel ε_j − ε_j² = sel² − (sel − ε_j)², whose only maximum is where ε_j = sel. With sel = 0 it
    is −ε_j², and the newest token wins.
    """
    return Layer(
        Q=affine_network(layout, {("sel", "e"): 2, ("one", "e2"): -1}),
        K=affine_network(layout, {("e", "e"): 1, ("e2", "e2"): 1}),
        V=_found(layout),
        O=affine_network(layout),
    )


def _found(layout: Layout) -> FeedForward:
    """V: ⟦v^(j)⟧ and the pointers R_j, L_j of token j, where nothing else is."""
    return affine_network(layout, {("w", "v"): 1, ("R", "RR"): 1, ("L", "LL"): 1})


def rule_network(layout: Layout, machine: TuringMachine) -> FeedForward:
    """O₁: next state, symbol to write, move, and the pointer to follow; two units a rule.

    The unit `rule` of (q, a) is σ(q1[q] + s1[a] − 1): 1 if state and symbol are these, else 0.
    The unit `sel` is σ(q1[q] + s1[a] + X − 2) with X = R for a move to the right and L to the left:
    X itself if state and symbol are these, as 0 ≤ X ≤ 1; else at most σ(X − 1) = 0.
    A rule that stays has no unit `sel`, and follows no pointer.
    """
    rules: Rules = {
        f"{q!r}, {a!r}": ((q, a), action)
        for (q, a), action in machine.delta.items()
        if q not in machine.accepting
    }
    moving = {label: rule for label, rule in rules.items() if rule[1].move is not Move.S}
    hidden = Layout.of(rule=tuple(rules), sel=tuple(moving))
    bias = {"rule": dict.fromkeys(rules, -1), "sel": dict.fromkeys(moving, -2)}
    first = Affine.of(layout, hidden, _rule_reads(rules, moving), bias)
    return FeedForward((first, Affine.of(hidden, layout, _rule_writes(rules, moving, layout))))


def _rule_reads(rules: Rules, moving: Rules) -> BlockWeights:
    """The weights into the hidden units."""
    reads: BlockWeights = {}
    for unit, read in (("rule", rules), ("sel", moving)):
        reads["q1", unit] = {(q, label): 1 for label, ((q, _), _) in read.items()}
        reads["s1", unit] = {(a, label): 1 for label, ((_, a), _) in read.items()}
    for move, pointer in ((Move.R, "R"), (Move.L, "L")):
        reads[pointer, "sel"] = {("", k): 1 for k, (_, act) in moving.items() if act.move is move}
    return reads


def _rule_writes(rules: Rules, moving: Rules, writing: Layout) -> BlockWeights:
    """The weights from the hidden units."""
    writes: BlockWeights = {
        ("rule", "q2"): {(label, action.state): 1 for label, (_, action) in rules.items()},
        ("rule", "w"): {(label, action.write): 1 for label, (_, action) in rules.items()},
        ("sel", "sel"): {(label, ""): 1 for label in moving},
    }
    if "m" in writing:
        writes["rule", "m"] = {(k, ""): action.move.offset for k, (_, action) in rules.items()}
    for move, block in MOVES.items():
        if block in writing:
            moved = {(k, ""): 1 for k, (_, act) in rules.items() if act.move is move}
            writes["rule", block] = moved
    return writes


def next_network(layout: Layout, machine: TuringMachine) -> FeedForward:
    """F: y_{i+1} from the last vector of token i.

    al and be stand there twice, as both layers attend to the encoder; so A = n − be/2 is
    (i+1) − min(i+1, n), which is 0 while the input is read and 1 or more afterwards (and on the
    empty word, where al and be are 0).

    - q1: a copy of q2.
    - s1, reading: all cells to the right are fresh, so the look-up is NULL and v = ⟦#⟧, which the
      unit `reading`, σ(1 − A) = 1, takes away; σ(al/2 − A) = ⟦α^(i+1)⟧ stays.
    - s1, later: σ(al/2 − A) and σ(1 − A) are 0, and v is what was found. At a stay it is shut out,
      by σ(v − mS) = 0 as a mean of one-hots is at most 1, and σ(w + mS − 1) = w is taken.
    - R: after a move to the right σ(RR + m − 1) = RR, and σ(e − m − 1) = 0 as e ≤ 1; after one to
      the left σ(RR − 2) = 0 and σ(e) = 1/(i+1), the pointer to token i. L: the mirror image. With
      native stays the same with mR, mL, and R, L themselves where mS = 1.

    After the halt q2, w, m and sel are 0: q1 is 0 then and for ever, as no rule applies.
    """
    states, symbols, blank = machine.states, machine.symbols, machine.blank
    can_stay = stays(machine)
    pointers = ("found", "new", "kept") if can_stay else ("found", "new")
    hidden = Layout.of(
        {
            "q": states,
            "alpha": symbols,
            "v": symbols,
            **({"w": symbols} if can_stay else {}),
            "reading": "",
            "R": pointers,
            "L": pointers,
        }
    )
    every = {("", symbol): 1 for symbol in symbols}
    reads: BlockWeights = {
        ("q2", "q"): 1,
        ("al", "alpha"): HALF,
        ("n", "alpha"): dict.fromkeys(every, -1),
        ("be", "alpha"): dict.fromkeys(every, HALF),
        ("v", "v"): 1,
        ("n", "reading"): -1,
        ("be", "reading"): HALF,
        ("RR", "R"): {("", "found"): 1},
        ("LL", "L"): {("", "found"): 1},
        ("e", "R"): {("", "new"): 1},
        ("e", "L"): {("", "new"): 1},
    }
    bias: dict[str, Any] = {
        "reading": 1,
        "R": dict.fromkeys(pointers, -1),
        "L": dict.fromkeys(pointers, -1),
    }
    if can_stay:
        reads |= {
            ("mS", "v"): dict.fromkeys(every, -1),
            ("w", "w"): 1,
            ("mS", "w"): every,
            ("R", "R"): {("", "kept"): 1},
            ("L", "L"): {("", "kept"): 1},
            ("mR", "R"): {("", "found"): 1},
            ("mL", "R"): {("", "new"): 1},
            ("mL", "L"): {("", "found"): 1},
            ("mR", "L"): {("", "new"): 1},
            ("mS", "R"): {("", "kept"): 1},
            ("mS", "L"): {("", "kept"): 1},
        }
        bias["w"] = dict.fromkeys(symbols, -1)
    else:
        reads |= {
            ("m", "R"): {("", "found"): 1, ("", "new"): -1},
            ("m", "L"): {("", "found"): -1, ("", "new"): 1},
        }
    writes: BlockWeights = {
        ("q", "q1"): 1,
        ("alpha", "s1"): 1,
        ("v", "s1"): 1,
        **({("w", "s1"): 1} if can_stay else {}),
        ("reading", "s1"): {("", blank): -1},
        ("R", "R"): {(name, ""): 1 for name in pointers},
        ("L", "L"): {(name, ""): 1 for name in pointers},
    }
    return FeedForward((Affine.of(layout, hidden, reads, bias), Affine.of(hidden, layout, writes)))
