"""One Llama for all machines: the rules are text in the prompt.

    <s> q0:a #:R:q1 … <tape> b b <run> R:q0:a @3 R:q1:b @4 …

A prompt has the rules as for GPT-2 (`kind.language_model.universal`), then the cells right of the
head, the farthest first, then those left of it, the leftmost first, and a step onto the head's
cell: the form in which a run is resumed. So there is no walk back. `<tape>` stands for all cells
right of these, `<run>` for all to the left.

Block 1's head looks the rule up, in pairs of RoPE that hardly turn within a context. In units of
16, with a = aq + as bits of a key, the scores of an address token are

| a + 3 | the action whose key is this one |
| a + 2 | `<s>`, which means: there is no rule |
| ≤ a + 1 | other actions, as their keys differ in a bit |
| ≤ a | all else |

Tokens that need no rule look at `<s>`. Its units choose between offsets, as for one machine, and
one lets the flag of `<s>` through for address tokens. A step has the logit
⟨q, q2⟩ + ⟨a, Ys⟩ + 2·m2 − (a + 1), which is 1 for the right one and −1 at most for others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.kind.language_model.definition import Head
from netwright.kind.language_model.llama.checkpoint import LlamaWeights, pack_llama
from netwright.kind.language_model.llama.construction import MEANINGS, PHASES
from netwright.kind.language_model.llama.definition import LlamaBlock, LlamaModel, RealMatrix
from netwright.kind.language_model.llama.parts import (
    GatedList,
    add_offsets_behind,
    carrying,
    choosing,
    look_back,
    offset_logits,
    telling,
    visiting,
)
from netwright.kind.language_model.llama.phases import Phases
from netwright.kind.language_model.stream import MOVES
from netwright.kind.language_model.universal import (
    ACCEPT,
    ACCEPTING,
    BOS,
    HALT,
    RUN,
    UniversalModel,
    UniversalVocabulary,
)
from netwright.kind.language_model.vocabulary import Beginning
from netwright.machine.turing_machine import Move, TuringMachine

STOP, TAPE, UNKNOWN = 3, 5, 6
FLAGS = ("isP", "isAct", "isBOS", "acc", "hl", "hlt", "fin")
UNIVERSAL_MEANINGS = Meanings(
    blocks={
        **MEANINGS.blocks,
        "isAct": "1 for the action of a rule",
        "isBOS": "1 for <s>",
        "VQ": "the next state of an action",
        "VW": "the symbol that an action writes",
        "VM": "the move of an action",
        "hl": "1 where no rule was found",
        "hlt": "the same, for an address token",
        "fin": "1 for <accept> and <halt>",
    },
    hidden={},
    weights={
        **MEANINGS.weights,
        "block.0.head.0": "the token before: a step for its address token, a key for its action",
        "block.1.head.0": "the rule for state and symbol, in the prompt; or <s>: there is none",
    },
)


@dataclass(frozen=True)
class LlamaUniversalVocabulary(UniversalVocabulary):
    """The tokens for numbers of states (with `acc`), symbols and positions."""

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all tokens."""
        return (
            *("<run>", "<accept>", "<halt>", "</s>", "<s>", "<tape>", "<unk>"),
            *self.symbols,
            *map(":".join, self.keys),
            *map(":".join, self.actions),
            *map(":".join, self.steps),
            *(f"@{k}" for k in range(self.context)),
        )

    def tape_part(self, letters: Sequence[str]) -> list[str]:
        """The end of a prompt, after the rules."""
        first, *others = letters or self.symbols[:1]
        return ["<tape>", *reversed(others), "<run>", f"R:{self.states[0]}:{first}", "@3"]

    def begin(self, text: Sequence[str], cells: Sequence[str], start: TuringMachine) -> Beginning:
        """The prompt of a text of rules and tape; the cells have the machine's own symbols."""
        prompt, n = [BOS, *(self.number[each] for each in text)], max(1, len(cells))
        run = len(prompt) - 3
        visits = {cell: run - cell for cell in range(1, n)}
        blanks, tape = (start.blank, start.blank), dict(enumerate(cells))
        nulls = run, run - n
        return Beginning(prompt, tape, visits, 0, Move.R, start.start, blanks, nulls, told=2)

    def address(self, place: int, visit: int) -> int:
        """The token for a visit, seen from its own position `place`."""
        return self.number["@0"] + place - visit


@dataclass(frozen=True)
class UniversalLlama(UniversalModel):
    """The universal Llama and its tokens."""

    vocabulary: LlamaUniversalVocabulary
    network: LlamaModel  # type: ignore[assignment]  # the other architecture

    def weights(self) -> LlamaWeights:
        """The tensors of the checkpoint; the sums of squares are those of an address token."""
        m, vocabulary = Phases(self.context).pairs, self.vocabulary
        a, s = vocabulary.aq + vocabulary.a_s, vocabulary.a_s
        rest = (1, a + 2, a + 2, 2 * a + 3, 2 * a + 3, *[2 * a + s + 3] * 4)
        phases = (2, 2, 2, 2, 4, 5, 6, 6, 6)
        squares = [number * m + more for number, more in zip(phases, rest, strict=True)]
        return pack_llama(self.network, squares)


