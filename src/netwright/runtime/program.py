"""A Transformer's decoder as a program over 64-bit integers: the static analysis.

At token t (position p = t, from 1 on) every number of the decoder is an integer over a denominator
that is known beforehand: N / (D·p^e). The embedding, the seed and the weights bring denominators D,
the positional encoding and the mean over p tokens bring powers of p. The analysis finds D and e for
every coordinate (its `Scale`), and a bound on |N|, as long as p stays below a limit; a map between
such coordinates then has integer weights and powers of p.

    residual stream   y + pos, then what the layers add; a scale may grow on the way (`Rescale`)
    hidden vectors    what the maps of the layers make of the stream
    outputs y         with e = 0, as an output is read at the next position

Not every network has such a program: `UnsuitableError` says why, and exact rationals take over.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import NamedTuple

from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ONE, Activation, Rational, relu, sigma
from netwright.exact.vector import Vector
from netwright.nets.attention import hardmax, score_phi
from netwright.nets.positional import ReciprocalPositions
from netwright.nets.transformer import Layer, Map, Transformer
from netwright.runtime.attention import written_by
from netwright.runtime.unsuitable import UnsuitableError

HIGHEST = 1 << 62  # no number and no partial sum reaches it
LARGEST_DENOMINATOR = 1 << 20
LARGEST_POWER = 4
LONGEST = 1 << 40  # tokens
UNKNOWN_OUTPUT = 1 << 24  # what an output may grow to, where weights do not bound it


class Scale(NamedTuple):
    """N stands for N / (D·p^e)."""

    D: int = 1
    e: int = 0

    def join(self, other: "Scale") -> "Scale":
        """A scale for the numbers of both."""
        joined = Scale(lcm(self.D, other.D), max(self.e, other.e))
        if joined.D > LARGEST_DENOMINATOR or joined.e > LARGEST_POWER:
            raise UnsuitableError("a denominator grows from token to token")
        return joined

    def times(self, weight: Rational) -> "Scale":
        """The scale of a weight times a number of this scale."""
        return Scale(int((weight / self.D).q), self.e)


Scales = dict[int, Scale]
"""The scale of each coordinate that may be other than 0."""


class Term(NamedTuple):
    """What an edge of the program does: N_target += factor · p^power · N_source."""

    source: int
    target: int
    factor: int
    power: int


@dataclass
class Step:
    """target = f(source·A + b), or target += source·A + b where it adds to the stream."""

    source: int
    target: int
    terms: list[Term]
    bias: list[Term]  # with no source
    activation: Activation | None = None
    adds: bool = False


@dataclass
class Rescale:
    """The same numbers of the stream over larger denominators."""

    terms: list[Term]


@dataclass
class Mean:
    """The stream gets the mean over all tokens of what a vector was."""

    vector: int
    terms: list[Term]


@dataclass
class External:
    """The stream gets the value of the key nearest to j, its query being (1, j) in two places."""

    places: tuple[int, int] | None  # None where all keys are equal
    units: tuple[int, int]  # the 1 of these places
    rows: list[list[Term]]  # for each key: with no source


@dataclass
class LastVisit:
    """The stream gets the value of the latest token whose key has the cell of the query."""

    key: int
    query: int
    value: int
    places: tuple[int, int, int]  # a, b, c of the form; see `attention`
    terms: list[Term]


Instruction = Step | Rescale | Mean | External | LastVisit
STREAM, OUTPUT = 0, 1


@dataclass
class Program:
    """What the decoder does to a token, in order, and the scales of its vectors."""

    dimension: int
    vectors: list[Scales]
    """By number: the stream, the output, then others."""
    sizes: list[int]
    instructions: list[Instruction] = field(default_factory=list)
    longest: int = 0
    """For how many tokens nothing overflows."""
    output_bound: dict[int, int] = field(default_factory=dict)
    """What no |N| of an output may exceed for that, where the weights do not see to it."""


def decoder_program(
    network: Transformer,
    external: tuple[Sequence[Vector], Sequence[Vector]],
    seed: Vector,
    first_keys: Sequence[Vector],
) -> Program:
    """The program of a decoder over the encoder's keys and values.

    `first_keys` has each layer's key of the first token: it tells which coordinate plays which
    part in keys that look alike.
    """
    if network.score is not score_phi or network.rho is not hardmax:
        raise UnsuitableError("its attention is not hard with the score −|⟨q, k⟩|")
    if network.pos is not None and not isinstance(network.pos, ReciprocalPositions):
        raise UnsuitableError("its positional encoding is not 1, i, 1/i, 1/i²")
    output = {k: Scale(int(value.q)) for k, value in seed.entries.items()}
    for _ in range(16):
        builder = _Builder(network, external, first_keys, dict(output))
        builder.build()
        if builder.output == output:
            program = builder.program
            program.longest = _bounds(program, seed)
            return program
        output = builder.output
    raise UnsuitableError("a denominator grows from token to token")


class _Builder:
    """One round of the analysis: instructions for given scales, and the outputs' scales then."""

    def __init__(
        self,
        network: Transformer,
        external: tuple[Sequence[Vector], Sequence[Vector]],
        first_keys: Sequence[Vector],
        output: Scales,
    ) -> None:
        self.network, self.external, self.first_keys = network, external, first_keys
        self.stream: Scales = {}
        self.output = output
        dimension = network.layout.dimension
        self.program = Program(dimension, [self.stream, output], [dimension, dimension])

    def build(self) -> None:
        """All instructions."""
        self._load()
        for layer, first_key in zip(self.network.decoder, self.first_keys, strict=True):
            self._self_attention(layer, first_key)
            self._external()
            self._network(layer.O, adds=True)
        self._network(self.network.F, last=OUTPUT)
        if any(scale.e for scale in self.output.values()):
            raise UnsuitableError("an output has the position in its denominator")

    def _join(self, target: Scales, needed: Iterable[tuple[int, Scale]]) -> None:
        """Make the scales of some coordinates large enough; numbers that are there follow."""
        before = dict(target)
        for k, scale in needed:
            target[k] = target[k].join(scale) if k in target else scale
        grown = [
            Term(k, k, target[k].D // old.D, target[k].e - old.e)
            for k, old in before.items()
            if target[k] != old
        ]
        if grown and target is self.stream:
            self.program.instructions.append(Rescale(grown))

    def _numbers(self, numbers: Mapping[int, Rational], target: Scales) -> list[Term]:
        """Terms that add given numbers, once the scales are joined."""
        return [
            Term(-1, k, int((number * target[k].D).p), target[k].e) for k, number in numbers.items()
        ]

    def _map(
        self,
        weights: Iterable[tuple[int, int, Rational]],
        bias: Mapping[int, Rational],
        source: Scales,
        target: Scales,
    ) -> tuple[list[Term], list[Term]]:
        """The terms of a matrix, given by row, column and weight, and of a bias."""
        used = [(j, k, w) for j, k, w in weights if j in source]
        needed = [(k, source[j].times(w)) for j, k, w in used]
        self._join(target, [*needed, *((k, Scale(int(b.q))) for k, b in bias.items())])
        terms = [
            Term(j, k, int((w * target[k].D / source[j].D).p), target[k].e - source[j].e)
            for j, k, w in used
        ]
        return terms, self._numbers(bias, target)

    def _copy(self, source: Scales, target: Scales) -> list[Term]:
        return self._map([(k, k, ONE) for k in source], {}, source, target)[0]

    def _load(self) -> None:
        """The stream is y + pos."""
        bias: list[tuple[int, int, int]] = []
        if isinstance(self.network.pos, ReciprocalPositions):
            places = [self.network.layout.index(block) for block in self.network.pos.blocks]
            # 1, p, 1/p, 1/p²: a power of p, upstairs or downstairs.
            bias = list(zip(places, (0, 1, 0, 0), (0, 0, 1, 2), strict=True))
        for k, scale in (*self.output.items(), *((k, Scale(1, down)) for k, _, down in bias)):
            self.stream[k] = self.stream.get(k, Scale()).join(scale)
        self.program.instructions.append(
            Step(
                OUTPUT,
                STREAM,
                self._copy(self.output, self.stream),
                [
                    Term(-1, k, self.stream[k].D, self.stream[k].e - down + up)
                    for k, up, down in bias
                ],
            )
        )

    def _new_vector(self, size: int) -> tuple[int, Scales]:
        self.program.vectors.append({})
        self.program.sizes.append(size)
        return len(self.program.vectors) - 1, self.program.vectors[-1]

    def _network(self, net: Map, *, adds: bool = False, last: int | None = None) -> int:
        """A feed-forward network of the stream: the vector that has its image."""
        net = _feed_forward(net)
        source = STREAM
        for number, affine in enumerate(net.maps, start=1):
            final = number == len(net.maps)
            into_stream = final and adds and source != STREAM
            if into_stream:
                target, scales = STREAM, self.stream
            elif final and last is not None:
                target, scales = last, self.output
            else:
                target, scales = self._new_vector(affine.output.dimension)
            if not final and net.activation not in (sigma, relu):
                raise UnsuitableError("an activation is neither σ nor relu")
            weights = ((j, k, w) for (j, k), w in affine.weights.items())
            terms, bias = self._map(
                weights, affine.bias.entries, self.program.vectors[source], scales
            )
            activation = None if final else net.activation
            self.program.instructions.append(
                Step(source, target, terms, bias, activation, into_stream)
            )
            source = target
        if adds and source != STREAM and (terms := self._copy(scales, self.stream)):
            # One map from the stream to itself: its image first, then the sum.
            self.program.instructions.append(Step(source, STREAM, terms, [], adds=True))
        return source

    def _self_attention(self, layer: Layer, first_key: Vector) -> None:
        Q, K, V = map(_feed_forward, (layer.Q, layer.K, layer.V))
        if not written_by(V):
            return  # every value is 0
        value = self._network(V)
        scales = self.program.vectors[value]
        if any(scale.e for scale in scales.values()):
            raise UnsuitableError("a value has the position in its denominator")
        if not K.maps[-1].weights or not written_by(Q):
            # Equal keys, or queries 0: equal scores, and the mean is a sum over p.
            over_p = {k: Scale(scale.D, 1) for k, scale in scales.items()}
            terms = self._copy(over_p, self.stream)
            self.program.instructions.append(Mean(value, terms))
            return
        key, query = self._network(K), self._network(Q)
        places = _last_visit_places(self.program.vectors[key], written_by(K), first_key)
        queries = self.program.vectors[query]
        if [queries.get(k, Scale()).e for k in places] != [1, 1, 2]:
            raise UnsuitableError("the query is not that of a last visit")
        terms = self._copy(scales, self.stream)
        self.program.instructions.append(LastVisit(key, query, value, places, terms))

    def _external(self) -> None:
        keys, values = self.external
        if not keys:
            return
        places, units = None, (1, 1)
        if all(key == keys[0] for key in keys):
            values = [(ONE / len(values)) * sum(values[1:], values[0])]
        else:
            places = _line_places(keys)
        entries = [value.entries for value in values]
        self._join(self.stream, ((k, Scale(int(v.q))) for row in entries for k, v in row.items()))
        if places:
            first, second = (self.stream.get(k, Scale(1, 1)) for k in places)
            if first.e or second.e:
                raise UnsuitableError("a query of the encoder is not on its line")
            units = first.D, second.D
        rows = [self._numbers(row, self.stream) for row in entries]
        self.program.instructions.append(External(places, units, rows))


def _feed_forward(net: Map) -> FeedForward:
    if not isinstance(net, FeedForward):
        raise UnsuitableError("a part of it is not a feed-forward network")
    return net


def _line_places(keys: Sequence[Vector]) -> tuple[int, int]:
    """The coordinates a and b in which the i-th key is (i, −1)."""
    second = keys[1].entries
    if len(second) == 2:
        a, b = sorted(second, key=lambda k: second[k], reverse=True)
        if all(key.entries == {a: i * ONE, b: -ONE} for i, key in enumerate(keys, start=1)):
            return a, b
    raise UnsuitableError("the encoder's keys are not on a line")


def _last_visit_places(
    scales: Scales, written: Sequence[int], first_key: Vector
) -> tuple[int, int, int]:
    """The coordinates a, b, c in which the keys may be (ε_j, −ε_j c_j, ε_j²)."""
    powers = sorted(scales.get(k, Scale()).e for k in written)
    ones = [k for k in written if scales[k].e == 1 and first_key.entries.get(k) == ONE]
    if powers != [1, 1, 2] or len(ones) != 1:
        raise UnsuitableError("a layer's attention is not equal and not to a last visit")
    (c,) = (k for k in written if scales[k].e == 2)
    (b,) = (k for k in written if k not in (c, ones[0]))
    return ones[0], b, c


def _bounds(program: Program, seed: Vector) -> int:
    """The largest power of two of tokens for which no number reaches `HIGHEST`."""
    output = program.vectors[OUTPUT]
    start = {k: abs(int((v * output[k].D).p)) for k, v in seed.entries.items()}
    tokens = LONGEST
    while tokens >= 1 << 10:
        bound, checked = start, {}
        for _ in range(4):
            reached, _ = _one_token(program, bound, tokens)
            grown = {k: max(bound.get(k, 0), reached.get(k, 0)) for k in {**bound, **reached}}
            if grown == bound:
                break
            bound = grown
        else:
            bound = checked = {k: UNKNOWN_OUTPUT * scale.D for k, scale in output.items()}
        if _one_token(program, bound, tokens)[1] < HIGHEST:
            program.output_bound = checked
            return tokens
        tokens >>= 1
    raise UnsuitableError("numbers become too large for 64 bits")


def _one_token(
    program: Program, output: Mapping[int, int], tokens: int
) -> tuple[dict[int, int], int]:
    """Bounds of the next output from those of an output, and of every sum on the way."""
    bounds: list[dict[int, int]] = [{} for _ in program.vectors]
    bounds[OUTPUT] = dict(output)
    highest = 0

    def size(term: Term, source: int) -> int:
        return abs(term.factor) * source * int(tokens**term.power)

    for each in program.instructions:
        if isinstance(each, Step):
            source = bounds[each.source]
            target = dict(bounds[each.target]) if each.adds else {}
            for term in each.terms:
                target[term.target] = target.get(term.target, 0) + size(
                    term, source.get(term.source, 0)
                )
            for term in each.bias:
                target[term.target] = target.get(term.target, 0) + size(term, 1)
            highest = max([highest, *target.values()])
            if each.activation is not None:
                scales = program.vectors[each.target]
                one = {k: scales[k].D * tokens ** scales[k].e for k in target}
                highest = max([highest, *one.values()])
                if each.activation is sigma:
                    target = {k: min(n, one[k]) for k, n in target.items()}
            bounds[each.target] = target
            continue
        stream = bounds[STREAM]
        if isinstance(each, Rescale):
            stream |= {t.target: size(t, stream.get(t.source, 0)) for t in each.terms}
            continue
        if isinstance(each, External):
            added: dict[int, int] = {}
            for term in (term for row in each.rows for term in row):
                added[term.target] = max(added.get(term.target, 0), size(term, 1))
        elif isinstance(each, Mean):
            total = {k: tokens * n for k, n in bounds[each.vector].items()}
            highest = max([highest, *total.values()])
            added = {t.target: size(t, total.get(t.source, 0)) for t in each.terms}
        else:
            highest = max([highest, *(3 * n for n in bounds[each.query].values())])
            added = {t.target: size(t, bounds[each.value].get(t.source, 0)) for t in each.terms}
        for k, n in added.items():
            stream[k] = stream.get(k, 0) + n
        highest = max([highest, *stream.values()])
    return bounds[OUTPUT], highest
