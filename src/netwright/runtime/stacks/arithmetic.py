"""Exact arithmetic on stacks at a cost that does not grow with their depth, for compiled loops.

A number is kept as (a, b, n) and stands for (a + b·τ(n)) / D: two integers over a denominator D
that is known beforehand, and a node n of a tree that is shared and never changed. A node stands for

    τ(0) = 0,    τ(n) = (a_n + b_n·τ(next n)) / L,    0 ≤ b_n < L.

A stack is a node: pushing a digit makes one node, popping is a look at the next one, and neither
looks deeper. (A sum of two different stacks makes a node for each digit; the encoder of Theorem
2.3, which writes below a stack, needs it.)

What σ does to a number is told by an interval. Let f_n = a_n/(L − b_n), the number that is its own
tail. As a_n + b_n·x = (L − b_n)·f_n + b_n·x, τ(n) is a mean of f_n and τ(next n); so τ(n) lies
between the least and the greatest of 0 and the f of all nodes from n on. Each node keeps these two
bounds. Where they do not decide, one more node is spelled out.

Whatever does not fit (a number that is no integer over D, a product of two stacks, a digit that is
too large) ends the loop with the newest cells as they were, and big numbers take over.
"""

from typing import Any, NamedTuple

from netwright.jit import part, rare_part

DONE, UNFIT, MORE_NODES, STOPPED = range(4)

# What a node has; MOVED is where `collect` has put it.
A, B, NEXT, LOW, LOW_OVER, HIGH, HIGH_OVER, MOVED = range(8)
# |a|, |b| of numbers and |a_n| of nodes stay below these, L below 2²⁰, and the sum of all weights
# and biases into a coordinate below 2²⁴: so all products and sums fit.
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


@part
def clear(w: Work, slot: int) -> None:
    """The vector 0."""
    for x in range(w.count[slot]):
        k = w.listed[slot, x]
        w.v[slot, k, 0] = w.v[slot, k, 1] = w.v[slot, k, 2] = 0
        w.is_listed[slot, k] = 0
    w.count[slot] = 0


@part
def make_node(w: Work, a: int, b: int, n: int) -> int:
    """A node."""
    if a == 0 and (b == 0 or n == 0):
        return 0
    new = w.clock[NODES]
    w.clock[NODES] += 1
    if n == 0:
        b = 0
    nodes, over = w.nodes, w.L - b
    nodes[new, A], nodes[new, B], nodes[new, NEXT] = a, b, n
    if b == 0:
        nodes[new, LOW] = nodes[new, HIGH] = a
        nodes[new, LOW_OVER] = nodes[new, HIGH_OVER] = over
        return int(new)
    lower = a * nodes[n, LOW_OVER] < nodes[n, LOW] * over
    nodes[new, LOW] = a if lower else nodes[n, LOW]
    nodes[new, LOW_OVER] = over if lower else nodes[n, LOW_OVER]
    higher = a * nodes[n, HIGH_OVER] > nodes[n, HIGH] * over
    nodes[new, HIGH] = a if higher else nodes[n, HIGH]
    nodes[new, HIGH_OVER] = over if higher else nodes[n, HIGH_OVER]
    return int(new)


