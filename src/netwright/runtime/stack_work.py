"""The arrays that the loops of `stack_arithmetic` work with, and the numbers of their places."""

from typing import Any, NamedTuple

DONE, UNFIT, MORE_NODES, STOPPED = range(4)

# What a node has; MOVED is where `collect` has put it.
A, B, NEXT, LOW, LOW_OVER, HIGH, HIGH_OVER, MOVED = range(8)
# |a|, |b| of numbers and |a_n| of nodes stay below these, and L below 2²⁰: all products fit.
LARGEST, LARGEST_DIGIT = 1 << 36, 1 << 24
# What a clock has: moments done, why the loop ended, nodes in use, whether they must be collected,
# the factor b_n that stacks have, and the nodes that σ may need in a moment.
MOMENTS, STATUS, NODES, FULL, UNIT, RESERVED = range(6)
# What a grid has: the slot of its newest first cell is the last of it.
HEIGHT, WIDTH, CIRCULAR, NEWEST = range(4)


class Work(NamedTuple):
    """The arrays that the loops work with."""

    v: Any
    """The vectors: by slot and coordinate, a and b and n."""
    is_listed: Any
    listed: Any
    count: Any
    """The coordinates of each vector that may be other than 0: whether, which, how many."""
    nodes: Any
    clock: Any
    grid: Any
    L: int
    maps: Any
    """Matrices of integers: where their rows begin, and their denominator D."""
    rows: Any
    edges: Any
    """The weights: target and factor."""
    chains: Any
    """Products of matrices: the first, the one behind the last, and which cell they apply to."""
    chain_start: Any
    """By layer."""
    biases: Any
    bias_start: Any
    """By layer and column."""
    watches: Any
    """A matrix, what stands for 1, and a cell."""
    stops: Any
