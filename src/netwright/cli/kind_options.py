"""The options of the kinds of network, as options of verbs: made from the kinds' own records."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netwright.cli.arguments import completer
from netwright.cli.verb import NETWORK
from netwright.kind.registry import DEFAULT, MACHINE, SHORT, kinds, modules, read_kind

if TYPE_CHECKING:
    from netwright.kind.record import Option


def on_option(help_text: str, *others: str) -> Any:
    """`--on`: a kind, or one of some others."""
    return typer.Option(
        "--on",
        parser=lambda value: read_kind(value, *others),
        metavar="NETWORK",
        help=f"{help_text}  [default: {DEFAULT}]",
        show_default=False,
        autocompletion=lambda incomplete: completer([*modules(), *SHORT, *others])(incomplete),
    )


OnKind = Annotated[str | None, on_option("The network: transformer, rnn, neural-gpu, ….")]
OnTarget = Annotated[
    str | None,
    on_option("The network: transformer, rnn, neural-gpu, …; or machine.", MACHINE),
]


def _annotations(own: set[str]) -> dict[str, Any]:
    """An annotation for each option that some kind has and the verb itself has not."""
    users: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    for kind in kinds().values():
        for option in kind.options:
            if option.name not in own:
                users.setdefault(option.name, []).append(kind.name)
                options.setdefault(option.name, option)
    found: dict[str, Any] = {}
    for name, option in options.items():
        help_text = f"For {' and '.join(users[name])}: {option.help}"
        if option.is_flag:
            found[name] = Annotated[
                bool, typer.Option(f"--{name}", help=help_text, rich_help_panel=NETWORK)
            ]
            continue
        complete = completer(option.choices) if option.choices else None
        shown = typer.Option(
            f"--{name}",
            metavar=option.metavar or "VALUE",
            help=help_text,
            autocompletion=complete,
            rich_help_panel=NETWORK,
        )
        found[name] = Annotated[str | None, shown]
    return found


def with_kind_options(command: Callable[..., Any]) -> Callable[[bool], Callable[..., Any]]:
    """A verb whose parameter `options` becomes one option for each that some kind has.

    The verb gets those that were given, as a dictionary; the kind reads and refuses them. What
    comes back makes the verb: with all options, which loads all kinds; or with its own alone, where
    no other is given.
    """

    def make(with_all: bool) -> Callable[..., Any]:
        signature = inspect.signature(command)
        own = [p for name, p in signature.parameters.items() if name != "options"]
        known = _annotations({p.name for p in own}) if with_all else {}
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(kind=keyword) for p in own]
        for name, annotation in known.items():
            default = False if annotation.__origin__ is bool else None
            parameters.append(
                inspect.Parameter(name, keyword, default=default, annotation=annotation)
            )

        @wraps(command)
        def verb(**values: Any) -> Any:
            given = {name: values.pop(name) for name in known}
            chosen = {name: value for name, value in given.items() if value not in (None, False)}
            return command(**values, options=chosen)

        verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        verb.__annotations__ = {p.name: p.annotation for p in parameters}
        return verb

    make.__doc__ = command.__doc__
    make.has_kind_options = True  # type: ignore[attr-defined]  # so that the verbs know
    return make
