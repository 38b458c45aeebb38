"""The Llama of a machine: embeddings, four blocks, and the unembedding.

*Block 0.* An address token takes over state, symbol and move of the step before it. One unit for
each rule multiplies Q1[q]·S1[a], which is 1 for the rule that applies; others set the offset behind
(`parts`). `<run>` has the rule of a step back in its embedding.

*Block 1.* The head looks for an `<unk>` in the prompt: `<run>` asks for it, with a score of 16
where there is one and 0 everywhere else. Units choose between the offsets to the right and left.

*Block 2.* The last visit of the next cell is looked up, and the next far offset is added up.

*Block 3.* A step token takes over that offset.

Which token comes next, in units of the logits:

- after an address token or `<run>`: the step of next move, state and symbol has
  2·(q2 + Ys + m2) − 5 = 1, every other one −1 at most;
- after a step: `@k` has 1 for the right k, −1 at most for all others (`parts.offset_logits`);
- if the run ends there: `<accept>` or `<reject>` has 1, and 4 is taken off the offsets;
- after a prompt with `<unk>`: `<reject>` has 1 − 4ε, as rej is 1 − ε, and 4·rej is taken off steps;
- after an end: `</s>`; 4·fin, which asks for it, is taken off the ends and the offsets.

All other tokens have −3 or less. So 2 is what it takes to tell steps apart, and offsets; all other
tokens have 4 less, as the phase of an offset is what errs most.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.kind.language_model.checkpoint import Weights
from netwright.kind.language_model.construction import CompiledLanguageModel
from netwright.kind.language_model.definition import Head
from netwright.kind.language_model.llama.checkpoint import pack_llama
from netwright.kind.language_model.llama.definition import (
    HardLlama,
    LlamaBlock,
    LlamaModel,
    RealMatrix,
)
from netwright.kind.language_model.llama.evaluators import FloatLlama, TorchLlama
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
from netwright.kind.language_model.llama.phases import PAIRS, SIZE, Phases
from netwright.kind.language_model.llama.vocabulary import BOS, STOP, UNKNOWN, LlamaVocabulary
from netwright.kind.language_model.stream import BLOCKS as ALL_BLOCKS
from netwright.kind.language_model.stream import MOVES
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, RUN, check_context
from netwright.machine.turing_machine import TuringMachine

PHASES = ("R", "L", "SEL", "OPP", "OP", "FAR")
FLAGS = ("isP", "isRUN", "isUNK", "acc", "rej", "fin")
BLOCKS = {
    **{name: ALL_BLOCKS[name] for name in ("q1", "s1", "m1", "q2", "w", "m2", "Ys")},
    **{name: ALL_BLOCKS[name] for name in ("isP", "isRUN", "isUNK", "acc", "rej", "one")},
    "Q1": "the state of the step before",
    "S1": "the symbol under the head in that step",
    "M1": "the move that led to it",
    "R": "the offset of the last visit of the cell to the right, as a phase",
    "L": "the offset of the last visit of the cell to the left, as a phase",
    "SEL": "the offset of the last visit of the next cell",
    "OPP": "the offset of the neighbour on the other side",
    "OP": "that of the visit that was looked up",
    "FAR": "the next far offset, from the next address token",
    "fin": "1 for <accept>, <halt> and <reject>",
}
MEANINGS = Meanings(
    blocks=BLOCKS,
    hidden={},
    weights={
        "wte": "what a token is",
        "block.0.head.0": "the token before: an address token takes over its step",
        "block.0.units": "the rule; and the offset of the cell behind",
        "block.1.head.0": "a token that the tokenizer does not know, for <run>",
        "block.1.units": "by the move, the offset of the next cell and that on the other side",
        "block.2.head.0": "the last visit of the cell to which the head goes",
        "block.2.products": "the next far offset, as a product of phases",
        "block.3.head.0": "the token before: a step token takes over the far offset",
        "U": "the logits: the next step, the next offset, or the end",
    },
)


@dataclass(frozen=True)
class CompiledLlama(CompiledLanguageModel):
    """A machine, its tokens, and its Llama."""

    vocabulary: LlamaVocabulary
    network: LlamaModel  # type: ignore[assignment]  # the other architecture

    pointers = (("block.2.head.0", None),)

    def by_definition(self) -> HardLlama:
        """The definition, with cached keys and values."""
        return HardLlama(self.network)

    def weights(self) -> Weights:
        """The tensors of the checkpoint.

        An address token of a step with a rule has these sums of squares, part by part: m for a
        phase, 1 for a state, symbol, move or flag.
        """
        m = Phases(self.context).pairs
        rest = (1, 4, 7, 7, 7, 8, 8, 8, 8)
        phases = (2, 2, 2, 2, 4, 5, 6, 6, 6)
        squares = [number * m + more for number, more in zip(phases, rest, strict=True)]
        return pack_llama(self.network, squares)

    def in_floats(self, tensors: dict[str, NDArray[np.float32]]) -> FloatLlama:
        """These tensors in numpy, in floats of the model's type."""
        return FloatLlama(tensors, self.context, self.dtype)

    def in_torch(self, tensors: dict[str, NDArray[np.float32]]) -> TorchLlama:
        """These tensors in transformers."""
        return TorchLlama(tensors, self.weights(), self.dtype)


