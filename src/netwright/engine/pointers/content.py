"""Attention by content: the keys and values of a run's tokens in layers whose keys are numbers.

A token *shows* its key and value to later ones. Runs that have shown the same get the same answers:
a prompt is read only once. So answers are cached with the network's tree, by all that was shown.
"""

from collections.abc import Sequence
from math import lcm
from typing import NamedTuple

from netwright.definitions.transformer import Transformer, dot_product
from netwright.engine.moments import UnsuitableError
from netwright.engine.pointers.evaluation import ByContent, Evaluation, Shown
from netwright.engine.pointers.forms import Forms, vector_of
from netwright.engine.pointers.inputs import Interned
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector


class _Best(NamedTuple):
    """The values with the greatest score among the first `seen` that were shown."""

    seen: int = 0
    top: Rational | None = None
    values: frozenset[Interned] = frozenset()

    def with_one(self, score: Rational, value: Interned) -> "_Best":
        """The best after adding a value, which may be among them already."""
        if self.top is not None and score < self.top:
            return self
        others = self.values if score == self.top else frozenset[Interned]()
        return self._replace(top=score, values=others | {value})


class _Keys:
    """The keys of a layer, as integers over one denominator: a column for each coordinate."""

    def __init__(self) -> None:
        self.shown: list[Shown] = []
        self._over = 1
        self._columns: dict[int, list[int]] = {}

    def append(self, shown: Shown) -> None:
        """Add a key."""
        entries = shown.key.entries
        over = lcm(self._over, *(int(x.q) for x in entries.values()))
        if over != self._over:
            factor, self._over = over // self._over, over
            self._columns = {k: [x * factor for x in each] for k, each in self._columns.items()}
        for place in entries.keys() - self._columns.keys():
            self._columns[place] = [0] * len(self.shown)
        for place, column in self._columns.items():
            x = entries.get(place)
            column.append(0 if x is None else int(x.p) * (over // int(x.q)))
        self.shown.append(shown)

    def nearest(self, query: Vector, first: int, *, is_dot: bool) -> list[Shown]:
        """Those from number `first` on that have the greatest score."""
        there = self.shown[first:]
        over = lcm(1, *(int(x.q) for x in query.entries.values()))
        products = [0] * len(there)
        for place, x in query.entries.items():
            if column := self._columns.get(place):
                factor = int(x.p) * (over // int(x.q))
                pairs = zip(products, column[first:], strict=True)
                products = [product + factor * number for product, number in pairs]
        scores = products if is_dot else [-abs(product) for product in products]
        top = max(scores, default=0)
        return [each for each, score in zip(there, scores, strict=True) if score == top]


class Content:
    """The keys and values that a run's tokens have shown, by layer."""

    def __init__(self, network: Transformer, evaluation: Evaluation) -> None:
        self._score, self._layout = network.score, network.layout
        self._contents, self._answers = evaluation.contents, evaluation.answers
        self.version = 0
        """Grows whenever something new is shown, or forgotten."""
        self.keys: dict[int, Forms | None] = {}
        """By layer: the keys of all tokens as forms in the position; None if they are numbers."""
        self.shown: dict[Shown, None] = {}
        self.forget(0)

    def forget(self, count: int) -> None:
        """Go back to the first `count` that were shown, and drop what was found among more."""
        first = [*self.shown][:count]
        self.shown, self._in_layer = {}, dict[int, _Keys]()
        self._content: object = None
        """An object that represents all that was shown."""
        self._found: dict[tuple[int, Interned], _Best] = {}
        self.version += 1
        self.show(first)

    def show(self, shown: Sequence[Shown]) -> None:
        """Add the keys and values that a token shows."""
        for each in shown:
            if each not in self.shown:
                self.shown[each] = None
                self._in_layer.setdefault(each.layer, _Keys()).append(each)
                self._content = self._contents.setdefault((self._content, each), object())
                self.version += 1

    def check_keys(self, layer: int, keys: Forms | None) -> None:
        """Raise UnsuitableError if the keys of a layer differ in more than their positions."""
        if self.keys.setdefault(layer, keys) != keys:
            raise UnsuitableError("keys differ in more than their positions")

    def best(self, asks: ByContent) -> frozenset[Interned]:
        """The values with the greatest score for a query, among those shown and the token's own.

        Answers are cached; for a query that was asked before, only keys shown since are scored.
        """
        answer = self._answers.get((self._content, asks))
        if answer is None:
            answer = self._answers[self._content, asks] = self._best(*asks)
        return answer

    def _best(self, query: Interned, own: Shown) -> frozenset[Interned]:
        q, there = vector_of(self._layout, query.forms), self._in_layer.get(own.layer, _Keys())
        found = self._found.get((own.layer, query), _Best())
        for each in there.nearest(q, found.seen, is_dot=self._score == dot_product):
            found = found.with_one(self._score(q, each.key), each.value)
        self._found[own.layer, query] = found = found._replace(seen=len(there.shown))
        return found.with_one(self._score(q, own.key), own.value).values
