"""A Transformer whose encoder is masked: input token i attends to the tokens 1 to i alone.

A departure from the paper, whose encoder attends to all of the input (Equation 6 has K(X), V(X)
where this has K(X_i), V(X_i) for X_i = (x_1, …, x_i)). The decoder of Equation 9 is masked in the
same way in print. Everything else is `definitions.transformer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from netwright.definitions.transformer import Layer, Transformer
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class MaskedTransformer(Transformer):
    """a_i = Att(Q(x_i), K(X_i), V(X_i)) + x_i and z_i = O(a_i) + a_i in the encoder."""

    masked: bool = True
    """In files, where a network has no class; False is the encoder of the paper."""

    def encode_tokens(self, layer: Layer, X: Sequence[Vector]) -> list[tuple[Vector, Vector]]:
        """a_i and z_i of every token of an encoder layer."""
        if not self.masked:
            return super().encode_tokens(layer, X)
        K, V = [layer.K(x) for x in X], [layer.V(x) for x in X]
        return [self.encode_token(layer, x, K[:i], V[:i]) for i, x in enumerate(X, start=1)]
