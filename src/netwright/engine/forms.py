"""Affine forms over cells, and maps of a network applied to vectors of them, in integers.

A form (c, d, ((cell, w), …)) stands for (c + Σ w·τ_cell)/d, d > 0. A vector of forms is what a
moment looks like for every content of its cells at once: its images under the network's own maps
are forms again, and σ of a form is decided by the hull of all cells (see `digits`), or by one more
digit of a cell.
"""

from collections.abc import Mapping, Sequence
from math import gcd, lcm, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.engine.digits import Digits, Pair
from netwright.exact.arrays import AnyArray
from netwright.exact.feed_forward import Affine, LinearMap
from netwright.exact.vector import Vector

Cell = int
Form = tuple[int, int, tuple[tuple[Cell, int], ...]]
"""Of 64 bits, or Python's where these are too few."""
FITS = 1 << 62


class OpenError(Exception):
    """What is asked depends on one more digit of a cell."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell)
        self.cell = cell


def bounds(form: Form, known: Digits) -> tuple[int, int, int]:
    """The least and the greatest that a form can be, and what 1 is beside them."""
    c, d, terms = form
    low = high = c * known.over
    for _, w in terms:
        low += w * (known.low if w > 0 else known.high)
        high += w * (known.high if w > 0 else known.low)
    return low, high, d * known.over


def opened(form: Form, cell: Cell, pair: Pair) -> Form:
    """The form with τ_cell = c + b·τ for the digit (c, b) on top of the cell."""
    total, d, terms = form
    c, b, over = pair
    rest = []
    for other, w in terms:
        if other != cell:
            rest.append((other, w * over))
            continue
        total_of_digit = w * c
        if b:
            rest.append((cell, w * b))
    return total * over + total_of_digit, d * over, tuple(rest)


def plus(x: Form, y: Form) -> Form:
    """x + y."""
    terms: dict[Cell, int] = {}
    for (_, _, own), factor in ((x, y[1]), (y, x[1])):
        for cell, w in own:
            terms[cell] = terms.get(cell, 0) + w * factor
    kept = tuple((cell, w) for cell, w in terms.items() if w)
    return _in_lowest_terms(x[0] * y[1] + y[0] * x[1], x[1] * y[1], kept)


def times(x: Form, factor: int, over: int = 1) -> Form:
    """A multiple of x."""
    if not factor:
        return 0, 1, ()
    c, d, terms = x
    return _in_lowest_terms(c * factor, d * over, tuple((cell, w * factor) for cell, w in terms))


def _in_lowest_terms(c: int, d: int, terms: tuple[tuple[Cell, int], ...]) -> Form:
    unit = gcd(c, d, *(w for _, w in terms))
    return c // unit, d // unit, tuple((cell, w // unit) for cell, w in terms)


def heaviest(form: Form) -> Cell:
    """The cell with the greatest weight: its next digit tells most."""
    return max(form[2], key=lambda term: abs(term[1]))[0]


class _Sparse:
    """A matrix in integers over a denominator, by rows."""

    def __init__(self, affine: Affine) -> None:
        self.over = affine.denominator
        self.width = affine.output.dimension
        self.rows: dict[int, list[tuple[int, int]]] = {}
        columns: dict[int, int] = {}
        for j, k, top, bottom in affine.fractions:
            w = top * (self.over // bottom)
            self.rows.setdefault(j, []).append((k, w))
            columns[k] = columns.get(k, 0) + abs(w)
        self.largest = max(columns.values(), default=1)
        """The greatest sum of absolute weights into a coordinate."""
        self._arrays: dict[int, tuple[NDArray[np.int64], AnyArray]] = {}

    def add(self, j: int, value: Any, image: AnyArray) -> None:
        """Add a multiple of a row to the image of a vector."""
        found = self._arrays.get(j)
        if found is None:
            row = self.rows.get(j, [(0, 0)])
            kind = np.int64 if self.largest < FITS else object
            places = np.array([k for k, _ in row], dtype=np.int64)
            found = self._arrays[j] = (places, np.array([w for _, w in row], dtype=kind))
        columns, weights = found
        image[columns] += weights.astype(image.dtype, copy=False) * value


class IntegerMap:
    """A matrix, or a sum of products of matrices, in integers over one denominator."""

    def __init__(self, matrix: LinearMap | Affine) -> None:
        terms = matrix.terms if isinstance(matrix, LinearMap) else ((matrix,),)
        self.width = matrix.output.dimension
        factors = [[_Sparse(affine) for affine in term] for term in terms]
        self.over = lcm(*(prod(each.over for each in term) for term in factors))
        self._terms = [(term, self.over // prod(each.over for each in term)) for term in factors]
        self.largest = sum(n * prod(each.largest for each in term) for term, n in self._terms)
        """No number of an image, nor of any in between, is more than this times the greatest."""

    def __call__(self, x: Sequence[tuple[int, int]], kind: Any) -> AnyArray:
        """The image of a vector, given by what is not 0 in it."""
        total: AnyArray = np.zeros(self.width, dtype=kind)
        for term, scale in self._terms:
            current: Sequence[tuple[int, Any]] = x
            for number, matrix in enumerate(term, start=1):
                image: AnyArray = np.zeros(matrix.width, dtype=kind)
                for j, value in current:
                    matrix.add(j, value, image)
                if number < len(term):
                    current = [(j, image[j]) for j in image.nonzero()[0].tolist()]
            total += image if scale == 1 else image * scale
        return total

    @property
    def is_zero(self) -> bool:
        """Whether it has no weights."""
        return not any(all(matrix.rows for matrix in term) for term, _ in self._terms)

    def sources(self, targets: set[int]) -> set[int]:
        """The coordinates that some coordinates of the image may depend on."""
        found: set[int] = set()
        for term, _ in self._terms:
            wanted = targets
            for matrix in reversed(term):
                rows = matrix.rows.items()
                wanted = {j for j, row in rows if any(k in wanted for k, _ in row)}
            found |= wanted
        return found


class Pattern(NamedTuple):
    """A vector of forms: coordinates that are 1, forms for some others, and 0 elsewhere."""

    ones: tuple[int, ...]
    forms: Mapping[int, Form]

    def form(self, k: int) -> Form:
        """The form of a coordinate."""
        return self.forms.get(k) or (int(k in self.ones), 1, ())


class Layer:
    """σ(Σ x·A + b): a map for each of some vectors, and a bias."""

    def __init__(self, maps: Sequence[IntegerMap], bias: Vector | None, width: int) -> None:
        self.maps, self.width = maps, width
        entries = bias.entries if bias is not None else {}
        self.over = lcm(*(int(x.q) for x in entries.values()), *(each.over for each in maps))
        self.bias = [(k, int(x.p) * (self.over // int(x.q))) for k, x in entries.items()]
        self._largest_bias = max((abs(number) for _, number in self.bias), default=0)

    def __call__(self, x: Sequence[Pattern | None], known: Digits) -> Pattern:
        """The forms before σ of all coordinates, but for those that σ makes 0 or 1 for certain."""
        patterns = [pattern for pattern in x if pattern is not None]
        d = lcm(*(form[1] for pattern in patterns for form in pattern.forms.values()))
        split = [None if pattern is None else _split(pattern, d) for pattern in x]
        size = max(
            [d, *(abs(n) for each in split if each for part in each.values() for _, n in part)]
        )
        weights = sum(each.largest * (self.over // each.over) for each in self.maps)
        most = self._largest_bias * d + size * weights
        reach = known.over + max(-known.low, known.high) * sum(map(len, filter(None, split)))
        kind = np.int64 if most * reach < FITS else object
        parts: dict[Cell | None, AnyArray] = {None: np.zeros(self.width, dtype=kind)}
        for k, number in self.bias:
            parts[None][k] = number * d
        for matrix, each in zip(self.maps, split, strict=True):
            for cell, entries in (each or {}).items():
                image = matrix(entries, kind)
                if self.over != matrix.over:
                    image *= self.over // matrix.over
                parts[cell] = parts[cell] + image if cell in parts else image
        return _decided(parts.pop(None), parts, self.over * d, known)


def _split(pattern: Pattern, d: int) -> dict[Cell | None, list[tuple[int, int]]]:
    """The numbers that a vector has without its cells, and those beside each of these, over d."""
    found: dict[Cell | None, list[tuple[int, int]]] = {None: [(k, d) for k in pattern.ones]}
    for k, (c, own, terms) in pattern.forms.items():
        if c:
            found[None].append((k, c * (d // own)))
        for cell, w in terms:
            found.setdefault(cell, []).append((k, w * (d // own)))
    return found


def _decided(total: AnyArray, masks: Mapping[Any, AnyArray], d: int, known: Digits) -> Pattern:
    """(total + Σ mask·τ)/d, and what σ makes of it where the hull decides that."""
    low = high = total * known.over if known.over != 1 else total
    for mask in masks.values():
        above, below = np.maximum(mask, 0), np.minimum(mask, 0)
        high = high + above * known.high
        low = low + below * known.high
        if known.low:
            high, low = high + below * known.low, low + above * known.low
    is_one = low >= d * known.over
    is_form = (high > 0) & (low < d * known.over)
    forms = {}
    for k in is_form.nonzero()[0].tolist():
        terms = tuple((cell, int(mask[k])) for cell, mask in masks.items() if mask[k])
        forms[k] = (int(total[k]), d, terms)
    return Pattern(tuple(is_one.nonzero()[0].tolist()), forms)
