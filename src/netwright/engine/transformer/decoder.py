"""A Transformer's decoder run fast: the definition's vectors, on every network.

Three ways, each equal to the definition:

- the definition itself, for the first few tokens of a run that may be short;
- machine code over 64-bit integers, for networks whose attention takes constant time, as long as
  the numbers fit: with tables (`tables`), where every weight is applied to every distinct input of
  its map, or in full (`full`), where it is applied at every token;
- exact rationals with the attention of `attention`, for all other networks, and where the second
  way ends. It starts again at the first token then, as it needs every key.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from netwright.definitions.transformer import Transformer
from netwright.engine.moments import F, ReferenceEngine, StagedEngine, Vectors, Watch, watched
from netwright.engine.transformer.attention import AttentionCache
from netwright.engine.transformer.encoded import Encoded
from netwright.engine.transformer.program import Program
from netwright.engine.transformer.shared import shared_program
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.transformer.full import FullTransformer
    from netwright.engine.transformer.tables.engine import TableTransformer


class FastToken(NamedTuple):
    """The newest token: the last layer's z, and y = F(z)."""

    z: Vector
    y: Vector


class LayerVectors(NamedTuple):
    """A decoder layer's vectors for a token: p (Eq 9), a (Eq 10), z (Eq 11)."""

    p: Vector
    a: Vector
    z: Vector


class TokenVectors(NamedTuple):
    """All vectors of a token: its input, those of each layer, and y = F(z)."""

    input: Vector
    layers: tuple[LayerVectors, ...]
    y: Vector

    def into(self, layer: int) -> Vector:
        """The input of a layer, counted from 0: that of the token, or the z of the layer before."""
        return self.layers[layer - 1].z if layer else self.input


class DecoderEngine(StagedEngine[F]):
    """A decoder's run on an input; a moment is a token. Subclasses have the faster ways."""

    LONG_INPUT = 50
    """Longer inputs skip the definition: its encoder takes time quadratic in the length."""
    accelerates = False
    """Whether it can do many tokens at once."""

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        seed: Vector,
        watches: Sequence[Watch] = (),
        *,
        reference_steps: int = 0,
        tables: bool = True,
        accelerated: bool = False,
    ) -> None:
        self.network, self.X, self.seed, self.tables = network, X, seed, tables
        by_definition = 0 if len(X) > self.LONG_INPUT else reference_steps
        super().__init__(watches, by_definition, accelerated=accelerated)

    def definition(self) -> Vectors:
        """The definition's tokens."""
        return map(watched, self.network.tokens(self.X, self.seed))

    def rationals(self) -> ReferenceEngine:
        """Tokens in exact rationals, from the first on, as every key is needed."""
        vectors = map(watched, fast_tokens(self.network, self.X, self.seed))
        return ReferenceEngine(vectors, self.watches, fast=True)


class FastDecoder(DecoderEngine["FullTransformer | TableTransformer"]):
    """A run of the paper's Transformer."""

    @staticmethod
    def is_warm() -> bool:
        """Whether the code for tables is compiled; does not import the compiler."""
        kernel = sys.modules.get("netwright.engine.transformer.tables.kernel")
        return kernel is not None and kernel.compiled.cache_info().currsize > 0

    def ways(self) -> "Iterator[Callable[[], FullTransformer | TableTransformer]]":
        """Run by tables, or with every weight at every token."""
        from netwright.engine.transformer.full import FullTransformer
        from netwright.engine.transformer.tables.engine import TableTransformer

        network, seed, watches = self.network, self.seed, self.watches
        if self.tables:
            yield lambda: TableTransformer(network, self.program, seed, watches)
        else:
            yield lambda: FullTransformer(network, self.X, self.program, seed, watches)

    @cached_property
    def program(self) -> Program:
        """The program that tables run; raise UnsuitableError if the network has none."""
        return program_of(self.network, Encoded(self.network, self.X), self.seed)

    @property
    def newest(self) -> FastToken:
        """The newest token."""
        self._require_stream()
        if self.faster is not None:
            return FastToken(self.faster.z, self.faster.y)
        assert self.vectors is not None
        return FastToken(self.vectors.newest["z"], self.vectors.newest["y"])

    def snapshot(self) -> Snapshot:
        """The state of the tables, or only the number of tokens."""
        self._require_stream()
        return super().snapshot()

    def _require_stream(self) -> None:
        """Leave tables that stopped early, before they stored the stream of the last layer."""
        if self.faster is not None and not self.faster.has_stream:
            self.leave("the next token is not for tables")


def fast_tokens(network: Transformer, X: Sequence[Vector], seed: Vector) -> Iterator[TokenVectors]:
    """The decoder token by token in exact rationals (Equations 9 to 13).

    Every weight is applied to every token; only the search for the best score is avoided (see
    `attention`).
    """
    external = Encoded(network, X)
    caches = [AttentionCache(layer.K, network.score, network.rho) for layer in network.decoder]
    y = seed
    for t in count(1):
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
    """The decoder's program over 64-bit integers; raise UnsuitableError if it has none."""
    keys, z = [], network.positioned(seed, 1)
    for layer in network.decoder:  # each layer's key of the first token, which attends to itself
        keys.append(layer.K(z))
        p = layer.V(z) + z
        a = external.attend(p) + p
        z = layer.O(a) + a
    return shared_program(network, external, seed, keys)
