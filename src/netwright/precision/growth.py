"""The bits of the numbers of an exact run, compared with the bounds of the proofs.

At token i of a Transformer, with t = i + 1 and L the number of bits of t: the cells are at most t,
so c/t has a numerator and a denominator of L bits at most, 1/t² a denominator of 2L, 1/t³ of 3L. A
product of query and key is

    χ_j = (3(i+1)(j+1)Δ + 1) / (3(i+1)²(j+1)²)                          the paper's score
    χ_j = (3(i+1)²Δ + (i+1−j)(j+1)) / (3(i+1)³(j+1))                    the score by recency

or less where that can be reduced: 3L + 3 bits and 4L + 2 at most. So everything is O(log t).

On an RNN a stack of n symbols is a number of n digits in base B; Rpop and Lpop keep one digit more
until it is read. For B = p/q in lowest terms the denominator divides p^(n+1), so it has
(n + 1) log₂ p bits and one more at most: linear in the space of the machine, not in the logarithm
of its time.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from math import ceil, log2
from typing import NamedTuple

from netwright.engine.transformer.decoder import FastDecoder
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector
from netwright.kind.rnn.construction import CompiledRNN
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.kind.transformer.proof_values import ProofValues
from netwright.machine.simulate import configurations

SCORES = "score"
_BOUNDS = {  # by block, for numerator and denominator: (a, b) means a·L + b bits
    **dict.fromkeys(("x4", "x5"), ((1, 0), (1, 0))),
    **dict.fromkeys(("x6", "x7", "x9"), ((1, 0), (0, 1))),
    "x10": ((0, 1), (1, 0)),
    "x11": ((0, 1), (2, 0)),
    "x12": ((0, 1), (3, 0)),
    SCORES: ((3, 3), (4, 2)),
}


class Size(NamedTuple):
    """The bits of a block's number at a time, and the bounds of the proof."""

    time: int
    block: str
    numerator: int
    denominator: int
    numerator_bound: int
    denominator_bound: int


def sample_times(last: int, number: int = 40) -> list[int]:
    """Times up to `last`, about equally far apart on a logarithmic scale.

    >>> sample_times(100, 5)
    [0, 2, 9, 31, 99]
    """
    latest = max(0, last - 1)
    return sorted({min(round((last + 1) ** (n / (number - 1))) - 1, latest) for n in range(number)})


def transformer_sizes(
    compiled: CompiledTransformer, word: tuple[str, ...], tokens: int
) -> Iterator[Size]:
    """The sizes of z³ and of the scores at sample tokens of an exact run, until it halts."""
    tokens = ProofValues.of(compiled, word, tokens).halts or tokens
    wanted = set(sample_times(tokens))
    decoder = FastDecoder(compiled.network, compiled.recognizer.embed(word), compiled.seed)
    layer = compiled.network.decoder[2]
    blocks = [block for block in _BOUNDS if block in compiled.layout]
    keys: list[Vector] = []
    for i in range(tokens):
        decoder.advance(1)
        z = decoder.newest.z
        keys.append(layer.K(z))
        if i in wanted:
            for block in blocks:
                yield _size(i, block, [z.number(block)])
            query = layer.Q(z)
            yield _size(i, SCORES, [query.dot(key) for key in keys])


def _size(i: int, block: str, numbers: Iterable[Rational]) -> Size:
    numerator, denominator = _largest(numbers)
    length = (i + 1).bit_length()
    bounds = (times * length + more for times, more in _BOUNDS[block])
    return Size(i, block, numerator, denominator, *bounds)


def _largest(numbers: Iterable[Rational]) -> tuple[int, int]:
    bits = [(int(abs(x.p)).bit_length(), int(x.q).bit_length()) for x in numbers]
    return max(p for p, _ in bits), max(q for _, q in bits)


def rnn_sizes(compiled: CompiledRNN, word: tuple[str, ...], steps: int) -> Iterator[Size]:
    """The size of the larger stack at sample steps of an exact run."""
    steps = sum(1 for _ in islice(configurations(compiled.machine, word), steps))
    wanted = set(sample_times(steps))
    neurons = compiled.neurons
    states = compiled.network.decoder_states(compiled.embed(word), Vector.zero(neurons.layout))
    digit = log2(int(neurons.base.p))
    runs = zip(configurations(compiled.machine, word), states, strict=False)
    for time, (now, g) in enumerate(islice(runs, steps)):
        if time in wanted:
            numerator, denominator = _largest([g.number(block) for block in neurons.stacks])
            bound = ceil((now.depth + 1) * digit) + 1
            yield Size(time, "stack", numerator, denominator, bound, bound)
