"""A decoder over forms: Equations 9 to 13 for every token of a proposed run.

Attention is followed where its forms tell the winner, and is refused where they do not:

- *equal scores*: the mean of the values, a running sum over p;
- *last visit* (Lemma B.4): keys (ε, −ε·here, ε²) or (ε, −ε·here, 1, p−1), and queries to match;
- *pointer*: keys that are powers of the position, and a query that is one pointer 1/J;
- *the input*: by position (Lemma B.1), or by what stands there.

The proofs that the winner is the one that is taken are in `attention` and `linked_visits`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.attention import dot_product, hardmax, score_phi
from netwright.definitions.positional import Positions
from netwright.definitions.transformer import Layer, Transformer
from netwright.engine.full.forms import (
    ONE,
    UNIT,
    WIDE,
    Form,
    Forms,
    Monomial,
    Number,
    Vector,
    ends,
)
from netwright.engine.moments import UnsuitableError, Watch
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector as Exact

TOKEN: Monomial = (ONE, 1)
MOST_KEYS = 1 << 10
"""Different tokens of an input that are asked by what stands there."""


class Chosen(NamedTuple):
    """Known numbers by a code: those of the code's place in each row, and 0 for other codes."""

    hint: str
    rows: Mapping[int, Sequence[Rational]]
    """By coordinate."""
    shift: int = 0
    """How many tokens later the code is taken."""
    first: int = 0
    """The code of the first place."""


class Counted(NamedTuple):
    """An integer that grows, times a power of the position; 1 where it has no name."""

    hint: str
    coordinate: int
    power: int = 0
    shift: int = 0


class Pointed(NamedTuple):
    """A pointer 1/J; there is none where the code `unless` is 0."""

    hint: str
    coordinate: int
    shift: int = 0
    unless: str = ""


class Numbered(NamedTuple):
    """A number that is given over a denominator; it is at most `most`, up or down."""

    hint: str
    coordinate: int
    over: int
    most: int
    shift: int = 0


Part = Chosen | Counted | Pointed | Numbered


def one_hot(hint: str, places: Sequence[int], shift: int = 0) -> Chosen:
    """A block in which the code says where the 1 is."""
    rows = {k: [Rational(int(n == m)) for m in range(len(places))] for n, k in enumerate(places)}
    return Chosen(hint, rows, shift)


def signed(hint: str, coordinate: int, shift: int = 0) -> Chosen:
    """A number that is its own code: −1, 0 or 1."""
    return Chosen(hint, {coordinate: [Rational(n) for n in (-1, 0, 1)]}, shift, first=-1)


def positioned(network: Transformer) -> list[Counted]:
    """pos(p); UnsuitableError if there is none."""
    if not isinstance(network.pos, Positions):
        raise UnsuitableError("it has no positions")
    return [Counted("", network.layout.index(k), power) for k, power in network.pos.powers]


