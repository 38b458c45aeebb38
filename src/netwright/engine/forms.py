"""Affine forms over cells, and a network's maps applied to vectors of forms, in integers.

A form (c, d, ((cell, w), …)) is (c + Σ w·τ_cell)/d, d > 0. A vector of forms describes a moment
for all contents of its cells at once: its images under the network's own maps are forms again,
and σ of a form is decided by the hull of all cells (see `digits`), or by one more digit of a cell.
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
CellForms = Mapping[Cell, Form]
"""Cells whose digits were read, as forms over what is left of them."""
FITS = 1 << 62
"""Numbers below it are computed in 64 bits, others as Python integers."""
ZERO: Form = (0, 1, ())
ONE: Form = (1, 1, ())


class OpenError(Exception):
    """The answer depends on one more digit of a cell."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell)
        self.cell = cell


def bounds(form: Form, known: Digits) -> tuple[int, int, int]:
    """The least and greatest value of a form, and 1, all over one common denominator."""
    c, d, terms = form
    low = high = c * known.over
    for _, w in terms:
        low += w * (known.low if w > 0 else known.high)
        high += w * (known.high if w > 0 else known.low)
    return low, high, d * known.over


def after_sigma(form: Form, known: Digits) -> Form | None:
    """σ of a form: 0, 1 or the form itself; None where it depends on one more digit."""
    low, high, one = bounds(form, known)
    if high <= 0:
        return ZERO
    if low >= one:
        return ONE
    return form if low >= 0 and high <= one else None


def opened(form: Form, cell: Cell, pair: Pair) -> Form:
    """The form with τ_cell = c + b·τ for the digit (c, b) on top of the cell."""
    total, d, terms = form
    c, b, over = pair
    factors = ((other, w * (b if other == cell else over)) for other, w in terms)
    rest = tuple((other, w) for other, w in factors if w)
    return total * over + dict(terms)[cell] * c, d * over, rest


def plus(x: Form, y: Form) -> Form:
    """x + y."""
    terms: dict[Cell, int] = {}
    for (_, _, own), factor in ((x, y[1]), (y, x[1])):
        for cell, w in own:
            terms[cell] = terms.get(cell, 0) + w * factor
    kept = tuple((cell, w) for cell, w in terms.items() if w)
    return _in_lowest_terms(x[0] * y[1] + y[0] * x[1], x[1] * y[1], kept)


def times(x: Form, factor: int, over: int = 1) -> Form:
    """x · factor/over."""
    if not factor:
        return ZERO
    c, d, terms = x
    return _in_lowest_terms(c * factor, d * over, tuple((cell, w * factor) for cell, w in terms))


def _in_lowest_terms(c: int, d: int, terms: tuple[tuple[Cell, int], ...]) -> Form:
    unit = gcd(c, d, *(w for _, w in terms))
    return c // unit, d // unit, tuple((cell, w // unit) for cell, w in terms)


def heaviest(form: Form) -> Cell:
    """The cell with the greatest weight, whose next digit narrows the form most."""
    return max(form[2], key=lambda term: abs(term[1]))[0]


class _Sparse:
    """A sparse matrix by rows, in integers over one denominator."""

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
        """Add `value` times row j to an image."""
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
        """Bounds all numbers of an image, intermediate ones too, per unit of the greatest input."""

    def __call__(self, x: Sequence[tuple[int, int]], kind: Any) -> AnyArray:
        """The image of a vector, given by its nonzero entries."""
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
        """Whether every product has a factor without weights."""
        return not any(all(matrix.rows for matrix in term) for term, _ in self._terms)

    def sources(self, targets: set[int]) -> set[int]:
        """The input coordinates that the target coordinates may depend on."""
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


_Split = dict[Cell | None, list[tuple[int, int]]]
"""A vector over one denominator: its constants (None), and the factors of each cell."""


class Layer:
    """σ(Σ x·A + b): one map per input vector, and a bias."""

    def __init__(self, maps: Sequence[IntegerMap], bias: Vector | None, width: int) -> None:
        self.maps, self.width = maps, width
        entries = bias.entries if bias is not None else {}
        self.over = lcm(*(int(x.q) for x in entries.values()), *(each.over for each in maps))
        self.bias = [(k, int(x.p) * (self.over // int(x.q))) for k, x in entries.items()]
        self._largest_bias = max((abs(number) for _, number in self.bias), default=0)

    def __call__(self, x: Sequence[Pattern | None], known: Digits) -> Pattern:
        """The forms before σ, without coordinates that σ certainly makes 0; those made 1 are ones.

        A vector that is None counts as 0.
        """
        patterns = [pattern for pattern in x if pattern is not None]
        d = lcm(*(form[1] for pattern in patterns for form in pattern.forms.values()))
        split = [{} if pattern is None else _split(pattern, d) for pattern in x]
        kind = np.int64 if self._greatest(split, d, known) < FITS else object
        parts: dict[Cell | None, AnyArray] = {None: np.zeros(self.width, dtype=kind)}
        for k, number in self.bias:
            parts[None][k] = number * d
        for matrix, each in zip(self.maps, split, strict=True):
            for cell, entries in each.items():
                image = matrix(entries, kind)
                if self.over != matrix.over:
                    image *= self.over // matrix.over
                parts[cell] = parts[cell] + image if cell in parts else image
        return _decided(parts.pop(None), parts, self.over * d, known)

    def _greatest(self, split: Sequence[_Split], d: int, known: Digits) -> int:
        """A bound of all numbers that come up."""
        size = max([d, *(abs(n) for each in split for part in each.values() for _, n in part)])
        weights = sum(each.largest * (self.over // each.over) for each in self.maps)
        reach = known.over + max(-known.low, known.high) * sum(map(len, split))
        return (self._largest_bias * d + size * weights) * reach


def _split(pattern: Pattern, d: int) -> _Split:
    found: _Split = {None: [(k, d) for k in pattern.ones]}
    for k, (c, own, terms) in pattern.forms.items():
        if c:
            found[None].append((k, c * (d // own)))
        for cell, w in terms:
            found.setdefault(cell, []).append((k, w * (d // own)))
    return found


def _decided(total: AnyArray, masks: Mapping[Any, AnyArray], d: int, known: Digits) -> Pattern:
    """(total + Σ mask·τ)/d as forms, but for coordinates where the hull decides σ: 0 or 1."""
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
