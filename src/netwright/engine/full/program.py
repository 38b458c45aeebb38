"""A decoder over forms: Equations 9 to 13 for every token of a proposed run.

Attention is supported where its forms determine the winner; otherwise UnsuitableError is raised:

- *equal scores*: the mean of the values, a running sum over p;
- *last visit* (Lemma B.4): keys (ε, −ε·here, ε²) or (ε, −ε·here, 1, p−1), and queries to match;
- *pointer*: keys that are powers of the position, and a query that is one pointer 1/J;
- *the input*: by position (Lemma B.1), or by content.

The proofs that this is the winner are in `transformer.attention` and `linked_visits`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import NamedTuple

import numpy as np

from netwright.definitions.transformer import (
    Layer,
    Positions,
    Transformer,
    dot_product,
    hardmax,
    score_phi,
)
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
    is_wide,
    scaled,
)
from netwright.engine.moments import UnsuitableError, Watch
from netwright.exact.arrays import IntArray
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector as Exact

TOKEN: Monomial = (ONE, 1)
MOST_KEYS = 1 << 10
"""Distinct input tokens among which attention by content may choose."""


class Chosen(NamedTuple):
    """A lookup table from a code to numbers: one row per coordinate; other codes give 0."""

    hint: str
    rows: Mapping[int, Sequence[Rational]]
    """By coordinate."""
    shift: int = 0
    """How many tokens later the code is read."""
    first: int = 0
    """The code of the first column."""


class Counted(NamedTuple):
    """An unbounded integer times a power of the position; the integer is 1 if `hint` is empty."""

    hint: str
    coordinate: int
    power: int = 0
    shift: int = 0


class Pointed(NamedTuple):
    """A pointer 1/J; absent where the code named `unless` is 0."""

    hint: str
    coordinate: int
    shift: int = 0
    unless: str = ""


class Numbered(NamedTuple):
    """A proposed numerator of absolute value at most `most`, over a fixed denominator."""

    hint: str
    coordinate: int
    over: int
    most: int
    shift: int = 0


Part = Chosen | Counted | Pointed | Numbered


def one_hot(hint: str, places: Sequence[int], shift: int = 0) -> Chosen:
    """A one-hot block whose code is the place of the 1."""
    rows = {k: [Rational(int(n == m)) for m in range(len(places))] for n, k in enumerate(places)}
    return Chosen(hint, rows, shift)


def signed(hint: str, coordinate: int, shift: int = 0) -> Chosen:
    """A number that is its own code: −1, 0 or 1."""
    return Chosen(hint, {coordinate: [Rational(n) for n in (-1, 0, 1)]}, shift, first=-1)


def positioned(network: Transformer) -> list[Counted]:
    """The parts of pos(p); raise UnsuitableError if the network has no positions."""
    if not isinstance(network.pos, Positions):
        raise UnsuitableError("it has no positions")
    return [Counted("", network.layout.index(k), power) for k, power in network.pos.powers]


class Input:
    """The encoder's keys and values on an input: a vector per symbol, a slope per power of i."""

    def __init__(self, network: Transformer, X: Sequence[Exact]) -> None:
        self.network, layout = network, network.layout
        for layer in network.encoder:
            last = layer.V.maps[-1] if isinstance(layer.V, FeedForward) else None
            if last is None or last.weights or last.bias.entries:
                raise UnsuitableError("the encoder attends")
        numbers: dict[int, int] = {}
        self.rows = np.array([numbers.setdefault(id(x), len(numbers)) for x in X], np.int64)
        """By input token: the index of its vector in `symbols`."""
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

    def columns(self, *, by_symbol: bool = False) -> Iterator[tuple[int, IntArray, int]]:
        """Each coordinate of the values: numerators by input token, and their denominator.

        With `by_symbol`, numerators by symbol; the values must not depend on the position then.
        """
        if set(self.value_slopes) - {1}:
            raise UnsuitableError("a value of the encoder is a reciprocal")
        slopes, places = self.value_slopes.get(1, Exact.zero(self.network.layout)), len(self.rows)
        vectors = [each.entries for each in (*self.values, slopes)]
        for k in sorted({k for each in vectors for k in each}):
            (*tops, step), over = whole_numbers([each.get(k, Rational(0)) for each in vectors])
            if max(map(abs, tops), default=0) + abs(step) * places >= WIDE:
                raise UnsuitableError("a value of the encoder is too large")
            numbers = np.array(tops, np.int64)
            if not by_symbol:
                numbers = numbers[self.rows] + step * np.arange(1, places + 1)
            yield k, numbers, over