class Input:
    """The encoder's keys and values on an input: a part for each symbol, and for the position."""

    def __init__(self, network: Transformer, X: Sequence[Exact]) -> None:
        self.network, layout = network, network.layout
        for layer in network.encoder:
            if not isinstance(layer.V, FeedForward) or _writes(layer.V):
                raise UnsuitableError("the encoder attends")
        numbers: dict[int, int] = {}
        self.rows = np.array([numbers.setdefault(id(x), len(numbers)) for x in X], np.int64)
        self.symbols = list({id(x): x for x in X}.values())
        self.units = [
            (each.power, Exact(layout, {each.coordinate: Rational(1)}))
            for each in positioned(network)
        ]
        self.keys, self.key_slopes = self._parts(network.K)
        self.values, self.value_slopes = self._parts(network.V)

    def _parts(self, last: object) -> tuple[list[Exact], dict[int, Exact]]:
        maps = [*(layer.O for layer in self.network.encoder), last]
        if any(not isinstance(each, FeedForward) or len(each.maps) != 1 for each in maps):
            raise UnsuitableError("a map of the encoder is not affine")

        def image(x: Exact) -> Exact:
            for layer in self.network.encoder:
                x = layer.O(x) + x
            return last(x)  # type: ignore[operator,no-any-return]  # a feed-forward network

        at_zero = image(Exact.zero(self.network.layout))
        slopes = {power: image(unit) - at_zero for power, unit in self.units}
        constant = slopes.pop(0, Exact.zero(at_zero.layout))
        slopes = {power: slope for power, slope in slopes.items() if slope.entries}
        return [image(x) + constant for x in self.symbols], slopes

    def column(self, k: int) -> tuple[NDArray[np.int64], int]:
        """A coordinate of all values, and what it is over."""
        if set(self.value_slopes) - {1}:
            raise UnsuitableError("a value of the encoder is a reciprocal")
        slope = self.value_slopes[1].entries.get(k, 0) if self.value_slopes else 0
        bases = [each.entries.get(k, Rational(0)) for each in self.values]
        over = lcm(*(int(Rational(x).q) for x in (*bases, slope)))
        tops = [int((x * over).p) for x in bases]
        step, places = int((Rational(slope) * over).p), len(self.rows)
        if max(map(abs, tops), default=0) + abs(step) * places >= WIDE:
            raise UnsuitableError("a value of the encoder is too large")
        numbers = np.array(tops, np.int64)[self.rows]
        return numbers + step * np.arange(1, places + 1), over

    @property
    def coordinates(self) -> list[int]:
        """Those that a value may have."""
        parts = (*self.values, *self.value_slopes.values())
        return sorted({k for each in parts for k in each.entries})


