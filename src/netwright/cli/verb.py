"""The verbs: each is imported when it is called, and reads its arguments in its own way."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from netwright.cli.output import say
from netwright.errors import unknown

SETTINGS = {"help_option_names": ["-h", "--help"]}
VERBS = {
    "run": "Run a machine on a network, or as a machine.",
    "compile": "Show what the network of a machine looks like; save it.",
    "verify": "Compare networks with their machine at every step.",
    "certify": "Prove a network right for all inputs and all time.",
    "audit": "Is this file or folder what it says?",
    "campaign": "Run, verify or certify very many machines.",
    "parse": "Read a run back from a language model's text.",
    "claims": "Check the paper's statements by experiment.",
    "precision": "See where floats and softmax first go wrong.",
    "export": "Write it for numpy, ONNX, PyTorch, or as a GPT-2.",
    "explore": "See it run, in the browser or as one HTML file.",
    "show": "Show a machine's rules, or its run as a diagram.",
    "machines": "List the machines of the library.",
    "convert": "Write a machine in another format.",
    "bench": "Measure networks and simulators.",
}
"""What `netwright --help` says of each; `netwright VERB --help` says more."""
FORMER = {"decode": "parse"}
"""Former names of verbs, which still work and say so."""


class Verbs(TyperGroup):
    """All verbs, without importing any of them before it is called."""

    is_called = False
    arguments: Sequence[str] = ()

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of a first visit."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb, from the module of its name.

        The options of kinds are made for it if they may be needed: for what is no option of its
        own, such as `--help`. To make them loads all kinds.
        """
        if cmd_name not in VERBS:
            return None
        module = import_module(f"netwright.cli.{cmd_name}")
        if not hasattr(module.command, "has_kind_options"):
            return _made(module, cmd_name, module.command)
        own = _made(module, cmd_name, module.command(False))
        known = {name for param in own.params for name in (*param.opts, *param.secondary_opts)}
        given = [each.partition("=")[0] for each in self.arguments if each.startswith("-")]
        if self.is_called and all(name in known or name == "--" for name in given):
            return own
        return _made(module, cmd_name, module.command(True))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that comes first, or what it may have meant to be."""
        if args[0] in FORMER:
            former, args = args[0], [FORMER[args[0]], *args[1:]]
            say(f"netwright: {former} is called {args[0]} now", err=True)
        if args[0] not in VERBS and not ctx.resilient_parsing:
            ctx.fail(unknown("command", args[0], list(VERBS)))
        self.is_called, self.arguments = not ctx.resilient_parsing, tuple(args[1:])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """What each is for."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Their names for the shell."""
        # The only home it has; `typer.core` takes it from there too.
        from typer._click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=help_text)
            for name, help_text in VERBS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *TyperCommand.shell_complete(self, ctx, incomplete)]


def _made(module: Any, name: str, command: Any) -> "Verb":
    """A verb from its function."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
    alone.command(name, epilog=module.EXAMPLE, cls=Verb)(command)
    found = typer.main.get_command(alone)
    assert isinstance(found, Verb)
    found.bare = getattr(module, "BARE", {})
    return found


class Verb(TyperCommand):
    """A command for which bbchallenge text is never an option, though it may begin with `---`."""

    bare: Mapping[str, Sequence[str]] = {}  # a verb sets its own
    """Options that may stand without a value, with those that they have."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hide such texts from the parser, which takes all that begins with `-` for options."""
        from netwright.machine.formats import bbchallenge

        args = [
            part
            for argument, following in zip(args, [*args[1:], ""], strict=False)
            for part in (
                [argument, ""]
                if argument in self.bare and following not in self.bare[argument]
                else [argument]
            )
        ]
        end = args.index("--") if "--" in args else len(args)
        hidden = {
            f"\0{place}": argument
            for place, argument in enumerate(args[:end])
            if argument.startswith("-") and bbchallenge.is_text(argument)
        }
        masks = {argument: mask for mask, argument in hidden.items()}
        rest = super().parse_args(
            ctx, [*(masks.get(each, each) for each in args[:end]), *args[end:]]
        )
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = hidden.get(value, value)
            elif isinstance(value, list):
                ctx.params[name] = [hidden.get(each, each) for each in value]
        return rest

    def takes_input(self) -> bool:
        """Whether the verb has an INPUT, which may begin with a dash behind `--`."""
        return any("INPUT" in (param.metavar or "") for param in self.params)
