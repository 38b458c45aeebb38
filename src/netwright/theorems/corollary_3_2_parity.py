"""Corollary 3.2 (cor:not-regular): Transformers without positional encodings miss parity.

The words with an even number of a are a regular language, and order does not matter for it. But
aabb is in it, ab is not, and both have the same proportions: by Proposition 3.1 every such
recognizer treats them alike and is wrong about one of them.
"""

from dataclasses import dataclass

from netwright.errors import InputError
from netwright.nets.recognizer import Recognizer
from netwright.theorems.proposition_3_1_proportion_invariance import first_difference


@dataclass(frozen=True)
class ParityPair:
    """Two words that a recognizer treats alike; only `even` has an even number of `symbol`."""

    symbol: str
    even: tuple[str, ...]
    odd: tuple[str, ...]
    accepted_at: int | None
    """Where the recognizer accepts both; None if it accepts neither within the limit."""

    @property
    def wrong_about(self) -> tuple[str, ...]:
        """The word on which the recognizer's answer (so far) is not that of the language."""
        return self.even if self.accepted_at is None else self.odd


def parity_pair(recognizer: Recognizer, limit: int) -> ParityPair:
    """The pair for a recognizer, with its answers within the first `limit` outputs.

    The outputs on both words are compared; a difference would refute Proposition 3.1.
    """
    if not recognizer.alphabet:
        raise InputError("the recognizer's alphabet is empty; parity needs a symbol to count")
    a, *others = recognizer.alphabet
    b = others[:1]
    even, odd = (a, a, *b, *b), (a, *b)
    difference = first_difference(recognizer, even, odd, limit)
    assert difference is None, f"Proposition 3.1: output {difference} differs"
    return ParityPair(a, even, odd, recognizer.accepts_at(odd, limit))
