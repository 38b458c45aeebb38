"""Corollary 3.2 and Proposition 4.2 share a form: two words that a recognizer cannot tell apart."""

from dataclasses import dataclass

from netwright.definitions.recognizer import Recognizer


@dataclass(frozen=True)
class IndistinguishablePair:
    """Two words that a recognizer treats alike, though only `inside` is in the language."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    accepted_at: int | None
    """Where the recognizer accepts both; None if it accepts neither within the limit."""

    @property
    def wrong_about(self) -> tuple[str, ...]:
        """The word on which the recognizer's answer (so far) is not that of the language."""
        return self.inside if self.accepted_at is None else self.outside


def indistinguishable_pair(
    recognizer: Recognizer,
    inside: tuple[str, ...],
    outside: tuple[str, ...],
    limit: int,
    statement: str,
) -> IndistinguishablePair:
    """The pair, after a look at the first `limit` outputs on both; a difference would refute."""
    difference = recognizer.first_difference(inside, outside, limit)
    assert difference is None, f"{statement}: output {difference} differs"
    return IndistinguishablePair(inside, outside, recognizer.accepts_at(outside, limit))