def whole_numbers(numbers: Sequence[Rational]) -> tuple[list[int], int]:
    """The numerators over the least common denominator, and that denominator."""
    over = lcm(*{int(x.q) for x in numbers})
    return [int((x * over).p) for x in numbers], over


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
        self.tables: list[IntArray] = []
        """Lookup tables over the input: an "at" operation has an index of this list."""
        self.vectors: dict[str, Vector] = {}
        self.sums: dict[int, tuple[int, int, int]] = {}
        """By running sum: the layer and the coordinate of its value, and its denominator."""
        self.kept: dict[int, tuple[int, list[tuple[int, int]]]] = {}
        """By look-up: the layer; coordinate and denominator of each value that cells keep."""
        self.winners: dict[str, Number] = {}
        """By attention: the number of the one token attended to, counted from 1."""
        self.made: dict[str, int] = {}
        """By vector or attention: how many operations precede it."""
        z = self.vector([*y, *positioned(network)])
        for n, layer in enumerate(network.decoder, start=1):
            p = self._known(f"p{n}", self.forms.added(z, self._self_attention(n, layer, z)))
            a = self._known(f"a{n}", self.forms.added(p, self._external_attention(n, p)))
            z = self._known(f"z{n}", self.forms.added(a, self.forms.through(layer.O, a)))
        self._known("z", z)
        self._known("y", self.forms.through(network.F, z))

    def _known(self, name: str, vector: Vector) -> Vector:
        self.vectors[name] = vector
        for each in (name, *self.winners):
            self.made.setdefault(each, len(self.forms.operations))
        return vector

    # Proposed vectors, and requirements.

    def vector(self, parts: Sequence[Part]) -> Vector:
        """The vector made of proposed parts."""
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
            there = forms.negated(self.is_code(part.unless, 0))
        return {part.coordinate: {(forms.unknown(kind, number), power): (there, 1)}}

    def is_code(self, hint: str, code: int, shift: int = 0) -> Number:
        """A column that is 1 where the hint has this code, else 0."""
        return self.forms.column("code", hint, shift, code, (1,), low=0, high=1)

    def _chosen(self, part: Chosen, row: Sequence[Rational]) -> Form:
        numbers, over = whole_numbers(row)
        low, high = min(0, *numbers), max(0, *numbers)
        column = self.forms.column(
            "code", part.hint, part.shift, part.first, tuple(numbers), low=low, high=high
        )
        return {UNIT: (column, over)}

    def require(self, found: Vector, wanted: Vector, where: Number = 1) -> None:
        """Require that two vectors are equal at every token where `where` is 1."""
        for k in {**found, **wanted}:
            self.forms.require_equal(found.get(k, {}), wanted.get(k, {}), where)

    def winner(self, attention: str) -> Vector:
        """The number of the token attended to, as a vector of one coordinate."""
        number = self.winners[attention]
        return {0: {(self.forms.unknown("whole", number), 0): (1, 1)}}

    def require_watched(self, watch: Watch, hint: str) -> None:
        """Require that a watch sees the code named `hint`."""
        vector, layout = self.vectors[watch.vector], self.network.layout
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

    def _self_attention(self, n: int, layer: Layer, z: Vector) -> Vector:
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
        none = forms.negated(present)
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
        """The cells of key and query if they have the form of Lemma B.4, else None."""
        one, fixed = Fraction(1), {k: _constants(form) for k, form in K.items()}
        epsilon, square, last = {(ONE, -1): one}, {(ONE, -2): one}, {(ONE, 1): one, UNIT: -one}
        a, squares, ones, lasts = (
            [k for k, form in fixed.items() if form == wanted]
            for wanted in (epsilon, square, {UNIT: one}, last)
        )
        rest = squares or [*ones, *lasts]
        cells = [k for k in {**K, **Q} if k not in (*a, *rest)]
        is_complete = len(squares) == 1 or (not squares and len(ones) == len(lasts) == 1)
        if not is_complete or not len(a) == len(cells) == 1:
            return None
        b = cells[0]
        query = [epsilon, {(ONE, -2): one / 3}, {(ONE, -3): -one / 3}]
        found = [_constants(Q.get(k, {})) for k in (b, *rest)]
        if found != query[: len(found)]:
            return None
        here, there = self._cell(K.get(b, {}), -1), self._cell(Q.get(a[0], {}), 1)
        return None if here is None or there is None else (here, there)

    def _cell(self, form: Form, sign: int) -> Number | None:
        """The integer c of a form that is sign·c·ε, or None."""
        if any(power != -1 for _, power in form):
            return None
        terms, over = scaled({(unknown, 0): each for (unknown, _), each in form.items()}, sign)
        if any(not self.forms.is_whole(monomial) for _, _, monomial in terms):
            return None
        return self.forms.whole(terms, over)

    def _score(self, K: Vector, Q: Vector) -> dict[int, Form]:
        """Σ q_c k_c(j) by powers of the position of token j: forms of the querying token."""
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
        """The pointer P to the one token with the greatest score; see `linked_visits`."""
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
        """The winner's values, read from cells that keep those of their latest visit.

        Also return the coordinates that a value may have.
        """
        forms = self.forms
        values: list[Number] = []
        made: list[tuple[int, str, int, int]] = []  # coordinate, kind, denominator, place
        for k, form in V.items():
            terms, over = scaled(form)
            if set(form) == {UNIT}:
                made.append((k, "finite", over, len(values)))
                values.append(form[UNIT][0])
            elif all(map(forms.is_whole, form)):
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
        (low, high), wide = ends(value), is_wide(value)
        return self.forms.column(
            "found", seek, place, low=min(0, low), high=max(0, high), wide=wide
        )

    # Attention to the input.

    def _external_attention(self, n: int, p: Vector) -> Vector:
        """The value that the query p finds in the input."""
        given = self.input
        if not len(given.rows):
            return {}
        if len(given.rows) == 1:
            self.winners[f"decoder.{n}.external"] = 1
            return self._at(0, given.columns())

        def product(weights: Mapping[int, Rational]) -> Form:
            parts = [(Fraction(int(w.p), int(w.q)), p[k]) for k, w in weights.items() if k in p]
            return self.forms.combined(parts)

        slopes = {power: product(slope.entries) for power, slope in given.key_slopes.items()}
        score = {power: form for power, form in slopes.items() if form}
        if not score:
            return self._by_content(n, [product(key.entries) for key in given.keys])
        for k in self._content & set(p):  # a query by position must have 0 there
            self.forms.require_equal(p[k], {})
        same = {k: w for k, w in given.keys[0].entries.items() if k not in self._content}
        nearest = self._nearest({**score, 0: product(same)})
        row = self.forms.column("row", nearest, len(given.rows), high=1, wide=True)
        self.winners[f"decoder.{n}.external"] = self.forms.whole(
            [(1, 1, (self.forms.unknown("whole", row), 0)), (1, 1, UNIT)]
        )
        return self._at(row, given.columns())

    @cached_property
    def _content(self) -> set[int]:
        """The coordinates in which the keys of two symbols differ."""
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
        return self.forms.whole(*scaled(place))

    def _at(self, row: Number, columns: Iterable[tuple[int, IntArray, int]]) -> Vector:
        """The vector at a row of a table that is given by coordinate, with its denominator."""
        found: dict[int, Form] = {}
        for k, numbers, over in columns:
            low, high = int(numbers.min()), int(numbers.max())
            if isinstance(row, int) or low == high:
                number: Number = int(numbers[0])
            else:
                number = self.forms.column("at", row, self._table(numbers), low=low, high=high)
            if number != 0:
                found[k] = {UNIT: (number, over)}
        return found

    def _table(self, numbers: IntArray) -> int:
        for n, table in enumerate(self.tables):
            if np.array_equal(table, numbers):
                return n
        self.tables.append(numbers)
        return len(self.tables) - 1

    def _by_content(self, n: int, contents: Sequence[Form]) -> Vector:
        """The value of the one symbol with the greatest score; all tokens of a symbol share it."""
        given = self.input
        if given.value_slopes or len(contents) > MOST_KEYS:
            raise UnsuitableError("values differ in their positions, or the input is too long")
        if any(set(form) - {UNIT} for form in contents):
            raise UnsuitableError("a query by content is not finite")
        pairs = [form.get(UNIT, (0, 1)) for form in contents]
        over = lcm(*(each for _, each in pairs))
        scores = [self.forms.total([(over // each, number)]) for number, each in pairs]
        if not self.is_dot:
            scores = [self._minus_absolute(score) for score in scores]
        if len(contents) == 1:
            symbol: Number = 0
        else:
            symbol = self.forms.column("best", tuple(scores), low=0, high=len(contents) - 1)
            # The token of a symbol; 0 where several tokens have it.
            tokens = np.zeros(len(contents), np.int64)
            tokens[given.rows] = np.arange(1, len(given.rows) + 1)
            tokens[np.bincount(given.rows) > 1] = 0
            place = self.forms.column("at", symbol, self._table(tokens), high=len(given.rows))
            self.winners[f"decoder.{n}.external"] = place
        return self._at(symbol, given.columns(by_symbol=True))

    def _minus_absolute(self, x: Number) -> Number:
        low, high = ends(x)
        if high <= 0:
            return x
        if low >= 0:
            return self.forms.total([(-1, x)])
        return self.forms.column("minus absolute", x, low=min(low, -high), high=0)


def _constants(form: Form) -> dict[Monomial, Fraction] | None:
    """The coefficients of a form that is the same for all tokens, else None."""
    if any(not isinstance(number, int) for number, _ in form.values()):
        return None
    return {m: Fraction(n, over) for m, (n, over) in form.items() if isinstance(n, int)}
