"""The program of a Transformer's decoder: static analysis of its denominators.

The embedding, the seed and the weights bring denominators D; the positional encoding and the mean
over p tokens bring powers of p. The scales of outputs are a fixed point: the first round begins
with those of the seed, each later one with those of the outputs before. A map between coordinates
of known scales has integer weights and powers of p.

Not every network has such a program: `UnsuitableError` says why, and exact rationals take over.

`set_bounds` finds for how many tokens no number of a program leaves 64 bits. Every |N| and every
partial sum is bounded by the sum of the |factor|·p^power·|N| that go into it, from the bounds of
the output before. Outputs are bounded if the last map follows a σ; where the weights give no bound,
one is set, and checked at every token.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from netwright.definitions.transformer import Layer, Map, Positions, Transformer, hardmax, score_phi
from netwright.engine.moments import UnsuitableError
from netwright.engine.transformer.attention import written_by
from netwright.engine.transformer.encoded import Column, Columns, Encoded
from netwright.engine.transformer.program import (
    OUTPUT,
    STREAM,
    External,
    LastVisit,
    Mean,
    Program,
    Rescale,
    Scale,
    Scales,
    Step,
    Term,
)
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ONE, Rational, relu, sigma
from netwright.exact.vector import Vector


def decoder_program(
    network: Transformer, external: Encoded, seed: Vector, first_keys: Sequence[Vector]
) -> Program:
    """The program of a decoder over the encoder's keys and values.

    `first_keys` has each layer's key of the first token: it tells apart coordinates of a key that
    have the same scale.
    """
    if (network.score, network.rho) != (score_phi, hardmax):
        raise UnsuitableError("its attention is not hard with the score −|⟨q, k⟩|")
    pos = network.pos
    if not (pos is None or (isinstance(pos, Positions) and pos.is_reciprocal)):
        raise UnsuitableError("its positional encoding is not 1, i, 1/i, 1/i², …")
    # Start with all coordinates that F may write. Scales grow for a round or two, then stay.
    output = dict.fromkeys(written_by(network.F), Scale())
    output |= {k: Scale(int(value.q)) for k, value in seed.entries.items()}
    for number in range(16):
        is_first = number == 0
        builder = _Builder(network, external, first_keys, dict(output), only_scales=is_first)
        builder.build()
        if builder.output == output and not is_first:
            set_bounds(builder.program, seed)
            return builder.program
        output = builder.output
    raise UnsuitableError("a denominator grows from token to token")


class _Builder:
    """One round of the analysis: instructions for given scales, and the outputs' new scales."""

    def __init__(
        self,
        network: Transformer,
        external: Encoded,
        first_keys: Sequence[Vector],
        output: Scales,
        *,
        only_scales: bool,
    ) -> None:
        self.only_scales = only_scales
        self.network, self.external, self.first_keys = network, external, first_keys
        self.stream, self.output = dict[int, Scale](), output
        dimension = network.layout.dimension
        self.program = Program(dimension, [self.stream, output], [dimension, dimension])

    def build(self) -> None:
        """Append all instructions to the program."""
        self._load()
        for layer, first_key in zip(self.network.decoder, self.first_keys, strict=True):
            attention = self._attention(layer, first_key)
            self.program.attentions.append(attention)
            if attention is not None:
                self.program.instructions.append(attention)
            self._external()
            self._network(layer.O, adds=True)
        self._network(self.network.F, last=OUTPUT)
        if any(scale.e for scale in self.output.values()):
            raise UnsuitableError("an output has the position in its denominator")

    def _join(self, target: Scales, needed: Iterable[tuple[int, Scale]]) -> None:
        """Enlarge the scales of some coordinates; rescale the numbers of the stream to match."""
        before = dict(target) if target is self.stream else {}
        for k, scale in needed:
            if target.get(k) != scale:
                target[k] = target.get(k, Scale()).join(scale)
        grown = [
            Term(k, k, target[k].D // old.D, target[k].e - old.e)
            for k, old in before.items()
            if target[k] != old
        ]
        if grown:
            self.program.instructions.append(Rescale(grown))

    def _map(
        self,
        weights: Iterable[tuple[int, int, int, int]],
        bias: Mapping[int, Rational],
        source: Scales,
        target: Scales,
    ) -> tuple[list[Term], list[Term]]:
        """The terms of a bias, and of weights given as (row, column, numerator, denominator)."""
        used = [each for each in weights if each[0] in source]
        needed = [(k, source[j].times(top, bottom)) for j, k, top, bottom in used]
        self._join(target, [*needed, *((k, Scale(int(b.q))) for k, b in bias.items())])
        if self.only_scales:
            return [], []
        numbers = [Term(-1, k, int((b * target[k].D).p), target[k].e) for k, b in bias.items()]
        return terms_of(used, source, target), numbers

    def _copy(self, source: Scales, target: Scales) -> list[Term]:
        return self._map([(k, k, 1, 1) for k in source], {}, source, target)[0]

    def _load(self) -> None:
        """Set the stream to y + pos, where pos is 1, p, 1/p, 1/p², …."""
        powers: list[tuple[int, int]] = []
        if isinstance(self.network.pos, Positions):
            powers = [(self.network.layout.index(k), e) for k, e in self.network.pos.powers]
        for k, scale in (*self.output.items(), *((k, Scale(1, max(0, -e))) for k, e in powers)):
            self.stream[k] = self.stream.get(k, Scale()).join(scale)
        bias = [Term(-1, k, self.stream[k].D, self.stream[k].e + e) for k, e in powers]
        copied = self._copy(self.output, self.stream)
        self.program.instructions.append(Step(OUTPUT, STREAM, copied, bias))

    def _new_vector(self, size: int) -> tuple[int, Scales]:
        self.program.vectors.append({})
        self.program.sizes.append(size)
        return len(self.program.vectors) - 1, self.program.vectors[-1]

    def _network(self, net: Map, *, adds: bool = False, last: int | None = None) -> int:
        """Apply a feed-forward network to the stream; return the vector that has its image."""
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
            terms, bias = self._map(
                affine.fractions, affine.bias.entries, self.program.vectors[source], scales
            )
            activation = None if final else net.activation
            self.program.instructions.append(
                Step(source, target, terms, bias, activation, into_stream, affine)
            )
            source = target
        if adds and source != STREAM and (terms := self._copy(scales, self.stream)):
            # One map from the stream to itself: its image first, then the sum.
            self.program.instructions.append(Step(source, STREAM, terms, [], adds=True))
        return source

    def _attention(self, layer: Layer, first_key: Vector) -> Mean | LastVisit | None:
        K, V, Q = map(_feed_forward, (layer.K, layer.V, layer.Q))
        if not written_by(V):
            return None  # every value is 0
        value = self._network(V)
        scales = self.program.vectors[value]
        if any(scale.e for scale in scales.values()):
            raise UnsuitableError("a value has the position in its denominator")
        if has_equal_scores(layer):
            # The mean is a sum over p.
            over_p = {k: Scale(scale.D, 1) for k, scale in scales.items()}
            return Mean(value, self._copy(over_p, self.stream))
        key, query = self._network(K), self._network(Q)
        places = _last_visit_places(self.program.vectors[key], written_by(K), first_key)
        queries = self.program.vectors[query]
        if [queries.get(k, Scale()).e for k in places] != [1, 1, 2, 3][: len(places)]:
            raise UnsuitableError("the query is not that of a last visit")
        return LastVisit(key, query, value, places, self._copy(scales, self.stream))

    def _external(self) -> None:
        encoded = self.external
        if not len(encoded):
            return
        places, units, count, values = None, (1, 1), len(encoded), encoded.values
        if all((column.numbers == column.numbers[0]).all() for column in encoded.keys.values()):
            count, values = 1, _means(values)
        elif encoded.line is None:
            raise UnsuitableError("the encoder's keys are not on a line")
        else:
            places = encoded.line
        self._join(self.stream, ((k, Scale(column.over)) for k, column in values.items()))
        if places:
            first, second = (self.stream.get(k, Scale(1, 1)) for k in places)
            if first.e or second.e:
                raise UnsuitableError("a query of the encoder is not on its line")
            units = first.D, second.D
        columns = {
            k: (self.stream[k].e, column.numbers * (self.stream[k].D // column.over))
            for k, column in values.items()
        }
        self.program.instructions.append(External(places, units, count, columns))


def terms_of(
    weights: Iterable[tuple[int, int, int, int]], source: Scales, target: Scales
) -> list[Term]:
    """The terms of weights between coordinates of known scales."""
    return [
        Term(j, k, top * target[k].D // (bottom * source[j].D), target[k].e - source[j].e)
        for j, k, top, bottom in weights
        if j in source
    ]


def has_equal_scores(layer: Layer) -> bool:
    """Whether all keys of a layer are equal, or all queries 0, for any tokens."""
    Q, K = layer.Q, layer.K
    if not isinstance(Q, FeedForward) or not isinstance(K, FeedForward):
        return False
    return not K.maps[-1].weights or not written_by(Q)


def _feed_forward(net: Map) -> FeedForward:
    if not isinstance(net, FeedForward):
        raise UnsuitableError("a part of it is not a feed-forward network")
    return net


def _means(columns: Columns) -> Columns:
    """The mean of each column, as its only row."""
    found = {}
    for k, column in columns.items():
        mean = Rational(int(column.numbers.sum()), column.over * len(column.numbers))
        if mean:
            found[k] = Column(int(mean.q), np.array([int(mean.p)], dtype=np.int64))
    return found


def _last_visit_places(
    scales: Scales, written: Sequence[int], first_key: Vector
) -> tuple[int, ...]:
    """The coordinates in which the keys may be (ε_j, −ε_j c_j, ε_j²) or (ε_j, −ε_j c_j, 1, j).

    The first key, with ε_0 = 1, c_0 = 0 and j = 0, tells coordinates of the same power apart.
    """
    power = {k: scales.get(k, Scale()).e for k in written}
    ones = [k for k in written if first_key.entries.get(k) == ONE]

    def of(e: int) -> list[int]:
        """The coordinates with p^e in the denominator; first those with 1 in the first key."""
        return sorted((k for k in written if power[k] == e), key=lambda k: k not in ones)

    pairs = {(1, 1, 2): [of(1)], (0, 0, 1, 1): [of(1), of(0)]}.get(tuple(sorted(power.values())))
    if pairs is None or not all(a in ones and b not in ones for a, b in pairs):
        raise UnsuitableError("a layer's attention is not equal and not to a last visit")
    return (*of(1), *of(2), *of(0))


HIGHEST = 1 << 62  # no number and no partial sum reaches it
LONGEST = 1 << 40  # tokens
UNKNOWN_OUTPUT = 1 << 24  # the bound of an output that the weights do not bound


def set_bounds(program: Program, seed: Vector) -> None:
    """Set `longest`, the largest power of two of tokens for which no number reaches `HIGHEST`."""
    output = program.vectors[OUTPUT]
    start = {k: abs(int((v * output[k].D).p)) for k, v in seed.entries.items()}
    tokens = LONGEST
    while tokens >= 1 << 10:
        bound, checked = start, {}
        for _ in range(4):
            reached, highest = _one_token(program, bound, tokens)
            grown = {k: max(bound.get(k, 0), reached.get(k, 0)) for k in {**bound, **reached}}
            if grown == bound:
                break
            bound = grown
        else:
            bound = checked = {k: UNKNOWN_OUTPUT * scale.D for k, scale in output.items()}
            if any(n > bound[k] for k, n in start.items()):
                raise UnsuitableError("the seed is too large for 64 bits")
            _, highest = _one_token(program, bound, tokens)
        if highest < HIGHEST:
            program.longest, program.output_bound = tokens, checked
            return
        tokens >>= 1
    raise UnsuitableError("numbers become too large for 64 bits")


def _one_token(
    program: Program, output: Mapping[int, int], tokens: int
) -> tuple[dict[int, int], int]:
    """Bounds of the next output from those of an output, and the bound of every sum on the way."""
    bounds: list[dict[int, int]] = [{} for _ in program.vectors]
    bounds[OUTPUT] = dict(output)
    sums = [0]

    def images(terms: Iterable[Term], source: Mapping[int, int]) -> dict[int, int]:
        return {t.target: _size(t, source.get(t.source, 0), tokens) for t in terms}

    for each in program.instructions:
        stream = bounds[STREAM]
        if isinstance(each, Step):
            bounds[each.target], more = _step_bounds(program, each, bounds, tokens)
            sums += more
            continue
        if isinstance(each, Rescale):
            stream |= images(each.terms, stream)
            continue
        if isinstance(each, External):
            added = {
                k: int(abs(numbers).max()) * int(tokens**power)
                for k, (power, numbers) in each.columns.items()
            }
        elif isinstance(each, Mean):
            total = {k: tokens * n for k, n in bounds[each.vector].items()}
            sums += total.values()
            added = images(each.terms, total)
        else:
            sums += [3 * n for n in bounds[each.query].values()]
            added = images(each.terms, bounds[each.value])
        for k, n in added.items():
            stream[k] = stream.get(k, 0) + n
        sums += stream.values()
    return bounds[OUTPUT], max(sums)


def _step_bounds(
    program: Program, step: Step, bounds: Sequence[Mapping[int, int]], tokens: int
) -> tuple[dict[int, int], list[int]]:
    """Bounds of a step's target, and of the numbers before its activation."""
    source = {**bounds[step.source], -1: 1}  # a bias has the source −1
    target = dict(bounds[step.target]) if step.adds else {}
    for term in (*step.terms, *step.bias):
        if term.source in source:
            more = _size(term, source[term.source], tokens)
            target[term.target] = target.get(term.target, 0) + more
    if step.activation is None:
        return target, [*target.values()]
    scales = program.vectors[step.target]
    one = {k: scales[k].D * tokens ** scales[k].e for k in target}
    sums = [*target.values(), *one.values()]
    if step.activation is sigma:
        target = {k: min(n, one[k]) for k, n in target.items()}
    return target, sums


def _size(term: Term, source: int, tokens: int) -> int:
    found = abs(term.factor) * source
    return int(found * tokens**term.power) if term.power else found
