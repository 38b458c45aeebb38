"""A Transformer's decoder run fast: the same vectors as `nets.transformer`, on every network.

Three ways, each equal to the definition:

- the definition itself, for the first few tokens of a run that may be short;
- machine code over 64-bit integers, for networks whose attention has a form that can be followed in
  constant time, for as long as its numbers fit: with tables (`tables`), where every weight is
  applied to every distinct input of its map, or in full (`native`), where it is applied at every
  token;
- exact rationals with the attention of `attention`, for all others, and from the token on where
  the second way ends. It begins again with the first token then, as it needs every key.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from netwright.exact.snapshot import FARTHEST, Snapshot, checked_array, require_consistent
from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.engine import Codes, DefinitionFirst, ReferenceEngine, Watch, watched
from netwright.runtime.transformer.analysis import decoder_program
from netwright.runtime.transformer.attention import AttentionCache
from netwright.runtime.transformer.encoded import Encoded
from netwright.runtime.transformer.program import Program
from netwright.runtime.unsuitable import UnsuitableError

if TYPE_CHECKING:
    from netwright.runtime.transformer.integers import IntegerTransformer
    from netwright.runtime.transformer.tables.engine import TableTransformer


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


class FastDecoder:
    """A decoder's run on an input, moment by moment: a moment is a token.

    The first `reference_steps` tokens are done by the definition, so that a short run waits for
    nothing, unless the input is long or half a second has passed.
    """

    SHORT = 64
    """How many moments `--engine auto` does by the definition: less time than a compiler takes."""

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
        self.network, self.X, self.seed = network, X, seed
        self.tables = tables
        self.watches = tuple(watches)
        self.tokens = 0
        self.compile_seconds = 0.0
        # By the definition the encoder takes a time that grows with the square of the input.
        at_once = len(X) > LONG_INPUT or (tables and _has_code())
        self.by_definition = DefinitionFirst(0 if at_once else reference_steps)
        self.reason: str | None = None
        """Why 64-bit integers were not for this network."""
        self._integers: IntegerTransformer | TableTransformer | None = None
        vectors = map(watched, network.tokens(X, seed))
        self._vectors = ReferenceEngine(vectors, watches) if self.by_definition.moments else None

    @property
    def fast(self) -> bool:
        """Whether the first tokens are over."""
        return self.tokens > self.by_definition.moments or not self.by_definition.moments

    def advance(self, count: int) -> Codes:
        """The watches' codes for the next tokens."""
        begun = self._integers is not None or self.reason is not None
        if not begun and self.by_definition.is_over(self.tokens):
            self.by_definition.end(self.tokens)
            self._begin_with_integers()
        codes: Codes | None = None
        while codes is None and self._integers is not None:
            try:
                codes = self._integers.advance(count)
            except UnsuitableError as unsuitable:
                self._leave_integers(str(unsuitable))
        if codes is None:
            assert self._vectors is not None
            codes = self._vectors.advance(count)
        self.tokens += len(codes)
        return codes

    @property
    def newest(self) -> FastToken:
        """The newest token."""
        self._know_the_stream()
        if self._integers is not None:
            return FastToken(self._integers.z, self._integers.y)
        assert self._vectors is not None
        return FastToken(self._vectors.newest["z"], self._vectors.newest["y"])

    def snapshot(self) -> Snapshot:
        """The integers, or only how many tokens there were."""
        self._know_the_stream()
        state = self._integers.state if self._integers is not None else {}
        kept = {name: array.copy() for name, array in state.items()}
        return {"moments": np.array([self.tokens]), **kept}

    def _know_the_stream(self) -> None:
        """Leave tables that stopped early, and so did not store what the last layer made."""
        if self.tables and self._integers is not None and not self._integers.has_stream:
            self._leave_integers("the next token is not for tables")

    def restore(self, state: Snapshot) -> None:
        """Go on from a snapshot."""
        tokens = int(checked_array(state, "moments", (1,), 0, FARTHEST)[0])
        if len(state) > 1:
            self.by_definition.end(0)
            self._begin_with_integers()
            require_consistent(self._integers is not None, f"no 64-bit integers: {self.reason}")
            assert self._integers is not None
            self._integers.restore(state)
            require_consistent(self._integers.tokens == tokens, f"{tokens} tokens")
            self.tokens = tokens
            return
        while self.tokens < tokens:
            self.advance(1)

    def _begin_with_integers(self) -> None:
        """From the first token on, up to where we are."""
        from netwright.runtime.transformer.integers import IntegerTransformer
        from netwright.runtime.transformer.tables.engine import TableTransformer

        external = Encoded(self.network, self.X)
        started = perf_counter()
        made: IntegerTransformer | TableTransformer | None = None
        try:
            program = program_of(self.network, external, self.seed)
            if self.tables:
                with suppress(UnsuitableError):
                    made = TableTransformer(self.network, program, self.seed, self.watches)
            if made is None:
                self.tables = False
                made = IntegerTransformer(self.network, program, self.seed, self.watches)
            self._integers = made
            self.compile_seconds += perf_counter() - started
            while made.tokens < self.tokens:
                made.advance(self.tokens - made.tokens)
            self._vectors = None
        except UnsuitableError as unsuitable:
            self._leave_integers(str(unsuitable))

    def _leave_integers(self, reason: str) -> None:
        """From tables to full evaluation, and from there to rationals."""
        if self.tables and self._integers is not None:
            self.tables, self._integers = False, None
            self._begin_with_integers()
            return
        self._integers, self.reason = None, reason
        vectors = map(watched, fast_tokens(self.network, self.X, self.seed))
        self._vectors = ReferenceEngine(vectors, self.watches, fast=True)
        for _ in range(self.tokens):
            self._vectors.advance(1)


def _has_code() -> bool:
    """Whether there is code for tables in this process; asking does not import the compiler."""
    kernel = sys.modules.get("netwright.runtime.transformer.tables.kernel")
    return kernel is not None and kernel.compiled.cache_info().currsize > 0


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
    return decoder_program(network, external, seed, keys)


def _first_keys(network: Transformer, external: Encoded, seed: Vector) -> list[Vector]:
    """Each decoder layer's key of the first token, which attends to itself alone."""
    keys, z = [], network.positioned(seed, 1)
    for layer in network.decoder:
        keys.append(layer.K(z))
        p = layer.V(z) + z
        a = external.attend(p) + p
        z = layer.O(a) + a
    return keys
