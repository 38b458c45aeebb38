"""The universal network without a machine: `netwright.universal`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

from netwright.exact.layout import Layout
from netwright.html import table
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.certificate import Certificate
from netwright.networks.kinds import BEYOND
from netwright.networks.network import Network
from netwright.networks.universal_transformer import PromptToken, UniversalTransformerKind
from netwright.networks.weight import Weights, weights_by_name
from netwright.theorems.beyond.pointers.universal import CompiledUniversal
from netwright.verify.certificate.universal import (
    constant_part,
    network_obligations,
    weights_digest,
)

KIND = BEYOND[UniversalTransformerKind.name]
HALTED = TuringMachine(states=["q"], symbols=["_"], blank="_", start="q", delta={})
"""Some machine: what is constant does not depend on it."""


@dataclass(frozen=True)
class UniversalNetwork:
    """One Transformer for all Turing machines: `of` gives a machine to it as its prompt.

    >>> universal().of("palindrome").accepts("abba"), universal().of("busy-beaver-4").run().steps
    (True, 107)
    >>> universal().of("palindrome").dimension == universal().of("busy-beaver-4").dimension == 21
    True
    """

    options: dict[str, Any] = field(default_factory=lambda: KIND.read_options({}))

    @cached_property
    def _compiled(self) -> CompiledUniversal:
        found: CompiledUniversal = KIND.construct(HALTED, self.options)
        return found

    @cached_property
    def _written(self) -> dict[str, Any]:
        return KIND.written(self._compiled)

    def of(self, source: TuringMachine | PathLike[str] | str) -> Network:
        """The network with a machine as its prompt; a machine, or what `load_machine` takes."""
        machine = source if isinstance(source, TuringMachine) else load_machine(source)
        return Network(KIND, machine, self.options, KIND.construct(machine, self.options))

    @property
    def layout(self) -> Layout:
        """The layout of its vectors."""
        return self._compiled.layout

    @property
    def dimension(self) -> int:
        """The dimension of its vectors."""
        return self.layout.dimension

    @property
    def weights_digest(self) -> str:
        """A digest of every weight, the seed and the positions: the same for all machines."""
        return weights_digest(self._written)

    def weights(self) -> Weights:
        """Every matrix by its name."""
        return weights_by_name(KIND.matrices(self._compiled))

    def certify(self) -> Certificate:
        """The obligations of the network: for all machines, inputs and times.

        A machine's prompt has obligations of its own: `of(machine).certify()` has both.
        """
        constant = constant_part(self._written)
        return Certificate(KIND.name, constant, network_obligations(self._written))

    def __repr__(self) -> str:
        options = "".join(f", {k}={v}" for k, v in self.options.items() if k != "blanks")
        return f"<{KIND.name}, dimension {self.dimension}{options}>"

    def _repr_html_(self) -> str:
        facts = KIND.facts(self._compiled)
        names = ("dimension", "decoder_layers", "nonzeros", "weights_digest")
        return table(repr(self)[1:-1], [], [(name, facts[name]) for name in names])


def universal(prompt: str = "rules", **options: object) -> UniversalNetwork:
    """One Transformer for all Turing machines: `netwright.universal`.

    Args:
        prompt: `rules`, where each rule is a token, or `text`, where machine and input are a word
            over eleven symbols.
        options: `attention` ("absolute" or "dot-product") and `blanks` for rules; `form` ("long" or
            "short") for a text.
    """
    return UniversalNetwork(KIND.read_options({"prompt": prompt, **options}))


def universal_prompt(network: Network, word: Iterable[str]) -> "str | list[PromptToken]":
    """The prompt of a universal network's machine and a word."""
    assert isinstance(network.kind, UniversalTransformerKind)
    return network.kind.prompt(network.compiled, network.machine.check_word(word))
