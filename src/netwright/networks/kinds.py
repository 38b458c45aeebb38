"""The kinds of network there are, by name. A new one is a file beside this one and a line here."""

from typing import Any

from netwright.errors import InputError, unknown
from netwright.networks.kind import Kind
from netwright.networks.neural_gpu import NeuralGPUKind
from netwright.networks.rnn import RNNKind
from netwright.networks.transformer import TransformerKind

KINDS: dict[str, Kind[Any]] = {
    kind.name: kind for kind in (TransformerKind(), RNNKind(), NeuralGPUKind())
}


def kind_named(name: str | Kind[Any]) -> Kind[Any]:
    """A kind by its name.

    >>> kind_named("rnn").statement
    'Theorem 2.3'
    """
    if isinstance(name, Kind):
        return name
    if name not in KINDS:
        raise InputError(unknown("network", str(name), list(KINDS)))
    return KINDS[name]
