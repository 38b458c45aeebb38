"""A run by tables that can go back, and explain its next token.

A token looks up the value of the slot that its pointer is to, and a key is a form in the position
of its token: so the state before a token determines it, however many tokens came before.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from netwright.definitions.transformer import Layer, Transformer
from netwright.engine.attended import Attention, EqualAttention, OneWinner
from netwright.engine.moments import Codes, UnsuitableError, Watch
from netwright.engine.pointers import kernel
from netwright.engine.pointers.engine import Tables
from netwright.engine.pointers.evaluation import LookUp, Output, Value
from netwright.engine.pointers.forms import known, position_values, vector_of
from netwright.engine.transformer.analysis import has_equal_scores
from netwright.exact.arrays import IntArray
from netwright.exact.rational import ONE, Rational
from netwright.exact.vector import Vector


class PointerTokens:
    """The integers of a run that `engine.transformer.tokens` explains."""

    def __init__(self, network: Transformer, tables: Tables) -> None:
        self.network, self.tables = network, tables
        self._outputs: dict[Output, int] = {}

    @classmethod
    def of(
        cls, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> "PointerTokens":
        """The integers of a run by tables."""
        return cls(network, Tables(network, X, seed, watches))

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return self.tables.moments

    def advance(self, count: int) -> Codes:
        """The codes of the next tokens, at least one."""
        return self.tables.advance(count)

    @property
    def state(self) -> dict[str, IntArray]:
        """A copy of the state that later tokens depend on, without tables, which only grow."""
        tables = self.tables
        number = self._outputs.setdefault(tables.output, len(self._outputs))
        return {
            "clock": tables.clock.copy(),
            "slots": tables.slots[: int(tables.clock[kernel.USED])].copy(),
            "more": np.array([number, len(tables.content.shown)]),
        }

    def put(self, state: Mapping[str, IntArray]) -> None:
        """Return to a state."""
        tables = self.tables
        number, shown = state["more"].tolist()
        tables.clock[:] = state["clock"]
        tables.slots[: len(state["slots"])] = state["slots"]
        tables.output = list(self._outputs)[number]
        if shown != len(tables.content.shown):
            tables.content.forget(shown)

    @property
    def case(self) -> tuple[Output, int]:
        """The newest output, and the symbol of the input that the next token reads."""
        return self.tables.output, self.tables.symbol

    @property
    def pointed(self) -> Sequence[int]:
        """The numbers of the tokens that the next token points to."""
        return [token for _, token in self.tables.pointed]

    def target(self, follows: int) -> tuple[Value | None, Sequence[int]]:
        """The value of the token that a pointer is to, and the tokens that it points to."""
        value = self.tables.values[self.tables.looked_up(follows)]
        slot, _ = self.tables.pointed[follows]
        return value, self.tables.slots[slot, 2:].tolist()

    @property
    def y(self) -> Vector:
        """The newest output; a pointer to token j, counted from 0, is 1/(j+1)."""
        output, _ = self.case
        if not output.is_known:
            raise UnsuitableError("a number of an output depends on a pointer, or on a mean")
        entries = dict(output.finite)
        if output.pointers:
            pointers = zip(self.tables.evaluation.pointers, self.pointed, strict=True)
            entries |= {place: ONE / (j + 1) for place, j in pointers if place in output.pointers}
        return Vector(self.network.layout, entries)

    def looked_up(self, n: int, layer: Layer, z: Vector, t: int) -> tuple[Vector, Attention | None]:
        """What token t attends to in layer n, and its attention; None if that needs all keys."""
        layout, tables = self.network.layout, self.tables
        q, k, v = layer.Q(z), layer.K(z), layer.V(z)
        if tables.evaluation.layers[n].V.is_zero:
            equal = EqualAttention(q, t, self.network.score(q, k))
            return v, equal if has_equal_scores(layer) else None
        keys = tables.content.keys.get(n)
        if keys is None:
            asked = (known(each.entries) for each in (q, k, v))
            best = tables.content.best(tables.evaluation.by_content(n, *asked))
            if len(best) != 1:
                raise UnsuitableError("a mean of what different tokens show")
            return vector_of(layout, next(iter(best)).forms), None
        node = tables.asks(*self.case)
        if node is None or not isinstance(node.asks, LookUp) or node.asks.follows < 0:
            raise UnsuitableError("a look-up of more than one token")
        token = self.pointed[node.asks.follows]
        value, there = self.target(node.asks.follows)
        assert value is not None
        pointers = {place: ONE / (there[number] + 1) for place, number in value.pointers}

        def score_of(other: int) -> Rational:
            values = position_values(other)
            key = Vector(layout, {place: form.at(values) for place, form in keys.items()})
            return self.network.score(q, key)

        def second() -> int | None:
            # The score falls on both sides of the winner.
            near = [other for other in (token, token + 2) if 1 <= other <= t]
            return max(near, key=lambda other: (score_of(other), other), default=None)

        found = Vector(layout, dict(value.finite) | pointers)
        return found, OneWinner(q, t, token + 1, score_of, second)
