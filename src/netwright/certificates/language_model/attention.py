"""Attention: what a head finds, for all contexts of at most T tokens at once.

*A look-up by address.* The query of a class has the bits of a variable U in its slots, and all keys
have those of their own T or A. Let t be the token with U's address. A key that differs in the set S
of bits has a lower score by Σ_{l∈S} g_l − err at least, where g_l is the least difference that slot
l makes, and err what slots can differ by though their bits are equal, with all rounding. Keys of
different positions differ in different sets S, so whatever the context is, all others together have
the weight λ = e^err·(Π(1 + e^(−g_l)) − 1) at most, beside 1 for t. T enters through b alone.

*A look-up by flag.* Some classes have a slot that raises the score by g over all others: then
λ = T·e^(err − g).

*A look-up by key.* The query has the bits of a key, and among the classes with keys no two tokens
have the same one. Let the sought one's score be greater by s at least than that of a token with the
query's own key would be, and let g_l be what bit l takes off at least. Then all others with keys
have the weight e^(−s)·(Π(1 + e^(−g_l)) − 1), and the T tokens without are as by a flag. The sought
token may have the key, when s is an error's size below 0, or have none, and s is a whole score.

*What comes out.* All sums have one great term. An addition of floats errs by no more than its
smaller operand (for the other one is a number of the format itself), so that in any order and any
precision the sum of others, and the errors on the way, are 4λ·max|v| at most.

*Anything else* finds a weighted mean of values, somewhere between the least and the greatest.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from netwright.certificates.language_model.boxes import NONE, Box, Ends, Rules, UnprovedError
from netwright.certificates.language_model.classes import ByKey, Class, Group, Key
from netwright.certificates.language_model.rounding import Floats, Format
from netwright.certificates.language_model.variables import Variables

LEAST = 1e-300
"""More than what an exponential is that float64 has not."""
MOST_LEAK = 0.125
"""A head with more does not count as having found its token."""
Sets = dict[Key, list[tuple[int, int]]]


class Sought(NamedTuple):
    """What a head may find for a group."""

    sets: list[Key | None]
    """The set of classes for every class of the group."""
    query: str | None
    """The variable of the query; None for a flag."""
    key: str
    """The variable of the keys."""
    renamed: dict[str, dict[int, tuple[int, float]]]
    """By group: new names for the variables of what is found."""
    by_key: ByKey | None = None
    """If it is found by a key."""


@dataclass(frozen=True)
class Found:
    """What a head found for a group, and its greatest leak; None if it can be anything."""

    box: Box
    leak: float | None
    near: float | None = None
    """The leak of the best look-up that was not good enough."""


def least_product(a: tuple[Floats, Floats], b: tuple[Any, Any]) -> Floats:
    """The least product of numbers in two intervals."""
    products = [x * y for x in a for y in b]
    least: Floats = np.minimum(np.minimum(*products[:2]), np.minimum(*products[2:]))
    return least


class Keys(NamedTuple):
    """The keys of a look-up by key, slot by slot."""

    own: Ends
    """Those of the class that is sought."""
    among: Sequence[Ends]
    """Those of all classes with keys, for a token that has the query's own."""
    others: Sequence[tuple[Ends, int]]
    """Those of other classes, and how many tokens of them there can be."""
    at: np.ndarray
    """The number of the key's bit in each slot; −1 where there is none."""
    bits: int

    def leak(
        self, e: Ends, rounding: Callable[[float], float], scale: float, format: Format
    ) -> float:
        """What all others weigh beside the sought token; `rounding` is of two scores of a size."""
        own, size = self.own, _greatest(e)

        def gap(other: Ends) -> Floats:
            """How much more than another the sought token's score has, slot by slot."""
            on = least_product(e[:2], (own.low - other.high, own.high - other.low))
            off = (own.low_off - other.high_off, own.high_off - other.low_off)
            least: Floats = np.minimum(on, least_product(e[2:], off))
            return least

        def lost(other: Ends) -> float:
            return rounding(float(size @ (_greatest(own) + _greatest(other))) / 2)

        same = np.min([gap(other) for other in self.among], axis=0)
        flipped = np.min([gap(Ends(*other[2:], *other[:2])) for other in self.among], axis=0)
        least = np.minimum(same, flipped)
        gaps = np.zeros(self.bits)
        np.add.at(gaps, self.at[self.at >= 0], (flipped - least)[self.at >= 0] / scale)
        base = (float(least.sum()) - max(map(lost, self.among))) / scale
        rest, fewest = 0.0, base + float(gaps.min(initial=np.inf))
        for other, count in self.others:
            more = (float(gap(other).sum()) - lost(other)) / scale
            fewest = min(fewest, more)
            rest += count * float(np.exp(-more))
        if format.exact:
            return 0.0 if fewest > 0 and (gaps > 0).all() else np.inf
        others = np.exp(-base) * (np.expm1(np.log1p(np.exp(-gaps)).sum()) + LEAST)
        return float((others + rest + LEAST) * (1 + 2.0**-16))


