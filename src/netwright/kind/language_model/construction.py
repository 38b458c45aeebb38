"""The language model of a machine: embeddings, three blocks, and the unembedding.

Which token comes next (`unembedding`), in units of the logits:

- behind an address token or `<run>`: the step token of next move, state and symbol has q2 + Ys + m2
  = 3, every other step token 2 at most;
- behind a step token: `@p` has ⟨bits of p − 1, Z⟩ = b for the right address and b − 2 at most for
  others; if the run ends there, `<accept>` or `<reject>` has b + 2.
- `<run>` on the empty word is its own predecessor, so Z is not 0 there: b is taken off addresses.
"""

from dataclasses import dataclass

from netwright.errors import InputError
from netwright.exact.layout import Layout
from netwright.kind.language_model.block_0_rule import block_0
from netwright.kind.language_model.block_1_visits import block_1
from netwright.kind.language_model.block_2_address import address_block
from netwright.kind.language_model.definition import LanguageModel, Matrix
from netwright.kind.language_model.stream import bits, bits_of, stream_layout
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT, RUN, Vocabulary
from netwright.machine.turing_machine import TuringMachine

SHORTEST, LONGEST = 8, 1 << 16
"""Contexts that there can be."""


@dataclass(frozen=True)
class CompiledLanguageModel:
    """A machine, its tokens, and the model."""

    given: TuringMachine
    vocabulary: Vocabulary
    network: LanguageModel
    dtype: str = "float32"
    """The type of numbers in which it runs."""

    @property
    def context(self) -> int:
        """How many tokens a text can have."""
        return self.vocabulary.context

    def text(self, *tokens: int) -> str:
        """Tokens as text."""
        return " ".join(self.vocabulary.texts[token] for token in tokens)


def compile_language_model(given: TuringMachine, context: int = 1024) -> CompiledLanguageModel:
    """The model of a machine, for texts of so many tokens.

    >>> from netwright.machine.library import library_machine
    >>> compiled = compile_language_model(library_machine("palindrome"), 64)
    >>> len(compiled.network.vocabulary), compiled.network.stream.dimension
    (131, 101)
    """
    if not SHORTEST <= context <= LONGEST:
        raise InputError(f"context is {context:,}; expected {SHORTEST:,} to {LONGEST:,} tokens")
    vocabulary = Vocabulary.of(given, context)
    stream = stream_layout(vocabulary)
    tokens = Layout.of(token=vocabulary.texts)
    network = LanguageModel(
        stream,
        _wte(vocabulary, tokens, stream),
        positions(context, stream),
        (block_0(stream, vocabulary), block_1(stream), address_block(stream, 2)),
        _unembedding(vocabulary, stream, tokens),
    )
    return CompiledLanguageModel(given, vocabulary, network)


def positions(context: int, stream: Layout) -> Matrix:
    """wpe: T, A and N of every position."""
    b = bits_of(context)
    wpe = Matrix(Layout.of(position=[str(i) for i in range(context)]), stream)
    for block, back in (("T", 0), ("A", 1), ("N", 3)):
        places = stream.places(block)
        for i in range(context):
            wpe.entries.update(
                zip(((i, place) for place in places), bits(i - back, b), strict=True)
            )
    return wpe


def _wte(vocabulary: Vocabulary, tokens: Layout, stream: Layout) -> Matrix:
    """What a token is."""
    wte, machine = Matrix(tokens, stream), vocabulary.machine
    number, names = vocabulary.number, vocabulary.texts

    def put(token: int, *coordinates: tuple[str, str]) -> None:
        for coordinate in coordinates:
            wte.put(("token", names[token]), coordinate)

    put(RUN, ("w", machine.blank), ("isRUN", ""), ("q2", machine.start), ("m2", "R"))
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
    """`@p`: the bits of p − 1, and what it is."""
    b, places, is_p = bits_of(context), stream.places("far"), stream.index("isP")
    for p in range(context):
        row = ((first + p, place) for place in places)
        wte.entries.update(zip(row, bits(p - 1, b), strict=True))
        wte.entries[first + p, is_p] = 1


def _unembedding(vocabulary: Vocabulary, stream: Layout, tokens: Layout) -> Matrix:
    """U, whose reasons stand above."""
    U, b = Matrix(stream, tokens), bits_of(vocabulary.context)
    for step in vocabulary.steps:
        column = ("token", vocabulary.texts[vocabulary.number[step]])
        U.put(("q2", step.state), column)
        U.put(("Ys", step.symbol), column)
        U.put(("m2", str(step.move)), column)
    for p in range(vocabulary.context):
        column_number = vocabulary.first_address + p
        for place, bit in zip(stream.places("Z"), bits(p - 1, b), strict=True):
            U.entries[place, column_number] = bit
        U.entries[stream.index("isRUN"), column_number] = -b
    U.entries[stream.index("acc"), ACCEPT] = b + 2
    U.entries[stream.index("rej"), REJECT] = b + 2
    return U
