"""One Transformer for all Turing machines: the machine is the prompt, a token for each rule.

Two decoder layers, d = 21, 17 hidden units, and all weights are constants. For every machine in the
normal form of Theorem 3.4 and every word, y_t shows the configuration at time t: one token a step.

The prompt has the input first, a token for each symbol, and then a token for *every* pair of a
state and a symbol, in any order. States and symbols are numbers, and those are `codes`; q_init and
# are 0.

| token            | kap                  | er       | ew       | em | eo | ea       |
|------------------|----------------------|----------|----------|----|----|----------|
| symbol a         | 5                    | 0        | 0        | 0  | 0  | code₁(a) |
| (q, a) → (p, b, D) | code₂(q) + code₁(a) | code₂(p) | code₁(b) | D  | 1  | 0        |
| (q, a), q accepts | the same            | 1        | code₁(a) | 1  | 0  | 0        |
| no rule          | the same             | 0        | 0        | 1  | 0  | 0        |

kap stands in `on`, er in `r2`, ew in `w2`, em in `m2`, eo in `on2`, ea in `al`.

| blocks                   | content of token i                                              |
|--------------------------|-----------------------------------------------------------------|
| r s on R L               | y_i: state (1: accepted), symbol, running; pointers as 1/(j+1)  |
| r2 w2 m2 on2 al          | from the encoder: the rule; in layer 2 the input's next symbol  |
| r3 m3 on3 sel e_ one_    | next state, move, running, pointer to follow; copy of e; 1      |
| v RR LL                  | what the look-up found                                          |
| n e                      | i + 1, 1/(i+1): positions; with dot products e2 = 1/(i+1)²      |

Proof. Layer 1 has e_ = one_ = 0, so the query meets a prompt token with kap·on − r − s. While the
machine runs (on = 1) this is 0 for the rule of (q, a) alone, since sums of codes are unique, and
above 4 for symbols: r2, w2, m2, on2 are the rule's, and al is 0. O₁ puts them behind the gate `on`,
chooses the pointer, and clears r, s and on. So in layer 2 the query meets token j with j/(i+1) − 1:
the only least one is token min(i+1, N), which adds al, the input's symbol i + 1 while there is one
and 0 later, as rules have none; and it adds to r2, w2, m2, on2, which nobody reads any more: the
look-up's value w2 is taken from the layer's input, O₂ is 0, and F reads none of them. While the
input is read all look-ups find NULL, which wrote # = 0; later al is 0: so al + v is the symbol.
The pointers are those of the lemma of `linked_visits`.

An accepting configuration is shown as it is, like any other; the next output has r = 1, which no
state's code is, and that is the final set. (One might go to r = 1 at once, and save the tokens of
accepting states; then they all look alike, and the paper's configuration y_t is not shown whole.)

Halted, on = 0: the first attention ties, but r3, on3 and m3 are behind the gate, as means of er, eo
and |em| are at most 1. So r = on = 0 for ever after.

What a prompt owes: its sums of codes differ, every pair is there (one that is not would silently
take the nearest rule), the machine is in normal form, the input has no #, and its symbols come
first.

`sixteen` has a smaller network; what the two differ in is a `Design`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import product
from typing import Any, ClassVar, NamedTuple

from netwright.definitions.transformer import Layer, Transformer, dot_product, score_phi
from netwright.exact.feed_forward import FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE, Number, Rational
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledUniversal
from netwright.kind.pointer_transformer.construction import Attention
from netwright.kind.pointer_transformer.units import Unit, positions_in, unit_network
from netwright.kind.universal_transformer import sixteen
from netwright.kind.universal_transformer.codes import code_1, code_2
from netwright.machine.normal_form import NormalMachine, fresh_name
from netwright.machine.turing_machine import Action, Move, TuringMachine

SHOWN = ("r", "s", "on", "R", "L")
RULE = ("r2", "w2", "m2", "on2", "al")
CHOSEN = ("r3", "m3", "on3", "sel", "e_", "one_")
FOUND = ("v", "RR", "LL")
NO_RULE = 5
"""kap of a symbol: no sum of codes comes near it."""
WORKING = {Attention.ABSOLUTE: ("n", "e"), Attention.DOT_PRODUCT: ("e", "e2")}


class Design(NamedTuple):
    """What the universal Transformers of rules differ in."""

    state: str
    """The block of an output that has the state's code; 1: accepted."""
    symbol: str
    """The block that has the symbol's code, maybe the same."""
    rule: tuple[str, ...]
    """The blocks that the encoder's values have."""
    kept: Mapping[str, str]
    """The blocks to which O₁ copies those of the rule."""
    found: str
    """The block to which the look-up adds the symbol that it found."""
    left: int
    """A move to the left; one to the right is 1."""
    halts: bool = True
    """Whether on becomes 0 after the halt; else a dead state follows, and a token `accepted`."""


