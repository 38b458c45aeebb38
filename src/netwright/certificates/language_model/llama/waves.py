"""What a coordinate can be, for all tokens of a class at once, if offsets are written as phases.

The phase of an offset v is P_j(v) = e^(−i·w_j·v), for RoPE's frequencies w_j. A coordinate is c +
Re(κ·P_j(v)) + e with |e| ≤ r: it depends on one pair j of one unknown offset v, or on none (κ =
0), and whatever else it depends on goes into r. Bits of numbers are phases that are 1 or −1, so
all rules are true of them; where more is known of a bit, it is used. As in `boxes`, each rule
returns what contains all that a runtime with the promises of `rounding` can compute, in any order
of sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.boxes import NONE, Box, Matrix, Places, Rules
from netwright.certificates.language_model.classes import KINDS
from netwright.certificates.language_model.rounding import Floats
from netwright.certificates.language_model.variables import MOST_BITS, Table, Variables

Complexes = NDArray[np.complex128]
BITS = ("state", "symbol", "next", "written", "seen")
"""Variables that are numbers in bits: phases that are 1 or −1."""
FAR, BEYOND, GIVEN, SUM, DIFFERENCE, *_ = VARIABLES = (
    *("far", "beyond", "given", "far + beyond", "far − beyond"),
    *BITS,
)
MOST_PAIRS = 128
"""More than a head has."""
STEEPEST = 1.1
"""More than the slope of silu anywhere."""
LOWEST = 1.2784645427610738
"""silu has its minimum −0.27846… at minus this, and increases from there on."""


def variable(name: str, pair: int) -> int:
    """The number of a pair of a variable."""
    return VARIABLES.index(name) * MOST_PAIRS + pair


def are_bits(var: Places) -> NDArray[np.bool_]:
    """Which variables are 1 or −1."""
    found: NDArray[np.bool_] = var >= variable(BITS[0], 0)
    return found


def renamed(var: Places, old: str, new: str) -> Places:
    """Numbers of one variable as those of another; NONE for all others."""
    own = (var != NONE) & (var // MOST_PAIRS == VARIABLES.index(old))
    return np.where(own, var % MOST_PAIRS + VARIABLES.index(new) * MOST_PAIRS, NONE)


@dataclass(frozen=True)
class Waves:
    """Coordinates of classes: c + Re(κ·P(var)) ± r, in rows."""

    c: Floats
    k: Complexes
    r: Floats
    var: Places

    @staticmethod
    def constant(rows: Floats) -> "Waves":
        """Numbers that are known."""
        none = np.full(rows.shape[1], NONE)
        return Waves(rows, np.zeros(rows.shape, complex), np.zeros(rows.shape), none)

    @property
    def loose(self) -> Floats:
        """How far values are from c."""
        return np.abs(self.k) + self.r

    @property
    def size(self) -> Floats:
        """The greatest absolute values."""
        return np.abs(self.c) + self.loose

    @property
    def flat(self) -> "Waves":
        """The same intervals, of which it is forgotten on what they depend."""
        return Waves(self.c, np.zeros_like(self.k), self.loose, np.full_like(self.var, NONE))

    def rows(self, chosen: Places) -> "Waves":
        """Some rows, in any order."""
        return Waves(self.c[chosen], self.k[chosen], self.r[chosen], self.var)

    def columns(self, chosen: slice | Places) -> "Waves":
        """Some coordinates."""
        parts = self.c[:, chosen], self.k[:, chosen], self.r[:, chosen]
        return Waves(*parts, self.var[chosen])

    @staticmethod
    def beside(boxes: list["Waves"]) -> "Waves":
        """Waves of the same classes, coordinates one after the other."""
        c, k, r = (np.concatenate([getattr(x, n) for x in boxes], axis=1) for n in "ckr")
        return Waves(c, k, r, np.concatenate([x.var for x in boxes]))

    def scaled(self, low: Floats, high: Floats) -> "Waves":
        """Times numbers between two, the greater of which in size is `high`."""
        middle, half = (low + high) / 2, np.abs(high - low) / 2
        most = np.maximum(np.abs(low), np.abs(high))
        r = self.r * most + half * (np.abs(self.c) + np.abs(self.k))
        return Waves(self.c * middle, self.k * middle, r, self.var)

    @property
    def kinds(self) -> Iterator[tuple[int, Places]]:
        """All variables that occur, each with its coordinates."""
        used = np.flatnonzero(self.k.any(axis=0) & (self.var != NONE))
        for each in np.unique(self.var[used]):
            yield int(each), used[self.var[used] == each]


def in_waves(read: Table) -> Waves:
    """The rows of a table by bits, as one class."""
    var = [NONE if n == NONE else variable(KINDS[n // MOST_BITS], n % MOST_BITS) for n in read.var]
    found = read.box(first=False)
    return Waves(found.c, found.k.astype(complex), found.r, np.array(var))


def in_bits(x: Waves) -> Box:
    """What depends on bits, as such; phases go into radii."""
    own = are_bits(x.var)
    var = [Variables.number(VARIABLES[n // MOST_PAIRS], n % MOST_PAIRS) if bit else NONE
           for n, bit in zip(x.var.tolist(), own.tolist(), strict=True)]  # fmt: skip
    k = np.where(own, x.k.real, 0)
    return Box(x.c, k, x.r + np.abs(x.k - k), np.array(var))


def strongest(parts: list[tuple[Places, Complexes]]) -> tuple[Complexes, Places, Floats]:
    """One variable for each coordinate: that of the greatest slope; others go into a radius."""
    slopes = [np.abs(k).max(axis=0, initial=0) for _, k in parts]
    best = np.argmax(slopes, axis=0)
    var = np.choose(best, [v for v, _ in parts])
    k, r = np.zeros_like(parts[0][1]), np.zeros(parts[0][1].shape)
    for v, own in parts:
        same = v == var
        k = k + np.where(same, own, 0)
        r = r + np.where(same, 0, np.abs(own))
    return k, np.where(k.any(axis=0), var, NONE), r


def silu(x: Floats) -> Floats:
    """x·σ(x)."""
    found: Floats = x / (1 + np.exp(-x))
    return found


def partners(gate: Floats, up: Floats) -> list[tuple[int, int]]:
    """Units whose gates and ups are each other's negatives, nearly: silu(x)·y + silu(−x)·(−y) = xy.

    Rows are units.
    """
    whole = np.concatenate([gate, up], axis=1)
    squares = (whole**2).sum(axis=1)
    used = np.flatnonzero((gate != 0).any(axis=1) & (up != 0).any(axis=1))
    whole, squares = whole[used], squares[used]
    if len(used) < 2:
        return []
    far = squares[:, None] + squares + 2 * (whole @ whole.T)
    np.fill_diagonal(far, np.inf)
    nearest = far.argmin(axis=1)
    return [
        (int(used[i]), int(used[j]))
        for i, j in enumerate(nearest.tolist())
        if i < j and nearest[j] == i and far[i, j] < squares[i] / 64
    ]


class WaveRules(Rules):
    """The rules for one format."""

    def product(self, x: Waves, by: Matrix) -> tuple[Waves, Floats]:  # type: ignore[override]
        """xW without rounding, and what rounding errs by before it is stored.

        n products are added with n roundings at most. One product with a power of 2 is exact.
        """
        x = x.columns(by.inputs)
        size = x.size @ by.sizes
        unit = self.format.single + self.partial * self.format.unit / by.terms
        error = np.zeros((len(x.c), by.width))
        rounded = by.terms * (unit * 1.001 + self.format.slack) * size
        error[:, by.outputs] = np.where(alone(by), self.format.least, rounded)
        radius = x.r @ by.sizes
        parts = []
        best, chosen = np.zeros(len(by.outputs)), np.full(len(by.outputs), NONE)
        for each, columns in x.kinds:
            weight = by.weight[columns]
            out = np.flatnonzero((weight != 0).any(axis=0))
            k = x.k[:, columns] @ weight[:, out]
            strength = np.abs(k).max(axis=0)
            better = strength > best[out]
            best[out[better]], chosen[out[better]] = strength[better], each
            parts.append((each, out, k))
        slope = np.zeros(size.shape, complex)
        for each, out, k in parts:
            own = chosen[out] == each
            slope[:, out[own]] = k[:, own]
            radius[:, out[~own]] += np.abs(k[:, ~own])
        n = len(x.c)
        found = Waves.constant(np.zeros((n, by.width)))
        found.c[:, by.outputs] = x.c @ by.weight
        found.k[:, by.outputs], found.r[:, by.outputs] = slope, radius
        found.var[by.outputs] = chosen
        return found, error

    def affine(self, x: Waves, by: Matrix, more: Floats | float = 0.0) -> Waves:  # type: ignore[override]
        """xW ± more, stored or not. What a power of 2 multiplies was stored before, or was not."""
        exact, error = self.product(x, by)
        whole = Waves(exact.c, exact.k, exact.r + error + more, exact.var)
        moved = self.movable(whole.size)
        moved[:, by.outputs[alone(by)]] = 0
        return self.stored(whole, moved)

    def movable(self, size: Floats) -> Floats:
        """How far a store can move a number of at most this size.

        Let 2^e be the greatest power of 2 in it. Below 2^e a store moves by half a unit of the
        last place, u·2^(e−1); above, by u·2^e, and no further than to 2^e, which is a number.
        """
        f = self.format
        power = np.ldexp(1.0, np.frexp(size)[1] - 1)
        most = np.maximum(f.unit * power / 2, np.minimum(f.unit * power, size - power))
        found: Floats = np.where(size == 0, 0, most + 1.001 * f.single * size + f.least)
        return np.where(size < f.largest, found * (1 + f.slack), np.inf)

    def stored(self, x: Waves, moved: Floats | None = None) -> Waves:  # type: ignore[override]
        """What may be stored, and x itself; `moved` bounds it where there is a phase.

        Where there is none, a store is monotone, so that the ends of intervals are rounded.
        """
        low, high = self.format.stored(x.c - x.r, x.c + x.r)
        alone = (x.k == 0) & ((low < x.c) | (high > x.c))
        c = np.where(alone, (low + high) / 2, x.c)
        own = np.maximum(high - c, c - low) + self.format.slack * (np.abs(c) + x.r)
        waving = x.r + (self.movable(x.size) if moved is None else moved)
        r = np.where(alone, own, np.where(x.k == 0, x.r, waving))
        bits = np.flatnonzero(are_bits(x.var))
        if not len(bits):
            return Waves(c, x.k, r, x.var)
        k, part = x.k.copy(), x.columns(bits)
        rounded = Rules.stored(self, Box(part.c, part.k.real, part.r + np.abs(part.k.imag), bits))
        c[:, bits], k[:, bits], r[:, bits] = rounded.c, rounded.k, rounded.r
        return Waves(c, k, r, x.var)

    def add(self, x: Waves, b: Waves) -> Waves:  # type: ignore[override]
        """x + b, stored or not.

        If x is a number of the format, so that it is one of the numbers to which a store may go,
        that moves the sum by no more than the size of b. If x was kept in float32, its
        interval has half a unit of the last place more than it needs; then so has that of the sum.
        Both need that x had that room when it was last stored, as coordinates with a phase have.
        """
        k, var, spread = strongest([(x.var, x.k), (b.var, b.k)])
        nothing = b.size == 0
        size = np.where((x.size == 0) | nothing, 0, x.size + b.size)
        r = x.r + b.r + spread + self.format.slack * size
        whole = Waves(x.c + b.c, k, r, var)
        moved = self.movable(whole.size)
        small = 1.01 * (b.size + self.format.single * whole.size) + self.format.least
        moved = np.where(x.k != 0, np.minimum(moved, small), moved)
        moved = np.where((x.size == 0) | nothing, 0, moved)
        stored = self.stored(whole, moved)
        # Adding 0 is exact.
        return Waves(
            np.where(nothing, x.c, stored.c), np.where(nothing, k, stored.k),
            np.where(nothing, x.r + spread, stored.r), var,
        )  # fmt: skip

    def rms_norm(self, x: Waves, weight: Floats) -> Waves:
        """An RMS norm (L3). Σx² has no cosines where a phase is whole: cos² + sin² = 1.

        The square of a bit is 1.
        """
        D, single, bits = x.c.shape[1], self.format.single, are_bits(x.var)
        squares = (x.c**2 + np.abs(x.k) ** 2 * np.where(bits, 1, 0.5)).sum(axis=1)
        wide = (2 * (np.abs(x.c) + np.abs(x.k)) * x.r + x.r**2).sum(axis=1)
        for _, columns in x.kinds:
            c, k = x.c[:, columns], x.k[:, columns]
            waving = 0 if bits[columns[0]] else np.abs((k**2).sum(axis=1)) / 2
            wide += 2 * np.abs((c * k).sum(axis=1)) + waving
        spread = (D + 8) * single * 1.001 + 2 * D * self.format.slack
        low = np.maximum(squares - wide, 0) / D * (1 - spread)
        high = (squares + wide) / D * (1 + spread)
        steps = 9 * single * 1.001 + self.format.slack
        fastest = (1 / np.sqrt(low + self.epsilon) * (1 + steps))[:, None]
        slowest = (1 / np.sqrt(high + self.epsilon) * (1 - steps))[:, None]
        normed = self.stored(x.scaled(slowest, fastest))
        out = normed.scaled(weight, weight)
        whole = np.abs(np.frexp(weight)[0]) == 0.5
        r = out.r + np.where(whole, self.format.least, 2 * single + self.format.slack) * out.size
        out = Waves(out.c, out.k, r, out.var)
        return self.stored(out, np.where(whole, 0, self.movable(out.size)))

    def gated(self, x: Waves, gate: Matrix, up: Matrix, units: "Units") -> Waves:
        """(silu(x G) ∘ x U) D, stored or not.

        Two units that are partners are g·u together, whatever g is. With phases in both,
        Re(κP)·Re(κ'P') = ½Re(κκ'·PP') + ½Re(κκ̄'·PP̄'): two terms, each of a variable of its own,
        the sum and the difference of two offsets.
        """
        f = self.format
        g, u = self.affine(x, gate), self.affine(x, up)
        low, high = self._silu(g)
        found = u.scaled(low, high)
        slack = 2 * f.single + f.slack
        found = self.stored(Waves(found.c, found.k, found.r + slack * found.size, found.var))
        waving = g.k.any(axis=0) & (g.var != NONE)
        both = [n for n, (i, j) in enumerate(units.pairs) if waving[i] and waving[j]]
        if not both:
            return self.affine(found, units.whole)
        pairs = np.array(units.pairs)[both]
        boxes, rows, radius = self._products(x, gate, up, units, pairs)
        kept = np.ones(len(units.down), bool)
        kept[pairs] = False
        alone = np.flatnonzero(kept)
        hidden = Waves.beside([found.columns(alone), *boxes])
        return self.affine(hidden, Matrix(np.concatenate([units.down[alone], *rows]), None), radius)

    def _silu(self, gate: Waves) -> tuple[Floats, Floats]:
        """silu of intervals, in float32 (L6), stored or not."""
        low, high = gate.c - gate.loose, gate.c + gate.loose
        error = (SILU * self.format.single + self.format.slack) * gate.size
        at_low, at_high = silu(low), silu(high)
        least = np.where((low < -LOWEST) & (high > -LOWEST), -0.27847, np.minimum(at_low, at_high))
        return self.format.stored(least - error, np.maximum(at_low, at_high) + error)

    def _products(
        self, x: Waves, gate: Matrix, up: Matrix, units: "Units", pairs: Places
    ) -> tuple[list[Waves], list[Floats], Floats]:
        """g·u of partners as terms, with rows for them, and how far their sum is from that.

        Let X and Y be what g and u are without rounding. Those of a partner are −X and −Y, but
        for weights that differ. What x errs by is common to all units that read it alike: it
        multiplies the sum of what they have as their other factor.
        """
        f = self.format
        first, second = pairs.T
        local = []
        for by, weight in ((gate, units.gate), (up, units.up)):
            apart = x.size @ np.abs(weight[first] + weight[second]).T
            exact, error = self.product(x, by)
            size = exact.size + error
            moved = np.where(alone_in(by), 0, self.movable(size)) if f.unit else 0 * size
            most = np.maximum((error + moved)[:, first], (error + moved)[:, second])
            local.append((exact.columns(first), most + apart))
        (X, of_g), (Y, of_u) = local
        sizes = (X.size + 3 * of_g) * (Y.size + of_u)  # |silu(x)| + |silu(−x)| = |x|
        stores = 2.01 * f.unit + (2 * SILU + 8) * f.single + f.slack
        error = 2 * STEEPEST * of_g * (Y.size + of_u) + X.size * of_u + stores * sizes
        error += X.r * Y.r + f.least * (4 + 2 * Y.size)
        pair, other = X.var % MOST_PAIRS, Y.var % MOST_PAIRS
        of, of_other = X.var // MOST_PAIRS, Y.var // MOST_PAIRS
        far, beyond = VARIABLES.index(FAR), VARIABLES.index(BEYOND)
        same = (X.var != NONE) & (Y.var != NONE) & (pair == other)
        plain, back = (of == far) & (of_other == beyond), (of == beyond) & (of_other == far)
        known = same & (plain | back)
        error += np.where(known, 0, np.abs(X.k) * np.abs(Y.k))
        total = np.where(known, X.k * Y.k / 2, 0)
        less = np.where(known, np.where(plain, X.k * Y.k.conj(), X.k.conj() * Y.k) / 2, 0)
        names = (np.where(known, variable(each, 0) + pair, NONE) for each in (SUM, DIFFERENCE))
        zero, nothing = np.zeros(X.c.shape), np.zeros(X.k.shape, complex)
        boxes = [
            Waves(zero, total, zero, next(names)),
            Waves(zero, less, zero, next(names)),
            Waves(X.c * Y.c, X.k * Y.c, error, X.var),
            Waves(zero, Y.k * X.c, zero, Y.var),
        ]
        down = units.down
        middle, half = (down[first] + down[second]) / 2, (down[first] - down[second]) / 2
        rows = [middle] * 4
        if half.any():  # (h − h') of both: no more than their sizes
            boxes.append(Waves(zero, nothing, sizes + error, np.full(len(first), NONE)))
            rows.append(half)
        radius = _common(X, Y, units.gate[first], middle) + _common(Y, X, units.up[first], middle)
        return boxes, rows, radius


def _common(x: Waves, other: Waves, weight: Floats, down: Floats) -> Floats:
    """What the errors of x make, times the other factor: for units with one weight at once.

    Σ_g r_g·|Re(κ_g·P)|, for terms g of one phase, is at most √(Σr_g)·√(Σ r_g·Re(κ_g·P)²), which is
    at most √(Σr_g)·√(½Σr_g|κ_g|² + ½|Σr_g·κ_g²|). For a whole phase that is √2·r and not 2r.
    """
    found = np.zeros((len(x.c), down.shape[1]))
    terms = dict[tuple[int, bytes], list[Any]]()
    labels = np.unique(weight, axis=0, return_inverse=True)[1].ravel()
    for label in range(labels.max() + 1):
        own = np.flatnonzero(labels == label)
        out = np.flatnonzero(down[own].any(axis=0))
        rows, part = down[np.ix_(own, out)], other.columns(own)
        r = x.r[:, own].max(axis=1)[:, None]
        found[:, out] += r * np.abs(part.c @ rows)
        for each, columns in part.kinds:
            k = part.k[:, columns] @ rows[columns]
            sums = terms.setdefault((each, out.tobytes()), [out, 0.0, 0.0, 0.0])
            for n, term in enumerate((r * (k != 0), r * np.abs(k) ** 2, r * k**2), start=1):
                sums[n] = sums[n] + term
    for out, of_r, of_k, of_square in terms.values():
        found[:, out] += np.sqrt(of_r * (of_k + np.abs(of_square)) / 2)
    return found * (1 + 2.0**-40)


def alone(by: Matrix) -> NDArray[np.bool_]:
    """Of the columns that are kept, those with one weight, which is a power of 2."""
    one = (by.weight != 0).sum(axis=0) == 1
    power = np.abs(np.frexp(by.weight.sum(axis=0))[0]) == 0.5
    found: NDArray[np.bool_] = one & power
    return found


def alone_in(by: Matrix) -> NDArray[np.bool_]:
    """The same for all columns."""
    found = np.ones(by.width, bool)
    found[by.outputs] = alone(by)
    return found


class Units:
    """The three matrices of SwiGLU with a row for each unit, and which units are partners."""

    def __init__(self, gate: Floats, up: Floats, down: Floats) -> None:
        self.gate, self.up, self.down = gate, up, down
        self.whole = Matrix(down, None)
        self.pairs = partners(gate, up)


SILU = 16
"""silu errs by this times 2⁻²⁴ of its argument: 2⁻²⁰ (L6)."""
