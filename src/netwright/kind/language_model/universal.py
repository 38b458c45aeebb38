"""One language model for all machines within its bounds: the rules are text in the prompt.

    <bos> q0:a #:R:q1 q1:a a:R:q1 … <tape> a b b a <run>

A rule is a key `q0:a` (in state q0 on symbol a) and an action `#:R:q1` (write #, move right, go to
q1). Rules are in any order, at most one for each key, none for `acc`, in which all accepting
states are one. The run begins in q0; its text is as for one machine, but a step `R:q1:b` does not
say what is written: the rules do. It ends with `R:acc:# <accept>`, or, where no rule fits, with
`R:q1:b @5 <halt>`. A word that the tokenizer does not know becomes `<unk>`; after such a prompt
`<halt>` comes at once.

States and symbols are numbers in bits ±1, so that the stream grows with their logarithm. Block 1 is
new: an address token, which has taken over its step, looks its rule up among the actions, which
have taken over their keys. With a = aq + as bits of a key, the scores are

| a | the action whose key is this one |
| a − 1 | `<bos>`, which means: there is no rule |
| ≤ a − 2 | other actions, as their keys differ in a bit |
| ≤ −a | all else: 2a is taken off |

Tokens that need no rule look at `<tape>`, whose value is 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Self

from netwright.errors import InputError
from netwright.exact.layout import Layout
from netwright.kind.language_model.block_0_rule import add_addresses
from netwright.kind.language_model.block_1_visits import (
    SIDES,
    add_far_address,
    first_lookup,
    refusing_lookup,
)
from netwright.kind.language_model.block_2_address import address_block
from netwright.kind.language_model.checkpoint import Weights, pack
from netwright.kind.language_model.construction import (
    add_address_tokens,
    address_logits,
    positions,
)
from netwright.kind.language_model.definition import Block, Head, LanguageModel, Matrix
from netwright.kind.language_model.parts import Sum, UnitList, lookup
from netwright.kind.language_model.stream import MOVES, bits, bits_of
from netwright.kind.language_model.text import visiting_steps
from netwright.kind.language_model.vocabulary import (
    Beginning,
    check_context,
    check_size,
    unused,
)
from netwright.machine.normal_form import remove_stays
from netwright.machine.turing_machine import Move, TuringMachine

ACCEPTING = "acc"
RUN, ACCEPT, HALT, PAD, BOS = range(5)
FLAGS = (
    *("isX", "isRUN", "isP", "isUNK", "isS", "isAct", "isTape", "isBOS"),
    *("first", "acc", "hlt", "one"),
)


@dataclass(frozen=True)
class UniversalVocabulary:
    """The tokens for numbers of states (with `acc`), symbols and positions."""

    states: tuple[str, ...]
    symbols: tuple[str, ...]
    """The blank first."""
    context: int

    @classmethod
    def of(cls, states: int, symbols: int, context: int) -> Self:
        """Round the numbers of states and symbols up to powers of two."""
        if not 2 <= states <= 1 << 12 or not 2 <= symbols <= 1 << 12:
            raise InputError("a universal model has 2 to 4,096 states, and as many symbols")
        check_context(context)
        q, s = (1 << (number - 1).bit_length() for number in (states, symbols))
        check_size(5 * q * s + context)
        names = (*(f"q{n}" for n in range(q - 1)), ACCEPTING)
        return cls(names, tuple(islice(_symbol_names(), s)), context)

    @property
    def aq(self) -> int:
        """The number of bits of a state."""
        return (len(self.states) - 1).bit_length()

    @property
    def a_s(self) -> int:
        """The number of bits of a symbol."""
        return (len(self.symbols) - 1).bit_length()

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """The pairs of state and symbol that a rule can have."""
        return [(q, a) for q in self.states if q != ACCEPTING for a in self.symbols]

    @cached_property
    def actions(self) -> list[tuple[str, str, str]]:
        """All triples of symbol to write, move and next state."""
        return [(w, m, q) for w in self.symbols for m in MOVES for q in self.states]

    @cached_property
    def steps(self) -> list[tuple[str, str, str]]:
        """All triples of move, state and symbol."""
        return [(m, q, a) for m in MOVES for q in self.states for a in self.symbols]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of all tokens."""
        used = (
            *("<run>", "<accept>", "<halt>", "<pad>", "<bos>", "<tape>", "<unk>"),
            *self.symbols,
            *map(":".join, self.keys),
            *map(":".join, self.actions),
            *map(":".join, self.steps),
        )
        addresses = (f"@{p}" for p in range(self.context))
        return (*used, *unused(len(used), self.context), *addresses)

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each token, by its text."""
        return {text: n for n, text in enumerate(self.texts)}

    def tape_part(self, letters: Sequence[str]) -> list[str]:
        """The end of a prompt, after the rules."""
        return ["<tape>", *letters]

    def begin(self, text: Sequence[str], cells: Sequence[str], start: TuringMachine) -> Beginning:
        """The prompt of a text of rules and tape; the cells have the machine's own symbols."""
        prompt = [BOS, *(self.number[each] for each in text), RUN]
        first, null = len(prompt) - 1 - len(cells), len(prompt) - 1
        visits = {cell: first + cell for cell in range(len(cells))}
        blanks, tape = (start.blank, start.blank), dict(enumerate(cells))
        return Beginning(prompt, tape, visits, 0, Move.R, start.start, blanks, (null, null))

    def address(self, place: int, visit: int) -> int:
        """The token that has the position of a visit; its own position is `place`."""
        return self.number["@0"] + visit

    def code(self, name: str) -> list[int]:
        """The bits of a state or of a symbol."""
        if name in self.states:
            return bits(self.states.index(name), self.aq)
        return bits(self.symbols.index(name), self.a_s)