TWENTY_ONE = Design("r", "s", RULE, {"r3": "r2", "m3": "m2", "on3": "on2"}, "v", -1)
SIXTEEN = Design("x", "x", sixteen.RULE, {"al": "r2", "m3": "m2"}, "al", 0, halts=False)


@cache
def universal_transformer(attention: Attention = Attention.ABSOLUTE) -> Transformer:
    """The network, which is the same for all machines.

    >>> network = universal_transformer()
    >>> network.layout.dimension, len(network.decoder)
    (21, 2)
    """
    places = WORKING[attention]
    layout = Layout.of(dict.fromkeys((*SHOWN, *RULE, *CHOSEN, *FOUND, *places), ""))
    nothing = affine_network(layout)
    is_dot = attention is Attention.DOT_PRODUCT
    found = affine_network(layout, {("w2", "v"): 1, ("R", "RR"): 1, ("L", "LL"): 1})
    if is_dot:
        # Key j is (2 kap, 2 kap, −kap²) in (r, s, on) and (2ε_j, −ε_j²) in (e_, one_); embeddings
        # have kap² in r. In layer 1 the score is 2 kap (r + s) − kap² on = (r+s)² − (kap − r − s)²,
        # for symbols at most −15; in layer 2, with e_ = ε_{i+1} and one_ = 1, it is
        # ε_{i+1}² − (ε_{i+1} − ε_j)².
        keys = affine_network(
            layout,
            {
                ("on", "r"): 2,
                ("on", "s"): 2,
                ("r", "on"): -1,
                ("e", "e_"): 2,
                ("e2", "one_"): -1,
            },
        )
        look_up = Layer(
            Q=affine_network(layout, {("sel", "e"): 2, ("one_", "e2"): -1}),
            K=affine_network(layout, {("e", "e"): 1, ("e2", "e2"): 1}),
            V=found,
            O=nothing,
        )
    else:
        # Key j is (kap, −1, −1) in (on, r, s) and (j, −1) in (e_, one_); embeddings have 1 in one_.
        keys = affine_network(
            layout,
            {
                ("on", "on"): 1,
                ("one_", "r"): -1,
                ("one_", "s"): -1,
                ("n", "e_"): 1,
                ("one_", "one_"): -1,
            },
        )
        look_up = Layer(
            Q=affine_network(layout, {("sel", "n"): 1, ("one_", "one_"): -1}),
            K=affine_network(layout, {("n", "n"): 1, ("one_", "one_"): 1}),
            V=found,
            O=nothing,
        )
    return Transformer(
        layout=layout,
        encoder=(),
        K=keys,
        V=affine_network(layout, {(block, block): 1 for block in RULE}),
        decoder=(Layer(Q=nothing, K=nothing, V=nothing, O=_rule_network(layout)), look_up),
        F=_next_network(layout),
        score=dot_product if is_dot else score_phi,
        pos=positions_in(layout, places),
    )