class Head:
    """One head: queries, keys and values of all groups."""

    def __init__(
        self,
        groups: Sequence[Group],
        sets: Sets,
        parts: Sequence[tuple[Box, Box, Box]],
        variables: Variables,
        rules: Rules,
    ) -> None:
        self.groups, self.sets, self.variables, self.rules = groups, sets, variables, rules
        self.queries, self.keys, self.values = (list(each) for each in zip(*parts, strict=True))
        self.size = self.queries[0].c.shape[1]
        self.key_size = np.max([k.size.max(axis=0) for k in self.keys], axis=0)
        self.value_size = np.max([v.size.max(axis=0) for v in self.values], axis=0)
        self._bits: dict[tuple[int, str, int], tuple[float, float, float, float]] = {}
        self._tables: dict[tuple[Key, str], tuple[Ends, np.ndarray]] = {}
        self.lowest = np.min([(v.c - v.loose).min(axis=0) for v in self.values], axis=0)
        self.highest = np.max([(v.c + v.loose).max(axis=0) for v in self.values], axis=0)
        self.key_ends = [
            self._ends(key, first=group.first) for key, group in zip(self.keys, groups, strict=True)
        ]
        every = [np.ones(len(k.c), bool) for k in self.keys]
        self.key_low, self.key_high = self._keys(every)
        greatest = max(float((q.size @ self.key_size).max()) for q in self.queries)
        if not greatest < rules.format.largest:
            raise UnprovedError(f"a score may be {greatest:.4g}, which {rules.format.name} has not")

    def _ends(self, key: Box, *, first: bool) -> tuple[Floats, Floats]:
        """The least and greatest keys; a bit that says which position is 0 is known."""
        known = key.var == self.variables.alone
        c = key.c + np.where(known, key.k if first else -key.k, 0)
        loose = np.where(known, key.r, key.loose)
        return c - loose, c + loose

    def attend(self, g: int, sought: Sequence[Sought]) -> Found:
        """What the head adds for the classes of a group."""
        if self.groups[g].first:
            return self._alone(g)
        near = None
        for each in sought:
            if any(name not in self.sets for name in each.sets):
                continue
            leak: Floats | None
            if each.by_key is not None:
                leak = self._by_key(g, each, each.by_key)
            elif each.query is None:
                leak = self._by_flag(g, each)
            else:
                leak = self._by_address(g, each)
            if leak is None:
                continue
            worst = float(leak.max())
            if worst <= MOST_LEAK:
                return Found(self._target(g, each, leak), worst)
            near = worst if near is None else min(near, worst)
        return Found(self._anything(g), None, near)

    def _by_address(self, g: int, sought: Sought) -> Floats | None:
        """The leak of a look-up, for each class; None if it is none."""
        q, b = self.queries[g], self.variables.b
        assert sought.query is not None
        numbers = {self.variables.known(sought.query, j): j for j in range(b)}
        by_number = {number: (j, sign) for (number, sign), j in numbers.items()}
        gaps, err = np.zeros((len(q.c), b)), np.zeros(len(q.c))
        for slot in np.flatnonzero((q.size > 0).any(axis=0)):
            place = by_number.get(int(q.var[slot]))
            size = q.size[:, slot]
            if place is None:
                err += size * (self.key_high[slot] - self.key_low[slot])
                continue
            j, sign = place
            low, high, low_off, high_off = self._bit(int(slot), sought.key, j)
            c, k, r = q.c[:, slot], sign * q.k[:, slot], q.r[:, slot]
            up = least_product((c + k - r, c + k + r), (low - high_off, high - low_off))
            down = least_product((c - k - r, c - k + r), (low_off - high, high_off - low))
            gaps[:, j] += np.minimum(up, down)
            err += size * max(high - low, high_off - low_off)
        if not (gaps > 0).all():
            return None
        scale = np.sqrt(self.size)
        err = (err + self._rounding(q.size @ self.key_size)) / scale
        if self.rules.format.exact:
            hard: Floats = np.where(err < gaps.min(axis=1) / scale, 0.0, np.inf)
            return hard
        others = np.expm1(np.log1p(np.exp(-gaps / scale)).sum(axis=1))
        leak: Floats = np.exp(err) * (others + LEAST) * (1 + 2.0**-16)
        return leak

    def _by_flag(self, g: int, sought: Sought) -> Floats | None:
        """The leak of a look-up of classes with a flag."""
        q = self.queries[g]
        leaks = np.zeros(len(q.c))
        for n, name in enumerate(sought.sets):
            wanted = self.sets[name] if name is not None else []
            first = all(self.groups[h].first for h, _ in wanted)
            chosen, rest = [], []
            for h, group in enumerate(self.groups):
                inside = np.zeros(len(group.classes), bool)
                inside[[m for o, m in wanted if o == h]] = True
                chosen.append(inside)
                rest.append(np.zeros_like(inside) if first and group.first else ~inside)
            (low, high), (other_low, other_high) = self._keys(chosen), self._keys(rest)
            row = Box(q.c[n : n + 1], q.k[n : n + 1], q.r[n : n + 1], q.var)
            difference = least_product(
                (row.c - row.loose, row.c + row.loose), (low - other_high, high - other_low)
            ).sum()
            gap = (difference - float(self._rounding(row.size @ self.key_size)[0])) / np.sqrt(
                self.size
            )
            if self.rules.format.exact:
                leaks[n] = 0.0 if gap > 0 else np.inf
            else:
                leaks[n] = self.variables.context * (np.exp(-gap) + LEAST) * (1 + 2.0**-16)
        return leaks

    def _by_key(self, g: int, sought: Sought, by: ByKey) -> Floats:
        """The leak of a look-up among classes with keys."""
        q, f = self.queries[g], self.rules.format
        bits = [(kind, j) for kind in by.kinds for j in range(self.variables.width(kind))]
        places = {self.variables.known(kind, j)[0]: n for n, (kind, j) in enumerate(bits)}
        at = np.array([places.get(int(number), -1) for number in q.var])
        var = np.where(at >= 0, q.var, NONE)  # no other variables of two tokens are the same
        among = [self._by_bit(h, m, var) for h, m in self.sets[by.among]]
        leaks = np.zeros(len(q.c))
        for n, name in enumerate(sought.sets):
            if name is None:
                continue
            (place,) = self.sets[name]
            others = []
            for h, group in enumerate(self.groups):
                for m in range(len(group.classes)):
                    if (h, m) != place and (h, m) not in self.sets[by.among]:
                        low, high = (each[m] for each in self.key_ends[h])
                        count = 1 if group.first else self.variables.context
                        others.append((Ends(low, high, low, high), count))
            row = q.rows(np.array([n]))
            query, own = Ends(*(each[0] for each in row.ends)), self._by_bit(*place, var)
            keys = Keys(own, among, others, at, len(bits))
            leaks[n] = keys.leak(
                query, lambda size: float(self._rounding(np.array([size]))[0]),
                np.sqrt(self.size), f,
            )  # fmt: skip
        return leaks

    def _by_bit(self, h: int, m: int, var: np.ndarray) -> Ends:
        """The keys of a class where a query's bits are 1, and where they are −1."""
        own = self.keys[h].rows(np.array([m]))
        same = (own.var == var) & (var != NONE)
        low, high = (each[m] for each in self.key_ends[h])
        return Ends(*(
            np.where(same, by_bit[0], any_bit)
            for by_bit, any_bit in zip(own.ends, (low, high, low, high), strict=True)
        ))  # fmt: skip

    def _rounding(self, size: Floats) -> Floats:
        """What two scores lose: sums, a division, and three stores, as of a query, key, product.

        `size` is the sum of sizes of the products of one of them.
        """
        f = self.rules.format
        sums = 2 * (self.size + 4) * (f.single + f.slack) + 4 * f.single
        lost: Floats = size * (sums + (6.3 + 2 * self.rules.partial) * f.unit) + 6 * f.least
        return lost

    def _keys(self, chosen: list[np.ndarray]) -> tuple[Floats, Floats]:
        """The least and greatest keys of some classes, given for each group."""
        pairs = [(*ends, rows) for ends, rows in zip(self.key_ends, chosen, strict=True)]
        low = np.min([low[rows].min(axis=0, initial=np.inf) for low, _, rows in pairs], axis=0)
        return low, np.max([high[rows].max(axis=0, initial=-np.inf) for _, high, rows in pairs], 0)

    def _bit(self, slot: int, kind: str, j: int) -> tuple[float, float, float, float]:
        """The least and greatest keys in a slot where a bit is 1, and where it is −1."""
        place = slot, kind, j
        if place not in self._bits:
            number, sign = self.variables.known(kind, j)
            found = [np.inf, -np.inf, np.inf, -np.inf]
            for key in self.keys:
                c, r = key.c[:, slot], key.r[:, slot]
                k = sign * key.k[:, slot]
                if key.var[slot] != number:
                    k, r = 0 * k, r + np.abs(k)
                found[0] = min(found[0], float((c + k - r).min()))
                found[1] = max(found[1], float((c + k + r).max()))
                found[2] = min(found[2], float((c - k - r).min()))
                found[3] = max(found[3], float((c - k + r).max()))
            self._bits[place] = found[0], found[1], found[2], found[3]
        return self._bits[place]

    def _table(self, name: Key, sought: Sought) -> tuple[Ends, np.ndarray]:
        """The values of a set of classes under their new names: ends, and variables."""
        place = name, sought.query or ""
        if place in self._tables:
            return self._tables[place]
        rows = []
        for h in sorted({h for h, _ in self.sets[name]}):
            box = self.values[h].rows(np.array([m for o, m in self.sets[name] if o == h]))
            new = sought.renamed.get(self.groups[h].name, {})
            var, sign = np.full(self.size, NONE), np.zeros(self.size)
            for slot, number in enumerate(box.var.tolist()):
                if number in new:
                    var[slot], sign[slot] = new[number]
            k = box.k * sign
            rows.append((box.c, k, box.r + np.where(sign == 0, np.abs(box.k), 0), var))
        var = rows[0][3]
        for *_, other in rows[1:]:
            var = np.where(var == NONE, other, var)
        low, high, low_off, high_off = [], [], [], []
        for c, slope, radius, own in rows:
            k = np.where(own == var, slope, 0)
            r = radius + np.where(own == var, 0, np.abs(slope))
            low.append((c + k - r).min(axis=0))
            high.append((c + k + r).max(axis=0))
            low_off.append((c - k - r).min(axis=0))
            high_off.append((c - k + r).max(axis=0))
        ends = Ends(
            np.min(low, axis=0), np.max(high, axis=0),
            np.min(low_off, axis=0), np.max(high_off, axis=0),
        )  # fmt: skip
        self._tables[place] = ends, var
        return self._tables[place]

    def _target(self, g: int, sought: Sought, leak: Floats) -> Box:
        """The value of what is found, with its weight and the leak."""
        tables = [self._table(name, sought) for name in sought.sets if name is not None]
        var = tables[0][1]
        for _, other in tables[1:]:
            var = np.where(var == NONE, other, var)
        found = []
        for side in (0, 2):
            low = np.array([ends[side] for ends, _ in tables])
            high = np.array([ends[side + 1] for ends, _ in tables])
            found += [low, high]
        clash = np.array([(own != var) & (own != NONE) for _, own in tables])
        low, high = np.minimum(found[0], found[2]), np.maximum(found[1], found[3])
        ends = [
            np.where(clash, wide, each) for wide, each in zip([low, high] * 2, found, strict=True)
        ]
        single = all(self.groups[h].first for name in sought.sets for h, _ in self.sets[name or ()])
        many = sought.query is None and not single
        return self._weighed(ends, var, leak, many=many)

    def _weighed(self, ends: list[Floats], var: np.ndarray, leak: Floats, *, many: bool) -> Box:
        """a·v + others, with a between 1/(1 + 2λ) and 1, stored or not."""
        f = self.rules.format
        few = 64 * f.single  # two exponentials, each with 2⁻²⁰, and a division
        spread = self._spread if many else 0.0
        least, _ = f.stored((1 - few) / (1 + 2.1 * leak), np.ones_like(leak))
        _, most = f.stored(least, np.full_like(leak, 1 + few))
        least, most = (least * (1 - spread))[:, None], (most * (1 + spread))[:, None]
        more = 4.1 * leak[:, None] * self.value_size
        out = []
        for side in (0, 2):
            low, high = ends[side], ends[side + 1]
            loss = more + 4 * f.single * np.maximum(np.abs(low), np.abs(high))
            out += [
                np.minimum(low * least, low * most) - loss,
                np.maximum(high * least, high * most) + loss,
            ]
        box = Box.of_ends(Ends(*out), var, f.slack)
        for _ in range(1 + self.rules.partial):
            box = self.rules.stored(box)
        return box

    @property
    def _spread(self) -> float:
        """How far the weights of many tokens can be from the sum 1."""
        f = self.rules.format
        return 2 * f.unit + self.variables.context * (f.least + 4 * f.single) + 128 * f.single

    def _alone(self, g: int) -> Found:
        """At position 0 there is one key: the token finds itself."""
        v = self.values[g]
        names: dict[int, tuple[int, float]] = {}
        if "L" in self.groups[g].sides:  # <run>: its own address is that of both its visits
            names = self.variables.renaming("A", "ahead")
        pairs = [names.get(int(number), (NONE, 0.0)) for number in v.var]
        var, sign = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
        box = Box(v.c, v.k * sign, v.r + np.where(sign == 0, np.abs(v.k), 0), var)
        return Found(self._weighed(list(box.ends), var, np.zeros(len(v.c)), many=False), 0.0)

    def _anything(self, g: int) -> Box:
        """A weighted mean of values of any classes."""
        low, high = np.minimum(self.lowest, self.highest), self.highest
        loss = self._spread * self.value_size
        n = len(self.groups[g].classes)
        low, high = np.tile(low - loss, (n, 1)), np.tile(high + loss, (n, 1))
        box = Box.of_ends(
            Ends(low, high, low, high), np.full(self.size, NONE), self.rules.format.slack
        )
        for _ in range(1 + self.rules.partial):
            box = self.rules.stored(box)
        return box


