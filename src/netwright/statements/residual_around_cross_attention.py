"""The residual connection around the attention to the encoder is essential on short inputs.

Ours; the paper leaves it open which residual connections are essential (Section 5). It is about all
Transformers of Equations 6 to 13 without "+ p_i" in Equation 10 in at least *one* decoder layer,
a_i = Att(p_i, K^e, V^e), with any weights, score, normaliser and positional encoding.

Statement. On an input of at most one symbol y_1 = y_2 = y_3 = …: nothing shows which step it is.

Proof. Let layer ℓ be without "+ p_i". Over one key the normalised weights are (1), so a_i = V^e_1,
whatever p_i is; over no keys a_i = 0. So layer ℓ gives all tokens the same z = O(a) + a. A layer
whose tokens are all equal has equal keys and equal values, so its self attention is V(z), as
weights have the sum 1, however many tokens there are: again all tokens get the same z. By induction
over the layers after ℓ the last one gives all tokens the same z, and y_{i+1} = F(z). QED.

Statement. If ℓ is the last layer and attention is hard, then on an input of n ≥ 1 symbols the
outputs y_1, y_2, … have at most 2ⁿ − 1 different values.

Proof. a_i is the mean of the values with the greatest score, so it is known from which of the n
these are, a set that is not empty; and y_{i+1} = F(O(a_i) + a_i). QED.

Both are about single inputs. On long inputs there are more values, and what such networks can
compute there stays open. Bhattamishra, Patel and Goyal (CoNLL 2020) argue that this connection is
essential, and the others are not; they were the first to ask.
"""

from collections.abc import Sequence
from itertools import islice

from netwright.definitions.transformer import Transformer, hardmax
from netwright.definitions.without import TransformerWithout
from netwright.errors import InputError
from netwright.exact.vector import Vector


def first_difference(
    network: Transformer, X: Sequence[Vector], seed: Vector, limit: int
) -> int | None:
    """The first i ≤ limit with y_i ≠ y_1, for at most one input token; None, as is stated."""
    _require_missing(network, range(1, len(network.decoder) + 1))
    if len(X) > 1:
        raise InputError(f"the statement is about at most one input token; got {len(X)}")
    first, *others = islice(network.outputs(X, seed), limit)
    return next((i for i, y in enumerate(others, start=2) if y != first), None)


def most_outputs(network: Transformer, n: int) -> int:
    """How many values outputs can have on n input tokens: 2ⁿ − 1, and 1 for n = 0.

    >>> from netwright.kind.transformer.construction import to_transformer
    >>> from netwright.machine.library import library_machine
    >>> network = to_transformer(library_machine("even-as")).network
    >>> most_outputs(TransformerWithout.of(network, "residual:decoder.3.external"), 3)
    7
    """
    _require_missing(network, [len(network.decoder)])
    if network.rho != hardmax:
        raise InputError("the statement is about hard attention")
    return max(1, (1 << n) - 1)


def _require_missing(network: Transformer, layers: Sequence[int]) -> None:
    """Raise InputError unless one of these layers has no such connection."""
    names = {f"residual:decoder.{n}.external" for n in layers}
    if not isinstance(network, TransformerWithout) or not names & network.without:
        expected = " or ".join(sorted(names))
        raise InputError(f"the statement is about Transformers without {expected}")