def _symbol_names() -> Iterator[str]:
    yield from ("#", "0", "1", *"abcdefghijklmnopqrstuvwxyz")
    yield from (f"s{n}" for n in count(29))


@dataclass(frozen=True)
class Renaming:
    """A machine in the names of a universal model; all accepting states are `acc`."""

    states: dict[str, str]
    symbols: dict[str, str]
    pauses: frozenset[str]
    """The model's states in the middle of a stay of the given machine."""

    @staticmethod
    def of(given: TuringMachine, vocabulary: UniversalVocabulary) -> "Renaming":
        """Rename the start to q0 and the blank to #; keep symbols that the model has."""
        moving, pauses = remove_stays(given)
        if given.start in given.accepting:
            raise InputError("a machine that accepts before its first step cannot be a prompt")
        others = [q for q in moving.states if q not in moving.accepting and q != moving.start]
        most = len(vocabulary.states) - 1
        if len(others) + 1 > most or len(moving.symbols) > len(vocabulary.symbols):
            stays = f", {len(pauses)} of them for stays" if pauses else ""
            raise InputError(
                f"the machine has {len(others) + 1:,} states that do not accept{stays}, and "
                f"{len(moving.symbols):,} symbols; the model has {most:,} and "
                f"{len(vocabulary.symbols):,}"
            )
        states = {moving.start: "q0", **{q: f"q{n}" for n, q in enumerate(others, start=1)}}
        states |= dict.fromkeys(moving.accepting, ACCEPTING)
        symbols = _renamed_symbols(moving, vocabulary)
        return Renaming(states, symbols, frozenset(states[state] for state in pauses))


def _renamed_symbols(machine: TuringMachine, vocabulary: UniversalVocabulary) -> dict[str, str]:
    blank, *names = vocabulary.symbols
    kept = [s for s in machine.symbols if s in names and s != machine.blank]
    symbols = {machine.blank: blank, **dict(zip(kept, kept, strict=True))}
    rest = [symbol for symbol in machine.symbols if symbol not in symbols]
    free = [name for name in names if name not in kept]
    return symbols | dict(zip(rest, free, strict=False))


def prompt_text(
    given: TuringMachine, word: Sequence[str], vocabulary: UniversalVocabulary
) -> tuple[str, Renaming]:
    """Rules, tape and input as text; the tokenizer adds `<bos>` before and `<run>` after it."""
    renaming = Renaming.of(given, vocabulary)
    moving, _ = remove_stays(given)
    states, symbols = renaming.states, renaming.symbols
    parts = []
    for (q, a), action in moving.delta.items():
        write, move, after = symbols[action.write], str(action.move), states[action.state]
        parts += [f"{states[q]}:{symbols[a]}", f"{write}:{move}:{after}"]
    letters = [symbols[symbol] for symbol in given.check_word(word)]
    if len(parts) + len(letters) + 5 > vocabulary.context:
        raise InputError(
            f"{len(parts):,} tokens for rules and {len(letters):,} for the input do not fit into "
            f"the model's context of {vocabulary.context:,}"
        )
    return " ".join([*parts, *vocabulary.tape_part(letters)]), renaming


