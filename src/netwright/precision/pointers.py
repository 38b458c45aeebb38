"""The pointer Transformer in floating point: where it first follows a wrong pointer.

A pointer 1/(j+1) is rounded once, where it is made. It stays as it is if it passes its gates
unrounded: the gates and the constant are to be added first, q1 + s1 − 2 = 0, and then the pointer.
So the order of summation is part of the construction: constants are weights on `one`, and the
coordinates have the order gates, one, pointers. Then |sel (j+1) − 1| is below 2·2^−p at the
token that is pointed to, and at least 1/t − 2·2^−p elsewhere, for p bits and t tokens: all is right
for t < 2^(p−2). With the constants added last, a pointer loses its low bits at every gate, and the
horizon is about 2^(p/2).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from netwright.definitions.transformer import Map, Positions, Transformer, score_phi
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.layout import Layout
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector
from netwright.kind.pointer_transformer.construction import (
    Attention,
    CompiledPointerTransformer,
    compile_pointer_transformer,
)
from netwright.kind.pointer_transformer.proof_values import PointerValues
from netwright.machine.normal_form import normalize
from netwright.precision.arithmetic import Arithmetic
from netwright.precision.failures import ExactRun, Failures, WrongIndex, WrongOutput, as_data
from netwright.precision.float_arithmetic import arithmetic_of
from netwright.precision.formats import Format
from netwright.precision.laboratory import NO_PREDICTION, Experiment
from netwright.precision.transformer import FloatToken, FloatTransformer
from netwright.text import Notify

POINTERS = ("R", "L", "sel", "RR", "LL", "e", "e2")
ORDERS = {"constants first": True, "constants last": False}


def in_good_order(compiled: CompiledPointerTransformer) -> CompiledPointerTransformer:
    """Reorder the coordinates to gates, one, pointers, and turn biases into weights on `one`."""
    blocks = dict(compiled.layout.blocks)
    last = ["one", *(name for name in POINTERS if name in blocks)]
    order = [*(name for name in blocks if name not in last), *last]
    layout = Layout(tuple((name, blocks[name]) for name in order))

    def moved(x: Vector) -> Vector:
        return Vector.of(layout, {name: dict(x[name]) for name in order if x[name]})

    places = {
        compiled.layout.index(name, label): layout.index(name, label)
        for name in order
        for label in blocks[name]
    }
    one = layout.index("one")

    def map_of(affine: Affine) -> Affine:
        rows = affine.input == compiled.layout
        columns = affine.output == compiled.layout
        start, end = (layout if rows else affine.input), (layout if columns else affine.output)
        weights = {
            (places[j] if rows else j, places[k] if columns else k): w
            for (j, k), w in affine.weights.items()
        }
        for k, b in affine.bias.entries.items():  # only maps from the stream have biases
            weights[one, k] = weights.get((one, k), ZERO) + b
        return Affine(start, end, weights, Vector.zero(end))

    def network_of(net: Map) -> FeedForward:
        assert isinstance(net, FeedForward)
        return FeedForward(tuple(map(map_of, net.maps)), net.activation)

    old = compiled.network
    layers = tuple(
        replace(layer, **{letter: network_of(getattr(layer, letter)) for letter in "QKVO"})
        for layer in old.decoder
    )
    assert isinstance(old.pos, Positions)
    network = Transformer(
        layout=layout,
        encoder=(),
        K=network_of(old.K),
        V=network_of(old.V),
        decoder=layers,
        F=network_of(old.F),
        pos=Positions(layout, old.pos.powers),
    )
    embedding = {symbol: moved(x) for symbol, x in compiled.embedding.items()}
    return replace(compiled, network=network, seed=moved(compiled.seed), embedding=embedding)


def first_pointer_failures(
    compiled: CompiledPointerTransformer,
    word: tuple[str, ...],
    arithmetic: Arithmetic[Any],
    outputs: int,
) -> Failures:
    """Run the network in an arithmetic for `outputs` outputs, or until it decodes wrongly."""
    values = PointerValues(compiled, word, outputs + 1)
    network = FloatTransformer(compiled.network, arithmetic)
    tokens = network.tokens(compiled.embed(word), compiled.seed)
    return _PointerRun(compiled, values, arithmetic).watch(tokens, outputs, values.end)


class _PointerRun(ExactRun):
    """The exact run of a pointer Transformer."""

    def __init__(
        self,
        compiled: CompiledPointerTransformer,
        values: PointerValues,
        arithmetic: Arithmetic[Any],
    ) -> None:
        super().__init__(compiled.layout, arithmetic, values.q, values.s)
        self.compiled, self.values = compiled, values

    def wrong_index(self, i: int, token: FloatToken) -> WrongIndex | None:
        """The self-attention of layer 2, if it looks elsewhere than in the exact run."""
        right, attended = self.values.followed(i), token.to_itself[1]
        if right is None or attended is None or attended.winners == [right]:
            return None
        return self._explained(i, "decoder layer 2, self-attention", right, attended, self._score)

    def _score(self, i: int, j: int) -> Rational:
        layer = self.compiled.network.decoder[1]
        return score_phi(layer.Q(self.values.z1(i)), layer.K(self.values.z1(j)))

    def wrong_vector(self, i: int, token: FloatToken) -> WrongOutput | None:
        """The first wrong coordinate of the output."""
        exact = self.values.y(i + 1)
        return next(self._differences(i + 1, "y", exact, token.vectors["y"]), None)


@dataclass(frozen=True)
class PointerExperiment(Experiment):
    """A pointer Transformer with hard attention, with two orders of summation."""

    has_attention: ClassVar[bool] = True
    blanks: bool = False

    @property
    def rows(self) -> int:
        """One row for each format and order."""
        return len(self.formats) * len(ORDERS)

    def _compiled(self) -> CompiledPointerTransformer:
        normal = normalize(self.machine, blanks_in_input=self.blanks, keep_stays=True)
        return compile_pointer_transformer(normal, Attention.ABSOLUTE)

    def results(self, notify: Notify = lambda _: None) -> Iterator[dict[str, Any]]:
        """Yield the first failures and the prediction."""
        compiled = self._compiled()
        for form in self.formats:
            for order, is_good in ORDERS.items():
                notify(f"{form.name}, {order}")
                network = in_good_order(compiled) if is_good else compiled
                arithmetic = arithmetic_of(form, self.sums)
                found = first_pointer_failures(network, self.word, arithmetic, self.steps)
                about = {**self._about(form), "name": f"{form.name}, {order}", "order": order}
                predicted = self._predicted(form, is_good)
                yield {**about, "snapped": False, **as_data(found), "predicted": predicted}

    def _predicted(self, form: Format, is_good: bool) -> dict[str, Any]:
        """The bound t < 2^(p−2), with the constants first."""
        return {**NO_PREDICTION, "safe_until": 2 ** (form.bits - 2) if is_good else None}

    def growth(self) -> list[dict[str, Any]]:
        """The bits of the pointers and scores: those of the positions."""
        compiled = self._compiled()
        values = PointerValues(compiled, self.word, self.steps)
        rows = []
        for time in sorted({min(10**k, values.end) for k in range(1, 7) if 10**k <= self.steps}):
            largest = max(max(values.R[:time], default=0), max(values.L[:time], default=0)) + 1
            bits, bound = largest.bit_length(), time.bit_length()
            sizes = {"numerator": 1, "numerator_bound": 1}
            sizes |= {"denominator": bits, "denominator_bound": bound}
            rows.append({"time": time, "block": "pointer", **sizes})
        return rows
