"""The registry of kinds: names, and the modules that define their `KIND`.

A kind is imported when it is first named. A new one is a module and a line here, or, in another
package, an entry point of the group `netwright.kinds`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any
from warnings import warn

from netwright.errors import FormatWarning, InputError, unknown

if TYPE_CHECKING:
    from netwright.kind.record import Kind
    from netwright.machine.simulate import Engine

REGISTRY = {
    "transformer": "netwright.kind.transformer.kind",
    "rnn": "netwright.kind.rnn.kind",
    "neural-gpu": "netwright.kind.neural_gpu.kind",
    "pointer-transformer": "netwright.kind.pointer_transformer.kind",
    "universal-transformer": "netwright.kind.universal_transformer.kind",
    "universal-text": "netwright.kind.universal_text.kind",
    "language-model": "netwright.kind.language_model.kind",
    "gateless-neural-gpu": "netwright.kind.gateless_neural_gpu.kind",
    "positionless-transformer": "netwright.kind.positionless_transformer.kind",
    "residual-free-transformer": "netwright.kind.residual_free_transformer.kind",
}
"""The first is the default of all verbs."""
SHORT = {
    "pointer": "pointer-transformer",
    "universal": "universal-transformer",
    "gpt2": "language-model",
    "opt": "language-model",
}
"""Short names of kinds; gpt2 and opt are two files of one language model."""
VARIANTS = {"llama": "netwright.kind.language_model.llama.kind"}
"""Short names of a kind with an option, by module."""
DEFAULT = next(iter(REGISTRY))
MACHINE = "machine"
"""The name for running a machine on itself, in addition to the kinds of network."""


def modules() -> dict[str, str]:
    """The module of each kind, those of other packages last."""
    others = {point.name: point.value for point in entry_points(group="netwright.kinds")}
    return {**REGISTRY, **{name: others[name] for name in others if name not in REGISTRY}}


def is_kind(name: object) -> bool:
    """Whether there is a kind of this name; searches other packages last, as that is slow."""
    return name in REGISTRY or name in SHORT or name in VARIANTS or name in modules()


def read_kind(name: str, *others: str) -> str:
    """The name of a kind, also from a short one, or one of `others`; else raise InputError."""
    name = SHORT.get(name, name)
    if name not in others and not is_kind(name):
        raise InputError(unknown("network", str(name), [*modules(), *others]))
    return name


def kind_named(name: "str | Kind[Any]") -> "Kind[Any]":
    """A kind by its name.

    >>> kind_named("rnn").statement
    'Theorem 2.3'
    """
    if not isinstance(name, str) and hasattr(name, "construction"):
        return name
    known = read_kind(str(name))
    return _imported(VARIANTS.get(known) or REGISTRY.get(known) or modules()[known])


def _imported(module: str) -> "Kind[Any]":
    found: Kind[Any] = import_module(module).KIND
    return found


def kind_with(
    name: "str | Kind[Any]", options: Mapping[str, Any]
) -> "tuple[Kind[Any], Mapping[str, Any]]":
    """Resolve a kind and its options; an alias of another kind gives a FormatWarning.

    An option may choose a variant of the kind, which has the same name.
    """
    kind = kind_named(name)
    for (option, value), other in kind.construction.aliases.items():
        if str(options.get(option)) == value:
            warn(f"{option}={value} is the kind {other} now", FormatWarning, stacklevel=3)
            return kind_named(other), {k: v for k, v in options.items() if k != option}
    for (option, value), module in kind.construction.variants.items():
        if str(options.get(option)) == value:
            return _imported(module), options
    return kind, options


def kinds() -> "dict[str, Kind[Any]]":
    """The kinds of network by name: what `netwright.compile(…, to=…)` takes.

    >>> list(kinds())  # doctest: +NORMALIZE_WHITESPACE
    ['transformer', 'rnn', 'neural-gpu', 'pointer-transformer', 'universal-transformer',
     'universal-text', 'language-model', 'gateless-neural-gpu', 'positionless-transformer',
     'residual-free-transformer']
    """
    return {name: kind_named(name) for name in modules()}


def check_engine(kind: "Kind[Any]", engine: "Engine", *, page: bool = False) -> None:
    """Raise InputError for an engine that a kind does not have, or not for a page; say which do."""

    def has(each: "Kind[Any]") -> "Sequence[Engine]":
        return each.reading.traced_by if page else each.reading.engines

    if engine not in has(kind):
        what = f"engine for {'a page of ' if page else ''}{kind.name}"
        others = [name for name, each in kinds().items() if engine in has(each)]
        having = f"; {engine} is for {', '.join(others)}" if others else ""
        raise InputError(unknown(what, engine, has(kind)) + having)


def kinds_of_the_paper() -> "dict[str, Kind[Any]]":
    """The kinds that are the paper's theorems."""
    return {name: kind for name, kind in kinds().items() if kind.construction.of_the_paper}


def exact_kinds() -> "dict[str, Kind[Any]]":
    """The kinds whose networks are exact for any number of steps, and certified."""
    return {name: kind for name, kind in kinds().items() if kind.proof.checker is not None}