def _rule_network(layout: Layout) -> FeedForward:
    """O₁: ten units, and one_ = 1."""
    return unit_network(
        layout,
        [
            # Behind the gate: x + on − 1 is x while the machine runs, and else at most 0.
            Unit("state", {"r2": 1, "on": 1}, -1, {"r3": 1}),
            Unit("running", {"on2": 1, "on": 1}, -1, {"on3": 1}),
            Unit("right", {"m2": 1, "on": 1}, -1, {"m3": 1}),
            Unit("left", {"m2": -1, "on": 1}, -1, {"m3": -1}),
            # R + m2 − 1 is R for a move to the right, and else at most 0, as R ≤ 1.
            Unit("follow R", {"R": 1, "m2": 1}, -1, {"sel": 1}),
            Unit("follow L", {"L": 1, "m2": -1}, -1, {"sel": 1}),
            # The query of layer 2 must have (e_, one_) = (1/(i+1), 1) and 0 in r, s and on, which
            # lie in [0, 1], where σ is the identity.
            Unit("position", {"e": 1}, 0, {"e_": 1}),
            Unit("clear r", {"r": 1}, 0, {"r": -1}),
            Unit("clear s", {"s": 1}, 0, {"s": -1}),
            Unit("clear on", {"on": 1}, 0, {"on": -1}),
        ],
        bias={"one_": 1},
    )


def _next_network(layout: Layout) -> FeedForward:
    """F: seven units. The pointers are as in the pointer Transformer."""
    return unit_network(
        layout,
        [
            Unit("state", {"r3": 1}, 0, {"r": 1}),
            Unit("symbol", {"al": 1, "v": 1}, 0, {"s": 1}),
            Unit("running", {"on3": 1}, 0, {"on": 1}),
            Unit("R found", {"RR": 1, "m3": 1}, -1, {"R": 1}),
            Unit("R new", {"e": 1, "m3": -1}, -1, {"R": 1}),
            Unit("L found", {"LL": 1, "m3": -1}, -1, {"L": 1}),
            Unit("L new", {"e": 1, "m3": 1}, -1, {"L": 1}),
        ],
    )


def seed(layout: Layout) -> Vector:
    """y_0: q_init over #, running, both pointers NULL, which is token 0."""
    return Vector.of(layout, on=1, R=1, L=1)


@dataclass(frozen=True)
class RulePrompt:
    """A machine in normal form as a prompt."""

    normal: NormalMachine
    attention: Attention = Attention.ABSOLUTE
    design: Design = TWENTY_ONE

    @cached_property
    def dead(self) -> str:
        """The name of the dead state, if the design has one."""
        return fresh_name("dead", set(self.normal.machine.states))

    @cached_property
    def states(self) -> dict[str, int]:
        """The numbers of the states: q_init is 0, and a dead state is the last."""
        dead = () if self.design.halts else (self.dead,)
        return {state: n for n, state in enumerate((*self.normal.machine.states, *dead))}

    @cached_property
    def machine(self) -> TuringMachine:
        """The machine that outputs show: with a dead state, it goes there where no rule applies."""
        normal = self.normal.machine
        if self.design.halts:
            return normal
        pairs = product(normal.states, normal.symbols)
        missing = {
            (q, a): Action(self.dead, a, Move.R)
            for q, a in pairs
            if q not in normal.accepting and (q, a) not in normal.delta
        }
        return replace(normal, states=tuple(self.states), delta={**normal.delta, **missing})

    @cached_property
    def symbols(self) -> dict[str, int]:
        """The numbers of the symbols: # is 0."""
        sharp = self.normal.machine.blank
        return {a: number for number, a in enumerate([sharp, *self.normal.input_alphabet])}

    def input_tokens(self, layout: Layout) -> dict[str, Vector]:
        """The token of each symbol that an input may have."""
        return {
            symbol: _token(layout, self.attention, None, al=(1, self.symbols[symbol]))
            for symbol in self.normal.input_alphabet
        }

    def rule_tokens(self, layout: Layout) -> dict[tuple[str, str], Vector]:
        """The token of each pair of a state and a symbol."""
        return {
            (state, symbol): self._rule(layout, state, symbol)
            for state in self.states
            for symbol in self.symbols
        }

    def accepted(self, layout: Layout) -> Vector:
        """The token that x = 1 finds, in a design that does not halt."""
        return Vector.of(layout, on=1, one_=1, r2=1, m2=1)

    def _rule(self, layout: Layout, state: str, symbol: str) -> Vector:
        machine, number, halts = self.normal.machine, self.symbols[symbol], self.design.halts
        pair = self.states[state], number
        parts = {"m2": (0, 1)}
        if state in machine.accepting:
            parts |= {"r2": (0, 1), **({"w2": (1, number)} if halts else {})}
        elif (action := machine.action(state, symbol)) is not None:
            right = action.move is Move.R
            parts = {
                "r2": (2, self.states[action.state]),
                "w2": (1, self.symbols[action.write]),
                "m2": (0, 1 if right else self.design.left),
                **({"on2": (0, 1)} if halts else {}),
            }
        elif not halts:
            parts |= {"r2": (2, self.states[self.dead]), "w2": (1, number)}
        return _token(layout, self.attention, pair, **parts)