def universal_llama(states: int, symbols: int, context: int) -> UniversalLlama:
    """The Llama for machines and texts within these numbers of states, symbols and tokens."""
    vocabulary = LlamaUniversalVocabulary.of(states, symbols, context)
    phases = Phases(context)
    stream = _stream(vocabulary, phases)
    tokens = Layout.of(token=vocabulary.texts)
    before = {"q1": "Q1", "s1": "S1", "m1": "M1"}
    behind, chosen = GatedList(stream), choosing(stream, phases)
    add_offsets_behind(behind, phases)
    chosen.add("no rule", {"isP": 1}, {"hl": 1}, {"hlt": 1})
    network = LlamaModel(
        context,
        stream,
        _wte(vocabulary, phases, tokens, stream),
        (
            LlamaBlock((look_back(stream, "block.0.head.0", phases, before, 1),), behind.done()),
            LlamaBlock((_rule_lookup(stream, vocabulary, phases),), chosen.done()),
            visiting(stream, phases, 2),
            telling(stream, phases, 3),
        ),
        _unembedding(vocabulary, phases, stream, tokens),
    )
    return UniversalLlama(vocabulary, network)


def _stream(vocabulary: UniversalVocabulary, phases: Phases) -> Layout:
    q, s = ([f"b{k}" for k in range(size)] for size in (vocabulary.aq, vocabulary.a_s))
    return Layout.of(
        {"one": "", **dict.fromkeys(PHASES, phases.labels)},
        **{"q1": q, "s1": s, "m1": MOVES, "Q1": q, "S1": s, "M1": MOVES},
        **{"VQ": q, "VW": s, "VM": MOVES, "q2": q, "w": s, "m2": MOVES, "Ys": s},
        **dict.fromkeys(FLAGS, ""),
    )


def _wte(
    vocabulary: UniversalVocabulary, phases: Phases, tokens: Layout, stream: Layout
) -> RealMatrix:
    """wte: codes of states and symbols, moves, offsets and flags of every token; `one` for all."""
    wte, number = RealMatrix(tokens, stream), vocabulary.number

    def put(token: int, *flags: str, move: tuple[str, str] | None = None, **codes: str) -> None:
        for flag in flags:
            wte.at(token, stream.index(flag), 1)
        if move is not None:
            wte.at(token, stream.index(*move), 1)
        for block, name in codes.items():
            wte.set_row(token, block, vocabulary.code(name))

    blank = vocabulary.symbols[0]
    for token in range(tokens.dimension):
        put(token, "one")
    for token in (ACCEPT, HALT):
        put(token, "fin")
    put(BOS, "isBOS")
    for token, offset in ((RUN, 0), (TAPE, 0), *((number[a], 1) for a in vocabulary.symbols)):
        wte.set_row(token, "OPP", phases.of(offset))
    for token in (RUN, TAPE):
        put(token, w=blank)
    for symbol in vocabulary.symbols:
        put(number[symbol], w=symbol)
    for q, a in vocabulary.keys:
        put(number[f"{q}:{a}"], q1=q, s1=a)
    for w, m, q in vocabulary.actions:
        put(number[f"{w}:{m}:{q}"], "isAct", move=("VM", m), VQ=q, VW=w)
    for m, q, a in vocabulary.steps:
        ends = ("acc",) if q == ACCEPTING else ()
        put(number[f"{m}:{q}:{a}"], *ends, move=("m1", m), q1=q, s1=a)
    for k in range(vocabulary.context):
        token = number["@0"] + k
        put(token, "isP")
        for block in ("R", "L"):
            wte.set_row(token, block, phases.of(k))
    return wte


def _rule_lookup(stream: Layout, vocabulary: UniversalVocabulary, phases: Phases) -> Head:
    """The head of block 1; the module docstring has its scores."""
    bits = [(block, k) for block in ("Q1", "S1") for k in stream.labels(block)]
    a = len(bits)
    # A context of 65,536 tokens leaves 15 slow pairs, and a vocabulary has fewer than 28 bits.
    pairs = phases.slow[: (a + 3) // 2]
    labels = [f"{part}{j}" for part in ("re", "im") for j in pairs]
    slots = Layout.of(pair=labels)
    Q, K = RealMatrix(stream, slots), RealMatrix(stream, slots)
    asked = [*((bit, 1, bit) for bit in bits), (("isP", ""), 3, ("isAct", ""))]
    for slot, (query, weight, key) in zip(
        labels, [*asked, (("one", ""), a + 2, ("isBOS", ""))], strict=False
    ):
        Q.set(query, ("pair", slot), 16 * weight)
        K.set(key, ("pair", slot), 8)
    carried = {"VQ": "q2", "VW": "w", "VM": "m2", "isBOS": "hl"}
    return carrying(stream, carried, "block.1.head.0", Q, K)


def _unembedding(
    vocabulary: UniversalVocabulary, phases: Phases, stream: Layout, tokens: Layout
) -> RealMatrix:
    """The right token has 1, other steps and offsets −1 or less, all else −3 or less."""
    number, a = vocabulary.number, vocabulary.aq + vocabulary.a_s
    U = offset_logits(stream, tokens, number["@0"], phases, ("isP", "acc"))
    one = stream.index("one")
    for m, q, s in vocabulary.steps:
        column = number[f"{m}:{q}:{s}"]
        for block, name in (("q2", q), ("Ys", s)):
            for row, bit in zip(stream.places(block), vocabulary.code(name), strict=True):
                U.at(row, column, bit)
        U.at(stream.index("m2", m), column, 2)
        U.at(one, column, -(a + 1))
    for flag, token in (("acc", ACCEPT), ("hlt", HALT), ("fin", STOP)):
        U.at(stream.index(flag), token, 4)
    return U
