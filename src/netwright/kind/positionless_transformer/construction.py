"""Positional encodings are not essential where attention is masked.

The pointer Transformer (`kind.pointer_transformer`), without a positional encoding and with as many
coordinates: d = 2|Q| + 4|Σ| + 10 for a machine in normal form that always moves. What it needs of
positions is 1/i alone, and that is a mean: of a flag b that only the first token has, over the
tokens 1 to i. So the encoder has one layer, and it is masked, a departure from the paper; the
decoder of Equation 9 is masked anyway.

| blocks       | content of token i                                                     |
|--------------|------------------------------------------------------------------------|
| q1 s1 R L    | y_i: ⟦q^(i)⟧ ⟦s^(i)⟧ and the pointers of `linked_visits`, as 1/(j+1)   |
| q2 w m sel   | ⟦q^(i+1)⟧ ⟦v^(i)⟧ m^(i), and the pointer to follow                     |
| al end       | of input token i + 2: ⟦w_{i+1}⟧, or 1 beyond the input                 |
| v RR LL      | what the look-up found: ⟦v^(j)⟧ R_j L_j                                |
| one e b      | 1, 1/(i+1), and 1 in the first token                                   |

The input is ^ w_1 … w_n $, and every embedding has one = 1: ^ has b = 1, w_j its symbol in s1, and
$ has end = 1.

| layer     | self attention                | feed-forward                                 |
|-----------|-------------------------------|----------------------------------------------|
| encoder 1 | the mean of b: e = 1/j        | none                                         |
| decoder 1 | the mean of b: e = 1/(i+1)    | O₁: the rule, and which pointer it follows   |
| decoder 2 | the token that is pointed to  | none                                         |
| after     |                               | F: the next symbol and the next two pointers |

Without the mask of the encoder a permutation of w changes no output (Proposition 3.1).
Bhattamishra, Patel and Goyal (CoNLL 2020) have shown that masks are enough for Transformers that
simulate RNNs; here every step of the machine is one token, and exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from netwright.definitions.masked_transformer import MaskedTransformer
from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Layer
from netwright.exact.feed_forward import Affine, FeedForward, affine_network
from netwright.exact.layout import Layout
from netwright.exact.rational import rational
from netwright.exact.vector import Vector
from netwright.kind.compiled_decoder import CompiledNormalDecoder
from netwright.kind.pointer_transformer.construction import HALF, BlockWeights, rule_network
from netwright.machine.normal_form import NormalMachine, fresh_name
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True, kw_only=True)
class CompiledPositionless(CompiledNormalDecoder):
    """A machine in normal form, and the Transformer without positions that shows its run.

    The last two rows of the embedding are those of ^ and $, under names that no symbol has.
    """

    network: MaskedTransformer

    def embed(self, word: Sequence[str]) -> tuple[Vector, ...]:
        """f(^ w $)."""
        begin, end = list(self.embedding)[-2:]
        return self.recognizer.embed((begin, *self.normal.check_word(word), end))

    @property
    def recognizer(self) -> Recognizer:
        """The recognizer; its words begin with ^ and end with $."""
        letters = tuple(self.embedding)
        return Recognizer(letters, self.embedding, self.network, self.seed, self.is_final)


def vector_layout(machine: TuringMachine) -> Layout:
    """The layout of the vectors for a machine in normal form."""
    states, symbols = machine.states, machine.symbols
    blocks: dict[str, Any] = {"q1": states, "s1": symbols, "R": "", "L": ""}
    blocks |= {"q2": states, "w": symbols, "m": "", "sel": "", "al": symbols, "end": ""}
    return Layout.of({**blocks, "v": symbols, "RR": "", "LL": "", "one": "", "e": "", "b": ""})


def compile_positionless(normal: NormalMachine) -> CompiledPositionless:
    """The network of a machine in normal form, which must always move.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.machine.normal_form import normalize
    >>> compiled = compile_positionless(normalize(library_machine("palindrome")))
    >>> compiled.layout.dimension  # 2·11 + 4·3 + 10
    44
    >>> compiled.network.pos is None
    True
    """
    machine = normal.machine
    layout = vector_layout(machine)
    nothing = affine_network(layout)
    # All scores are 0, so the values of the tokens 1 to i have equal weights: their mean is 1/i.
    mean = affine_network(layout, {("b", "e"): 1})
    network = MaskedTransformer(
        layout=layout,
        encoder=(Layer(Q=nothing, K=nothing, V=mean, O=nothing),),
        K=_encoder_keys(layout),
        V=affine_network(layout, {("s1", "al"): 1, ("end", "end"): 1}),
        decoder=(
            Layer(Q=nothing, K=nothing, V=mean, O=rule_network(layout, machine)),
            _look_up(layout),
        ),
        F=_next_network(layout, machine),
    )
    taken = set(machine.symbols)
    embedding = {symbol: Vector.of(layout, s1=symbol, one=1) for symbol in normal.input_alphabet}
    embedding[fresh_name("^", taken)] = Vector.of(layout, one=1, b=1)
    embedding[fresh_name("$", taken)] = Vector.of(layout, one=1, end=1)
    return CompiledPositionless(
        normal=normal,
        network=network,
        embedding=embedding,
        seed=Vector.of(layout, q1=normal.q_init, s1=machine.blank, R=1, L=1, one=1, b=1),
        final_states=machine.accepting,
    )


def _encoder_keys(layout: Layout) -> FeedForward:
    """K^e: key j is (−ε_j, 1 − ε_j) in (one, e), where ε_j = 1/j; the query has 1 and 1/(i+1).

    With e = 1/(i+1) the product is e (1 − ε_j) − ε_j = e − (1 + e) ε_j. It is 0 where ε_j =
    e/(1 + e) = 1/(i+2), and grows with j. So −|·| is greatest at input token min(i+2, n+2), and
    there alone: ^ is never asked for, and $ for ever once the input is over.
    """
    return affine_network(layout, {("e", "one"): -1, ("one", "e"): 1, ("e", "e"): -1})


def _look_up(layout: Layout) -> Layer:
    """Layer 2 attends to the token that `sel` points to, and takes what it wrote and its pointers.

    The product of query (sel, −1) and key (1, 1/(j+1)) in (one, e) is sel − 1/(j+1), which is 0 for
    the token pointed to alone. After the halt sel = 0, and the newest token wins.
    """
    return Layer(
        Q=affine_network(layout, {("sel", "one"): 1, ("one", "e"): -1}),
        K=affine_network(layout, {("one", "one"): 1, ("e", "e"): 1}),
        V=affine_network(layout, {("w", "v"): 1, ("R", "RR"): 1, ("L", "LL"): 1}),
        O=affine_network(layout),
    )


def _next_network(layout: Layout, machine: TuringMachine) -> FeedForward:
    """F: y_{i+1} from the last vector of token i.

    al and end are in it twice, as both layers attend to the encoder.

    - q1: a copy of q2. one: the bias 1. b: nothing, so only the seed has it.
    - s1, reading: all cells to the right are fresh, so the look-up is NULL and v = ⟦#⟧. The unit of
      the input's symbol a ≠ # is σ(al/2 + v) = 1, the others of symbols a ≠ # are 0, and that of #
      is σ(v + end/2 − 1) = 0.
    - s1, later: al = 0 and end/2 = 1, and all units are v, what was found.
    - R, L: as for the pointer Transformer. After a move to the right σ(RR + m − 1) = RR and
      σ(e − m − 1) = 0; after one to the left σ(RR − 2) = 0 and σ(e) = 1/(i+1). L: the mirror image.

    After the halt q2, w and m are 0: q1 is 0 then and for ever, as no rule applies.
    """
    symbols, blank = machine.symbols, machine.blank
    pointers = ("found", "new")
    hidden = Layout.of({"q": machine.states, "s": symbols, "R": pointers, "L": pointers})
    reads: BlockWeights = {
        ("q2", "q"): 1,
        ("al", "s"): HALF,
        ("v", "s"): 1,
        ("end", "s"): {("", blank): HALF},
        ("RR", "R"): {("", "found"): 1},
        ("LL", "L"): {("", "found"): 1},
        ("e", "R"): {("", "new"): 1},
        ("e", "L"): {("", "new"): 1},
        ("m", "R"): {("", "found"): 1, ("", "new"): -1},
        ("m", "L"): {("", "found"): -1, ("", "new"): 1},
    }
    bias = {"s": {blank: -1}, **dict.fromkeys("RL", dict.fromkeys(pointers, -1))}
    writes: BlockWeights = {
        ("q", "q1"): 1,
        ("s", "s1"): 1,
        ("R", "R"): {(name, ""): 1 for name in pointers},
        ("L", "L"): {(name, ""): 1 for name in pointers},
    }
    first = Affine.of(layout, hidden, reads, bias)
    return FeedForward((first, Affine.of(hidden, layout, writes, {"one": rational(1)})))
