"""Where a Transformer in floating point first goes wrong, beside the exact run.

The network runs on its own outputs. Beside each token stand the values of the proof, which a run of
the machine gives. What can go wrong:

- *index*: an attention's greatest score is not where it is in the exact run;
- *vector*: an output y_t is not the exact one;
- *decoded*: the state, symbol or move that y_t shows, which is the coordinate above 1/2, is wrong.

A wrong index may find the right symbol, and an output may be wrong without one. After a wrong
decoded output the run is another machine's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from netwright.definitions.attention import score_phi
from netwright.exact.arrays import AnyArray
from netwright.exact.layout import Layout
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.kind.transformer.proof_values import ProofValues
from netwright.precision.arithmetic import Arithmetic, Attended
from netwright.precision.transformer import FloatToken, FloatTransformer, Temperature

Tell = Callable[[int], None]
"""Called with the number of outputs so far."""


@dataclass(frozen=True)
class WrongIndex:
    """A token attends to others than it should."""

    token: int
    place: str
    """Which attention."""
    right: int
    attended: list[int]
    """Those of the greatest score, the first few if they are many."""
    instead: int
    """The first of them that is not the right one."""
    exact_scores: tuple[Rational, Rational]
    """Of the right token, and of the one instead."""
    rounded_scores: tuple[Rational | None, Rational | None]
    """None for what is no number any more."""
    margin: Rational
    """By how much the right token is ahead, exactly."""


@dataclass(frozen=True)
class WrongOutput:
    """An output that is not the exact one, and the first vector of its token that is not."""

    output: int
    vector: str
    block: str
    exact: Rational
    rounded: Rational | None


@dataclass(frozen=True)
class WrongReading:
    """An output that shows something else."""

    output: int
    what: str
    expected: str
    found: str


@dataclass(frozen=True)
class Failures:
    """What went wrong first in a run, and how long the run was."""

    outputs: int
    """How many outputs there were up to a wrong decoded one, the end of the run or the limit."""
    halted: bool
    index: WrongIndex | None
    vector: WrongOutput | None
    reading: WrongReading | None


def as_data(value: Any) -> Any:
    """Dataclasses as dictionaries, rationals as text."""
    if is_dataclass(value):
        return {each.name: as_data(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list | tuple):
        return [as_data(each) for each in value]
    return str(value) if isinstance(value, Rational) else value


def first_failures(
    compiled: CompiledTransformer,
    word: tuple[str, ...],
    arithmetic: Arithmetic[Any],
    outputs: int,
    temperature: Temperature = None,
    tell: Tell = lambda _: None,
    *,
    index_only: bool = False,
) -> Failures:
    """Run a network in an arithmetic for so many outputs, or until it decodes wrongly.

    With `index_only` the run ends with the first wrong index.
    """
    values = ProofValues.of(compiled, word, outputs + 1)
    halts = values.halts or outputs + 1
    watched = _Watched(compiled, values, arithmetic)
    index: WrongIndex | None = None
    vector: WrongOutput | None = None
    reading: WrongReading | None = None
    network = FloatTransformer(compiled.network, arithmetic, temperature)
    tokens = network.tokens(compiled.recognizer.embed(word), compiled.seed)
    done = 0
    for i, token in enumerate(islice(tokens, min(outputs, halts))):
        done = i + 1
        if done % 64 == 0:
            tell(done)
        if index is None:
            index = watched.wrong_index(i, token)
            if index is not None and index_only:
                break
        y = token.vectors["y"]
        if vector is None and (y != watched.output(done)).any():
            vector = watched.wrong_vector(i, token)
        if vector is not None:
            reading = watched.wrong_reading(done, y)
            if reading is not None:
                break
    return Failures(done, done == halts and reading is None, index, vector, reading)


class _Watched:
    """The exact run beside a network's."""

    def __init__(
        self, compiled: CompiledTransformer, values: ProofValues, arithmetic: Arithmetic[Any]
    ) -> None:
        self.compiled, self.values, self.arithmetic = compiled, values, arithmetic
        self.layout: Layout = compiled.layout
        self.one = arithmetic.one
        self.places = {(c.block, c.label): k for k, c in enumerate(self.layout.coordinates)}

    def output(self, t: int) -> AnyArray:
        """The exact y_t, whose numbers are 0, 1 and −1 in every format."""
        exact = self.arithmetic.zero(self.layout.dimension)
        state, symbol = self.values.q[t], self.values.s[t]
        if state is not None:
            exact[self.places["q1", state]] = self.one
        exact[self.places["s1", symbol]] = self.one
        exact[self.places["x1", ""]] = self.values.m[t - 1] * self.one
        return exact

    def wrong_index(self, i: int, token: FloatToken) -> WrongIndex | None:
        """The first attention of a token that looks elsewhere than in the exact run."""
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

    def _score_of_visit(self, i: int, j: int) -> Rational:
        """The exact score of token j for token i in layer 3."""
        layer = self.compiled.network.decoder[2]
        return score_phi(layer.Q(self.values.p2(i)), layer.K(self.values.p2(j)))

    def _score_of_input(self, i: int, j: int) -> Rational:
        """That of input token j: a query has (1, i+1) in x8, x9 in every layer, as p² has."""
        return score_phi(self.values.p2(i), self.keys[j])

    @cached_property
    def keys(self) -> list[Vector]:
        """The encoder's keys, exactly."""
        word = self.compiled.recognizer.embed(self.values.word)
        return self.compiled.network.encode(word)[0]

    def wrong_vector(self, i: int, token: FloatToken) -> WrongOutput:
        """The first coordinate of a token that is not the exact number rounded.

        Or that is an integer and not exact: positions and ℓ must be, for F takes differences.
        """
        return next(self._differences(i, token))

    def _differences(self, i: int, token: FloatToken) -> Iterator[WrongOutput]:
        for name, exact in self._exact_vectors(i):
            wanted = self.arithmetic.vector(exact)
            for place, number in enumerate(token.vectors[name].tolist()):
                right = exact.entries.get(place, ZERO)
                found = self.arithmetic.exact(number)
                if number != wanted[place] or (right.q == 1 and found != right):
                    block = str(self.layout.coordinates[place])
                    yield WrongOutput(i + 1, name, block, right, found)

    def _exact_vectors(self, i: int) -> Iterator[tuple[str, Vector]]:
        values = self.values
        yield from (("a1", values.a1(i)), ("z1", values.z1(i)), ("p2", values.p2(i)))
        yield from (("z2", values.p2(i)), ("p3", values.p3(i)), ("z3", values.p3(i)))
        yield "y", values.y(i + 1)

    def wrong_reading(self, t: int, y: AnyArray) -> WrongReading | None:
        """What y_t shows that it should not."""
        expected = {"state": self.values.q[t], "symbol": self.values.s[t]}
        for (what, wanted), block in zip(expected.items(), ("q1", "s1"), strict=True):
            labels = self.layout.labels(block)
            on = [label for label in labels if 2 * y[self.places[block, label]] > self.one]
            if on != [label for label in (wanted,) if label is not None]:
                return WrongReading(t, what, wanted or "none", " and ".join(on) or "none")
        move = y[self.places["x1", ""]]
        shown = 1 if 2 * move > self.one else -1 if 2 * move < -self.one else 0
        if shown != self.values.m[t - 1]:
            return WrongReading(t, "move", str(self.values.m[t - 1]), str(shown))
        return None
