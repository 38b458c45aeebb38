"""Attention to the input: by a query that is known, or by position, the next token of the input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netwright.engine.moments import UnsuitableError
from netwright.exact.rational import ONE, ZERO
from netwright.exact.vector import Vector, combine
from netwright.nets.attention import dot_product
from netwright.nets.transformer import Transformer
from netwright.runtime.pointers.forms import NOTHING, Form, Forms, added, image, known
from netwright.runtime.pointers.maps import NAMES, TWO, feed_forward, is_affine, positions

Asked = tuple[tuple[int, Form], ...]
"""A query, as far as keys have something there."""


@dataclass(frozen=True)
class External:
    """The input token that is attended to by position: its embedding, and its position if known."""

    embedded: Vector
    position: int | None
    """None while the input is read: it is the position of the token itself."""
    first: int = 1
    """The least position that the token may have."""


class InputAttention:
    """The keys and values of an input, and which of them a query finds."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], powers: Mapping[int, int]
    ) -> None:
        self.network, self.X, self.powers = network, X, powers
        self.is_dot = network.score == dot_product
        assert network.pos is not None
        placed = [x + network.pos(j) for j, x in enumerate(X, start=1)]
        self.keys = [feed_forward(network.K)(x) for x in placed]
        self.values = [feed_forward(network.V)(x) for x in placed]
        self.places = {place for key in self.keys for place in key.entries}
        self.contents: dict[Asked, Forms] = {}
        """What was found by queries that are known."""
        self.by_position: set[Asked] = set()
        """The queries that ask for the next token."""

    def found(self, p: Forms, external: External | None) -> Forms:
        """What a query finds in the input."""
        if external is None:
            return {}
        query = {place: form for place, form in p.items() if place in self.places}
        asked = tuple(sorted(query.items()))
        if not any(form.terms for form in query.values()):
            if asked not in self.contents:
                self.contents[asked] = self._by_content(query)
            return self.contents[asked]
        if asked not in self.by_position:
            self._check_by_position(query)
            self.by_position.add(asked)
        if not is_affine(self.network.V):
            raise UnsuitableError("the encoder's values are not affine")
        value = feed_forward(self.network.V).maps[0]
        x = known(external.embedded)
        if external.position is None:
            return image(value, added(x, positions(self.powers)))
        assert self.network.pos is not None
        return image(value, added(x, known(self.network.pos(external.position))))

    def _by_content(self, query: Forms) -> Forms:
        """A query that is known: by the definition."""
        q = Vector(self.network.layout, {place: form.constant for place, form in query.items()})
        scores = [self.network.score(q, key) for key in self.keys]
        top = max(scores)
        best = [value for score, value in zip(scores, self.values, strict=True) if score == top]
        weight = ONE / len(best)
        return known(combine(self.network.layout, ((weight, value) for value in best)))

    def _check_by_position(self, query: Forms) -> None:
        """UnsuitableError unless input token min(i+1, N) alone has the greatest score."""
        affine = feed_forward(self.network.K).maps[0]
        if not is_affine(self.network.K):
            raise UnsuitableError("the encoder's keys are not affine")
        score: dict[str, Form] = {}
        for place, power in self.powers.items():
            parts = [
                (weight, query[column])
                for (row, column), weight in affine.weights.items()
                if row == place and column in query
            ]
            score[NAMES[power]] = Form.sum(parts)
        contents = set()
        for x in dict.fromkeys(self.X):
            key = affine(x)
            contents.add(
                Form.sum((key.entries.get(place, ZERO), form) for place, form in query.items())
            )
        if len(contents) != 1:
            raise UnsuitableError("input tokens differ in more than their positions")
        one = Form.sum([(ONE, score.get("", NOTHING)), (ONE, contents.pop())])
        n, e, e2 = (score.get(name, NOTHING) for name in ("n", "e", "e2"))
        if self.is_dot:
            # 2κε_{i+1}ε_j − κε_j², and what is the same for all j.
            kappa = -e2.constant
            fine = n == NOTHING and not e2.terms and kappa > 0
            fine = fine and e == Form(ZERO, (("e", TWO * kappa),))
        else:
            # κ(j − n) or κ(j e − 1), with n = i + 1 and e = 1/(i + 1).
            by_n = not n.terms and n.constant and one == Form(ZERO, (("n", -n.constant),))
            by_e = len(n.terms) == 1 and n == Form(ZERO, (("e", -one.constant),)) and not one.terms
            fine = e == NOTHING and e2 == NOTHING and bool(by_n or by_e)
        if not fine:
            raise UnsuitableError("a query does not ask for the input's next token")
