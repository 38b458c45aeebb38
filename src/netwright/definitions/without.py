"""The definition of a Transformer without some residual connections or attentions."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from netwright.definitions.transformer import Layer, LayerTrace, Transformer
from netwright.exact.vector import Vector


@dataclass(frozen=True)
class TransformerWithout(Transformer):
    """A Transformer that leaves out residual connections or attentions, by name."""

    without: frozenset[str] = frozenset()

    @staticmethod
    def of(network: Transformer, part: str) -> "TransformerWithout":
        """A copy of a network without one more part."""
        values = {field.name: getattr(network, field.name) for field in fields(network)}
        left_out = values.pop("without", frozenset()) | {part}
        if part == "positions":
            values["pos"] = None
        return TransformerWithout(**values, without=left_out)

    def _around(self, name: str, image: Vector, x: Vector) -> Vector:
        """image + x, without the terms that are left out."""
        if f"attention:{name}" in self.without:
            image = Vector.zero(self.layout)
        return image if f"residual:{name}" in self.without else image + x

    def encode_token(
        self, layer: Layer, x: Vector, K: Sequence[Vector], V: Sequence[Vector]
    ) -> tuple[Vector, Vector]:
        """Equations 6 and 7."""
        name = f"encoder.{_number(self.encoder, layer)}"
        a = self._around(f"{name}.self", self.attend(layer.Q(x), K, V)[1], x)
        return a, self._around(f"{name}.O", layer.O(a), a)

    def decode_token(
        self,
        layer: Layer,
        external: tuple[Sequence[Vector], Sequence[Vector]],
        y: Vector,
        K: Sequence[Vector],
        V: Sequence[Vector],
    ) -> LayerTrace:
        """Equations 9 to 11."""
        name = f"decoder.{_number(self.decoder, layer)}"
        self_weights, attended = self.attend(layer.Q(y), K, V)
        p = self._around(f"{name}.self", attended, y)
        external_weights, attended = self.attend(p, *external)
        a = self._around(f"{name}.external", attended, p)
        z = self._around(f"{name}.O", layer.O(a), a)
        return LayerTrace(self_weights, p, external_weights, a, z)


def _number(layers: Sequence[Layer], layer: Layer) -> int:
    return next(n for n, each in enumerate(layers, start=1) if each is layer)