@rare_part
def sum_of_tails(w: Work, x: int, n: int, y: int, m: int) -> int:
    """A node for x·τ(n) + y·τ(m), digit by digit; −1 if there is none or no room."""
    nodes = w.nodes
    # Down both, with what each pair of nodes adds, in nodes that are not yet linked.
    bottom = w.clock[NODES]
    at = bottom
    while n != 0 or m != 0:
        # The factor of a last node says nothing.
        b = nodes[n, B] if nodes[n, NEXT] != 0 else nodes[m, B]
        differ = nodes[n, NEXT] != 0 and nodes[m, NEXT] != 0 and nodes[m, B] != b
        a = x * nodes[n, A] + y * nodes[m, A]
        if differ or abs(a) >= LARGEST_DIGIT:
            return -1
        if at + 1 + w.clock[RESERVED] >= nodes.shape[0]:
            w.clock[STATUS] = MORE_NODES
            return -1
        nodes[at, A], nodes[at, B] = a, b
        at += 1
        n, m = nodes[n, NEXT], nodes[m, NEXT]
    # And up again: the deepest first, so that a node's next is before it.
    for i in range((at - bottom) // 2):
        one, other = bottom + i, at - 1 - i
        a, b = nodes[one, A], nodes[one, B]
        nodes[one, A], nodes[one, B] = nodes[other, A], nodes[other, B]
        nodes[other, A], nodes[other, B] = a, b
    below = 0
    for i in range(bottom, at):
        below = make_node(w, nodes[i, A], nodes[i, B], below)
    return below


@rare_part
def add_tail(w: Work, slot: int, k: int, b: int, n: int) -> bool:
    """Add b·τ(n) to a number with another tail."""
    own, tail = w.v[slot, k, 1], w.v[slot, k, 2]
    unit, rest = abs(own), abs(b)
    while rest:
        unit, rest = rest, unit % rest
    if max(abs(own), abs(b)) >= LARGEST_DIGIT * unit:
        return False
    both = sum_of_tails(w, own // unit, tail, b // unit, n)
    w.v[slot, k, 1] = unit if both > 0 else 0
    w.v[slot, k, 2] = both
    return both >= 0


@part
def add(w: Work, slot: int, k: int, a: int, b: int, n: int) -> bool:
    """Add a number to a coordinate; False if that cannot be done here."""
    if not w.is_listed[slot, k]:
        w.is_listed[slot, k] = 1
        w.listed[slot, w.count[slot]] = k
        w.count[slot] += 1
    w.v[slot, k, 0] += a
    if b == 0:
        return True
    own = w.v[slot, k, 1]
    if own == 0 or w.v[slot, k, 2] == n:
        w.v[slot, k, 1] = own + b
        w.v[slot, k, 2] = n if own + b != 0 else 0
        return True
    return add_tail(w, slot, k, b, n)


@rare_part
def multiply_tail(w: Work, slot: int, k: int, D: int) -> bool:
    """Write a factor of the tail above 1 into the tail's digits; False if it is no integer."""
    factor = w.v[slot, k, 1] // D
    if abs(w.v[slot, k, 1]) <= D or factor * D != w.v[slot, k, 1]:
        return False
    tail = sum_of_tails(w, factor, w.v[slot, k, 2], 0, 0)
    if tail < 0:
        return False
    w.v[slot, k, 1] = D if tail > 0 else 0
    w.v[slot, k, 2] = tail
    return True


@part
def spell_out(w: Work, slot: int, k: int) -> bool:
    """Write one node of a number's tail into it; False if it is no integer over D then."""
    b, n = w.v[slot, k, 1], w.v[slot, k, 2]
    a_more, b_more = b * w.nodes[n, A], b * w.nodes[n, B]
    if a_more % w.L != 0 or b_more % w.L != 0:
        return False
    w.v[slot, k, 0] += a_more // w.L
    b = b_more // w.L
    w.v[slot, k, 2] = w.nodes[n, NEXT] if b != 0 else 0
    w.v[slot, k, 1] = b if w.v[slot, k, 2] != 0 else 0
    return bool(abs(w.v[slot, k, 0]) < LARGEST)


@part
def shorten(w: Work, slot: int, k: int, D: int) -> bool:
    """Spell nodes out while the factor of the tail stays 1 at least.

    Not further: 2·(1/B)² is to become (2/B)·(1/B), by `multiply_tail`, and not 2/B of 1/B, or the
    digits of one number would be over different powers of B.
    """
    while w.v[slot, k, 2] != 0:
        b, n = w.v[slot, k, 1], w.v[slot, k, 2]
        falls = w.nodes[n, NEXT] != 0 and abs(b * w.nodes[n, B]) < D * w.L
        if abs(b) >= LARGEST or abs(b) <= D or falls or not spell_out(w, slot, k):
            break
    return bool(max(abs(w.v[slot, k, 0]), abs(w.v[slot, k, 1])) < LARGEST)


@part
def sigma(w: Work, slot: int, k: int) -> bool:
    """σ of a number over L, as a number over 1: 0, 1, or a node."""
    while True:
        a, b, n = w.v[slot, k, 0], w.v[slot, k, 1], w.v[slot, k, 2]
        if abs(a) >= LARGEST or abs(b) >= LARGEST:
            return False
        low, low_over = w.nodes[n, LOW], w.nodes[n, LOW_OVER]
        high, high_over = w.nodes[n, HIGH], w.nodes[n, HIGH_OVER]
        if b < 0:
            low, low_over, high, high_over = high, high_over, low, low_over
        least, most = a * low_over + b * low, a * high_over + b * high
        if most <= 0 or least >= w.L * low_over:
            w.v[slot, k, 0] = 0 if most <= 0 else 1
            w.v[slot, k, 1] = w.v[slot, k, 2] = 0
            return True
        if least >= 0 and most <= w.L * high_over:
            break
        if n == 0 or not (spell_out(w, slot, k) or multiply_tail(w, slot, k, w.L)):
            return False
    # It is the number itself.
    if not shorten(w, slot, k, w.L):
        return False
    if w.v[slot, k, 1] > w.L and not multiply_tail(w, slot, k, w.L):
        return False
    if w.v[slot, k, 1] == w.L and w.v[slot, k, 0] != 0 and not spell_out(w, slot, k):
        return False
    a, b, n = w.v[slot, k, 0], w.v[slot, k, 1], w.v[slot, k, 2]
    if a == 0 and b == w.L:
        w.v[slot, k, 1] = 1
        return True
    if b < 0 or b >= w.L or abs(a) >= LARGEST_DIGIT:
        return False
    if n != 0:
        # 2/B of a stack is 1/B of one with twice the digits, or no two stacks could be added.
        if w.clock[UNIT] == 0:
            w.clock[UNIT] = b
        if b > w.clock[UNIT] and multiply_tail(w, slot, k, w.clock[UNIT]):
            b, n = w.v[slot, k, 1], w.v[slot, k, 2]
    w.v[slot, k, 2] = make_node(w, a, b, n)
    w.v[slot, k, 0], w.v[slot, k, 1] = 0, 1
    return True


@rare_part
def collect(w: Work, first: int, last: int) -> None:
    """Move the nodes that some vectors still need together; a node's next is always before it."""
    nodes = w.nodes
    for n in range(1, w.clock[NODES]):
        nodes[n, MOVED] = 0
    for slot in range(first, last):
        for x in range(w.count[slot]):
            n = w.v[slot, w.listed[slot, x], 2]
            while n != 0 and nodes[n, MOVED] == 0:
                nodes[n, MOVED] = 1
                n = nodes[n, NEXT]
    free = 1
    for n in range(1, w.clock[NODES]):
        if nodes[n, MOVED]:
            for i in range(MOVED):
                nodes[free, i] = nodes[n, i]
            nodes[free, NEXT] = nodes[nodes[n, NEXT], MOVED] if nodes[n, NEXT] else 0
            nodes[n, MOVED] = free
            free += 1
    for slot in range(first, last):
        for x in range(w.count[slot]):
            k = w.listed[slot, x]
            if w.v[slot, k, 2]:
                w.v[slot, k, 2] = nodes[w.v[slot, k, 2], MOVED]
    w.clock[NODES] = free
    w.clock[FULL] = 0
