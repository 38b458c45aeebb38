"""A Transformer in floating point: Equations 6 to 13 in a given arithmetic, token by token."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from netwright.definitions.transformer import Layer, Map, Transformer, hardmax, score_phi
from netwright.engine.transformer.attention import written_by
from netwright.errors import InputError
from netwright.exact.arrays import AnyArray
from netwright.exact.feed_forward import FeedForward
from netwright.exact.vector import Vector
from netwright.precision.arithmetic import Arithmetic, Attended, Tokens

Temperature = Callable[[int], float] | None
"""τ_i of softmax for token i; None is hard attention."""


@dataclass(frozen=True)
class FloatToken:
    """What the decoder did to a token: p, a and z of each layer, y, and its attentions."""

    vectors: dict[str, AnyArray]
    """By name: p1, a1, z1, p2, …, y."""
    to_itself: list[Attended | None]
    """By layer: its self-attention; None if every value is 0."""
    external: list[Attended]
    """By layer: its attention to the encoder."""


class FloatTransformer:
    """A Transformer of feed-forward networks, with the score −|⟨q, k⟩|."""

    def __init__(
        self, network: Transformer, arithmetic: Arithmetic[Any], temperature: Temperature = None
    ) -> None:
        if (network.score, network.rho) != (score_phi, hardmax):
            raise InputError("only networks with the attention of Theorem 3.4 run in floats")
        self.network, self.arithmetic, self.temperature = network, arithmetic, temperature
        self.size = network.layout.dimension

    def tokens(self, X: Sequence[Vector], seed: Vector) -> Iterator[FloatToken]:
        """Run the decoder token by token (Equation 13)."""
        here, network = self.arithmetic, self.network
        external = self._encode(X)
        layers = [_FloatLayer(self, layer) for layer in network.decoder]
        final = here.prepared(_feed_forward(network.F))
        y, i = here.vector(seed), 0
        while True:
            tau = self.temperature(i) if self.temperature else None
            z = self._positioned(y, i + 1)
            vectors: dict[str, AnyArray] = {}
            to_itself: list[Attended | None] = []
            outside = []
            for number, layer in enumerate(layers, start=1):
                layer.append(z)
                attended = layer.attend(z, tau)
                p = z if attended is None else here.plus(attended.numbers, z)
                looked_up = external.attend(p, tau)
                a = here.plus(looked_up.numbers, p)
                z = here.plus(here.network(layer.O, a), a)
                vectors |= {f"p{number}": p, f"a{number}": a, f"z{number}": z}
                to_itself.append(attended)
                outside.append(looked_up)
            y = vectors["y"] = here.network(final, z)
            yield FloatToken(vectors, to_itself, outside)
            i += 1

    def _positioned(self, x: AnyArray, place: int) -> AnyArray:
        """x + pos(place)."""
        if self.network.pos is None:
            return x
        return self.arithmetic.plus(x, self.arithmetic.vector(self.network.pos(place)))

    def _encode(self, X: Sequence[Vector]) -> Tokens:
        """Run the encoder (Equations 6 to 8) and return its keys and values."""
        here, network = self.arithmetic, self.network
        Z = [self._positioned(here.vector(x), i) for i, x in enumerate(X, start=1)]
        # The encoder of Theorem 3.4 has no values, so its temperature does not matter.
        tau = self.temperature(0) if self.temperature else None
        for each in network.encoder:
            layer = _FloatLayer(self, each)
            for z in Z:
                layer.append(z)
            found = []
            for z in Z:
                attended = layer.attend(z, tau)
                a = z if attended is None else here.plus(attended.numbers, z)
                found.append(here.plus(here.network(layer.O, a), a))
            Z = found
        external = here.tokens(self.size, written_by(network.K), written_by(network.V))
        K, V = (here.prepared(_feed_forward(net)) for net in (network.K, network.V))
        for z in Z:
            external.append(here.network(K, z), here.network(V, z))
        return external


class _FloatLayer:
    """A layer's networks, and the keys and values of its self-attention."""

    def __init__(self, transformer: FloatTransformer, layer: Layer) -> None:
        here = self.arithmetic = transformer.arithmetic
        networks = map(_feed_forward, (layer.Q, layer.K, layer.V, layer.O))
        self.Q, self.K, self.V, self.O = map(here.prepared, networks)
        values = written_by(layer.V)
        self.kept = here.tokens(transformer.size, written_by(layer.K), values) if values else None

    def append(self, z: AnyArray) -> None:
        """Add a token."""
        if self.kept is not None:
            here = self.arithmetic
            self.kept.append(here.network(self.K, z), here.network(self.V, z))

    def attend(self, z: AnyArray, tau: float | None) -> Attended | None:
        """Apply the self-attention to a token; None if every value is 0."""
        if self.kept is None:
            return None
        return self.kept.attend(self.arithmetic.network(self.Q, z), tau)


def _feed_forward(net: Map) -> FeedForward:
    if not isinstance(net, FeedForward):
        raise InputError(
            "a part of the network is not a feed-forward network, so it has no weights"
        )
    return net
