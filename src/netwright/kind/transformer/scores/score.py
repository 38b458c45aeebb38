"""What a score of Lemma B.4 is: queries and keys of the third decoder layer, and their proofs."""

from collections.abc import Callable
from dataclasses import dataclass

from netwright.definitions.transformer import Layer
from netwright.exact.layout import Layout
from netwright.exact.places import Named
from netwright.exact.rational import Rational


@dataclass(frozen=True, repr=False)
class Score(Named):
    """Queries and keys that make token i attend to ℓ(i+1) alone, with what is proved of them."""

    name: str
    title: str
    layer: Callable[[Layout], Layer]
    """The third decoder layer, in vectors of a layout."""
    positions: tuple[str, ...]
    """The blocks of the positional encoding: 1, i, 1/i, 1/i², …"""
    gap: Callable[[int], Rational]
    """A lower bound, over all machines, for how far the winner of token i is ahead."""
    safe_until: Callable[[int], int]
    """The last token at which numbers of so many bits keep the order of visits, by a proof."""
    searched_at_once: int
    """Up to how many bits a search for possible failures takes no time worth speaking of."""
    searched: int
    """Up to how many bits it takes less than a minute."""
    has_time_in_keys: bool = False
    """Whether keys have the token's number as such, and queries its cube's reciprocal."""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<score {self.name}>"
