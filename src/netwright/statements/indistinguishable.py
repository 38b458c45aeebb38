"""The common form of Corollary 3.2 and Proposition 4.2: two words with equal outputs."""

from dataclasses import dataclass

from netwright.definitions.recognizer import Recognizer


@dataclass(frozen=True)
class IndistinguishablePair:
    """Two words that a recognizer treats alike, though only `inside` is in the language."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]
    accepted_at: int | None
    """The output at which it accepts both; None if it accepts neither within the limit."""

    @property
    def wrong_about(self) -> tuple[str, ...]:
        """The word about which the recognizer's answer (so far) is wrong."""
        return self.inside if self.accepted_at is None else self.outside


def indistinguishable_pair(
    recognizer: Recognizer,
    inside: tuple[str, ...],
    outside: tuple[str, ...],
    limit: int,
    statement: str,
) -> IndistinguishablePair:
    """Build the pair; assert that the first `limit` outputs on both words are equal."""
    difference = recognizer.first_difference(inside, outside, limit)
    assert difference is None, f"{statement}: output {difference} differs"
    return IndistinguishablePair(inside, outside, recognizer.accepts_at(outside, limit))
