"""`netwright help`: a verb, or the networks and their options."""

import textwrap
from typing import Annotated

import typer

from netwright.cli.arguments import completer
from netwright.cli.output import console, say
from netwright.cli.verb import FORMER, VERBS
from netwright.errors import InputError, unknown
from netwright.kind.registry import kinds

NETWORKS = "networks"
EXAMPLE = """\b
Examples:
  netwright help networks
  netwright help campaign show"""


def command(
    context: typer.Context,
    topic: Annotated[
        str,
        typer.Argument(
            metavar="[networks|VERB]",
            help="What to explain.",
            autocompletion=completer([NETWORKS, *VERBS]),
        ),
    ] = NETWORKS,
    inner: Annotated[str | None, typer.Argument(metavar="[VERB]", help="A verb inside it.")] = None,
) -> None:
    """Explain a verb as its --help does; or the networks, with the options of each."""
    if topic == NETWORKS:
        _print_networks()
        return
    topic = FORMER.get(topic, topic)
    if topic not in VERBS:
        raise InputError(unknown("topic", topic, [NETWORKS, *VERBS]))
    parent = context.parent
    assert parent is not None
    verb = parent.command.get_command(parent, topic)  # type: ignore[attr-defined]
    if inner is not None:
        verbs = getattr(verb, "verbs", ())
        if inner not in verbs:
            has = f"it has {', '.join(verbs)}" if verbs else f"say netwright help {topic}"
            raise InputError(f"{topic} has no verb {inner!r}; {has}")
        verb, topic = verb.get_command(parent, inner), f"{topic} {inner}"
    with verb.make_context(topic, ["--help"], parent=parent, resilient_parsing=True) as inside:
        say(verb.get_help(inside))


def _print_networks() -> None:
    """For each kind: what it is called, which statement it is, and its options."""
    width = console().width
    for name, kind in kinds().items():
        say(f"--on {name}: {kind.statement}")
        for option in kind.options:
            default = "" if option.default in (None, False) else f"  [{option.default}]"
            title = f"  --{option.name} {option.metavar}".rstrip()
            words = textwrap.fill(
                f"{option.help}{default}", width, initial_indent=" " * 6, subsequent_indent=" " * 6
            )
            say(f"{title}\n{words}")
