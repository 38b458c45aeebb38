"""Attention to the input: by a constant query, or by position, to the next token of the input.

An input has many tokens, but few distinct ones. So a query is answered over the distinct tokens,
whose keys and values are forms in the position.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.transformer import Transformer, dot_product
from netwright.engine.moments import UnsuitableError
from netwright.engine.pointers.forms import (
    NOTHING,
    TWO,
    AffineForms,
    Form,
    Forms,
    added,
    affine_forms,
    feed_forward,
    hashable,
    known,
    position_values,
    scores,
    vector_of,
)
from netwright.exact.rational import ZERO, Rational
from netwright.exact.vector import Vector

FITS = 1 << 62
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Interned:
    """A vector interned as one object, so that identity is equality."""

    forms: Forms


@dataclass(frozen=True, eq=False)
class Query:
    """A query to the input in a layer, restricted to coordinates where keys may be nonzero."""

    layer: int
    forms: Forms
    by_position: bool
    scores: "dict[Embedded, Mapping[str, Form]]" = field(default_factory=dict)
    """A cache: ⟨query, key⟩ as a form in the position of the key."""

    def score(self, token: "Embedded") -> Mapping[str, Form]:
        """⟨query, key⟩ as a form in the position of the key."""
        found = self.scores.get(token)
        if found is None:
            found = self.scores[token] = scores(self.forms, token.key)
        return found


@dataclass(frozen=True, eq=False)
class Embedded:
    """A distinct input token, with key and value as forms in its position."""

    x: Vector
    key: Forms
    value: Forms
    by_layer: Sequence[Interned]
    """The value, restricted to the coordinates that each layer reads."""
    fixed: Sequence[Rational]
    """The coordinates of the key that do not depend on the position."""


class Encoder:
    """A network's keys and values for the tokens of any input, and a cache of interned objects."""

    def __init__(self, network: Transformer, positions: Forms, live: Sequence[set[int]]) -> None:
        """`live` has for each layer the coordinates of a found value that are read later."""
        self.live, self.is_dot = live, network.score == dot_product
        maps = [feed_forward(network.K).maps, feed_forward(network.V).maps]
        self.is_affine = all(len(each) == 1 for each in maps)
        self.places = AffineForms(maps[0][-1]).columns
        """The coordinates where keys may be nonzero."""
        self._positions = positions
        self.objects: dict[Any, Any] = {}
        """The interned objects, by content."""
        self.asked_next: frozenset[int] = frozenset()
        """The layers that have asked by position."""
        if self.is_affine:
            self._key, self._value = affine_forms(network.K), affine_forms(network.V)
            moving = self._key(positions)
            self.fixed = sorted(k for k in self.places if not moving.get(k, NOTHING).terms)
            """The coordinates of `places` where keys do not depend on the position."""

    def embedded(self, x: Vector) -> Embedded:
        """An input token, cached by the identity of its vector, as hashing is slow."""
        found: Embedded = self.objects.get(id(x)) or self.intern(id(x), self._embed(x))
        return found

    def intern(self, name: Hashable, made: T) -> T:
        """The interned object of a name: the first that was made."""
        return cast(T, self.objects.setdefault(name, made))

    def _embed(self, x: Vector) -> Embedded:
        if not self.is_affine:
            return Embedded(x, {}, {}, [self.interned({})] * len(self.live), [])
        placed = added(known(x.entries), self._positions)
        key, value = self._key(placed), self._value(placed)
        values = [self.found(layer, value) for layer in range(len(self.live))]
        return Embedded(x, key, value, values, [key.get(k, NOTHING).constant for k in self.fixed])

    def query(self, layer: int, p: Forms) -> Query:
        """The query that a token has in a layer."""
        asked = {place: form for place, form in p.items() if place in self.places}
        by_position = any(form.terms for form in asked.values())
        return self.intern((layer, hashable(asked)), Query(layer, asked, by_position))

    def found(self, layer: int, forms: Forms) -> Interned:
        """A found value, restricted to the coordinates that are read after a layer."""
        forms = {place: form for place, form in forms.items() if place in self.live[layer]}
        return self.interned(forms)

    def interned(self, forms: Forms) -> Interned:
        """The interned object of a vector."""
        return self.intern(hashable(forms), Interned(forms))


