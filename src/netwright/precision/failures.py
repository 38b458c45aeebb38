"""Where a Transformer in floating point first goes wrong, compared with the exact run.

The network runs on its own outputs. Each token is compared with the values of the proof, which
follow from a run of the machine. What can go wrong:

- *index*: an attention's greatest score is not where it is in the exact run;
- *vector*: an output y_t is not the exact one;
- *decoded*: the state, symbol or move that y_t shows, which is the coordinate above 1/2, is wrong.

A wrong index may find the right symbol, and an output may be wrong without one. After a wrong
decoded output the run is another machine's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from netwright.definitions.transformer import score_phi
from netwright.exact.arrays import AnyArray
from netwright.exact.layout import Layout
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.kind.transformer.proof_values import ProofValues
from netwright.precision.arithmetic import Arithmetic, Attended
from netwright.precision.transformer import FloatToken, FloatTransformer, Temperature

Report = Callable[[int], None]
"""A progress callback that receives the number of outputs so far."""


@dataclass(frozen=True)
class WrongIndex:
    """A token that attends to another than it should."""

    token: int
    place: str
    """Which attention."""
    right: int
    attended: list[int]
    """The first few tokens of the greatest score."""
    instead: int
    """The first of them that is not the right one."""
    exact_scores: tuple[Rational, Rational]
    """Those of the right token and of the one instead."""
    rounded_scores: tuple[Rational | None, Rational | None]
    """None for infinity or NaN."""
    margin: Rational
    """By how much the right token is ahead, exactly."""


@dataclass(frozen=True)
class WrongOutput:
    """An output that is not exact, and the first vector of its token that is not."""

    output: int
    vector: str
    block: str
    exact: Rational
    rounded: Rational | None


@dataclass(frozen=True)
class WrongReading:
    """An output that shows a wrong state, symbol or move."""

    output: int
    what: str
    expected: str
    found: str


@dataclass(frozen=True)
class Failures:
    """The first failure of each sort in a run."""

    outputs: int
    """Outputs up to a wrong decoded one, the end of the run or the limit."""
    halted: bool
    index: WrongIndex | None
    vector: WrongOutput | None
    reading: WrongReading | None


def as_data(value: Any) -> Any:
    """Convert dataclasses to dictionaries and rationals to strings, recursively."""
    if is_dataclass(value):
        return {each.name: as_data(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [as_data(each) for each in value]
    return str(value) if isinstance(value, Rational) else value


class ExactRun(ABC):
    """The exact run of a network; `watch` compares a run in floating point with it."""

    def __init__(
        self, layout: Layout, arithmetic: Arithmetic[Any], q: Sequence[str | None], s: Sequence[str]
    ) -> None:
        self.layout, self.arithmetic, self.q, self.s = layout, arithmetic, q, s

    @abstractmethod
    def wrong_index(self, i: int, token: FloatToken) -> WrongIndex | None:
        """The first attention of token i that looks elsewhere than in the exact run."""

    @abstractmethod
    def wrong_vector(self, i: int, token: FloatToken) -> WrongOutput | None:
        """The first wrong coordinate of token i; None if its output is exact."""

    def wrong_reading(self, t: int, y: AnyArray) -> WrongReading | None:
        """The state or symbol that y_t shows, if it is wrong: the coordinates above 1/2."""
        for what, wanted, block in (("state", self.q[t], "q1"), ("symbol", self.s[t], "s1")):
            labels = zip(self.layout.labels(block), self.layout.places(block), strict=True)
            on = [label for label, k in labels if 2 * y[k] > self.arithmetic.one]
            if on != ([] if wanted is None else [wanted]):
                return WrongReading(t, what, wanted or "none", " and ".join(on) or "none")
        return None

    def watch(
        self,
        tokens: Iterator[FloatToken],
        outputs: int,
        end: int,
        report: Report = lambda _: None,
        *,
        index_only: bool = False,
    ) -> Failures:
        """Follow a run for `outputs` outputs, to its `end`, or until it decodes wrongly."""
        index: WrongIndex | None = None
        vector: WrongOutput | None = None
        reading: WrongReading | None = None
        done = 0
        for i, token in enumerate(islice(tokens, min(outputs, end))):
            done = i + 1
            if done % 64 == 0:
                report(done)
            index = index or self.wrong_index(i, token)
            if index is not None and index_only:
                break
            vector = vector or self.wrong_vector(i, token)
            if vector is not None:
                reading = self.wrong_reading(done, token.vectors["y"])
                if reading is not None:
                    break
        return Failures(done, done == end and reading is None, index, vector, reading)

    def _explained(
        self,
        i: int,
        place: str,
        right: int,
        attended: Attended,
        exact_score: Callable[[int, int], Rational],
    ) -> WrongIndex:
        other = next((j for j in attended.winners if j != right), right)
        exact = exact_score(i, right), exact_score(i, other)
        first, second = (self.arithmetic.exact(attended.score(j)) for j in (right, other))
        margin = exact[0] - exact[1]
        return WrongIndex(i, place, right, attended.winners, other, exact, (first, second), margin)

    def _differences(
        self, output: int, name: str, exact: Vector, numbers: AnyArray
    ) -> Iterator[WrongOutput]:
        """The coordinates of a vector that are not the exact number rounded.

        Or that are an integer and not exact: positions and ℓ must be, for F takes differences.
        """
        wanted = self.arithmetic.vector(exact)
        for place, number in enumerate(numbers.tolist()):
            right = exact.entries.get(place, ZERO)
            is_exact = not right or right.q != 1 or self.arithmetic.exact(number) == right
            if number != wanted[place] or not is_exact:
                block = str(self.layout.coordinates[place])
                yield WrongOutput(output, name, block, right, self.arithmetic.exact(number))


def first_failures(
    compiled: CompiledTransformer,
    word: tuple[str, ...],
    arithmetic: Arithmetic[Any],
    outputs: int,
    temperature: Temperature = None,
    report: Report = lambda _: None,
    *,
    index_only: bool = False,
) -> Failures:
    """Run a network in an arithmetic for `outputs` outputs, or until it decodes wrongly.

    With `index_only` the run ends at the first wrong index.
    """
    values = ProofValues.of(compiled, word, outputs + 1)
    network = FloatTransformer(compiled.network, arithmetic, temperature)
    tokens = network.tokens(compiled.recognizer.embed(word), compiled.seed)
    run = _TransformerRun(compiled, values, arithmetic)
    return run.watch(tokens, outputs, values.halts or outputs + 1, report, index_only=index_only)


class _TransformerRun(ExactRun):
    """The exact run of the Transformer of Theorem 3.4."""

    def __init__(
        self, compiled: CompiledTransformer, values: ProofValues, arithmetic: Arithmetic[Any]
    ) -> None:
        super().__init__(compiled.layout, arithmetic, values.q, values.s)
        self.compiled, self.values = compiled, values

    def wrong_index(self, i: int, token: FloatToken) -> WrongIndex | None:
        """As above: the attentions to the encoder, then the self-attention of layer 3."""
        for number, attended in enumerate(token.external if self.values.word else [], start=1):
            right = self.values.beta(i + 1) - 1
            if attended.winners != [right]:
                place = f"decoder layer {number}, attention to the encoder"
                return self._explained(i, place, right, attended, self._score_of_input)
        to_itself, right = token.to_itself[2], self.values.ell[i + 1]
        if to_itself is None or to_itself.winners == [right]:
            return None
        place = "decoder layer 3, self-attention"
        return self._explained(i, place, right, to_itself, self._score_of_visit)

    def _score_of_visit(self, i: int, j: int) -> Rational:
        """The exact score of token j for token i in layer 3."""
        layer = self.compiled.network.decoder[2]
        return score_phi(layer.Q(self.values.p2(i)), layer.K(self.values.p2(j)))

    def _score_of_input(self, i: int, j: int) -> Rational:
        """That of input token j: a query has (1, i+1) in x8, x9 in every layer, as p² has."""
        return score_phi(self.values.p2(i), self.keys[j])

    @cached_property
    def keys(self) -> list[Vector]:
        """The encoder's exact keys."""
        word = self.compiled.recognizer.embed(self.values.word)
        return self.compiled.network.encode(word)[0]

    def wrong_vector(self, i: int, token: FloatToken) -> WrongOutput | None:
        """As above, in the first vector of the token that is wrong."""
        if (token.vectors["y"] == self._output(i + 1)).all():
            return None
        values = self.values
        exact = {"a1": values.a1(i), "z1": values.z1(i), "p2": values.p2(i), "z2": values.p2(i)}
        exact |= {"p3": values.p3(i), "z3": values.p3(i), "y": values.y(i + 1)}
        return next(
            difference
            for name, vector in exact.items()
            for difference in self._differences(i + 1, name, vector, token.vectors[name])
        )

    def _output(self, t: int) -> AnyArray:
        """The exact y_t, whose numbers are 0, 1 and −1 in every format."""
        one, index = self.arithmetic.one, self.layout.index
        exact = self.arithmetic.zero(self.layout.dimension)
        state, symbol = self.q[t], self.s[t]
        if state is not None:
            exact[index("q1", state)] = one
        exact[index("s1", symbol)] = one
        exact[index("x1")] = self.values.m[t - 1] * one
        return exact

    def wrong_reading(self, t: int, y: AnyArray) -> WrongReading | None:
        """As above, or the move that y_t shows."""
        move, one, right = y[self.layout.index("x1")], self.arithmetic.one, self.values.m[t - 1]
        shown = 1 if 2 * move > one else -1 if 2 * move < -one else 0
        wrong = WrongReading(t, "move", str(right), str(shown)) if shown != right else None
        return super().wrong_reading(t, y) or wrong
