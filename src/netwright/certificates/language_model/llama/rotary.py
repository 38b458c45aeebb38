"""Heads of a Llama: what a query finds, for all contexts of at most T tokens at once.

RoPE turns pair j of a query and of a key by w_j times their positions. As complex numbers, what the
pair adds to the score at the offset o is Re(q_j k̄_j e^(i·w_j·o)).

*A look-up by offset.* The query of a class is z_j·P_j(v), nearly, if v is the offset of the token t
that it should find, and all keys are nearly one k. At the offset v + d the score is less by

    g(d) = Σ_j Re(z_j k̄_j (1 − e^(i·w_j·d)))

but for errors. What a query errs by, e_j, is the same for all keys, so it counts |1 − e^(i·w_j·d)|
times; what keys differ by, and all rounding, counts twice. Other tokens have other offsets, so all
together weigh at most λ = Σ_d e^(err(d) − g(d)) over 0 < |d| < T, beside 1 for t: T cosines.

*A look-up by key* is as in `attention`, with what RoPE does to a query or key as an interval, for
all positions at once: pairs that hardly turn within a context are nearly what they were.

*A look-up by flag*, *what comes out*, and *anything else* are as in `attention`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from netwright.certificates.language_model.attention import LEAST, MOST_LEAK, Keys, least_product
from netwright.certificates.language_model.boxes import NONE, Ends, Places, UnprovedError
from netwright.certificates.language_model.classes import ByKey, Key
from netwright.certificates.language_model.llama.classes import Class, Group, Offset, Sets
from netwright.certificates.language_model.llama.waves import (
    BEYOND,
    FAR,
    GIVEN,
    MOST_PAIRS,
    SUM,
    Complexes,
    WaveRules,
    Waves,
    are_bits,
    renamed,
    variable,
)
from netwright.certificates.language_model.rounding import Floats


class Frequencies:
    """RoPE's frequencies, and phases of all offsets in a context."""

    def __init__(self, theta: float, size: int, context: int) -> None:
        self.pairs, self.context = size // 2, context
        self.w = theta ** (-np.arange(self.pairs) / self.pairs)

    def phase(self, pair: Places, offset: int | Places) -> Complexes:
        """P_j(v)."""
        found: Complexes = np.exp(-1j * self.w[pair] * offset)
        return found

    @cached_property
    def phases(self) -> Complexes:
        """P_j(v) for all pairs, and v from 0 to T − 1."""
        return self.phase(np.arange(self.pairs)[:, None], np.arange(self.context)[None])

    @cached_property
    def lacking(self) -> Complexes:
        """1 − e^(i·w_j·d) for all pairs and 0 < |d| < T."""
        ahead = 1 - self.phases[:, 1:].conj()
        return np.concatenate([ahead, ahead.conj()], axis=1)

    @property
    def slack(self) -> float:
        """What float64 may lose of a phase."""
        return self.context * 2.0**-49

    def read(self, table: Floats, hints: Places | None = None) -> Waves:
        """The columns of a table by offsets 0 to T − 1: each a phase of one pair, and a radius.

        In short contexts slow pairs differ by little. Of those that fit, nearly, the one of which
        another table says so is taken, or else the one with a factor of nearly 1; and none if a
        number fits nearly as well.
        """
        found = Waves.constant((table.max(axis=0) + table.min(axis=0))[None] / 2)
        found.r[0] = (table.max(axis=0) - table.min(axis=0)) / 2
        columns = np.flatnonzero(found.r[0])
        own = table[:, columns]
        shape = 2 * self.pairs, len(columns)
        factors, middles, radii = (np.full(shape, x) for x in (0.0, 0.0, np.inf))
        for n in range(2 * self.pairs):
            wave = self.phases[n // 2].imag if n % 2 else self.phases[n // 2].real
            if not wave.any():
                continue
            factors[n] = wave @ own / (wave @ wave)
            rest = own - wave[:, None] * factors[n]
            high, low = rest.max(axis=0), rest.min(axis=0)
            middles[n], radii[n] = (high + low) / 2, (high - low) / 2 + np.abs(high + low) / 2
        fits = radii <= 4 * radii.min(axis=0, initial=np.inf) + 2.0**-30
        pairs = np.arange(2 * self.pairs)[:, None] // 2
        wrong = np.abs(np.log(np.abs(factors) + LEAST))
        if hints is not None:
            wrong = np.where(pairs == hints[columns] % MOST_PAIRS, 0, 1 + wrong)
        best = np.where(fits, wrong, np.inf).argmin(axis=0) if len(columns) else columns
        each = np.arange(len(columns))
        better = radii[best, each] - np.abs(middles[best, each]) < found.r[0, columns] / 2
        at, best, each = columns[better], best[better], each[better]
        factor = factors[best, each]
        found.c[0, at] = middles[best, each]
        found.k[0, at] = np.where(best % 2, -1j * factor, factor)  # Re(−iP) = Im P
        found.r[0, at] = radii[best, each] - np.abs(middles[best, each])
        found.var[at] = best // 2 + variable(FAR, 0)
        found.r[0] += (2.0**-40 + self.slack) * found.size[0] * (found.r[0] > 0)
        return found


class Sought(NamedTuple):
    """What a head may find for a group."""

    sets: list[Key]
    """The set of classes for every class of the group."""
    offset: Offset | None
    """How far back; None for a flag, or a key."""
    takes_other: bool = False
    """Whether what it finds is a visit, whose *other* is *beyond* from here."""
    by_key: ByKey | None = None
    """If it is found by a key."""


@dataclass(frozen=True)
class Found:
    """What a head found for a group, and its leak; None if it can be anything."""

    box: Waves
    leak: float | None
    near: float | None = None
    """The leak of the best look-up that was not good enough."""


def sought_by(group: Group) -> list[Sought]:
    """What heads may find for the classes of a group, by the argument."""
    classes: list[Class] = group.classes
    found = []
    ahead = [each.ahead for each in classes if each.ahead is not None]
    if len(ahead) == len(classes):
        found.append(Sought(ahead, group.ahead, takes_other=True))
    before = [each.before for each in classes if each.before is not None]
    if len(before) == len(classes):
        found.append(Sought(before, Offset(None, 1)))
    flagged = [each.flagged for each in classes if each.flagged is not None]
    if len(flagged) == len(classes):
        found.append(Sought(flagged, None))
    rules = [each.rule for each in classes if each.rule is not None]
    if len(rules) == len(classes):
        found.append(Sought([rule.found for rule in rules], None, by_key=rules[0]))
    return found


class Head:
    """One head: queries, keys and values of all groups."""

    def __init__(
        self,
        groups: Sequence[Group],
        sets: Sets,
        parts: Sequence[tuple[Waves, Waves, Waves]],
        frequencies: Frequencies,
        rules: WaveRules,
        widths: Mapping[str, int],
    ) -> None:
        self.groups, self.sets, self.waves, self.rules = groups, sets, frequencies, rules
        self.widths = widths
        self.queries, self.keys, self.values = (list(each) for each in zip(*parts, strict=True))
        self.half = frequencies.pairs
        self.scale = np.sqrt(2 * self.half)
        self.value_size = np.max([v.size.max(axis=0) for v in self.values], axis=0)
        self.lowest = np.min([(v.c - v.loose).min(axis=0) for v in self.values], axis=0)
        self.highest = np.max([(v.c + v.loose).max(axis=0) for v in self.values], axis=0)
        every = [np.ones(len(k.c), bool) for k in self.keys]
        low, high = self._keys(every)
        middle, wide = (low + high) / 2, (high - low) / 2
        self.key = middle[: self.half] + 1j * middle[self.half :]
        self.key_off = np.hypot(wide[: self.half], wide[self.half :])
        self.key_size = np.maximum(np.abs(low), np.abs(high))
        self.keys_of_pairs = np.hypot(self.key_size[: self.half], self.key_size[self.half :])
        self._found: dict[tuple[Key, bool, bool], Waves] = {}
        greatest = max(float((self._modulus(q) @ self.keys_of_pairs).max()) for q in self.queries)
        if not greatest < rules.format.largest / 4:
            raise UnprovedError(f"a score may be {greatest:.4g}, which {rules.format.name} has not")

    def _modulus(self, x: Waves) -> Floats:
        """The greatest moduli of pairs."""
        size = x.size
        found: Floats = np.hypot(size[:, : self.half], size[:, self.half :])
        return found

    def _keys(self, chosen: list[np.ndarray]) -> tuple[Floats, Floats]:
        """The least and greatest keys of some classes, given for each group."""
        pairs = list(zip(self.keys, chosen, strict=True))
        low = np.min([(k.c - k.loose)[n].min(axis=0, initial=np.inf) for k, n in pairs], axis=0)
        return low, np.max(
            [(k.c + k.loose)[n].max(axis=0, initial=-np.inf) for k, n in pairs], axis=0
        )

    def attend(self, g: int, sought: Sequence[Sought]) -> Found:
        """What the head adds for the classes of a group."""
        if self.groups[g].first:  # there is one key: the token finds itself
            return Found(self._weighed(self.values[g].flat, 0.0, many=False), 0.0)
        near = None
        if self.queries[g].size.any():
            for each in sought:
                if any(name not in self.sets for name in each.sets):
                    continue
                if each.by_key is not None:
                    leak = self._by_key(g, each, each.by_key)
                elif each.offset is None:
                    leak = self._by_flag(g, each)
                else:
                    leak = self._by_offset(g, each)
                if leak <= MOST_LEAK:
                    single = all(self.groups[h].first for s in each.sets for h, _ in self.sets[s])
                    many = each.offset is None and each.by_key is None and not single
                    return Found(self._weighed(self._target(each), leak, many=many), leak)
                near = leak if near is None else min(near, leak)
        return Found(self._anything(g), None, near)

    # -- what is found ----------------------------------------------------------------------------

    def _by_offset(self, g: int, sought: Sought) -> float:
        """The leak of a look-up, for all classes of the group."""
        q, half = self.queries[g], self.half
        assert sought.offset is not None
        name, more = sought.offset
        pairs = np.arange(half)
        turn = self.waves.phase(pairs, more).conj()
        middle = q.c[:, :half] + 1j * q.c[:, half:]
        e = np.hypot(q.r[:, :half], q.r[:, half:])
        if name is None:
            z = middle * turn
            e = e + np.abs(q.k[:, :half]) + np.abs(q.k[:, half:])
        else:
            own = np.concatenate([pairs, pairs]) + variable(name, 0) == q.var
            k, lost = np.where(own, q.k, 0), np.where(own, 0, np.abs(q.k))
            re, im = k[:, :half], k[:, half:]
            z = (re + 1j * im) / 2 * turn
            # What does not depend on v is a phase too, nearly, if this pair hardly turns.
            turns = np.minimum(self.waves.context * self.waves.w, 2)
            z = z + np.where(turns < 1, middle * turn, 0)
            e = e + np.abs(middle) * np.where(turns < 1, turns, 1)
            e = e + np.abs(re.conj() + 1j * im.conj()) / 2
            e = e + lost[:, :half] + lost[:, half:]
        centre = (z.real.max(axis=0) + z.real.min(axis=0)) / 2
        centre = centre + 0.5j * (z.imag.max(axis=0) + z.imag.min(axis=0))
        e = (e + np.abs(z - centre)).max(axis=0)
        size = self._modulus(q).max(axis=0)
        turned = self._turning(q.size.max(axis=0)), self._turning(self.key_size)
        keys = self.keys_of_pairs + turned[1]
        lacking = self.waves.lacking
        gap = (centre * self.key.conj()) @ lacking
        once = ((e + turned[0]) * keys) @ np.abs(lacking)
        twice = 2 * ((size + turned[0]) * (self.key_off + turned[1])).sum()
        slack = 2 * (self.rules.format.slack + self.waves.slack) * float((size * keys).sum())
        lost = twice + slack + self._rounding(float((size * keys).sum()))
        exponents = (once + lost - gap.real) / self.scale
        return float((np.exp(exponents) + LEAST).sum() * (1 + 2.0**-16))

    @property
    def parts(self) -> Floats:
        """What the angle of each pair errs by, of itself (L4): (2j + 1)·2⁻²³."""
        pairs = np.arange(self.half, dtype=np.float64)
        return (4 * pairs + 2) * self.rules.format.single

    def _turning(self, size: Floats) -> Floats:
        """What RoPE errs by for each pair (L4): angles, tables, two products and a sum, stored."""
        f, half = self.rules.format, self.half
        a, b = size[:half], size[half:]
        modulus = np.hypot(a, b)
        most = self.waves.context * self.waves.w
        angle = np.minimum(most * self.parts + 4 * f.single, 2)
        tables = (2.02 * f.unit + 3 * f.single) * np.minimum(a + b, np.sqrt(2) * modulus)
        found: Floats = tables + (1.01 * f.unit + angle + f.single) * modulus + 6 * f.least
        return found

    def _rounding(self, size: float) -> float:
        """What two scores lose: sums, a division, and three stores, as of a query, key, product."""
        f = self.rules.format
        sums = 2 * (2 * self.half + 4) * (f.single + f.slack) + 4 * f.single
        return size * (sums + (6.3 + 2 * self.rules.partial) * f.unit) + 6 * f.least

    def _by_flag(self, g: int, sought: Sought) -> float:
        """The leak of a look-up of classes with a flag, at any offset."""
        q, most = self.queries[g], 0.0
        turn = np.minimum(self.waves.context * self.waves.w, 2)
        for n, name in enumerate(sought.sets):
            chosen, rest = [], []
            for h, group in enumerate(self.groups):
                inside = np.zeros(len(group.classes), bool)
                inside[[m for o, m in self.sets[name] if o == h]] = True
                chosen.append(inside)
                rest.append(~inside)
            (low, high), (other_low, other_high) = self._keys(chosen), self._keys(rest)
            row = q.rows(np.array([n]))
            own = (row.c - row.loose)[0], (row.c + row.loose)[0]
            gap = least_product(own, (low - other_high, high - other_low)).sum()
            size = self._modulus(row)[0]
            keys = self.keys_of_pairs + self._turning(self.key_size)
            query = size + self._turning(row.size[0])
            lost = 2 * (query * keys - size * self.keys_of_pairs + turn * size * keys).sum()
            lost += self._rounding(float((query * keys).sum()))
            leak = self.waves.context * (np.exp((lost - gap) / self.scale) + LEAST)
            most = max(most, float(leak) * (1 + 2.0**-16))
        return most

    def _by_key(self, g: int, sought: Sought, by: ByKey) -> float:
        """The leak of a look-up among classes with keys, for all classes of the group."""
        q, most = self.queries[g], 0.0
        bits = [variable(kind, j) for kind in by.kinds for j in range(self.widths[kind])]
        at = np.array([bits.index(n) if n in bits else -1 for n in q.var])
        among = [self._by_bit(self.keys[h], m, q.var) for h, m in self.sets[by.among]]
        for n, name in enumerate(sought.sets):
            (place,) = self.sets[name]
            others = []
            for h, group in enumerate(self.groups):
                for m in range(len(group.classes)):
                    if (h, m) != place and (h, m) not in self.sets[by.among]:
                        count = 1 if group.first else self.waves.context
                        others.append((self._by_bit(self.keys[h], m, q.var, known=False), count))
            own = self._by_bit(self.keys[place[0]], place[1], q.var)
            keys = Keys(own, among, others, at, len(bits))
            query = self._by_bit(q, n, q.var)
            most = max(most, keys.leak(query, self._rounding, float(self.scale), self.rules.format))
        return most

    def _by_bit(self, x: Waves, n: int, var: Places, *, known: bool = True) -> Ends:
        """A query or key after RoPE at any position, where a bit of `var` is 1, and where −1."""
        c, loose, k = x.c[n], x.loose[n], x.k[n].real
        same = (x.var == var) & are_bits(var) & known
        low, high = c - loose, c + loose
        found: list[Floats] = []
        for bit in (1, -1):
            centre, r = np.where(same, c + bit * k, c), np.where(same, loose - np.abs(k), loose)
            found += self._turned(centre - r, centre + r, low, high)
        return Ends(*found)

    def _turned(
        self, low: Floats, high: Floats, least: Floats, greatest: Floats
    ) -> tuple[Floats, Floats]:
        """What RoPE makes of intervals (L4), beside those of the other halves of the pairs."""
        f, half = self.rules.format, self.half
        angle = self.waves.context * self.waves.w * (1 + self.parts)
        few, slack = 4 * f.single, 1 + f.slack
        below = np.where(angle < 1, angle**2 / 2, 2) * slack
        cos = f.stored(1 - below - few, np.full(half, 1 + few))
        across = np.minimum(angle, 1) * slack + few
        sin = f.stored(-across, across)
        swapped = np.concatenate([np.arange(half) + half, np.arange(half)])
        kept = self._products((low, high), _both(cos))
        moved = self._products((least[swapped], greatest[swapped]), _both(sin))
        wide = np.maximum(np.abs(moved[0]), np.abs(moved[1]))
        size = np.maximum(np.abs(kept[0]), np.abs(kept[1])) + wide
        return f.stored(kept[0] - wide - f.slack * size, kept[1] + wide + f.slack * size)

    def _products(
        self, a: tuple[Floats, Floats], b: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Products of numbers in two intervals, stored or not."""
        low, high = least_product(a, b), -least_product((-a[1], -a[0]), b)
        size = self.rules.format.slack * np.maximum(np.abs(low), np.abs(high))
        return self.rules.format.stored(low - size, high + size)

    # -- what comes out ---------------------------------------------------------------------------

    def _target(self, sought: Sought) -> Waves:
        """The values of the sets that are found, a row for each class, under their new names."""
        by_key = sought.by_key is not None
        found = [
            self._merged(name, takes_other=sought.takes_other, by_key=by_key)
            for name in sought.sets
        ]
        k, var, r = strongest_of(found)
        return Waves(
            np.concatenate([each.c for each in found]), k,
            np.concatenate([each.r for each in found]) + r, var,
        )  # fmt: skip

    def _merged(self, name: Key, *, takes_other: bool, by_key: bool) -> Waves:
        """The least waves around the values of a set of classes."""
        place = name, takes_other, by_key
        if place not in self._found:
            parts = []
            for h in sorted({h for h, _ in self.sets[name]}):
                rows = np.array([m for o, m in self.sets[name] if o == h])
                box = self.values[h].rows(rows)
                group = self.groups[h]
                if takes_other:
                    parts.append(self._with_bits(box, self._as_beyond(h, box), group.seen))
                else:
                    names = group.told if by_key else group.handed
                    parts.append(self._with_bits(box, self._as_given(h, box), names))
            k, var, r = strongest_of(parts)
            c, r = np.concatenate([p.c for p in parts]), np.concatenate([p.r for p in parts]) + r
            middle = (k.real.max(axis=0) + k.real.min(axis=0)) / 2
            middle = middle + 0.5j * (k.imag.max(axis=0) + k.imag.min(axis=0))
            r = r + np.abs(k - middle)
            low, high = (c - r).min(axis=0), (c + r).max(axis=0)
            c, r = (low + high) / 2, (high - low) / 2 * (1 + 2.0**-50)
            self._found[place] = Waves(c[None], middle[None], r[None], var)
        return self._found[place]

    @cached_property
    def _usual(self) -> tuple[Complexes, Places]:
        """How each value depends on *beyond*, where what is found has a variable for it."""
        k, var = np.zeros(len(self.lowest), complex), np.full(len(self.lowest), NONE)
        for group, value in zip(self.groups, self.values, strict=True):
            if group.other is not None and group.other.variable is not None:
                own = renamed(value.var, group.other.variable, BEYOND)
                new = (own != NONE) & (var == NONE)
                k, var = np.where(new, value.k.mean(axis=0), k), np.where(new, own, var)
        return k, var

    def _as_beyond(self, h: int, box: Waves) -> Waves:
        """The values of a visit, whose *other* is *beyond*."""
        other = self.groups[h].other
        assert other is not None
        name, more = other
        if name is not None:
            return self._renamed(box, name, BEYOND, more)
        # A number o: what is c is also c − Re(κP(o)) + Re(κP(beyond)), for any κ.
        k, var = self._usual
        c = box.c - (k * self.waves.phase(np.where(var == NONE, 0, var % MOST_PAIRS), more)).real
        r = box.loose + (self.rules.format.slack + self.waves.slack) * np.abs(k)
        return Waves(c, np.tile(k, (len(c), 1)), r, var)

    def _as_given(self, h: int, box: Waves) -> Waves:
        """The values of the token before, whose ahead + beyond + 2 is *given*."""
        ahead = self.groups[h].ahead
        if ahead is None:
            return box.flat
        name = BEYOND if ahead.variable is None else SUM
        return self._renamed(box, name, GIVEN, 2 + ahead.more)

    @staticmethod
    def _with_bits(box: Waves, named: Waves, names: Mapping[str, str]) -> Waves:
        """The bits of a box under other names, beside its waves, which have theirs."""
        k, r, var = named.k.copy(), named.r.copy(), named.var.copy()
        for old, new in names.items():
            bits = renamed(box.var, old, new)
            own = (bits != NONE) & (var == NONE)
            k[:, own], var[own] = box.k[:, own], bits[own]
            r[:, own] = box.r[:, own]
        return Waves(named.c, k, r, var)

    def _renamed(self, box: Waves, old: str, new: str, more: int) -> Waves:
        """One variable under another's name, which is `more` greater; all others are lost."""
        var = renamed(box.var, old, new)
        kept = var != NONE
        turn = self.waves.phase(np.where(kept, var % MOST_PAIRS, 0), -more)
        k = np.where(kept, box.k * turn, 0)
        r = box.r + np.where(kept, 0, np.abs(box.k))
        return Waves(box.c, k, r + (self.rules.format.slack + self.waves.slack) * np.abs(k), var)

    def _weighed(self, x: Waves, leak: float, *, many: bool) -> Waves:
        """a·v + others, with a between 1/(1 + 2λ) and 1, stored or not."""
        f = self.rules.format
        few = 64 * f.single  # two exponentials, each with 2⁻²⁰, and a division
        spread = self._spread if many else 0.0
        one = np.ones(1)
        least, _ = f.stored(one * (1 - few) / (1 + 2.1 * leak), one)
        _, most = f.stored(least, one * (1 + few))
        found = x.scaled(least * (1 - spread), most * (1 + spread))
        loss = 4.1 * leak * self.value_size + (4 * f.single + f.slack) * x.size
        box = Waves(found.c, found.k, found.r + loss, found.var)
        # v was stored before, or was not: as in `WaveRules.add`.
        small = 2.01 * (loss + (most - least + 2 * spread) * x.size)
        for _ in range(1 + self.rules.partial):
            box = self.rules.stored(box, np.minimum(self.rules.movable(box.size), small))
        return box

    @property
    def _spread(self) -> float:
        """How far the weights of many tokens can be from the sum 1."""
        f = self.rules.format
        return 2 * f.unit + self.waves.context * (f.least + 4 * f.single) + 128 * f.single

    def _anything(self, g: int) -> Waves:
        """A weighted mean of values of any classes."""
        loss = self._spread * self.value_size
        low, high = self.lowest - loss, self.highest + loss
        n = len(self.groups[g].classes)
        box = Waves.constant(np.tile((low + high) / 2, (n, 1)))
        box.r[:] = (high - low) / 2
        for _ in range(1 + self.rules.partial):
            box = self.rules.stored(box)
        return box


def _both(ends: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """For both halves of pairs."""
    return np.tile(ends[0], 2), np.tile(ends[1], 2)


def strongest_of(parts: list[Waves]) -> tuple[Complexes, Places, Floats]:
    """The slopes of boxes one below the other, one variable for each column, and what is lost."""
    slopes = np.array([np.abs(p.k).max(axis=0, initial=0) for p in parts])
    best = slopes.argmax(axis=0)
    var = np.array([p.var for p in parts])[best, np.arange(slopes.shape[1])]
    var = np.where(slopes.max(axis=0) > 0, var, NONE)
    k = np.concatenate([np.where(p.var == var, p.k, 0) for p in parts])
    return k, var, np.concatenate([np.where(p.var == var, 0, np.abs(p.k)) for p in parts])