def compile_llama(given: TuringMachine, context: int = 1024) -> CompiledLlama:
    """The Llama of a machine, for texts of at most `context` tokens.

    >>> from netwright.machine.library import library_machine
    >>> compiled = compile_llama(library_machine("palindrome"), 64)
    >>> len(compiled.network.vocabulary), compiled.network.stream.dimension
    (125, 152)
    """
    check_context(context)
    vocabulary, phases = LlamaVocabulary.of(given, context), Phases(context)
    stream = _stream(vocabulary, phases)
    tokens = Layout.of(token=vocabulary.texts)
    before = {"q1": "Q1", "s1": "S1", "m1": "M1"}
    network = LlamaModel(
        context,
        stream,
        _wte(vocabulary, phases, tokens, stream),
        (
            LlamaBlock(
                (look_back(stream, "block.0.head.0", phases, before, 1),),
                _rules(stream, vocabulary, phases).done(),
            ),
            LlamaBlock((_unknown(stream),), choosing(stream, phases).done()),
            visiting(stream, phases, 2),
            telling(stream, phases, 3),
        ),
        _unembedding(vocabulary, phases, stream, tokens),
    )
    return CompiledLlama(given, vocabulary, network)


def _stream(vocabulary: LlamaVocabulary, phases: Phases) -> Layout:
    states, symbols = vocabulary.machine.states, vocabulary.symbols
    return Layout.of(
        {"one": "", **dict.fromkeys(PHASES, phases.labels)},
        **{"q1": states, "s1": symbols, "m1": MOVES, "Q1": states, "S1": symbols, "M1": MOVES},
        **{"q2": states, "w": symbols, "m2": MOVES, "Ys": symbols},
        **dict.fromkeys(FLAGS, ""),
    )


def _wte(vocabulary: LlamaVocabulary, phases: Phases, tokens: Layout, stream: Layout) -> RealMatrix:
    """wte: state, symbol, move, offsets and flags of every token; `one` for all."""
    wte, number, machine = RealMatrix(tokens, stream), vocabulary.number, vocabulary.machine

    def put(token: int, *names: tuple[str, str], **offsets: int) -> None:
        for coordinate in names:
            wte.at(token, stream.index(*coordinate), 1)
        for block, offset in offsets.items():
            wte.set_row(token, block, phases.of(offset))

    for token in range(tokens.dimension):
        put(token, ("one", ""))
    for token in (ACCEPT, REJECT):
        put(token, ("fin", ""))
    put(BOS, ("w", vocabulary.edge), OPP=0)
    put(UNKNOWN, ("isUNK", ""))
    back = (("q2", vocabulary.rewind), ("m2", "L"))
    put(RUN, ("w", machine.blank), ("isRUN", ""), *back, OPP=0, SEL=1)
    for symbol in vocabulary.letters:
        put(number[symbol], ("w", symbol), OPP=1)
    for step in vocabulary.steps:
        put(number[step], ("q1", step.state), ("s1", step.symbol), ("m1", str(step.move)))
        if (end := vocabulary.ends(step)) is not None:
            put(number[step], ("acc" if end == ACCEPT else "rej", ""))
    for k in range(vocabulary.context):
        put(vocabulary.first_address + k, ("isP", ""), R=k, L=k)
    return wte


def _rules(stream: Layout, vocabulary: LlamaVocabulary, phases: Phases) -> GatedList:
    """The units of block 0."""
    units = GatedList(stream)
    for (state, symbol), action in vocabulary.machine.delta.items():
        units.add(
            f"rule {state!r}, {symbol!r}",
            {("Q1", state): 1},
            {("S1", symbol): 1},
            {("q2", action.state): 1, ("w", action.write): 1, ("m2", str(action.move)): 1},
        )
    add_offsets_behind(units, phases)
    return units


def _unknown(stream: Layout) -> Head:
    """The head of block 1; the slowest pair of RoPE does not turn within a context."""
    slots = Layout.of(pair=(f"re{PAIRS - 1}", f"im{PAIRS - 1}"))
    Q, K = RealMatrix(stream, slots), RealMatrix(stream, slots)
    Q.set(("isRUN", ""), ("pair", f"re{PAIRS - 1}"), SIZE)
    K.set(("isUNK", ""), ("pair", f"re{PAIRS - 1}"), 2)
    return carrying(stream, {"isUNK": "rej"}, "block.1.head.0", Q, K)


def _unembedding(
    vocabulary: LlamaVocabulary, phases: Phases, stream: Layout, tokens: Layout
) -> RealMatrix:
    """U, as the module docstring proves it."""
    taken_off = ("isP", "isRUN", "acc", "rej", "fin")
    U = offset_logits(stream, tokens, vocabulary.first_address, phases, taken_off)
    for step in vocabulary.steps:
        column = ("token", vocabulary.texts[vocabulary.number[step]])
        for row in (("q2", step.state), ("Ys", step.symbol), ("m2", str(step.move))):
            U.set(row, column, 2)
        U.set(("one", ""), column, -5)
        U.set(("rej", ""), column, -4)
    for flag, token in (("acc", ACCEPT), ("rej", REJECT), ("fin", STOP)):
        U.at(stream.index(flag), token, 4)
    for token in (ACCEPT, REJECT):
        U.at(stream.index("fin"), token, -4)
    return U
