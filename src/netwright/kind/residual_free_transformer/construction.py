"""Residual connections around self-attention and feed-forward networks are not essential.

A decoder-only Transformer with two layers of two heads and no residual connection at all: z =
O(head 1 + head 2). It follows pointers, as `kind.pointer_transformer`. Head 1 attends to the token
itself, and hands on what is needed; all coordinates are in [0, 1], so that σ(x) = x hands it
through a feed-forward network. d = 2|Q| + 3|Σ| + 9, with |Q| = m + 2.

| blocks      | content of token i                                                      |
|-------------|-------------------------------------------------------------------------|
| q1 s1 R L   | y_i: ⟦q^(i)⟧ ⟦s^(i)⟧ and the pointers of `linked_visits`, as 1/(j+1)    |
| q2 w mR mL  | ⟦q^(i+1)⟧ ⟦v^(i)⟧ and the move                                          |
| sel         | the pointer to follow                                                   |
| v RR LL     | what the look-up found: ⟦v^(j)⟧ R_j L_j                                 |
| one e       | 1, 1/(i+1): the positional encoding                                     |

| layer | head 1: itself    | head 2                     | feed-forward                            |
|-------|-------------------|----------------------------|-----------------------------------------|
| 1     | q1 s1 R L one e   | nothing                    | O₁: the rule and sel; copies R L one e  |
| 2     | q2 mR mL e        | v RR LL of the pointed-to  | O₂: copies all of it                    |
| after |                   |                            | F: the next symbol and pointers         |

There is no encoder, so the input is a prompt, from the last symbol to the first. The machine gets
two states: (load, a) ↦ (run, a, left) for every a, and (run, #) ↦ (q₀, #, right). Token 0 is (load,
#) with R = L = NULL. Token p ≤ n is given as (load, w_{n+1−p}) with R = 1/p, the token before, and
L = NULL. So the loading tokens are a run of visits from the right end of the input to its left, and
the lemma of linked visits holds for them and for what follows. Of these tokens the network would
say the pointers itself, as F does after a move to the left; state and symbol are the prompt's.
y_{n+1} = (run, #), and y_{n+2+t} shows the machine at time t. Blanks in the input are visited, and
so allowed; a stay is two moves.

Bhattamishra, Patel and Goyal (CoNLL 2020) first asked which residual connections are essential:
`statements.residual_around_cross_attention` has the other half of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.residual_free import Head, HeadsLayer, ResidualFree
from netwright.exact.feed_forward import Affine, FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.rational import ONE
from netwright.exact.vector import Part, Vector
from netwright.kind.pointer_transformer.construction import BlockWeights, rule_network
from netwright.kind.pointer_transformer.proof_values import pointer
from netwright.kind.pointer_transformer.units import positions_in
from netwright.machine.normal_form import fresh_name, remove_stays
from netwright.machine.turing_machine import Action, Move, TuringMachine

KEPT_1, KEPT_2 = ("q1", "s1", "R", "L", "one", "e"), ("q2", "mR", "mL", "e")
"""What head 1 hands on in each layer."""


@dataclass(frozen=True)
class PromptedMachine:
    """The given machine without stays, and with the two states that read a prompt."""

    given: TuringMachine
    machine: TuringMachine
    load: str
    run: str
    pauses: frozenset[str]
    """The states between the two moves that replace a stay."""

    def is_given_state(self, state: str) -> bool:
        """Whether the given machine has a state."""
        return state not in (self.load, self.run) and state not in self.pauses


@dataclass(frozen=True, kw_only=True)
class CompiledResidualFree:
    """A machine, and the network without residual connections that shows its run."""

    prompted: PromptedMachine
    network: ResidualFree
    seed: Vector
    embedding: Mapping[str, Vector]
    """The loading tokens of symbols, but for R, which points to the token before."""
    final_states: frozenset[str]

    @property
    def layout(self) -> Layout:
        """The layout of the network's vectors."""
        return self.network.layout

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """The prompt: a loading token for each symbol, from the last one to the first."""
        symbols = [*reversed(self.prompted.given.check_word(word))]
        before = (Vector.of(self.layout, R=pointer(p)) for p in range(len(symbols)))
        return tuple(self.embedding[a] + R for a, R in zip(symbols, before, strict=True))

    def is_final(self, y: Vector) -> bool:
        """𝔽: whether block q1 is the one-hot of a final state."""
        return any(y["q1"] == {state: ONE} for state in self.final_states)

    def recognizer_of(self, word: Sequence[str]) -> Recognizer:
        """The recognizer of the prompt of a word, whose tokens have the names of their places."""
        X = self.embed(word)
        names = tuple(map(str, range(len(X))))
        return Recognizer(
            names, dict(zip(names, X, strict=True)), self.network, self.seed, self.is_final
        )


def with_prompt(given: TuringMachine) -> PromptedMachine:
    """Add the two states; `given` may stay."""
    machine, pauses = remove_stays(given)
    taken = set(machine.states)
    load, run = fresh_name("_load", taken), fresh_name("_run", taken)
    delta = {(load, a): Action(run, a, Move.L) for a in machine.symbols}
    delta |= {(run, machine.blank): Action(machine.start, machine.blank, Move.R)}
    rules = {key: act for key, act in machine.delta.items() if key[0] not in machine.accepting}
    states = (*machine.states, load, run)
    made = replace(machine, states=states, start=load, delta={**rules, **delta}, default_input=())
    return PromptedMachine(given, made, load, run, pauses)


