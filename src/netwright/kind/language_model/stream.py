"""The residual stream: the names of all its coordinates.

| block | size | meaning |
|---|---|---|
| q1 s1 m1 | states, symbols, 2 | the step: state, symbol under the head, move that led here |
| far | b | the address in an `@p` token |
| T A N | b each | position i, i − 1 and i − 3, as bits ±1 |
| isX isRUN isP isUNK acc rej | 1 each | the kind of token; whether the run ends here |
| q2 w m2 | states, symbols, 2 | the rule: next state, symbol written, move |
| R L | b each | the last visits of the cells to the right and to the left |
| vA RR, vB LL | symbols, b | what was written at these visits, and their own R and L |
| Ys FAR | symbols, b | the next symbol, and the next far address |
| Z | b | that address, for the step token that follows |
| ld | 1 | whether the token resumes a run |
| first one | 1 each | whether the position is 0; the number 1 |

An address p is the bits of p − 1, so that position 0 has the address 11…1. A bit is 1 or −1, the
least significant, b0, first.
"""

from netwright.exact.layout import Layout
from netwright.exact.meanings import Meanings
from netwright.kind.language_model.vocabulary import Vocabulary

MOVES = ("R", "L")

BLOCKS = {
    "q1": "the state of the step",
    "s1": "the symbol under the head",
    "m1": "the move that led here",
    "far": "the address in an address token",
    "T": "the token's position i, in bits",
    "A": "i - 1: the address of the token itself, and of the one before in T",
    "N": "i - 3: the address of the visit before",
    "isX": "1 for a letter of the input",
    "isRUN": "1 for <run>",
    "isP": "1 for an address token, which is where a visit is looked up",
    "isUNK": "1 for <unk>, a word that the tokenizer does not know",
    "acc": "1 for a step with which the run ends in <accept> or <halt>",
    "rej": "1 for a step with which it ends in <reject>, and after <unk>",
    "q2": "the next state",
    "w": "the symbol that is written here",
    "m2": "the next move",
    "R": "the address of the last visit of the cell to the right",
    "L": "the address of the last visit of the cell to the left",
    "vA": "what was written at R",
    "RR": "the R of that visit",
    "vB": "what was written at L",
    "LL": "the L of that visit",
    "Ys": "the next symbol under the head",
    "FAR": "the next far address: RR after a right move, LL after a left one",
    "Z": "the same, taken over by the next step token",
    "ld": "1 for a token that resumes a run",
    "first": "1 at position 0",
    "one": "1 at every position, for the logits",
}
MEANINGS = Meanings(
    blocks=BLOCKS,
    hidden={},
    weights={
        "wte": "what a token is",
        "wpe": "its position",
        "block.0.head.0": "the token before: an address token takes over its step",
        "block.0.units": "the rule; and both addresses, from the text and from the position",
        "block.1.head.0": "the last visit of the cell to the right",
        "block.1.head.1": "the last visit of the cell to the left",
        "block.1.units": "of the two visits, that of the cell to which the head goes",
        "block.2.head.0": "the token before: a step token takes over the far address",
        "U": "the logits: the next step, the next address, or the end",
    },
)


def bits_of(context: int) -> int:
    """b: the number of bits of a position."""
    return max(1, (context - 1).bit_length())


def bits(n: int, b: int) -> list[int]:
    """n modulo 2^b as b numbers ±1, the least significant first.

    >>> bits(5, 4), bits(-1, 3)
    ([1, -1, 1, -1], [1, 1, 1])
    """
    return [1 if n >> k & 1 else -1 for k in range(b)]


def stream_layout(vocabulary: Vocabulary) -> Layout:
    """The layout of the stream for a machine's vocabulary."""
    places = [f"b{k}" for k in range(bits_of(vocabulary.context))]
    sizes: dict[str, object] = dict.fromkeys(BLOCKS, "")
    sizes |= dict.fromkeys(("q1", "q2"), vocabulary.machine.states)
    sizes |= dict.fromkeys(("s1", "w", "vA", "vB", "Ys"), vocabulary.symbols)
    sizes |= dict.fromkeys(("m1", "m2"), MOVES)
    sizes |= dict.fromkeys(("far", "T", "A", "N", "R", "L", "RR", "LL", "FAR", "Z"), places)
    return Layout.of(sizes)
