"""The language model of a machine: embeddings, three blocks, and the unembedding.

Which token comes next (`unembedding`), in units of the logits:

- after an address token or `<run>`: the step token of next move, state and symbol has
  2·(q2 + Ys + m2) − 5 = 1, every other step token −1 at most;
- after a step token: `@p` has ⟨bits of p − 1, Z⟩ − (b − 1), which is 1 for the right address and −1
  at most for others; if the run ends there, `<accept>` or `<reject>` has 2b − 1, and 2b + 2 is
  taken off addresses;
- after a prompt with `<unk>` in it: `<reject>` has 2b − 1 (block 1), and a step token 1 at most;
- `<run>` on the empty word is its own predecessor, so Z is not 0 there: 2b is taken off addresses;
- all other tokens have −3.

So the right token alone is positive, and leads by 2: a penalty for repeated tokens, which divides
positive logits and multiplies negative ones, changes no choice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from netwright.exact.layout import Layout
from netwright.kind.language_model.block_0_rule import block_0
from netwright.kind.language_model.block_1_visits import block_1
from netwright.kind.language_model.block_2_address import address_block
from netwright.kind.language_model.checkpoint import Weights, pack
from netwright.kind.language_model.definition import LanguageModel, Matrix
from netwright.kind.language_model.evaluators import (
    Evaluator,
    FloatEvaluator,
    HardEvaluator,
    TorchEvaluator,
)
from netwright.kind.language_model.stream import bits, bits_of, stream_layout
from netwright.kind.language_model.vocabulary import (
    ACCEPT,
    REJECT,
    RUN,
    UNKNOWN,
    Vocabulary,
    check_context,
)
from netwright.machine.turing_machine import TuringMachine


@dataclass(frozen=True)
class CompiledLanguageModel:
    """A machine, its tokens, and the model."""

    given: TuringMachine
    vocabulary: Vocabulary
    network: LanguageModel
    dtype: str = "float32"
    """The floating-point type in which it runs."""

    pointers: ClassVar[tuple[tuple[str, str | None], ...]] = (
        ("block.1.head.0", "R"),
        ("block.1.head.1", "L"),
    )
    """The heads that look up last visits, each with the side; None: that of the next move."""

    def by_definition(self) -> Evaluator:
        """The definition, with cached keys and values."""
        return HardEvaluator(self.network)

    def weights(self) -> Weights:
        """The tensors of the checkpoint."""
        return pack(self.network)

    def in_floats(self, tensors: dict[str, NDArray[np.float32]]) -> Evaluator:
        """These tensors in numpy, in floats of the model's type."""
        return FloatEvaluator(tensors, len(self.network.blocks), self.dtype)

    def in_torch(self, tensors: dict[str, NDArray[np.float32]]) -> Evaluator:
        """These tensors in transformers."""
        return TorchEvaluator(tensors, len(self.network.blocks), self.dtype)

    @property
    def context(self) -> int:
        """The greatest length of a text, in tokens."""
        return self.vocabulary.context

    def text(self, *tokens: int) -> str:
        """Tokens as text."""
        texts = self.vocabulary.texts  # a tokenizer may have more tokens
        return " ".join(texts[n] if n < len(texts) else f"<token {n}>" for n in tokens)


def compile_language_model(given: TuringMachine, context: int = 1024) -> CompiledLanguageModel:
    """The model of a machine, for texts of at most `context` tokens.

    >>> from netwright.machine.library import library_machine
    >>> compiled = compile_language_model(library_machine("palindrome"), 64)
    >>> len(compiled.network.vocabulary), compiled.network.stream.dimension
    (136, 104)
    """
    check_context(context)
    vocabulary = Vocabulary.of(given, context)
    stream = stream_layout(vocabulary)
    tokens = Layout.of(token=vocabulary.texts)
    network = LanguageModel(
        stream,
        _wte(vocabulary, tokens, stream),
        positions(context, stream).put(("position", "0"), ("first", "")),
        (block_0(stream, vocabulary), block_1(stream), address_block(stream, 2)),
        _unembedding(vocabulary, stream, tokens),
    )
    return CompiledLanguageModel(given, vocabulary, network)


