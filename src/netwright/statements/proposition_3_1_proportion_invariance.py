"""Proposition 3.1 (prop:invariance): without positional encodings, a Transformer sees proportions.

For a Transformer without positional encodings, a seed s and words u, w in which every symbol has
the same proportion, Trans(f(u), s, r) = Trans(f(w), s, r) for every r.

Departures from the print: words are not empty, since the empty word has no proportions; normalisers
may depend on the set of all values, so that hardmax is covered (see `definitions.transformer`).
"""

from collections import Counter
from collections.abc import Sequence

from flint import fmpq

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Transformer
from netwright.errors import InputError
from netwright.exact.rational import Rational


def proportions(word: Sequence[str]) -> dict[str, Rational]:
    """prop(a, w) for each symbol a of a word that is not empty.

    >>> proportions("aab")
    {'a': 2/3, 'b': 1/3}
    """
    if not word:
        raise InputError("the empty word has no proportions; expected at least one symbol")
    return {symbol: fmpq(count, len(word)) for symbol, count in Counter(word).items()}


def first_difference(
    recognizer: Recognizer, w: Sequence[str], u: Sequence[str], r: int
) -> int | None:
    """The first i ≤ r where y_i differs on w and on u; None, as the proposition says, if none does.

    Raise InputError unless the network is a Transformer without positional encodings and the words
    have equal proportions: the proposition is about nothing else.
    """
    network = recognizer.network
    if not isinstance(network, Transformer) or network.pos is not None:
        raise InputError("Proposition 3.1 is about Transformers without positional encodings")
    if proportions(w) != proportions(u):
        raise InputError(f"{''.join(u)!r} has other proportions than {''.join(w)!r}")
    return recognizer.first_difference(w, u, r)
