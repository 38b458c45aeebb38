"""What the blocks and weights of a construction mean, in words: one table for each construction.

`netwright compile --explain` prints these tables, and docs/networks.md has them.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Meanings:
    """Words for the blocks of a network's vectors, and for its weights."""

    blocks: Mapping[str, str]
    hidden: Mapping[str, Mapping[str, str]]
    """For maps with layers or factors of their own: the blocks between these."""
    weights: Mapping[str, str]
