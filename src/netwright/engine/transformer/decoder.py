"""A Transformer's decoder run fast: the definition's vectors, on every network.

Three ways, each equal to the definition:

- the definition itself, for the first few tokens of a run that may be short;
- machine code over 64-bit integers, for networks whose attention has a form that can be followed in
  constant time, for as long as its numbers fit: with tables (`tables`), where every weight is
  applied to every distinct input of its map, or in full (`full`), where it is applied at every
  token;
- exact rationals with the attention of `attention`, for all others, and from the token on where
  the second way ends. It begins again with the first token then, as it needs every key.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from netwright.definitions.transformer import Transformer
from netwright.engine.moments import ReferenceEngine, Watch, watched
from netwright.engine.staged import StagedEngine, Vectors
from netwright.engine.transformer.attention import AttentionCache
from netwright.engine.transformer.encoded import Encoded
from netwright.engine.transformer.program import Program
from netwright.engine.transformer.shared import shared_program
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.transformer.full import FullTransformer
    from netwright.engine.transformer.tables.engine import TableTransformer


LONG_INPUT = 50  # symbols


class FastToken(NamedTuple):
    """What the decoder made of its newest token: the last layer's z, and y = F(z)."""

    z: Vector
    y: Vector


class LayerVectors(NamedTuple):
    """What a decoder layer made of a token: p (Eq 9), a (Eq 10), z (Eq 11)."""

    p: Vector
    a: Vector
    z: Vector


class TokenVectors(NamedTuple):
    """What the decoder made of a token: its input, each layer, and y = F(z)."""

    input: Vector
    layers: tuple[LayerVectors, ...]
    y: Vector

    def into(self, layer: int) -> Vector:
        """What a layer, counted from 0, gets: the input, or the z of the layer before."""
        return self.layers[layer - 1].z if layer else self.input


class FastDecoder(StagedEngine["FullTransformer | TableTransformer"]):
    """A decoder's run on an input, moment by moment: a moment is a token.

    With a long input the definition is left at once: its encoder takes a time that grows with the
    square of the input.
    """

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch] = (),
        *,
        reference_steps: int = 0,
        tables: bool = True,
    ) -> None:
        self.network, self.X, self.seed, self.tables = network, X, seed, tables
        super().__init__(watches, 0 if len(X) > LONG_INPUT else reference_steps)

    @staticmethod
    def is_warm() -> bool:
        """Whether there is code for tables."""
        kernel = sys.modules.get("netwright.engine.transformer.tables.kernel")
        return kernel is not None and kernel.compiled.cache_info().currsize > 0

    def ways(self) -> "Iterator[Callable[[], FullTransformer | TableTransformer]]":
        """By tables, or with every weight at every token."""
        from netwright.engine.transformer.full import FullTransformer
        from netwright.engine.transformer.tables.engine import TableTransformer

        network, seed, watches = self.network, self.seed, self.watches
        if self.tables:
            yield lambda: TableTransformer(network, self.program, seed, watches)
        else:
            yield lambda: FullTransformer(network, self.X, self.program, seed, watches)

    @cached_property
    def program(self) -> Program:
        """The program that tables run."""
        return program_of(self.network, Encoded(self.network, self.X), self.seed)

    def definition(self) -> Vectors:
        """Token by token."""
        return map(watched, self.network.tokens(self.X, self.seed))

    def rationals(self) -> ReferenceEngine:
        """From the first token on, as they need every key."""
        vectors = map(watched, fast_tokens(self.network, self.X, self.seed))
        return ReferenceEngine(vectors, self.watches, fast=True)

    @property
    def newest(self) -> FastToken:
        """The newest token."""
        self._know_the_stream()
        if self.faster is not None:
            return FastToken(self.faster.z, self.faster.y)
        assert self.vectors is not None
        return FastToken(self.vectors.newest["z"], self.vectors.newest["y"])

    def snapshot(self) -> Snapshot:
        """The integers, or only how many tokens there were."""
        self._know_the_stream()
        return super().snapshot()

    def _know_the_stream(self) -> None:
        """Leave tables that stopped early, and so did not store what the last layer made."""
        if self.faster is not None and not self.faster.has_stream:
            self.leave("the next token is not for tables")


def fast_tokens(network: Transformer, X: Sequence[Vector], seed: Vector) -> Iterator[TokenVectors]:
    """The decoder token by token in exact rationals (Equations 9 to 13).

    Every weight of every layer is applied to every token; only the search for the best score is
    spared (see `attention`).
    """
    external = Encoded(network, X)
    caches = [AttentionCache(layer.K, network.score, network.rho) for layer in network.decoder]
    y, t = seed, 0
    while True:
        t += 1
        z = start = network.positioned(y, t)
        layers = []
        for layer, cache in zip(network.decoder, caches, strict=True):
            cache.append(layer.K(z), layer.V(z))
            p = cache.attend(layer.Q(z)) + z
            a = external.attend(p) + p
            z = layer.O(a) + a
            layers.append(LayerVectors(p, a, z))
        y = network.F(z)
        yield TokenVectors(start, tuple(layers), y)


def program_of(network: Transformer, external: Encoded, seed: Vector) -> Program:
    """The decoder's program over 64-bit integers; UnsuitableError where there is none."""
    keys = _first_keys(network, external, seed)
    return shared_program(network, external, seed, keys)


def _first_keys(network: Transformer, external: Encoded, seed: Vector) -> list[Vector]:
    """Each decoder layer's key of the first token, which attends to itself alone."""
    keys, z = [], network.positioned(seed, 1)
    for layer in network.decoder:
        keys.append(layer.K(z))
        p = layer.V(z) + z
        a = external.attend(p) + p
        z = layer.O(a) + a
    return keys