class Decoder:
    """The operations that check a proposed run of a network on an input."""

    def __init__(self, network: Transformer, X: Sequence[Exact], y: Sequence[Part]) -> None:
        if type(network) is not Transformer or network.rho != hardmax:
            raise UnsuitableError("its attention is not hard")
        if network.score not in (score_phi, dot_product):
            raise UnsuitableError("its score is neither −|⟨q, k⟩| nor ⟨q, k⟩")
        self.network, self.forms = network, Forms()
        self.is_dot = network.score == dot_product
        self.input = Input(network, X)
        self.tables: list[NDArray[np.int64]] = []
        """What rows of the input have, by the number of a table."""
        self.vectors: dict[str, Vector] = {}
        self.sums: dict[int, tuple[int, int, int]] = {}
        """By operation: the layer and coordinate of a value that is summed up, and its `over`."""
        self.kept: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        """By look-up: the layer; the coordinate of each value that cells keep, and its `over`."""
        self.winners: dict[str, Number] = {}
        """By attention: the number of the one token that is attended to, from 1 on."""
        self.made: dict[str, int] = {}
        """By vector or attention: how many operations there were before it was known."""
        z = self.vector([*y, *positioned(network)])
        for n, layer in enumerate(network.decoder, start=1):
            p = self._known(f"p{n}", self.forms.added(z, self._attended(n, layer, z)))
            a = self._known(f"a{n}", self.forms.added(p, self._asked(n, p)))
            z = self._known(f"z{n}", self.forms.added(a, self.forms.through(layer.O, a)))
        self._known("z", z)
        self._known("y", self.forms.through(network.F, z))

    def _known(self, name: str, vector: Vector) -> Vector:
        self.vectors[name] = vector
        for each in (name, *self.winners):
            self.made.setdefault(each, len(self.forms.operations))
        return vector

    # What is proposed, and what must hold.

    def vector(self, parts: Sequence[Part]) -> Vector:
        """A vector of what is proposed."""
        return self.forms.added(*map(self._part, parts))

    def _part(self, part: Part) -> Vector:
        forms = self.forms
        if isinstance(part, Chosen):
            return {k: self._chosen(part, row) for k, row in part.rows.items() if any(row)}
        if isinstance(part, Numbered):
            most, column = part.most, (part.hint, part.shift)
            number: Number = forms.column("number", *column, low=-most, high=most)
            return {part.coordinate: {UNIT: (number, part.over)}}
        if isinstance(part, Counted) and not part.hint:
            return {part.coordinate: {(ONE, part.power): (1, 1)}}
        kind = "whole" if isinstance(part, Counted) else "pointer"
        number = forms.column("given", part.hint, part.shift, high=1, wide=True)
        power = part.power if isinstance(part, Counted) else 0
        there: Number = 1
        if isinstance(part, Pointed) and part.unless:
            there = self.forms.total([(-1, self.is_code(part.unless, 0))], 1)
        return {part.coordinate: {(forms.unknown(kind, number), power): (there, 1)}}

    def is_code(self, hint: str, code: int, shift: int = 0) -> Number:
        """1 where a code is a given one, else 0."""
        return self.forms.column("code", hint, shift, code, (1,), low=0, high=1)

    def _chosen(self, part: Chosen, row: Sequence[Rational]) -> Form:
        over = lcm(*(int(x.q) for x in row))
        numbers = [int((x * over).p) for x in row]
        low, high = min(0, *numbers), max(0, *numbers)
        column = self.forms.column(
            "code", part.hint, part.shift, part.first, tuple(numbers), low=low, high=high
        )
        return {UNIT: (column, over)}

    def require(self, found: Vector, wanted: Vector, where: Number = 1) -> None:
        """Two vectors are equal at every token, or where a condition is 1."""
        for k in {**found, **wanted}:
            self.forms.require_equal(found.get(k, {}), wanted.get(k, {}), where)

    def winner(self, attention: str) -> Vector:
        """The number of the token attended to, as a vector of one coordinate."""
        number = self.winners[attention]
        return {0: {(self.forms.unknown("whole", number), 0): (1, 1)}}

    def require_watched(self, watch: Watch, hint: str) -> None:
        """A watch sees what a code says."""
        vector = self.vectors[watch.vector]
        layout = self.network.layout
        if watch.through is not None:
            vector, layout = self.forms.image(watch.through, vector), watch.through.output
        places = layout.places(watch.block)
        if watch.sign or watch.numbers is not None:
            codes = (watch.numbers or {}).items()
            named = {code: number for number, code in codes} or {-1: -Rational(1), 1: Rational(1)}
            row = [named.get(code, Rational(0)) for code in range(min(named), max(named) + 1)]
            part = Chosen(hint, {places[0]: row}, first=min(named))
        else:
            part = one_hot(hint, places)
        shown = {k: form for k, form in vector.items() if k in places}
        self.require(shown, self.vector([part]))

    # Self attention.

    def _attended(self, n: int, layer: Layer, z: Vector) -> Vector:
        forms = self.forms
        V = forms.through(layer.V, z)
        if not V:
            return {}
        K, Q = forms.through(layer.K, z), forms.through(layer.Q, z)
        if not Q or (isinstance(layer.K, FeedForward) and not layer.K.maps[-1].weights):
            return {k: self._mean(n, k, form) for k, form in V.items()}
        if not self.is_dot and (visit := self._last_visit(K, Q)) is not None:
            return self._found(n, "visit", *visit, V)[0]
        wanted, present = forms.pointer(self._pointer(self._score(K, Q)))
        found, means = self._found(n, "pointer", wanted, present, V)
        none = forms.total([(-1, present)], 1)
        if none == 0:
            return found
        lost = {k: {(forms.unknown("mean"), 0): (none, 1)} for k in means}
        return forms.added(found, lost)

    def _mean(self, n: int, k: int, form: Form) -> Form:
        if set(form) != {UNIT}:
            raise UnsuitableError("a mean of what is not finite")
        number, over = form[UNIT]
        high = max(map(abs, ends(number)))
        total = self.forms.column("running sum", k, number, high=high, wide=True)
        self.sums[total.operation] = n, k, over
        return {(self.forms.unknown("whole", total), -1): (1, over)}

    def _last_visit(self, K: Vector, Q: Vector) -> tuple[Number, Number] | None:
        """The cells of key and query, if they have the form of Lemma B.4; else None."""
        epsilon = {(ONE, -1): Fraction(1)}
        last = {(ONE, 1): Fraction(1), UNIT: Fraction(-1)}
        fixed = {k: _constants(form) for k, form in K.items()}
        a = [k for k, form in fixed.items() if form == epsilon]
        squares = [k for k, form in fixed.items() if form == {(ONE, -2): Fraction(1)}]
        ones = [k for k, form in fixed.items() if form == {UNIT: Fraction(1)}]
        lasts = [k for k, form in fixed.items() if form == last]
        rest = squares or [*ones, *lasts]
        counts = len(a), len(squares), *((len(ones), len(lasts)) if not squares else ())
        if counts not in ((1, 1), (1, 0, 1, 1)):
            return None
        cells = [k for k in {**K, **Q} if k not in (*a, *rest)]
        if len(cells) != 1:
            return None
        b = cells[0]
        wanted = [epsilon, {(ONE, -2): Fraction(1, 3)}, {(ONE, -3): Fraction(-1, 3)}]
        for k, form in zip((b, *rest), wanted, strict=False):
            if _constants(Q.get(k, {})) != form:
                return None
        here, there = self._cell(K.get(b, {}), -1), self._cell(Q.get(a[0], {}), 1)
        return None if here is None or there is None else (here, there)

    def _cell(self, form: Form, sign: int) -> Number | None:
        """The integer that a form is, times ε."""
        if any(power != -1 for _, power in form):
            return None
        over = lcm(*(each for _, each in form.values()))
        terms = [
            (sign * (over // each), number, (unknown, 0))
            for (unknown, _), (number, each) in form.items()
        ]
        if any(not self.forms.is_whole(monomial) for _, _, monomial in terms):
            return None
        return self.forms.whole(terms, over)

    def _score(self, K: Vector, Q: Vector) -> dict[int, Form]:
        """Σ q_c k_c(j), by powers of the position of token j: forms of this token."""
        parts: dict[int, list[tuple[Fraction, Form]]] = {}
        for k, key in K.items():
            constants = _constants(key)
            if constants is None or any(unknown != ONE for unknown, _ in constants):
                raise UnsuitableError("keys differ in more than their positions")
            for (_, power), factor in constants.items():
                if k in Q:
                    parts.setdefault(power, []).append((factor, Q[k]))
        found = {power: self.forms.combined(each) for power, each in parts.items()}
        return {power: form for power, form in found.items() if form}

    def _pointer(self, score: Mapping[int, Form]) -> Form:
        """The pointer P whose token alone has the greatest score; see `linked_visits`."""
        at, by, half = (-2, -1, 2) if self.is_dot else (0, 1, 1)
        constants = _constants(score.get(at, {})) or {}
        kappa = constants.get(UNIT, Fraction(0))
        others = set(score) - ({-2, -1, 0} if self.is_dot else {0, 1})
        if others or set(constants) != {UNIT} or (self.is_dot and kappa > 0):
            raise UnsuitableError("a query does not follow a pointer")
        return self.forms.combined([(-1 / (half * kappa), score.get(by, {}))])

    def _found(
        self, n: int, how: str, first: Number, second: Number, V: Vector
    ) -> tuple[Vector, list[int]]:
        """What the values of the winner are, by cells that keep the values of latest visits."""
        forms = self.forms
        values: list[Number] = []
        made: list[tuple[int, str, int, int]] = []  # coordinate, kind, what it is over, place
        for k, form in V.items():
            over = lcm(*(each for _, each in form.values()))
            if set(form) == {UNIT}:
                made.append((k, "finite", over, len(values)))
                values.append(form[UNIT][0])
            elif all(map(forms.is_whole, form)):
                terms = [(over // each, x, m) for m, (x, each) in form.items()]
                made.append((k, "whole", over, len(values)))
                values.append(forms.whole(terms))
            else:
                made.append((k, "pointer", 1, len(values)))
                values += forms.pointer(form)
        seek = forms.column("seek", how, first, second, tuple(values), high=1, wide=True)
        self.winners[f"decoder.{n}.self"] = seek
        self.kept[seek.operation] = n, [(k, over) for k, _, over, _ in made]
        found: dict[int, Form] = {}
        for k, kind, over, place in made:
            number = self._kept(seek, values[place], place)
            if kind == "finite":
                found[k] = {UNIT: (number, over)}
                continue
            coefficient = 1 if kind == "whole" else self._kept(seek, values[place + 1], place + 1)
            if coefficient != 0:
                found[k] = {(forms.unknown(kind, number), 0): (coefficient, over)}
        if how == "pointer":  # a mean of these is between 0 and 1
            for _, kind, over, place in made:
                if kind == "whole":
                    raise UnsuitableError("a value is not between 0 and 1")
                if kind == "finite":
                    forms.require_between(values[place], 0, over)
        return found, [k for k, *_ in made]

    def _kept(self, seek: Number, value: Number, place: int) -> Number:
        wide = not isinstance(value, int) and value.wide
        low, high = ends(value)
        return self.forms.column(
            "found", seek, place, low=min(0, low), high=max(0, high), wide=wide
        )

    # Attention to the input.

    def _asked(self, n: int, p: Vector) -> Vector:
        """What the query p finds in the input."""
        given = self.input
        if not len(given.rows):
            return {}
        if len(given.rows) == 1:
            self.winners[f"decoder.{n}.external"] = 1
            return self._rows(0)
        score = {
            power: self.forms.combined(_products(slope, p))
            for power, slope in given.key_slopes.items()
        }
        score = {power: form for power, form in score.items() if form}
        if not score:
            contents = [self.forms.combined(_products(key, p)) for key in given.keys]
            return self._by_content(n, contents)
        for k in self._content & set(p):  # what a query by position must not ask
            self.forms.require_equal(p[k], {})
        first = given.keys[0]
        same = {k: w for k, w in first.entries.items() if k not in self._content}
        constant = self.forms.combined(_products(Exact(first.layout, same), p))
        nearest = self._nearest({**score, 0: constant})
        row = self.forms.column("row", nearest, len(given.rows), high=1, wide=True)
        self.winners[f"decoder.{n}.external"] = self.forms.whole(
            [(1, 1, (self.forms.unknown("whole", row), 0)), (1, 1, UNIT)]
        )
        return self._rows(row)

    @cached_property
    def _content(self) -> set[int]:
        """The coordinates in which keys of different symbols differ."""
        first, *others = (key.entries for key in self.input.keys)
        return {k for key in others for k in {**key, **first} if key.get(k) != first.get(k)}

    def _nearest(self, score: Mapping[int, Form]) -> Number:
        """The integer m for which token m, or the nearest to it, alone has the greatest score.

        −|κ(j − m)|; or with ε the reciprocal of p, −|κ(jε − 1)| and 2κεε_j − κε_j², where m = p.
        """
        score = {power: form for power, form in score.items() if form}
        fixed = {power: _constants(form) for power, form in score.items()}
        if self.is_dot:
            kappa = -(fixed.get(-2) or {}).get(UNIT, Fraction(0))
            fixed.pop(0, None)  # the same for all tokens
            if kappa > 0 and fixed == {-2: {UNIT: -kappa}, -1: {(ONE, -1): 2 * kappa}}:
                return self.forms.whole([(1, 1, TOKEN)])
            raise UnsuitableError("a query does not ask for the input's next token")
        slope, constant = fixed.get(1) or {}, score.get(0, {})
        if set(score) - {0, 1} or len(slope) != 1:
            raise UnsuitableError("a query does not ask by position")
        ((monomial, kappa),) = slope.items()
        if monomial == (ONE, -1):
            wanted = {UNIT: (-kappa.numerator, kappa.denominator)}
            self.forms.require_equal(constant, wanted)
            return self.forms.whole([(1, 1, TOKEN)])
        place = self.forms.combined([(-1 / kappa, constant)])
        if monomial != UNIT or not all(map(self.forms.is_whole, place)):
            raise UnsuitableError("a query does not ask by position")
        over = lcm(*(each for _, each in place.values()))
        return self.forms.whole(((over // e, x, m) for m, (x, e) in place.items()), over)

    def _rows(self, row: Number) -> Vector:
        found: dict[int, Form] = {}
        for k in self.input.coordinates:
            numbers, over = self.input.column(k)
            low, high = int(numbers.min()), int(numbers.max())
            if isinstance(row, int) or low == high:
                number: Number = int(numbers[0])
            else:
                number = self.forms.column("at", row, self._table(numbers), low=low, high=high)
            if number != 0:
                found[k] = {UNIT: (number, over)}
        return found

    def _table(self, numbers: NDArray[np.int64]) -> int:
        for n, table in enumerate(self.tables):
            if np.array_equal(table, numbers):
                return n
        self.tables.append(numbers)
        return len(self.tables) - 1

    def _by_content(self, n: int, contents: Sequence[Form]) -> Vector:
        """The one symbol of the input with the greatest score; all tokens of it have its value."""
        given = self.input
        if given.value_slopes or len(contents) > MOST_KEYS:
            raise UnsuitableError("values differ in their positions, or the input is too long")
        if any(set(form) - {UNIT} for form in contents):
            raise UnsuitableError("a query by content is not finite")
        over = lcm(*(form[UNIT][1] for form in contents if form))
        scores = [
            self.forms.total([(over // form[UNIT][1], form[UNIT][0])]) if form else 0
            for form in contents
        ]
        if not self.is_dot:
            scores = [self._minus_absolute(score) for score in scores]
        if len(contents) == 1:
            symbol: Number = 0
        else:
            symbol = self.forms.column("best", tuple(scores), low=0, high=len(contents) - 1)
            # The token of a symbol; 0 where there are several, which are no one token.
            tokens = np.zeros(len(contents), np.int64)
            tokens[given.rows] = np.arange(1, len(given.rows) + 1)
            tokens[np.bincount(given.rows) > 1] = 0
            place = self.forms.column("at", symbol, self._table(tokens), high=len(given.rows))
            self.winners[f"decoder.{n}.external"] = place
        found: dict[int, Form] = {}
        for k in given.coordinates:
            bases = [each.entries.get(k, Rational(0)) for each in given.values]
            over = lcm(*(int(x.q) for x in bases))
            tops = [int((x * over).p) for x in bases]
            low, high = min(tops), max(tops)
            number = low if low == high else self._at_symbol(symbol, tops, low, high)
            if number != 0:
                found[k] = {UNIT: (number, over)}
        return found

    def _at_symbol(self, row: Number, tops: Sequence[int], low: int, high: int) -> Number:
        if max(-low, high) >= WIDE:
            raise UnsuitableError("a value of the encoder is too large")
        table = self._table(np.array(tops, np.int64))
        return self.forms.column("at", row, table, low=low, high=high)

    def _minus_absolute(self, x: Number) -> Number:
        low, high = ends(x)
        if high <= 0:
            return x
        if low >= 0:
            return self.forms.total([(-1, x)])
        return self.forms.column("minus absolute", x, low=min(low, -high), high=0)


def _writes(net: FeedForward) -> bool:
    last = net.maps[-1]
    return bool(last.weights or last.bias.entries)


def _constants(form: Form) -> dict[Monomial, Fraction] | None:
    """The coefficients of a form that is the same for all tokens; else None."""
    if any(not isinstance(number, int) for number, _ in form.values()):
        return None
    return {m: Fraction(n, over) for m, (n, over) in form.items() if isinstance(n, int)}


def _products(weights: Exact, x: Vector) -> list[tuple[Fraction, Form]]:
    return [(Fraction(int(w.p), int(w.q)), x[k]) for k, w in weights.entries.items() if k in x]