def vector_layout(machine: TuringMachine) -> Layout:
    """The layout of the vectors for a machine with a prompt."""
    states, symbols = machine.states, machine.symbols
    blocks: dict[str, Any] = {"q1": states, "s1": symbols, "R": "", "L": "", "q2": states}
    blocks |= {"w": symbols, "mR": "", "mL": "", "sel": "", "v": symbols, "RR": "", "LL": ""}
    return Layout.of({**blocks, "one": "", "e": ""})


def compile_residual_free(given: TuringMachine) -> CompiledResidualFree:
    """The network of a machine.

    >>> from netwright.machine.library import library_machine
    >>> compiled = compile_residual_free(library_machine("palindrome"))
    >>> compiled.layout.dimension  # 2·10 + 3·3 + 9
    38
    >>> compiled.recognizer_of("abba").accepts_at("0123", 100)  # 4 + 2 and 15 steps
    21
    """
    prompted = with_prompt(given)
    machine = prompted.machine
    layout = vector_layout(machine)
    nothing = affine_network(layout)
    itself = {("e", "one"): 1, ("one", "e"): -1}
    pointed = {("sel", "one"): 1, ("one", "e"): -1}
    found = {("w", "v"): 1, ("R", "RR"): 1, ("L", "LL"): 1}
    network = ResidualFree(
        layout=layout,
        decoder=(
            HeadsLayer(
                (_head(layout, itself, _identity(KEPT_1)), Head(nothing, nothing, nothing)),
                _rule(layout, machine),
            ),
            HeadsLayer(
                (_head(layout, itself, _identity(KEPT_2)), _head(layout, pointed, found)),
                _copies(layout, ("q2", "v", "mR", "mL", "e", "RR", "LL")),
            ),
        ),
        F=_next_network(layout, machine),
        pos=positions_in(layout, ("one", "e")),
    )
    load: dict[str, Part] = {"q1": prompted.load, "L": 1}
    return CompiledResidualFree(
        prompted=prompted,
        network=network,
        seed=Vector.of(layout, load, s1=machine.blank, R=1),
        embedding={a: Vector.of(layout, load, s1=a) for a in machine.symbols},
        final_states=given.accepting or frozenset(given.halting_states),
    )


def _identity(blocks: Sequence[str]) -> dict[tuple[str, str], int]:
    return {(block, block): 1 for block in blocks}


def _head(
    layout: Layout, query: Mapping[tuple[str, str], int], value: Mapping[tuple[str, str], int]
) -> Head:
    """A head whose key is (1, ε_j) in (one, e), where ε_j = 1/(j+1).

    With the query (ε_i, −1) the product is ε_i − ε_j: 0 for token i itself, and for no other. With
    (sel, −1) it is sel − ε_j: 0 for the token pointed to alone; with sel = 0 the newest token wins.
    """
    Q, V = affine_network(layout, query), affine_network(layout, value)
    return Head(Q, affine_network(layout, _identity(("one", "e"))), V)


def _copies(layout: Layout, blocks: Sequence[str]) -> FeedForward:
    """σ(x) for each coordinate of some blocks; it is x, as all of them are in [0, 1]."""
    hidden = Layout.of({block: layout.labels(block) for block in blocks})
    into = Affine.of(layout, hidden, _identity(blocks))
    return FeedForward((into, Affine.of(hidden, layout, _identity(blocks))))


def _rule(layout: Layout, machine: TuringMachine) -> FeedForward:
    """O₁: the units of the pointer Transformer's O₁, and copies of R, L, one and e."""
    kept = ("R", "L", "one", "e")
    (reads, writes), (copy, back) = rule_network(layout, machine).maps, _copies(layout, kept).maps
    hidden = Layout((*reads.output.blocks, *copy.output.blocks))
    shift = reads.output.dimension
    into = dict(reads.weights) | {(j, k + shift): w for (j, k), w in copy.weights.items()}
    out = dict(writes.weights) | {(j + shift, k): w for (j, k), w in back.weights.items()}
    bias = Vector(hidden, reads.bias.entries)
    return FeedForward(
        (Affine(layout, hidden, into, bias), Affine(hidden, layout, out, Vector.zero(layout)))
    )


def _next_network(layout: Layout, machine: TuringMachine) -> FeedForward:
    """F: y_{i+1} from the last vector of token i.

    - q1: a copy of q2. s1: a copy of v; at NULL that is #, and the cell is fresh.
    - R: after a move to the right σ(RR + mR − 1) = RR and σ(e + mL − 1) = σ(e − 1) = 0; after one
      to the left σ(RR − 1) = 0 and σ(e) = 1/(i+1), the pointer to token i. L: the mirror image.

    After the halt q2 and the moves are 0: q1, R and L are 0 then, and for ever, as no rule applies.
    """
    pointers = ("found", "new")
    hidden = Layout.of({"q": machine.states, "s": machine.symbols, "R": pointers, "L": pointers})
    reads: BlockWeights = {
        ("q2", "q"): 1,
        ("v", "s"): 1,
        ("RR", "R"): {("", "found"): 1},
        ("LL", "L"): {("", "found"): 1},
        ("e", "R"): {("", "new"): 1},
        ("e", "L"): {("", "new"): 1},
        ("mR", "R"): {("", "found"): 1},
        ("mL", "R"): {("", "new"): 1},
        ("mL", "L"): {("", "found"): 1},
        ("mR", "L"): {("", "new"): 1},
    }
    writes: BlockWeights = {
        ("q", "q1"): 1,
        ("s", "s1"): 1,
        ("R", "R"): {(name, ""): 1 for name in pointers},
        ("L", "L"): {(name, ""): 1 for name in pointers},
    }
    bias = dict.fromkeys("RL", dict.fromkeys(pointers, -1))
    first = Affine.of(layout, hidden, reads, bias)
    return FeedForward((first, Affine.of(hidden, layout, writes)))