@lru_cache(maxsize=1 << 14)
def _token(
    layout: Layout, attention: Attention, pair: tuple[int, int] | None, **parts: tuple[int, int]
) -> Vector:
    """A token of a prompt: machines of one size share most, and engines know what they have seen.

    Each part is a number: itself (0), or that of which it is code₁ or code₂ (1, 2).
    """
    kap = Rational(NO_RULE) if pair is None else code_2(pair[0]) + code_1(pair[1])
    is_dot = attention is Attention.DOT_PRODUCT
    own: dict[str, Number] = {"r": kap * kap} if is_dot else {"one_": 1}
    codes = {name: (Rational, code_1, code_2)[code](n) for name, (code, n) in parts.items()}
    return Vector.of(layout, {"on": kap, **own, **codes})


@dataclass(frozen=True, kw_only=True)
class CompiledUniversalRules(CompiledUniversal):
    """The network and a machine in normal form, which is its prompt."""

    design: ClassVar[Design] = TWENTY_ONE
    normal: NormalMachine
    attention: Attention
    symbols: Mapping[str, Vector]
    """The tokens of an input's symbols."""
    rules: Mapping[tuple[str, str], Vector]
    """The tokens that follow every input, by state and symbol."""

    @property
    def machine(self) -> TuringMachine:
        """The machine whose run it does."""
        return self.normal.machine

    @cached_property
    def prompt(self) -> RulePrompt:
        """How states and symbols are numbered."""
        return RulePrompt(self.normal, self.attention, self.design)

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """The input, then the rules."""
        symbols = self.normal.check_word(word)
        return (*map(self.symbols.__getitem__, symbols), *self.rules.values())

    def is_final(self, y: Vector) -> bool:
        """𝔽: whether the state's block is 1, which no state's code is."""
        return y.number(self.design.state) == ONE


@dataclass(frozen=True, kw_only=True)
class CompiledSmallRules(CompiledUniversalRules):
    """The network of `sixteen` and a machine in normal form, which is its prompt."""

    design: ClassVar[Design] = SIXTEEN
    dead: str
    """The name of the state that has no rules of the machine's."""
    accepted: Vector
    """The last token of every prompt."""

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """The input, the rules, and the token that an accepting run ends with."""
        return (*super().embed(word), self.accepted)


def compile_universal_rules(
    normal: NormalMachine, attention: Attention = Attention.ABSOLUTE
) -> CompiledUniversalRules:
    """The constant network, with a machine in normal form as its prompt.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.machine.normal_form import normalize
    >>> compiled = compile_universal_rules(normalize(library_machine("palindrome")))
    >>> len(compiled.embed("ab"))  # 2 symbols, 11·3 pairs
    35
    """
    network, prompt = universal_transformer(attention), RulePrompt(normal, attention)
    return CompiledUniversalRules(**_prompted(network, prompt))


def compile_small_rules(normal: NormalMachine) -> CompiledSmallRules:
    """The network of `sixteen`, with a machine in normal form as its prompt.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.machine.normal_form import normalize
    >>> compiled = compile_small_rules(normalize(library_machine("palindrome")))
    >>> len(compiled.embed("ab"))  # 2 symbols, 12·3 pairs, accepted
    39
    """
    network = sixteen.small_universal_transformer()
    prompt = RulePrompt(normal, design=SIXTEEN)
    return CompiledSmallRules(
        **_prompted(network, prompt), dead=prompt.dead, accepted=prompt.accepted(network.layout)
    )


def _prompted(network: Transformer, prompt: RulePrompt) -> dict[str, Any]:
    layout = network.layout
    return {
        "network": network,
        "seed": seed(layout),
        "normal": prompt.normal,
        "attention": prompt.attention,
        "symbols": prompt.input_tokens(layout),
        "rules": prompt.rule_tokens(layout),
    }
