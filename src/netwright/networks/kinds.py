"""The kinds of network there are, by name. A new one is a file beside this one and a line here."""

from typing import Any

from netwright.errors import InputError, unknown
from netwright.networks.kind import Kind
from netwright.networks.language_model import LanguageModelKind
from netwright.networks.neural_gpu import NeuralGPUKind
from netwright.networks.pointer_transformer import PointerTransformerKind
from netwright.networks.rnn import RNNKind
from netwright.networks.transformer import TransformerKind
from netwright.networks.universal_transformer import UniversalTransformerKind

KINDS: dict[str, Kind[Any]] = {
    kind.name: kind for kind in (TransformerKind(), RNNKind(), NeuralGPUKind())
}
"""Those of the paper, which are exact, and which verbs take if none is named."""
BEYOND: dict[str, Kind[Any]] = {
    kind.name: kind
    for kind in (PointerTransformerKind(), UniversalTransformerKind(), LanguageModelKind())
}
"""Those that go past it: exact ones, and one in floats and in a bounded context."""


def kinds() -> dict[str, Kind[Any]]:
    """The kinds of network by name: what `netwright.compile(…, to=…)` takes.

    >>> list(kinds())  # doctest: +NORMALIZE_WHITESPACE
    ['transformer', 'rnn', 'neural-gpu', 'pointer-transformer', 'universal-transformer',
     'language-model']
    """
    return {**KINDS, **BEYOND}


def exact_kinds() -> dict[str, Kind[Any]]:
    """Those whose networks are exact, for any number of steps, and certified."""
    return {name: kind for name, kind in kinds().items() if kind.checker is not None}


def read_kind(name: str, *others: str) -> str:
    """The name of a kind, or of something else that a machine can run on."""
    if not isinstance(name, str) or name not in (*kinds(), *others):
        raise InputError(unknown("network", str(name), [*kinds(), *others]))
    return name


def kind_named(name: str | Kind[Any]) -> Kind[Any]:
    """A kind by its name.

    >>> kind_named("rnn").statement
    'Theorem 2.3'
    """
    return name if isinstance(name, Kind) else kinds()[read_kind(name)]
