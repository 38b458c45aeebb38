"""Boxes: what a coordinate can be, for all tokens of a class at once, and the rules for it.

A coordinate is c + k·bit + e with |e| ≤ r. Its bit, ±1, is one unknown number: a bit of a position
or of an address. The rows of a box are classes of tokens, and in every row a coordinate depends on
the same variable, or on none (−1, and k = 0). Whatever depends on a second variable goes into r, so
that variables need not be independent. Each rule returns a box that contains what a runtime with
the promises of `rounding` can compute from any numbers in the boxes given, in any order of sums.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.rounding import Floats, Format

Places = NDArray[np.int64]
NONE = -1
"""The variable of a coordinate that depends on none."""


class UnprovedError(Exception):
    """What makes a proof impossible, before there are leads."""


class Ends(NamedTuple):
    """The intervals of coordinates where their bit is 1, and where it is −1."""

    low: Floats
    high: Floats
    low_off: Floats
    high_off: Floats


@dataclass(frozen=True)
class Box:
    """Coordinates of classes: c + k·bit(var) ± r, in rows."""

    c: Floats
    k: Floats
    r: Floats
    var: Places

    @staticmethod
    def of_ends(ends: Ends, var: Places, slack: float) -> "Box":
        """The least box around intervals."""
        on, off = (ends.low + ends.high) / 2, (ends.low_off + ends.high_off) / 2
        c, k = (on + off) / 2, np.where(var == NONE, 0.0, (on - off) / 2)
        r = np.maximum(
            np.maximum(ends.high - (c + k), c + k - ends.low),
            np.maximum(ends.high_off - (c - k), c - k - ends.low_off),
        )
        return Box(c, k, r + slack * (np.abs(c) + np.abs(k) + np.abs(r)), var)

    @property
    def ends(self) -> Ends:
        """The intervals."""
        on, off = self.c + self.k, self.c - self.k
        return Ends(on - self.r, on + self.r, off - self.r, off + self.r)

    @property
    def size(self) -> Floats:
        """The greatest absolute values."""
        return np.abs(self.c) + np.abs(self.k) + self.r

    @property
    def loose(self) -> Floats:
        """How far values are from c."""
        return np.abs(self.k) + self.r

    @property
    def off(self) -> Floats:
        """How far values are from whole numbers."""
        on, off = self.c + self.k, self.c - self.k
        far = np.maximum(np.abs(on - np.rint(on)), np.abs(off - np.rint(off)))
        return np.minimum(far + self.r, 0.5)

    def rows(self, chosen: Places) -> "Box":
        """Some rows, in any order."""
        return Box(self.c[chosen], self.k[chosen], self.r[chosen], self.var)

    def columns(self, chosen: slice) -> "Box":
        """Some coordinates."""
        return Box(self.c[:, chosen], self.k[:, chosen], self.r[:, chosen], self.var[chosen])

    @staticmethod
    def beside(boxes: list["Box"]) -> "Box":
        """Boxes of the same classes, coordinates one after the other."""
        c, k, r = (np.concatenate([getattr(x, n) for x in boxes], axis=1) for n in ("c", "k", "r"))
        return Box(c, k, r, np.concatenate([x.var for x in boxes]))


@dataclass(frozen=True)
class Stream:
    """The residual stream of classes: a box, and bounds of |Σ x| for each of them."""

    box: Box
    total: Floats
    off: Floats
    """How far coordinates are from whole numbers."""


class Matrix:
    """x ↦ xW + b, as it is stored; only rows and columns with a nonzero weight are kept."""

    def __init__(self, weight: Floats, bias: Floats | None) -> None:
        self.width = weight.shape[1]
        self.bias = np.zeros(self.width) if bias is None else bias
        self.inputs = np.flatnonzero((weight != 0).any(axis=1))
        self.outputs = np.flatnonzero((weight != 0).any(axis=0))
        self.weight = weight[np.ix_(self.inputs, self.outputs)]
        self.sizes = np.abs(self.weight)
        self.terms = (self.weight != 0).sum(axis=0) + 2
        self.sums = np.abs(self.weight.sum(axis=1)) + 2.0**-50 * self.sizes.sum(axis=1)
        self.bias_sum = abs(float(self.bias.sum())) + 2.0**-50 * float(np.abs(self.bias).sum())
        bias_whole = self.bias[self.outputs] == np.rint(self.bias[self.outputs])
        self.whole = (self.weight == np.rint(self.weight)).all(axis=0) & bias_whole
        """Columns of whole numbers."""
        if self.whole.all():  # they are added exactly
            self.sums = np.abs(self.weight.sum(axis=1))


class Rules:
    """The rules for one format. `partial` sums of a product may be stored before they are added."""

    def __init__(self, format: Format, partial: int, epsilon: float) -> None:
        self.format, self.partial, self.epsilon = format, partial, epsilon

    def product(self, x: Box, by: Matrix) -> tuple[Box, Floats]:
        """xW + b in float32, before it is stored; and the errors of its sums.

        n products and a bias are added with n + 1 roundings at most, each of them 2⁻²⁴ of the sum
        of all sizes.
        """
        c, k, r = x.c[:, by.inputs], x.k[:, by.inputs], x.r[:, by.inputs]
        var = x.var[by.inputs]
        kinds = np.unique(var[var != NONE])
        chosen = np.full(len(by.outputs), NONE)
        if len(kinds) and len(by.outputs):
            strength = (var == kinds[:, None]) * np.abs(k).max(axis=0, initial=0.0) @ by.sizes
            best = strength.argmax(axis=0)
            chosen = np.where(strength.max(axis=0) > 0, kinds[best], NONE)
        same = (var[:, None] == chosen) & (chosen != NONE)
        bias = by.bias[by.outputs]
        size = (np.abs(c) + np.abs(k) + r) @ by.sizes + np.abs(bias)
        unit = self.format.single + self.partial * self.format.unit / by.terms
        error = by.terms * (unit * 1.001 + self.format.slack) * size
        n = len(x.c)
        out = Box(
            np.tile(by.bias, (n, 1)),
            np.zeros((n, by.width)),
            np.zeros((n, by.width)),
            np.full(by.width, NONE),
        )
        out.c[:, by.outputs] = c @ by.weight + bias
        out.k[:, by.outputs] = k @ np.where(same, by.weight, 0)
        out.r[:, by.outputs] = r @ by.sizes + np.abs(k) @ np.where(same, 0, by.sizes) + error
        out.var[by.outputs] = chosen
        return out, error

    def affine(self, x: Box, by: Matrix) -> Box:
        """xW + b, stored or not."""
        return self.stored(self.product(x, by)[0])

    def stored(self, x: Box) -> Box:
        """What may be stored of a box, and the box itself."""
        if self.format.exact:
            return x
        e = x.ends
        on, off = self.format.stored(e.low, e.high), self.format.stored(e.low_off, e.high_off)
        return Box.of_ends(Ends(*on, *off), x.var, self.format.slack)

    def moved(self, x: Box, off: Floats) -> Floats:
        """How much a store can change each number; they are within `off` of a whole one.

        No rounding moves a number further than to a number of the format, and whole numbers up to
        1/u are such. Nor further than half the distance of such numbers, u·2^k for |x| < 2^(k+1).
        An interval of which both ends are rounded to one number is rounded to that.
        """
        if self.format.exact:
            return np.zeros_like(x.c)
        unit = self.format.unit + 1.001 * self.format.single
        e, found = x.ends, np.zeros_like(x.c)
        for low, high in ((e.low, e.high), (e.low_off, e.high_off)):
            most = np.maximum(np.abs(low), np.abs(high))
            moved = np.where(most <= 1 / unit, off, np.inf)
            half = np.ldexp(self.format.unit, np.frexp(most)[1] - 1)
            moved = np.minimum(moved, half + 1.001 * self.format.single * most + self.format.least)
            ends = self.format.rounded(low), self.format.rounded(high)
            one = np.where(ends[0] == ends[1], np.maximum(high - ends[0], ends[0] - low), np.inf)
            found = np.maximum(found, np.minimum(moved, one))
        found[x.size == 0] = 0
        return found * (1 + self.format.slack)

    def add(self, x: Stream, y: Box, by: Matrix) -> Stream:
        """x + yW + b: both sums are stored or not. The rows of W have the sum 0, or nearly so.

        Where y W is exactly 0 nothing is moved: if x was kept in float32 and is stored only now,
        that is one of the two cases for which it was moved before.
        """
        out, error = self.product(y, by)
        off = np.zeros_like(out.c)
        off[:, by.outputs] = np.where(by.whole, y.off[:, by.inputs] @ by.sizes + error, 0.5)
        total = x.total + y.size[:, by.inputs] @ by.sums + by.bias_sum + error.sum(axis=1)
        moved = self.moved(out, off)
        total, off = total + moved.sum(axis=1), off + moved
        a, b = x.box, self.stored(out)
        stronger = np.abs(b.k).max(axis=0, initial=0) > np.abs(a.k).max(axis=0, initial=0)
        var = np.where(stronger, b.var, a.var)
        k, r = np.zeros_like(a.k), a.r + b.r
        for each in (a, b):
            same = each.var == var
            k, r = k + np.where(same, each.k, 0), r + np.where(same, 0, np.abs(each.k))
        size = a.size + b.size
        size[(a.size == 0) | (b.size == 0)] = 0  # adding 0 is exact
        whole = Box(a.c + b.c, k, r + self.format.slack * size, var)
        off = np.minimum(x.off + off, 0.5)
        moved = np.where(b.size == 0, 0, self.moved(whole, off))
        total = (total + moved.sum(axis=1)) * (1 + self.format.slack)
        return Stream(self.stored(whole), total, np.minimum(off + moved, 0.5))

    def relu(self, x: Box) -> Box:
        """max(x, 0): at both values of a bit."""
        e = x.ends
        return Box.of_ends(Ends(*(np.maximum(each, 0) for each in e)), x.var, self.format.slack)

    def norm(self, x: Stream, weight: Floats, bias: Floats, gain: float) -> Box:
        """A layer norm (R3). Exactly, it is x·weight/gain.

        Additions of D numbers: D − 1, each errs by 2⁻²⁴ of a partial sum, and no partial sum
        exceeds the sum of the positive or of the negative ones.
        """
        box, D = x.box, len(x.box.var)
        if self.format.exact:
            scale = weight / gain
            if (scale != np.rint(scale)).any():
                raise UnprovedError("its norms do not multiply by whole numbers")
            return Box(box.c * scale + bias, box.k * scale, box.r * np.abs(scale), box.var)
        single, slack = self.format.single, 2 * D * self.format.slack
        e = box.ends
        least = np.minimum(
            np.maximum(np.maximum(e.low, -e.high), 0),
            np.maximum(np.maximum(e.low_off, -e.high_off), 0),
        )
        largest = box.size.sum(axis=1)
        mean = x.total / D + 2 * single * (largest + x.total) / 2 * 1.001 + self.format.slack
        spread = 4 * (D + 8) * single + slack
        low = ((least**2).sum(axis=1) / D - mean**2) * (1 - spread)
        high = ((box.size**2).sum(axis=1) / D + mean**2) * (1 + spread)
        fastest = 1 / np.sqrt(np.maximum(low, 0) + self.epsilon) * (1 + slack)
        slowest = 1 / np.sqrt(high + self.epsilon) * (1 - slack)
        middle = ((fastest + slowest) / 2)[:, None]
        half = ((fastest - slowest) / 2)[:, None]
        sizes = np.abs(weight)
        c, k = box.c * middle * weight, box.k * middle * weight
        r = sizes * (fastest[:, None] * (box.r + mean[:, None]))
        r = r + sizes * half * (np.abs(box.c) + np.abs(box.k))
        steps = 9 * single * 1.001 + self.format.slack
        r = r + steps * (np.abs(c) + np.abs(k) + r + np.abs(bias))
        return self.stored(Box(c + bias, k, r, box.var))

    def kept(self, lead: Floats, sizes: Floats, greatest: Floats, D: int) -> Floats:
        """A lead of exact logits, after sums in float32 and a store.

        With right logit |R| ≤ `greatest` and the other one R − δ, a store takes at most
        u(|R| + |R − δ|) ≤ 2u|R| + uδ off δ.
        """
        f = self.format
        lost = sizes * ((D + 2) * (f.single * 1.001 + f.slack) + self.partial * f.unit)
        lead = lead - lost
        store = f.unit + 1.001 * f.single
        own = greatest + lost.max(axis=1, initial=0)[:, None]
        kept: Floats = lead - store * np.abs(lead) - 2.01 * store * own - 2 * f.least
        return kept
