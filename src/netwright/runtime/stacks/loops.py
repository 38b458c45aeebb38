"""The loops over stacks: moments of an RNN's decoder and of a Neural GPU, in `arithmetic`.

A moment that cannot be done here leaves the newest cells as they were.
"""

from typing import Any

from netwright.jit import part
from netwright.runtime.engine import NEITHER, ZERO_BLOCK
from netwright.runtime.stacks.arithmetic import (
    CIRCULAR,
    DONE,
    FULL,
    HEIGHT,
    MOMENTS,
    MORE_NODES,
    NEWEST,
    NODES,
    RESERVED,
    STATUS,
    STOPPED,
    UNFIT,
    WIDTH,
    Work,
    add,
    clear,
    collect,
    shorten,
    sigma,
)


@part
def apply_map(w: Work, m: int, source: int, target: int) -> bool:
    """Add the image of a vector under a matrix to another; False if that cannot be done here."""
    base = w.maps[m, 0]
    for x in range(w.count[source]):
        j = w.listed[source, x]
        a, b, n = w.v[source, j, 0], w.v[source, j, 1], w.v[source, j, 2]
        if a != 0 or b != 0:
            for e in range(w.rows[base + j], w.rows[base + j + 1]):
                factor = w.edges[e, 1]
                if not add(w, target, w.edges[e, 0], factor * a, factor * b, n):
                    return False
    return True


@part
def apply_chain(w: Work, c: int, source: int, target: int, spare: int) -> bool:
    """Add the image under a product of matrices; between two of them tails are shortened."""
    first, end = w.chains[c, 0], w.chains[c, 1]
    for m in range(first, end - 1):
        image = spare + (m - first) % 2
        clear(w, image)
        if not apply_map(w, m, source, image):
            return False
        for x in range(w.count[image]):
            if not shorten(w, image, w.listed[image, x], w.maps[m, 1]):
                return False
        source = image
    return apply_map(w, end - 1, source, target)


@part
def apply_layer(w: Work, layer: int, first: int, i: int, j: int, target: int, spare: int) -> bool:
    """σ of the sum of a bias and of products of matrices with the vectors of cells.

    The cells are those around row i and column j in the grid whose first cell is in slot `first`.
    """
    height, width = w.grid[HEIGHT], w.grid[WIDTH]
    clear(w, target)
    for x in range(w.bias_start[layer, j], w.bias_start[layer, j + 1]):
        add(w, target, w.biases[x, 0], w.biases[x, 1], 0, 0)
    for c in range(w.chain_start[layer], w.chain_start[layer + 1]):
        row, column = i + w.chains[c, 2], j + w.chains[c, 3]
        if w.grid[CIRCULAR]:
            row, column = row % height, column % width
        inside = 0 <= row < height and 0 <= column < width
        if inside and not apply_chain(w, c, first + row * width + column, target, spare):
            return False
    # What σ makes 0 leaves the list.
    left = 0
    for x in range(w.count[target]):
        k = w.listed[target, x]
        if not sigma(w, target, k):
            return False
        if w.v[target, k, 0] != 0 or w.v[target, k, 1] != 0:
            w.listed[target, left] = k
            left += 1
        else:
            w.is_listed[target, k] = 0
    w.count[target] = left
    return True


@part
def multiply_into(w: Work, x: int, y: int, negated: bool, target: int) -> bool:
    """Add x ⊙ y to a vector, or (1 − x) ⊙ y; False if neither factor is 0 or 1."""
    for i in range(w.count[y]):
        k = w.listed[y, i]
        a, b, n = w.v[x, k, 0], w.v[x, k, 1], w.v[x, k, 2]
        if b != 0:
            # A stack times 1 is a stack; nothing else is known of the product.
            if negated or w.v[y, k, 0] != 1 or w.v[y, k, 1] != 0:
                return False
        elif (a == 0) == negated:
            a, b, n = w.v[y, k, 0], w.v[y, k, 1], w.v[y, k, 2]
        else:
            continue
        if not add(w, target, k, a, b, n):
            return False
    return True


