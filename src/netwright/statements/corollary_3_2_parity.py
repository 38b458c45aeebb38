"""Corollary 3.2 (cor:not-regular): Transformers without positional encodings miss parity.

The words with an even number of a are a regular language, and order does not matter for it. But
aabb is in it, ab is not, and both have the same proportions: by Proposition 3.1 every such
recognizer treats them alike and is wrong about one of them.
"""

from netwright.definitions.recognizer import Recognizer
from netwright.definitions.transformer import Transformer
from netwright.errors import InputError
from netwright.statements.indistinguishable import IndistinguishablePair, indistinguishable_pair


def parity_pair(recognizer: Recognizer, limit: int) -> IndistinguishablePair:
    """The pair for a recognizer, with its answers within the first `limit` outputs.

    The words are aabb and ab for the first two symbols of its alphabet, aa and a if it has one.
    """
    network = recognizer.network
    if not isinstance(network, Transformer) or network.pos is not None:
        raise InputError("Corollary 3.2 is about Transformers without positional encodings")
    if not recognizer.alphabet:
        raise InputError("the recognizer's alphabet is empty; parity needs a symbol to count")
    a, *others = recognizer.alphabet
    b = others[:1]
    return indistinguishable_pair(
        recognizer, (a, a, *b, *b), (a, *b), limit, statement="Proposition 3.1"
    )
