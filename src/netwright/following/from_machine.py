"""The state of Trans_M's decoder after t tokens, written down from the machine's run alone.

By the proof of Theorem 3.4 the state is known: y_t and z³_{t−1} (Lemmas B.4, B.5), t times the mean
of layer 2 (Lemma B.3), and for every cell its last two visits and what the token of the latest has
as a value, the symbol written and its own number (Lemma B.4). So a token can be explained at once,
however many come before it. It is *not* the network's own run, which may be damaged: whoever shows
it says so, until that run has come to the same place.
"""

from collections.abc import Callable, Sequence

import numpy as np

from netwright.engine.moments import UnsuitableError
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector
from netwright.following.drive import Course
from netwright.following.tracing import TransformerTracing
from netwright.machine.packed import Cells
from netwright.machine.timeline import Timeline
from netwright.nets.transformer import Map
from netwright.runtime.transformer.arrays import (
    BEFORE,
    CELLS,
    FIRST_CELL,
    HIGHEST,
    LATEST,
    LOWEST,
    TOKENS,
    VALUE,
    Integers,
    first_state,
)
from netwright.runtime.transformer.program import OUTPUT, STREAM, LastVisit, Mean, Program
from netwright.runtime.transformer.tokens import Explained, Place, TokenEngine
from netwright.theorems.theorem_3_4_transformer.construction import CompiledTransformer
from netwright.theorems.theorem_3_4_transformer.proof_values import ProofValuesOf


def decoder_state(
    compiled: CompiledTransformer, program: Program, timeline: Timeline, t: int
) -> dict[str, Integers]:
    """The arrays of `runtime.transformer.arrays` after t ≥ 1 tokens."""
    values = ProofValuesOf(compiled.normal, timeline.word, timeline, compiled.score)
    state = first_state(program, compiled.seed)
    run = timeline.arrays(t)
    tokens = np.flatnonzero(run.latest)
    low, high = int(tokens[0]), int(tokens[-1])
    cells = slice(low, high + 1)
    first = run.first + low + 1  # the machine's cell −1 is the paper's cell 0
    size = high - low + 1
    state["clock"][[TOKENS, FIRST_CELL, CELLS]] = t, first, size
    state["output"] = _numbers(program, OUTPUT, values.y(t), t)
    state["stream"] = _numbers(program, STREAM, values.p3(t - 1), t)
    state["kept"] = np.zeros((len(state["visits"]), size, state["kept"].shape[2]), dtype=np.int64)
    sums = visits = 0
    for layer, attention in zip(compiled.network.decoder, program.attentions, strict=True):
        if isinstance(attention, Mean):
            mean = values.p2(t - 1) - values.z1(t - 1)
            scales = program.vectors[attention.vector]
            for term in attention.terms:
                total = t * mean.entries.get(term.source, ZERO) * scales[term.source].D
                state["total"][sums] = _whole(total)
                sums += 1
        elif isinstance(attention, LastVisit):
            state["visits"][visits, [LOWEST, HIGHEST]] = first, first + size - 1
            kept = state["kept"][visits]
            kept[:, LATEST], kept[:, BEFORE] = run.latest[cells], run.before[cells]
            value = _values(compiled, layer.V, run.tape[cells], run.latest[cells])
            for place, term in enumerate(attention.terms):
                D = program.vectors[attention.value][term.source].D
                kept[:, VALUE + place] = np.where(kept[:, LATEST] > 0, value(term.source, D), 0)
            visits += 1
    return state


def _numbers(program: Program, vector: int, x: Vector, t: int) -> Integers:
    found = np.zeros(program.dimension, dtype=np.int64)
    for k, number in x.entries.items():
        scale = program.vectors[vector][k]
        found[k] = _whole(number * scale.D * t**scale.e)
    return found


def _whole(x: Rational) -> int:
    if x.q != 1:
        raise UnsuitableError("a number is no integer at its scale")
    return int(x.p)


def _values(
    compiled: CompiledTransformer, V: Map, tape: Cells, tokens: Integers
) -> Callable[[int, int], Integers]:
    """V₃ of the tokens that visited cells last: a coordinate of it, times a factor.

    It is linear in the symbol written, which is the one on the cell, and in the position.
    """
    if not isinstance(V, FeedForward) or len(V.maps) != 1:
        raise UnsuitableError("the values of layer 3 are not a linear map")
    layout, symbols = compiled.layout, compiled.normal.machine.symbols
    one, position = compiled.score.positions[:2]
    affine = V.maps[0]
    weights = affine.weights
    known = {layout.index("s2", s) for s in symbols} | {layout.index(one), layout.index(position)}
    if any(row not in known for row, _ in weights):
        raise UnsuitableError("the values of layer 3 have more than a symbol and a number")

    def value(k: int, D: int) -> Integers:
        def weight(block: str, label: str = "") -> int:
            found = weights.get((layout.index(block, label), k), ZERO)
            return _whole(found * D)

        bias = _whole(affine.bias.entries.get(k, ZERO) * D)
        by_symbol = np.array([weight("s2", s) for s in symbols], dtype=np.int64)
        found: Integers = by_symbol[tape] + weight(one) + bias + weight(position) * tokens
        return found

    return value


class JumpingTracing(TransformerTracing):
    """A trace that begins anywhere with what the machine's run says; not the network's own run."""

    def __init__(
        self,
        course: Course[TokenEngine],
        compiled: CompiledTransformer,
        X: Sequence[Vector],
        timeline: Timeline,
    ) -> None:
        super().__init__(course, compiled.network, X)
        self.compiled, self.timeline = compiled, timeline

    def _explain(self, t: int) -> Explained:
        """The token, which nothing follows: tokens come in any order here."""
        with self.lock:
            self.stand_before(t)
            found, _ = self.seeker.course.moments.explain(self)
            return found

    def stand_before(self, t: int) -> None:
        """Write the state down, unless the engine stands there."""
        with self.lock:
            engine = self.seeker.course.moments
            if engine.moments == t - 1:
                return
            program = engine.program
            if program is None:
                raise UnsuitableError("it does not run in 64-bit integers")
            engine.go_back(
                Place(t - 1, decoder_state(self.compiled, program, self.timeline, t - 1))
            )
