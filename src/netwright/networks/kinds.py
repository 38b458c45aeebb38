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


def kinds() -> dict[str, Kind[Any]]:
    """The kinds of network by name: what `netwright.compile(…, to=…)` takes.

    >>> list(kinds())
    ['transformer', 'rnn', 'neural-gpu']
    """
    return dict(KINDS)


def read_kind(name: str, *others: str) -> str:
    """The name of a kind, or of something else that a machine can run on."""
    if not isinstance(name, str) or name not in (*KINDS, *others):
        raise InputError(unknown("network", str(name), [*KINDS, *others]))
    return name


def kind_named(name: str | Kind[Any]) -> Kind[Any]:
    """A kind by its name.

    >>> kind_named("rnn").statement
    'Theorem 2.3'
    """
    return name if isinstance(name, Kind) else KINDS[read_kind(name)]
