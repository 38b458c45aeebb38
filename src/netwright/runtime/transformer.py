"""A Transformer's decoder with constant-time attention where the network allows it.

The same as `nets.transformer.Transformer.tokens`, vector for vector: every weight of every layer is
applied to every token, and only the search for the best score is spared (see `attention`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.attention import AttentionCache


class FastToken(NamedTuple):
    """What the decoder made of its newest token: the last layer's z, and y = F(z)."""

    z: Vector
    y: Vector


def fast_tokens(network: Transformer, X: Sequence[Vector], seed: Vector) -> Iterator[FastToken]:
    """The decoder token by token (Equations 9 to 13)."""
    external = AttentionCache(network.K, network.score, network.rho)
    for key, value in zip(*network.encode(X), strict=True):
        external.append(key, value)
    caches = [AttentionCache(layer.K, network.score, network.rho) for layer in network.decoder]
    y, t = seed, 0
    while True:
        t += 1
        z = network.positioned(y, t)
        for layer, cache in zip(network.decoder, caches, strict=True):
            cache.append(layer.K(z), layer.V(z))
            p = cache.attend(layer.Q(z)) + z
            a = external.attend(p) + p
            z = layer.O(a) + a
        y = network.F(z)
        yield FastToken(z, y)
