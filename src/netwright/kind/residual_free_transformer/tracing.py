"""The named vectors of a decoder without residual connections."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from netwright.definitions.residual_free import ResidualFree
from netwright.definitions.transformer import Transformer
from netwright.engine.following.drive import OngoingRun
from netwright.engine.following.tracing import LazyMapping, TransformerTracing
from netwright.engine.pointers.heads import HeadsTrace
from netwright.exact.vector import Vector


class HeadsTracing(TransformerTracing):
    """Input, q, k and v of each head, a and z of every layer, and y."""

    encoder: Mapping[str, Sequence[Vector]] = {}  # it has none

    def __init__(self, ongoing: OngoingRun[HeadsTrace], network: ResidualFree) -> None:
        super().__init__(ongoing, cast(Transformer, network), ())  # type: ignore[arg-type]  # it is one
        self.heads = [layer.heads for layer in network.decoder]
        self.attentions = tuple(
            f"decoder.{n}.head.{h}"
            for n, heads in enumerate(self.heads, start=1)
            for h in range(1, len(heads) + 1)
        )
        self._names = heads_names(network)

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """All vectors of token t."""
        token = self.explained(t).vectors
        found: dict[str, Callable[[], Vector]] = {"y": lambda: token.y}
        for n, heads in enumerate(self.heads):
            side = f"decoder.{n + 1}"
            found[f"{side}.input"] = partial(token.into, n)
            for h, head in enumerate(heads, start=1):
                for letter, part in (("q", head.Q), ("k", head.K), ("v", head.V)):
                    found[f"{side}.head.{h}.{letter}"] = partial(part, token.into(n))
            for letter in "az":
                found[f"{side}.{letter}"] = partial(getattr, token.layers[n], letter)
        return LazyMapping({name: found[name] for name in self._names})


def heads_names(network: ResidualFree) -> tuple[str, ...]:
    """The names of a token's vectors, in the order in which they are computed."""
    names = []
    for n, layer in enumerate(network.decoder, start=1):
        of_heads = [f"head.{h}.{x}" for h in range(1, len(layer.heads) + 1) for x in "qkv"]
        names += [f"decoder.{n}.{part}" for part in ("input", *of_heads, "a", "z")]
    return (*names, "y")
