"""What watches see of a token, read off its finite numbers."""

from typing import NamedTuple

from netwright.engine.moments import NEITHER, ZERO_BLOCK, UnsuitableError, Watch
from netwright.engine.transformer.program import STREAM, Program, vector_of
from netwright.engine.transformer.tables.finite import Evaluation
from netwright.engine.transformer.tables.residual import Residual
from netwright.exact.layout import Layout


class Watched(NamedTuple):
    """A watch in the numbers of a program."""

    vector: int
    places: list[tuple[int, int]]  # coordinates, each with what stands for 1
    sign: bool


def watched(watch: Watch, layout: Layout, program: Program, residual: Residual) -> Watched:
    """A watch on finite numbers; UnsuitableError if it is on others."""
    number = vector_of(watch)
    scales, places = program.vectors[number], layout.places(watch.block)
    if number == STREAM and any(k in residual.stream for k in places):
        raise UnsuitableError("a watch is on a number that grows")
    units = [(k, scales[k].D if k in scales else 1) for k in places]
    return Watched(number, units, watch.sign)


def code_of(watch: Watched, found: Evaluation) -> int:
    """The code of a watch, as `Watch.code` has it."""
    vector = found.vectors[watch.vector]
    shown = [(n, vector[k], one) for n, (k, one) in enumerate(watch.places) if vector.get(k)]
    if not shown:
        return 0 if watch.sign else ZERO_BLOCK
    (n, x, one), *others = shown
    if watch.sign:
        return x // one if abs(x) == one else NEITHER
    return n if x == one and not others else NEITHER
