"""For how many tokens no number of a program leaves 64 bits.

Every |N| and every partial sum on the way is bounded by the sum of the |factor|·p^power·|N| that go
into it, from the bounds of the output before. Outputs are bounded where σ is before the last map;
where the weights do not see to it, a bound is set, and checked at every token.
"""

from collections.abc import Mapping

from netwright.engine.moments import UnsuitableError
from netwright.engine.transformer.program import (
    OUTPUT,
    STREAM,
    External,
    Mean,
    Program,
    Rescale,
    Step,
    Term,
)
from netwright.exact.rational import sigma
from netwright.exact.vector import Vector

HIGHEST = 1 << 62  # no number and no partial sum reaches it
LONGEST = 1 << 40  # tokens
UNKNOWN_OUTPUT = 1 << 24  # what an output may grow to, where weights do not bound it


def set_bounds(program: Program, seed: Vector) -> None:
    """Find the largest power of two of tokens for which no number reaches `HIGHEST`."""
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
    """Bounds of the next output from those of an output, and of every sum on the way."""
    bounds: list[dict[int, int]] = [{} for _ in program.vectors]
    bounds[OUTPUT] = dict(output)
    highest = 0

    def size(term: Term, source: int) -> int:
        found = abs(term.factor) * source
        return int(found * tokens**term.power) if term.power else found

    for each in program.instructions:
        if isinstance(each, Step):
            source = bounds[each.source]
            target = dict(bounds[each.target]) if each.adds else {}
            for term in each.terms:
                if term.source in source:
                    more = size(term, source[term.source])
                    target[term.target] = target.get(term.target, 0) + more
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
            added = {
                k: int(abs(numbers).max()) * int(tokens**power)
                for k, (power, numbers) in each.columns.items()
            }
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
