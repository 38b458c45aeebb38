"""What the tokens of a run have shown in layers whose keys are known numbers, and what is found."""

from collections.abc import Sequence
from typing import NamedTuple

from netwright.engine.moments import UnsuitableError
from netwright.exact.rational import Rational
from netwright.nets.transformer import Transformer
from netwright.runtime.pointers.evaluation import ByContent, Shown
from netwright.runtime.pointers.forms import Forms, vector_of
from netwright.runtime.pointers.inputs import Interned


class _Best(NamedTuple):
    """Of the first `seen` things that tokens showed, those with the greatest score."""

    seen: int = 0
    top: Rational | None = None
    values: frozenset[Interned] = frozenset()

    def with_one(self, score: Rational, value: Interned) -> "_Best":
        """With one more, or one that is there already."""
        if self.top is not None and score < self.top:
            return self
        others = self.values if score == self.top else frozenset[Interned]()
        return self._replace(top=score, values=others | {value})


class Content:
    """The keys and values of a run's tokens, layer by layer."""

    def __init__(self, network: Transformer) -> None:
        self._score, self._layout = network.score, network.layout
        self.version = 0
        """Grows whenever what is shown becomes something else."""
        self.keys: dict[int, Forms | None] = {}
        """By layer: what all keys are, as forms in the position; None if they are numbers."""
        self.shown: dict[Shown, None] = {}
        self.forget(0)

    def forget(self, count: int) -> None:
        """Go back to the first things that were shown; what was found among more is not kept."""
        first = [*self.shown][:count]
        self.shown, self._in_layer = {}, dict[int, list[Shown]]()
        self._found: dict[tuple[int, Interned], _Best] = {}
        self.version += 1
        self.show(first)

    def show(self, shown: Sequence[Shown]) -> None:
        """Note what a token shows to those that ask by content."""
        for each in shown:
            if each not in self.shown:
                self.shown[each] = None
                self._in_layer.setdefault(each.layer, []).append(each)
                self.version += 1

    def check_keys(self, layer: int, keys: Forms | None) -> None:
        """UnsuitableError if the keys of a layer differ in more than their positions."""
        if self.keys.setdefault(layer, keys) != keys:
            raise UnsuitableError("keys differ in more than their positions")

    def best(self, asks: ByContent) -> frozenset[Interned]:
        """The values with the greatest score for a query: of those that were shown, and its own.

        What was found for a query before is kept, and only what is new since is looked at.
        """
        query, own = asks
        q, there = vector_of(self._layout, query.forms), self._in_layer.get(own.layer, [])
        found = self._found.get((own.layer, query), _Best())
        for each in there[found.seen :]:
            found = found.with_one(self._score(q, each.key), each.value)
        self._found[own.layer, query] = found = found._replace(seen=len(there))
        return found.with_one(self._score(q, own.key), own.value).values