class Input:
    """The input of a run, and the answers to queries.

    Tokens that no query so far tells apart have the same *symbol*. When another layer asks by
    position, symbols are renumbered, and `version` grows.
    """

    def __init__(self, network: Transformer, encoder: Encoder, X: Sequence[Vector]) -> None:
        self.network, self.encoder, self.X, self.length = network, encoder, X, len(X)
        different = {id(x): x for x in X}
        numbers = {number: n for n, number in enumerate(different)}
        self._which = np.fromiter(map(numbers.__getitem__, map(id, X)), np.int64, len(X))
        """By position: the index of its token in `_tokens`."""
        self._tokens = [encoder.embedded(x) for x in different.values()]
        self._answers: dict[Query, Interned] = {}
        self._checked: set[Query] = set()
        self.version = 0
        self._tell_apart(encoder.asked_next)

    def _tell_apart(self, layers: frozenset[int]) -> None:
        """Number the symbols by the values that the layers that ask by position find."""
        self._asked, symbols = layers, dict[tuple[Interned, ...], int]()
        found = [tuple([token.by_layer[n] for n in layers]) for token in self._tokens]
        codes = [symbols.setdefault(each, len(symbols)) for each in found]
        self.end = len(symbols)
        """The symbol after the input, where queries find the last token for ever."""
        if self.end >= 1 << 16:
            raise UnsuitableError("more than 65,535 different symbols")
        there, values = position_values(max(1, self.length)), dict[int, Form]()
        if self.length:
            values = self._tokens[self._which[-1]].value
        last = known({k: form.at(there) for k, form in values.items()})
        of_last = tuple([self.encoder.found(n, last) for n in layers])
        self._of_symbol = [dict(zip(layers, each, strict=True)) for each in (*symbols, of_last)]
        self.symbols = np.append(np.array(codes, np.uint16)[self._which], np.uint16(self.end))
        """The symbol at each position; the last entry is for all later positions."""
        self.version += 1

    def first(self, symbol: int) -> int:
        """The least position of a token that reads a symbol."""
        return self.length + 1 if symbol == self.end else 1

    def answer(self, query: Query, symbol: int) -> Interned | None:
        """The value that a query finds at a symbol; None if that changed the symbols."""
        if not self.length:
            return self.encoder.interned({})
        if query.by_position:
            if query not in self._checked:
                self._check(query)
                self._checked.add(query)
            if query.layer not in self._asked:
                self.encoder.asked_next |= {query.layer}
                self._tell_apart(self.encoder.asked_next)
                return None
            return self._of_symbol[symbol][query.layer]
        if query not in self._answers:
            self._answers[query] = self._by_content(query)
        return self._answers[query]

    def _by_content(self, query: Query) -> Interned:
        """The answer to a constant query: the mean of the values with the greatest score."""
        tokens, encoder = self._tokens, self.encoder
        if not encoder.is_affine or query.forms.keys() - encoder.fixed:
            return self._by_definition(query)
        q = _whole_numbers([[query.forms.get(k, NOTHING).constant for k in encoder.fixed]])[0]
        keys, largest = self._keys
        if largest * max(1, sum(map(abs, q))) >= FITS:
            keys = keys.astype(object)
        products = keys @ np.array(q, keys.dtype)
        numbers = products if encoder.is_dot else -abs(products)
        best = np.flatnonzero(numbers == numbers.max()).tolist()
        values = [tokens[n].by_layer[query.layer] for n in best]
        if any(form.terms for value in values for form in value.forms.values()):
            return self._by_definition(query)
        if len(set(values)) == 1:
            return values[0]
        counts = np.bincount(self._which, minlength=len(tokens))[best].tolist()
        parts: dict[int, list[tuple[Rational, Form]]] = {}
        for count, value in zip(counts, values, strict=True):
            for place, form in value.forms.items():
                parts.setdefault(place, []).append((Rational(count, sum(counts)), form))
        return encoder.found(query.layer, {place: Form.sum(each) for place, each in parts.items()})

    @cached_property
    def _keys(self) -> tuple[NDArray[Any], int]:
        """The keys of the distinct tokens as numerators over one denominator, and the largest."""
        rows = _whole_numbers([token.fixed for token in self._tokens])
        largest = max((abs(n) for row in rows for n in row), default=0)
        keys = np.array(rows, np.int64 if largest < FITS else object)
        return keys.reshape(len(rows), -1), largest

    def _by_definition(self, query: Query) -> Interned:
        """The answer by the definition, token by token, where positions matter."""
        q = vector_of(self.network.layout, query.forms)
        _, found = self.network.attend(q, *self.network.encode(self.X))
        return self.encoder.found(query.layer, known(found.entries))

    def _check(self, query: Query) -> None:
        """Raise UnsuitableError unless input token min(i+1, N) alone has the greatest score."""
        if not self.encoder.is_affine:
            raise UnsuitableError("the encoder's keys or values are not affine")
        score = query.score(self._tokens[0])
        if any(query.score(token) != score for token in self._tokens):
            raise UnsuitableError("input tokens differ in more than their positions")
        if not _asks_for_next(score, is_dot=self.encoder.is_dot):
            raise UnsuitableError("a query does not ask for the input's next token")


def _asks_for_next(score: Mapping[str, Form], *, is_dot: bool) -> bool:
    one, n, e, e2 = (score.get(name, NOTHING) for name in ("", "n", "e", "e2"))
    if is_dot:
        # 2κε_{i+1}ε_j − κε_j², and what is the same for all j.
        kappa = -e2.constant
        is_square = n == NOTHING and not e2.terms and kappa > ZERO
        return is_square and e == Form(ZERO, (("e", TWO * kappa),))
    # κ(j − n), κ(j e − 1) or κ(1/j − e), with n = i + 1 and e = 1/(i + 1).
    by_n = not n.terms and n.constant and one == Form(ZERO, (("n", -n.constant),))
    by_e = len(n.terms) == 1 and n == Form(ZERO, (("e", -one.constant),)) and not one.terms
    if n == NOTHING and e.constant and e2 == NOTHING:
        return not e.terms and one == Form(ZERO, (("e", -e.constant),))
    return e == NOTHING and e2 == NOTHING and bool(by_n or by_e)


def _whole_numbers(rows: Sequence[Sequence[Rational]]) -> list[list[int]]:
    """The numerators over the least common denominator of all rows."""
    pairs = [[(int(number.p), int(number.q)) for number in row] for row in rows]
    over = lcm(*{q for row in pairs for _, q in row})
    return [[p * (over // q) for p, q in row] for row in pairs]