@part
def observe(w: Work, first: int, spare: int, codes: Any, row: int) -> bool:
    """The codes of all watches (see `runtime.engine`); False if one is not told here."""
    for number in range(w.watches.shape[0]):
        clear(w, spare)
        if not apply_map(w, w.watches[number, 0], first + w.watches[number, 2], spare):
            return False
        found = ZERO_BLOCK
        for x in range(w.count[spare]):
            k = w.listed[spare, x]
            a = w.v[spare, k, 0]
            if w.v[spare, k, 1] != 0:
                return False
            if a != 0:
                alone = a == w.watches[number, 1] and found == ZERO_BLOCK
                found = k if alone else NEITHER
        codes[row, number] = found
    return True


@part
def has_room(w: Work, cells: int, needed: int) -> bool:
    """Make room for new nodes; False if there is not enough even without the old ones."""
    size, now = w.nodes.shape[0], w.grid[NEWEST]
    w.clock[RESERVED] = needed
    if w.clock[FULL] or w.clock[NODES] + needed >= size:
        collect(w, now, now + cells)
        return bool(2 * (w.clock[NODES] + needed) < size)
    return True


@part
def finish(w: Work, fits: bool, following: int, codes: Any, done: int) -> int:
    """End a moment, and say why the loop must end, if it must."""
    if not fits:
        return MORE_NODES if w.clock[STATUS] == MORE_NODES else UNFIT
    w.grid[NEWEST] = following
    w.clock[MOMENTS] += 1
    if codes.shape[1] == 0:
        return DONE
    code = codes[done, codes.shape[1] - 1]
    return STOPPED if code < 0 or w.stops[code] != 0 else DONE


def advance_rnn(w: Work, codes: Any) -> int:
    """Do steps of a decoder until `codes` is full; the number done.

    The slots are two hidden vectors and three to spare.
    """
    done = 0
    w.clock[STATUS] = DONE
    while done < codes.shape[0] and w.clock[STATUS] == DONE:
        if not has_room(w, 1, w.v.shape[1]):
            w.clock[STATUS] = MORE_NODES
            break
        now = w.grid[NEWEST]
        fits = apply_layer(w, 0, now, 0, 0, 1 - now, 2) and observe(w, 1 - now, 4, codes, done)
        w.clock[STATUS] = finish(w, fits, 1 - now, codes, done)
        done += fits
    return done


def advance_neural_gpu(w: Work, codes: Any) -> int:
    """Do iterations of a Neural GPU until `codes` is full; the number done.

    The slots are two grids of cells, a grid for R ⊙ S, a gate, F, and three to spare. The layers
    are U, R and F.
    """
    done, width = 0, w.grid[WIDTH]
    cells = w.grid[HEIGHT] * width
    reset, gate = 2 * cells, 3 * cells
    new, spare = gate + 1, gate + 2
    w.clock[STATUS] = DONE
    while done < codes.shape[0] and w.clock[STATUS] == DONE:
        if not has_room(w, cells, 3 * cells * w.v.shape[1]):
            w.clock[STATUS] = MORE_NODES
            break
        now = w.grid[NEWEST]
        following = cells - now
        fits = True
        for c in range(cells):
            clear(w, reset + c)
            fits = fits and apply_layer(w, 1, now, c // width, c % width, gate, spare)
            fits = fits and multiply_into(w, gate, now + c, False, reset + c)
        for c in range(cells):
            clear(w, following + c)
            fits = fits and apply_layer(w, 0, now, c // width, c % width, gate, spare)
            fits = fits and apply_layer(w, 2, reset, c // width, c % width, new, spare)
            fits = fits and multiply_into(w, gate, now + c, False, following + c)
            fits = fits and multiply_into(w, gate, new, True, following + c)
        fits = fits and observe(w, following, spare + 2, codes, done)
        w.clock[STATUS] = finish(w, fits, following, codes, done)
        done += fits
    return done
