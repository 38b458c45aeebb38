"""The universal network without a machine: `netwright.universal`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

from netwright.certificates.universal import constant_part, network_obligations, weights_digest
from netwright.errors import InputError, unknown
from netwright.exact.layout import Layout
from netwright.html import table
from netwright.kind.record import Kind
from netwright.kind.registry import kind_named
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.certificate import Certificate
from netwright.network.network import Network, compile_network
from netwright.network.weight import Weights

HALTED = TuringMachine(states=["q"], symbols=["_"], blank="_", start="q", delta={})
"""An arbitrary machine: the constant part of the network does not depend on it."""
PROMPTS = {"rules": "universal-transformer", "text": "universal-text"}


@dataclass(frozen=True)
class UniversalNetwork:
    """One Transformer for all Turing machines: `of` gives a machine to it as its prompt.

    >>> universal().of("palindrome").accepts("abba"), universal().of("busy-beaver-4").run().steps
    (True, 107)
    >>> universal().of("palindrome").dimension == universal().of("busy-beaver-4").dimension == 21
    True
    """

    kind: Kind[Any] = field(default_factory=lambda: kind_named(PROMPTS["rules"]))
    options: Mapping[str, Any] = field(default_factory=dict)

    def of(self, source: TuringMachine | PathLike[str] | str) -> Network:
        """The network with a machine, or what `load_machine` takes, as its prompt."""
        machine = source if isinstance(source, TuringMachine) else load_machine(source)
        return compile_network(machine, self.kind, **self.options)

    @cached_property
    def _some(self) -> Network:
        return self.of(HALTED)

    @property
    def layout(self) -> Layout:
        """The layout of its vectors."""
        return self._some.layout

    @property
    def dimension(self) -> int:
        """The dimension of its vectors."""
        return self.layout.dimension

    @property
    def weights_digest(self) -> str:
        """A digest of all weights, the seed and the positions: the same for all machines."""
        return weights_digest(self._some.written)

    def weights(self) -> Weights:
        """All matrices by name."""
        return self._some.weights()

    def certify(self) -> Certificate:
        """Check the network for all machines, inputs and times.

        A machine's prompt has obligations of its own: `of(machine).certify()` has both.
        """
        written = self._some.written
        return Certificate(self.kind.name, constant_part(written), network_obligations(written))

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._some.options.items() if k not in ("blanks", "size")}
        options = "".join(f", {k}={v}" for k, v in shown.items())
        return f"<{self.kind.name}, dimension {self.dimension}{options}>"

    def _repr_html_(self) -> str:
        facts = self._some.facts
        names = ("dimension", "decoder_layers", "nonzeros", "weights_digest")
        return table(repr(self)[1:-1], [], [(name, facts[name]) for name in names])


def universal(prompt: str = "rules", **options: object) -> UniversalNetwork:
    """One Transformer for all Turing machines: `netwright.universal`.

    Args:
        prompt: `rules`, one token a rule, or `text`, machine and input as a word over eleven
            symbols.
        options: `size` (21 or 16), `attention` ("absolute" or "dot-product") and `blanks` for
            rules; `form` ("long" or "short") for a text.
    """
    if prompt not in PROMPTS:
        raise InputError(unknown("prompt", str(prompt), list(PROMPTS)))
    kind = kind_named(PROMPTS[prompt])
    kind.construction.read_options(options)
    return UniversalNetwork(kind, options)
