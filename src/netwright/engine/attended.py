"""One attention of one token (Equations 4 and 5): its scores, weights and winner.

Tokens are numbered from 1; `scores` and `weights` are sequences, with token j at place j − 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

from netwright.definitions.transformer import Normalizer, Score
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.exact.vector import Vector
from netwright.html import table
from netwright.text import shortened

T = TypeVar("T")


class LazySequence(Sequence[T], Generic[T]):
    """A sequence that computes an item whenever it is accessed.

    >>> squares = LazySequence(4, lambda place: place**2)
    >>> squares[-1], squares[1:3], list(squares)
    (9, [1, 4], [0, 1, 4, 9])
    """

    def __init__(self, length: int, item: Callable[[int], T]) -> None:
        self._places, self._item = range(length), item

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self._item(each) for each in self._places[place]]
        return self._item(self._places[place])

    def __iter__(self) -> Iterator[T]:
        return map(self._item, self._places)

    def __repr__(self) -> str:
        return f"<{len(self):,} items>"


class Attention(ABC):
    """The scores, the weights and the winner of one attention: Att(q, K, V) for one query."""

    def __init__(self, q: Vector, length: int) -> None:
        self.q = q
        self._length = length

    def __len__(self) -> int:
        """The number of keys."""
        return self._length

    @property
    @abstractmethod
    def scores(self) -> Sequence[Rational]:
        """The score of each key."""

    @property
    @abstractmethod
    def weights(self) -> Sequence[Rational]:
        """The weight of each value."""

    @property
    @abstractmethod
    def winners(self) -> Sequence[int]:
        """The tokens with the highest score."""

    @property
    @abstractmethod
    def runner_up(self) -> int | None:
        """The token whose score comes next after a single winner's; the latest such token."""

    @property
    def attended(self) -> Mapping[int, Rational]:
        """The tokens whose weight is not 0, with their weights."""
        return {token: w for token, w in enumerate(self.weights, start=1) if w}

    @property
    def winner(self) -> int | None:
        """The token with the highest score; None where several share it, or there is no key."""
        return self.winners[0] if len(self.winners) == 1 else None

    @property
    def score(self) -> Rational | None:
        """The highest score; None where there is no key."""
        return self.scores[self.winners[0] - 1] if self.winners else None

    @property
    def margin(self) -> Rational | None:
        """How far the highest score is above all others; 0 where several share it.

        None where there are fewer than two keys.
        """
        if len(self) < 2:
            return None
        if len(self.winners) > 1:
            return ZERO
        second = self.runner_up
        assert second is not None
        return self.scores[self.winners[0] - 1] - self.scores[second - 1]

    def __repr__(self) -> str:
        if not len(self):
            return "<attention over no keys>"
        if self.winner is not None:
            return f"<attention to token {self.winner:,} of {len(self):,}>"
        whom = "all" if len(self.winners) == len(self) else f"{len(self.winners):,} of"
        return f"<attention to {whom} {len(self):,} tokens alike>"

    def _repr_html_(self) -> str:
        rows = [
            ("winner", self.winner if self.winner else f"{len(self.winners):,} alike"),
            ("score", shortened(self.score, 60)),
            ("runner-up", self.runner_up or ""),
            ("margin", "" if self.margin is None else shortened(self.margin, 60)),
            ("keys", f"{len(self):,}"),
        ]
        return table(repr(self)[1:-1], [], rows if len(self) else [])


class ListedAttention(Attention):
    """An attention by its definition: every score is computed."""

    def __init__(self, q: Vector, keys: Sequence[Vector], score: Score, rho: Normalizer) -> None:
        super().__init__(q, len(keys))
        self._keys, self._score, self._rho = keys, score, rho

    @cached_property
    def scores(self) -> list[Rational]:
        """The score of each key."""
        return [self._score(self.q, key) for key in self._keys]

    @cached_property
    def weights(self) -> list[Rational]:
        """The weight of each value."""
        return self._rho(self.scores)

    @cached_property
    def winners(self) -> list[int]:
        """The tokens with the highest score."""
        best = max(self.scores, default=ZERO)
        return [token for token, score in enumerate(self.scores, start=1) if score == best]

    @property
    def runner_up(self) -> int | None:
        """The token that comes next."""
        if self.winner is None or len(self) < 2:
            return None
        others = (token for token in range(1, len(self) + 1) if token != self.winner)
        return max(others, key=lambda token: (self.scores[token - 1], token))


class EqualAttention(Attention):
    """An attention to all tokens alike: their scores are equal."""

    def __init__(self, q: Vector, length: int, equal_score: Rational) -> None:
        super().__init__(q, length)
        self._equal_score = equal_score

    @property
    def scores(self) -> Sequence[Rational]:
        """The same score for each key."""
        return LazySequence(len(self), lambda _: self._equal_score)

    @property
    def weights(self) -> Sequence[Rational]:
        """The same weight for each value."""
        return LazySequence(len(self), lambda _: ONE / len(self))

    @property
    def winners(self) -> Sequence[int]:
        """All tokens."""
        return range(1, len(self) + 1)

    @property
    def runner_up(self) -> None:
        """None: there is no single winner, or no other token."""


class OneWinner(Attention):
    """A hard attention whose single winner is known; all else is computed on demand.

    `score_of` computes the score of a token, `second` finds the runner-up.
    """

    def __init__(
        self,
        q: Vector,
        length: int,
        winner: int,
        score_of: Callable[[int], Rational],
        second: Callable[[], int | None],
    ) -> None:
        super().__init__(q, length)
        self._winner, self._item, self._second = winner, score_of, second

    @property
    def scores(self) -> Sequence[Rational]:
        """The score of each key, computed from the vectors of its token."""
        return LazySequence(len(self), lambda place: self._item(place + 1))

    @property
    def weights(self) -> Sequence[Rational]:
        """1 for the winner."""
        return LazySequence(len(self), lambda place: ONE if place + 1 == self._winner else ZERO)

    @property
    def attended(self) -> Mapping[int, Rational]:
        """The winner alone."""
        return {self._winner: ONE}

    @property
    def winners(self) -> Sequence[int]:
        """The one token that wins."""
        return (self._winner,)

    @cached_property
    def runner_up(self) -> int | None:
        """The token that comes next."""
        return self._second()
