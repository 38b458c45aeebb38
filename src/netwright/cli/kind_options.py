"""The options of the kinds of network, as options of verbs: made from the kinds' own records."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from netwright.cli.arguments import completer
from netwright.networks.kind import Kind, Option
from netwright.networks.kinds import kinds, read_kind
from netwright.networks.running import MACHINE


def on_option(help_text: str, *others: str) -> Any:
    """`--on`: a kind, or one of some others."""
    names = [*kinds(), *others]
    return typer.Option(
        "--on",
        parser=lambda value: read_kind(value, *others),
        metavar="NETWORK",
        help=f"{help_text[:-1]}: {', '.join(names)}.  [default: {names[0]}]",
        show_default=False,
        autocompletion=completer(names),
    )


OnKind = Annotated[str | None, on_option("Which network.")]
OnTarget = Annotated[str | None, on_option("Run it on this.", MACHINE)]


def _users(option: Option) -> list[Kind[Any]]:
    return [kind for kind in kinds().values() if option.name in {o.name for o in kind.options}]


def _annotation(option: Option) -> Any:
    help_text = f"For {' and '.join(kind.name for kind in _users(option))}: {option.help}"
    if option.is_flag:
        return Annotated[bool, typer.Option(f"--{option.name}", help=help_text)]
    metavar = option.metavar or "VALUE"
    complete = completer(option.choices) if option.choices else None
    return Annotated[
        str | None,
        typer.Option(f"--{option.name}", metavar=metavar, help=help_text, autocompletion=complete),
    ]


def with_kind_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A verb whose parameter `options` becomes one option for each that some kind has.

    The verb gets those that were given, as a dictionary; the kind reads and refuses them.
    """
    signature = inspect.signature(command)
    known = {
        option.name: option
        for kind in kinds().values()
        for option in kind.options
        if option.name not in signature.parameters
    }
    parameters = [
        *(
            p.replace(kind=p.KEYWORD_ONLY)
            for n, p in signature.parameters.items()
            if n != "options"
        ),
        *(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if option.is_flag else None,
                annotation=_annotation(option),
            )
            for name, option in known.items()
        ),
    ]

    @wraps(command)
    def verb(**values: Any) -> Any:
        given = {name: values.pop(name) for name in known}
        chosen = {name: value for name, value in given.items() if value not in (None, False)}
        return command(**values, options=chosen)

    verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    verb.__annotations__ = {p.name: p.annotation for p in parameters}
    return verb