@dataclass(frozen=True)
class UniversalModel:
    """The universal model and its tokens."""

    vocabulary: UniversalVocabulary
    network: LanguageModel

    @property
    def context(self) -> int:
        """The greatest length of a text, in tokens."""
        return self.vocabulary.context

    def weights(self) -> Weights:
        """The tensors of the checkpoint."""
        return pack(self.network)


def universal_model(states: int, symbols: int, context: int) -> UniversalModel:
    """The model for machines and texts within these numbers of states, symbols and tokens."""
    vocabulary = UniversalVocabulary.of(states, symbols, context)
    stream = _stream(vocabulary)
    tokens = Layout.of(token=vocabulary.texts)
    previous = {"q1": "q1", "s1": "s1", "m1": "m1", "isTape": "first"}
    units = UnitList(stream)
    add_addresses(units, stream)
    network = LanguageModel(
        stream,
        _wte(vocabulary, tokens, stream),
        positions(context, stream),
        (
            Block((lookup(stream, "block.0.head.0", "A", "T", previous),), units.done()),
            Block((_rule_lookup(stream, vocabulary),)),
            _visits(stream),
            address_block(stream, 3),
        ),
        _unembedding(vocabulary, stream, tokens),
    )
    return UniversalModel(vocabulary, network)


def _stream(vocabulary: UniversalVocabulary) -> Layout:
    """The blocks as for one machine, in bits; VQ, VW, VM are an action's."""
    q, s, b = (
        [f"b{k}" for k in range(size)]
        for size in (vocabulary.aq, vocabulary.a_s, bits_of(vocabulary.context))
    )
    return Layout.of(
        {"q1": q, "s1": s, "m1": MOVES, "far": b, "T": b, "A": b, "N": b},
        **dict.fromkeys(FLAGS, ""),
        **{"VQ": q, "VW": s, "VM": MOVES, "q2": q, "w": s, "m2": MOVES, "R": b, "L": b},
        **{"vA": s, "RR": b, "vB": s, "LL": b, "Ys": s, "FAR": b, "Z": b},
    )


def _wte(vocabulary: UniversalVocabulary, tokens: Layout, stream: Layout) -> Matrix:
    """wte: codes of states and symbols, moves and flags of every token."""
    wte, number = Matrix(tokens, stream), vocabulary.number

    def put(text: str, codes: dict[str, str], moves: dict[str, str], *flags: str) -> None:
        row = number[text]
        for block, name in codes.items():
            wte.put_in_row(row, block, vocabulary.code(name))
        for block, move in moves.items():
            wte.entries[row, stream.index(block, move)] = 1
        for flag in flags:
            wte.entries[row, stream.index(flag)] = 1

    blank, start = vocabulary.symbols[0], vocabulary.states[0]
    put("<run>", {"w": blank, "q2": start}, {"m2": "R"}, "isRUN")
    put("<bos>", {}, {}, "isBOS")
    put("<tape>", {}, {}, "isTape")
    put("<unk>", {}, {}, "isUNK")
    for symbol in vocabulary.symbols:
        put(symbol, {"w": symbol}, {}, "isX")
    for q, a in vocabulary.keys:
        put(f"{q}:{a}", {"q1": q, "s1": a}, {})
    for w, m, q in vocabulary.actions:
        put(f"{w}:{m}:{q}", {"VQ": q, "VW": w}, {"VM": m}, "isAct")
    for m, q, a in vocabulary.steps:
        ends = ("acc",) if q == ACCEPTING else ()
        put(f"{m}:{q}:{a}", {"q1": q, "s1": a}, {"m1": m}, "isS", *ends)
    add_address_tokens(wte, number["@0"], vocabulary.context, stream)
    return wte