def _greatest(of: Ends) -> Floats:
    """The greatest absolute values."""
    found: Floats = np.max(np.abs(of), axis=0)
    return found


def renamed(names: Mapping[str, str], variables: Variables) -> dict[int, tuple[int, float]]:
    """New names for several variables."""
    found = dict[int, tuple[int, float]]()
    for old, new in names.items():
        found |= variables.renaming(old, new)
    return found


def sought_by(group: Group, groups: Sequence[Group], variables: Variables) -> list[Sought]:
    """What heads may find for the classes of a group, by the argument."""
    classes: list[Class] = group.classes
    found = []
    before = {each.name: renamed(each.handed, variables) for each in groups}
    if all(each.before for each in classes):
        found.append(Sought([each.before for each in classes], "A", "T", before))
    for side in "RL":
        visit = f"visit {side}"
        names = {
            each.name: renamed({each.sides[side]: "ahead", **each.seen}, variables)
            for each in groups
            if side in each.sides
        }
        if all(each.ahead and each.ahead[1][0] == visit for each in classes):
            query = next(each.ahead[0] for each in classes if each.ahead)
            found.append(
                Sought([each.ahead and each.ahead[1] for each in classes], query, "A", names)
            )
        if side == "R":
            for flagged in zip(*(each.flagged for each in classes), strict=True):
                found.append(Sought(list(flagged), None, "", names))
    rules = [each.rule for each in classes if each.rule is not None]
    if len(rules) == len(classes):
        names = {each.name: renamed(each.told, variables) for each in groups}
        found.append(Sought([rule.found for rule in rules], "rule", "", names, rules[0]))
    return found
