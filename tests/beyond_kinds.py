"""The kinds past the paper that are exact, with all of their options."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, network_for_word


class Choice(NamedTuple):
    """A kind with its options."""

    kind: str
    options: Mapping[str, Any]

    def network(self, machine: TuringMachine, word: tuple[str, ...] = ()) -> Network:
        """The network that takes a word."""
        return network_for_word(machine, self.kind, word, **self.options)

    @property
    def shows_the_end(self) -> bool:
        """Whether an accepting configuration is shown."""
        return self.options.get("form") != "short"


CHOICES = {
    "pointer": Choice("pointer-transformer", {}),
    "pointer-dot": Choice("pointer-transformer", {"attention": "dot-product"}),
    "rules": Choice("universal-transformer", {}),
    "rules-16": Choice("universal-transformer", {"size": 16}),
    "rules-dot": Choice("universal-transformer", {"attention": "dot-product"}),
    "text": Choice("universal-text", {}),
    "text-short": Choice("universal-text", {"form": "short"}),
    "positionless": Choice("positionless-transformer", {}),
    "residual-free": Choice("residual-free-transformer", {}),
    "gateless": Choice("gateless-neural-gpu", {}),
}
every_choice = pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