def _rule_lookup(stream: Layout, vocabulary: UniversalVocabulary) -> Head:
    """The head of block 1; the module docstring has its scores."""
    a = vocabulary.aq + vocabulary.a_s
    slots = Layout.of(q=stream.labels("q1"), s=stream.labels("s1"), act="", none="", rest="")
    Q, K = (Matrix(stream, slots).connect("q1", "q").connect("s1", "s") for _ in range(2))
    queries: dict[str, Sum] = {
        "act": {"isP": 2 * a},
        "none": {"isP": a - 1},
        "rest": dict.fromkeys(("isX", "isRUN", "isS", "isTape"), 4 * a),
    }
    for slot, inputs in queries.items():
        for source, weight in inputs.items():
            Q.put((str(source), ""), (slot, ""), weight)
    for slot, source in (("none", "isBOS"), ("rest", "isTape"), ("act", "isAct"), ("act", "isBOS")):
        K.put((source, ""), (slot, ""))
    K.put(("one", ""), ("act", ""), -1)  # so that scores are near 0 where they decide
    carried = {"VQ": "q2", "VW": "w", "VM": "m2", "isBOS": "hlt"}
    values = Layout.of({target: stream.labels(target) for target in carried.values()})
    V, O = Matrix(stream, values), Matrix(values, stream)
    for source, target in carried.items():
        V.connect(source, target)
        O.connect(target, target)
    return Head("block.1.head.0", Q, K, V, O, scale=2)


def _visits(stream: Layout) -> Block:
    """Both visits, as for one machine; `<run>` asks for the token that is first on the tape."""
    heads = (
        first_lookup(stream, "block.2.head.0"),
        refusing_lookup(stream, "block.2.head.1", "hlt"),
    )
    units = UnitList(stream)
    for move, v, pointer in SIDES:
        for k in stream.labels("Ys"):
            units.add(f"Ys{k}, {move}", {(v, k): 1, ("m2", move): 2}, -2, {("Ys", k): 2})
        closing: Sum = {("Ys", k): -1 for k in stream.labels("Ys")}
        units.add(f"Ys gate, {move}", {("m2", move): 2}, -1, closing)
        add_far_address(units, stream, move, pointer)
    return Block(heads, units.done())


def _unembedding(vocabulary: UniversalVocabulary, stream: Layout, tokens: Layout) -> Matrix:
    """The right token has 1 or more, all others −1 or less, as in `construction`.

    After a prompt with `<unk>` in it, `<run>` may have found anything: coordinates of q2 and m2 are
    2 at most, of Ys 9, of Z 5, so that a step has aq + 8as + 3 at most and an address 4b + 1.
    `<halt>` has 10 more than either.
    """
    number, b = vocabulary.number, bits_of(vocabulary.context)
    U = address_logits(stream, tokens, number["@0"], vocabulary.context, {"acc": 2 * b + 2})
    for m, q, a in vocabulary.steps:
        column = number[f"{m}:{q}:{a}"]
        for block, name in (("q2", q), ("Ys", a)):
            U.put_in_column(block, column, vocabulary.code(name))
        U.entries[stream.index("m2", m), column] = 2
        U.entries[stream.index("one"), column] = -(vocabulary.aq + vocabulary.a_s + 1)
    U.entries[stream.index("acc"), ACCEPT] = 2 * b + 2
    most = max(5 * b, vocabulary.aq + 8 * vocabulary.a_s)
    U.entries[stream.index("hlt"), HALT] = most + 16
    return U


def universal_text(
    given: TuringMachine, word: Sequence[str], vocabulary: UniversalVocabulary
) -> tuple[list[int], Iterator[int]]:
    """The prompt, and the tokens after it: a run of the machine, last visits by definition."""
    text, renaming = prompt_text(given, word, vocabulary)
    moving = remove_stays(given)[0]
    begun = vocabulary.begin(text.split(" "), given.check_word(word), moving)
    return begun.prompt, islice(_run_of(moving, renaming, begun, vocabulary), begun.told, None)


def _run_of(
    machine: TuringMachine, renaming: Renaming, begun: Beginning, vocabulary: UniversalVocabulary
) -> Iterator[int]:
    """The tokens of a run."""
    place = len(begun.prompt) - begun.told
    for step, visit in visiting_steps(machine, begun, place):
        place += 2
        shown = renaming.states[step.state]
        yield vocabulary.number[f"{step.move}:{shown}:{renaming.symbols[step.symbol]}"]
        if shown == ACCEPTING:
            yield ACCEPT
            return
        yield vocabulary.address(place - 1, visit)
    yield HALT