def positions(context: int, stream: Layout) -> Matrix:
    """wpe: T, A and N of every position, and `one`; the first is marked."""
    b = bits_of(context)
    wpe = Matrix(Layout.of(position=[str(i) for i in range(context)]), stream)
    for block, back in (("T", 0), ("A", 1), ("N", 3)):
        for i in range(context):
            wpe.put_in_row(i, block, bits(i - back, b))
    wpe.entries.update({(i, stream.index("one")): 1 for i in range(context)})
    return wpe


def _wte(vocabulary: Vocabulary, tokens: Layout, stream: Layout) -> Matrix:
    """wte: state, symbol, move and flags of every token."""
    wte, machine = Matrix(tokens, stream), vocabulary.machine
    number, names = vocabulary.number, vocabulary.texts

    def put(token: int, *coordinates: tuple[str, str]) -> None:
        for coordinate in coordinates:
            wte.put(("token", names[token]), coordinate)

    put(RUN, ("w", machine.blank), ("isRUN", ""), ("q2", machine.start), ("m2", "R"))
    put(UNKNOWN, ("isUNK", ""))
    for symbol in vocabulary.symbols:
        put(number[symbol], ("w", symbol), ("isX", ""))
    for step in vocabulary.steps:
        put(number[step], ("q1", step.state), ("s1", step.symbol), ("m1", str(step.move)))
        if (end := vocabulary.ends(step)) is not None:
            put(number[step], ("acc" if end == ACCEPT else "rej", ""))
    for left in vocabulary.lefts:
        put(number[left], ("s1", left.symbol), ("m1", "R"), ("ld", ""))
        if left.state is not None:
            put(number[left], ("q1", left.state))
    add_address_tokens(wte, vocabulary.first_address, vocabulary.context, stream)
    return wte


def add_address_tokens(wte: Matrix, first: int, context: int, stream: Layout) -> None:
    """Add the rows of `@p`: the bits of p − 1 in far, and isP."""
    b, is_p = bits_of(context), stream.index("isP")
    for p in range(context):
        wte.put_in_row(first + p, "far", bits(p - 1, b))
        wte.entries[first + p, is_p] = 1


def _unembedding(vocabulary: Vocabulary, stream: Layout, tokens: Layout) -> Matrix:
    """U, as the module docstring proves it."""
    context, b = vocabulary.context, bits_of(vocabulary.context)
    taken_off = {"isRUN": 2 * b, "acc": 2 * b + 2, "rej": 2 * b + 2}
    U = address_logits(stream, tokens, vocabulary.first_address, context, taken_off)
    for step in vocabulary.steps:
        column = ("token", vocabulary.texts[vocabulary.number[step]])
        for row in (("q2", step.state), ("Ys", step.symbol), ("m2", str(step.move))):
            U.put(row, column, 2)
        U.put(("one", ""), column, -5)
    U.entries[stream.index("acc"), ACCEPT] = 2 * b + 2
    U.entries[stream.index("rej"), REJECT] = 2 * b + 2
    return U


def address_logits(
    stream: Layout, tokens: Layout, first: int, context: int, taken_off: Mapping[str, int]
) -> Matrix:
    """U for the tokens `@p`, less what some flags take off; −3 for all tokens before them."""
    U, b, one = Matrix(stream, tokens), bits_of(context), stream.index("one")
    U.entries.update({(one, token): -3 for token in range(first)})
    for p in range(context):
        U.put_in_column("Z", first + p, bits(p - 1, b))
        U.entries[one, first + p] = -(b - 1)
        for flag, number in taken_off.items():
            U.entries[stream.index(flag), first + p] = -number
    return U
