"""The pointer Transformer in floating point: where it first follows a wrong pointer.

A pointer 1/(j+1) is rounded once, where it is made. It stays as it is if it passes its gates
unrounded: the gates and the constant are to be added first, q1 + s1 − 2 = 0, and then the pointer.
So the order of summation is part of the construction: constants are weights on `one`, and the
coordinates stand in the order gates, one, pointers. Then |sel (j+1) − 1| is below 2·2^−p at the
token that is pointed to, and at least 1/t − 2·2^−p elsewhere, for p bits and t tokens: all is right
for t < 2^(p−2). With the constants added last, a pointer loses its low bits at every gate, and the
horizon is about 2^(p/2).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from netwright.definitions.attention import score_phi
from netwright.definitions.positional import Positions
from netwright.definitions.transformer import Map, Transformer
from netwright.exact.arrays import AnyArray
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
from netwright.precision.arithmetic import Arithmetic, Attended
from netwright.precision.failures import Failures, WrongIndex, WrongOutput, WrongReading, as_data
from netwright.precision.float_arithmetic import arithmetic_of
from netwright.precision.formats import Format
from netwright.precision.laboratory import Experiment
from netwright.precision.transformer import FloatToken, FloatTransformer
from netwright.text import Notify

POINTERS = ("R", "L", "sel", "RR", "LL", "e", "e2")
ORDERS = {"constants first": True, "constants last": False}


def in_good_order(compiled: CompiledPointerTransformer) -> CompiledPointerTransformer:
    """The same network with its coordinates in the order gates, one, pointers, and no biases."""
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
        for k, b in affine.bias.entries.items():  # the maps with biases read the stream
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
    """Run the network in an arithmetic for so many outputs, or until it decodes wrongly."""
    values = PointerValues(compiled, word, outputs + 1)
    found = _ExactRun(compiled, values, arithmetic)
    network = FloatTransformer(compiled.network, arithmetic)
    index: WrongIndex | None = None
    vector: WrongOutput | None = None
    reading: WrongReading | None = None
    done = 0
    tokens = network.tokens(compiled.embed(word), compiled.seed)
    for i, token in enumerate(islice(tokens, min(outputs, values.end))):
        done = i + 1
        index = index or found.wrong_index(i, token)
        vector = vector or found.wrong_output(done, token.vectors["y"])
        reading = found.wrong_reading(done, token.vectors["y"])
        if reading is not None:
            break
    halted = done == values.end and reading is None
    return Failures(done, halted, index, vector, reading)


@dataclass(frozen=True)
class _ExactRun:
    """The exact run beside a network's."""

    compiled: CompiledPointerTransformer
    values: PointerValues
    arithmetic: Arithmetic[Any]

    def wrong_index(self, i: int, token: FloatToken) -> WrongIndex | None:
        """Whether layer 2 looks elsewhere than it points in the exact run."""
        right, attended = self.values.followed(i), token.to_itself[1]
        if right is None or attended is None or attended.winners == [right]:
            return None
        other = next((j for j in attended.winners if j != right), right)
        exact = self._score(i, right), self._score(i, other)
        rounded = self._rounded(attended, right), self._rounded(attended, other)
        place, margin = "decoder layer 2, self-attention", exact[0] - exact[1]
        return WrongIndex(i, place, right, attended.winners, other, exact, rounded, margin)

    def _score(self, i: int, j: int) -> Rational:
        layer = self.compiled.network.decoder[1]
        return score_phi(layer.Q(self.values.z1(i)), layer.K(self.values.z1(j)))

    def _rounded(self, attended: Attended, j: int) -> Rational | None:
        return self.arithmetic.exact(attended.score(j))

    def wrong_output(self, t: int, y: AnyArray) -> WrongOutput | None:
        """The first coordinate of y_t that is not the exact number, rounded once."""
        exact = self.values.y(t)
        wanted = self.arithmetic.vector(exact)
        for place, number in enumerate(y.tolist()):
            if number != wanted[place]:
                block = str(self.compiled.layout.coordinates[place])
                right = exact.entries.get(place, ZERO)
                return WrongOutput(t, "y", block, right, self.arithmetic.exact(number))
        return None

    def wrong_reading(self, t: int, y: AnyArray) -> WrongReading | None:
        """What y_t shows that it should not: the coordinates above 1/2."""
        layout = self.compiled.layout
        for what, wanted, block in (
            ("state", self.values.q[t], "q1"),
            ("symbol", self.values.s[t], "s1"),
        ):
            labels = zip(layout.labels(block), layout.places(block), strict=True)
            shown = [label for label, k in labels if 2 * y[k] > self.arithmetic.one]
            if shown != [wanted]:
                return WrongReading(t, what, wanted or "none", " and ".join(shown) or "none")
        return None


@dataclass(frozen=True)
class PointerExperiment(Experiment):
    """A pointer Transformer with hard attention, its sums in two orders."""

    has_attention: ClassVar[bool] = True
    blanks: bool = False

    @property
    def rows(self) -> int:
        """One for each format and order."""
        return len(self.formats) * len(ORDERS)

    def _compiled(self) -> CompiledPointerTransformer:
        normal = normalize(self.machine, blanks_in_input=self.blanks, keep_stays=True)
        return compile_pointer_transformer(normal, Attention.ABSOLUTE)

    def results(self, notify: Notify = lambda _: None) -> Iterator[dict[str, Any]]:
        """What goes wrong first, and what was predicted."""
        compiled = self._compiled()
        for form in self.formats:
            for order, is_good in ORDERS.items():
                notify(f"{form.name}, {order}")
                network = in_good_order(compiled) if is_good else compiled
                arithmetic = arithmetic_of(form, self.sums)
                found = first_pointer_failures(network, self.word, arithmetic, self.steps)
                about = {**self._about(form), "name": f"{form.name}, {order}", "order": order}
                yield {
                    **about,
                    "snapped": False,
                    **as_data(found),
                    **self._predicted(form, is_good),
                }

    def _predicted(self, form: Format, is_good: bool) -> dict[str, Any]:
        """t < 2^(p−2), with the constants first."""
        safe = 2 ** (form.bits - 2) if is_good else None
        none = dict.fromkeys(("first_possible", "worst_machine"))
        return {"predicted": {"safe_until": safe, "searchable": False, "searched": False, **none}}

    def growth(self) -> list[dict[str, Any]]:
        """The bits of pointers and scores, which are those of the positions."""
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
