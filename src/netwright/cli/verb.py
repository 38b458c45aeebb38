"""The verbs: each is imported when it is called, and parses its arguments in its own way.

A verb is a module with a `command` and an `EXAMPLE`, or with several sub-verbs: `VERBS` with their
names and help, `EXAMPLES`, a function for each, and `DEFAULT` for what is not the name of one.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from netwright.cli.output import say
from netwright.errors import unknown

SETTINGS = {"help_option_names": ["-h", "--help"]}
HELP = ("-h", "--help")
ADVANCED = "Advanced options"
NETWORK = "Network options"
BOUNDS = re.compile(r"; (\d+<=)?x[<>]=\d+(?=\])| +\[(\d+<=)?x[<>]=\d+\]")
"""What typer adds to the help of a number; a number out of bounds gets a message of its own."""
VERBS = {
    "run": "Run a machine on a network, or as a machine.",
    "compile": "Show what the network of a machine looks like; save it.",
    "verify": "Compare networks with their machine at every step.",
    "certify": "Prove a network right for all inputs and all time.",
    "ablate": "Leave out each part in turn, and see what breaks.",
    "audit": "Is this file or folder what it says?",
    "campaign": "Run, verify or certify very many machines.",
    "parse": "Read a run back from a language model's text.",
    "claims": "Check the paper's statements by experiment.",
    "precision": "See where floats and softmax first go wrong.",
    "export": "Write it for numpy, ONNX, PyTorch, or as a GPT-2.",
    "explore": "See it run, in the browser or as one HTML file.",
    "site": "Write the gallery, page and walk as a static site.",
    "draw": "Draw states, runs and attention as SVG or PNG.",
    "show": "Show a machine's rules, or its run as a diagram.",
    "machines": "List the machines of the library.",
    "convert": "Write a machine in another format.",
    "bench": "Measure networks and simulators.",
    "help": "Explain a verb, or the networks and their options.",
}
"""What `netwright --help` says of each; `netwright VERB --help` says more."""
FORMER = {"decode": "parse"}
"""Former names of verbs, which still work and say so."""


class Group(TyperGroup):
    """Verbs by name, with a sentence on each; none is made before it is called."""

    verbs: Mapping[str, str] = {}  # a subclass or an instance sets its own

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of a first visit."""
        return list(self.verbs)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List what each is for."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.verbs.items()))

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Their names for the shell."""
        # The only home it has; `typer.core` takes it from there too.
        from typer._click.shell_completion import CompletionItem

        found = [
            CompletionItem(name, help=help_text)
            for name, help_text in self.verbs.items()
            if name.startswith(incomplete)
        ]
        return [*found, *TyperCommand.shell_complete(self, ctx, incomplete)]


class Verbs(Group):
    """All verbs of netwright."""

    verbs = VERBS
    arguments: Sequence[str] | None = None
    """Those of the call; None while the shell completes."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb, or a group of sub-verbs, from the module of its name."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"netwright.cli.{cmd_name}")
        if hasattr(module, "EXAMPLES"):
            return SubVerbs(cmd_name, module, self.arguments)
        return made(module, cmd_name, module.command, module.EXAMPLE, self.arguments)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that comes first; fail with what a misspelt one may mean."""
        if args[0] in FORMER:
            former, args = args[0], [FORMER[args[0]], *args[1:]]
            say(f"netwright: {former} is called {args[0]} now", err=True)
        if args[0] not in VERBS and not ctx.resilient_parsing:
            ctx.fail(unknown("command", args[0], list(VERBS)))
        self.arguments = None if ctx.resilient_parsing else tuple(args[1:])
        return super().resolve_command(ctx, args)


class SubVerbs(Group):
    """A verb that has verbs of its own; what does not begin with one is for the default."""

    def __init__(self, name: str, module: Any, arguments: Sequence[str] | None) -> None:
        super().__init__(
            name=name,
            help=module.HELP,
            epilog=module.EXAMPLE,
            context_settings=SETTINGS,
            rich_markup_mode=None,
            subcommand_metavar="|".join(module.VERBS) + " …",
        )
        self.module, self.arguments, self.verbs = module, arguments, module.VERBS

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default first where none is named; fail for what may be a misspelt one."""
        if (not args or args[0] not in (*self.verbs, *HELP)) and not ctx.resilient_parsing:
            close = get_close_matches(args[0], self.verbs, 1, 0.7) if args else []
            if close and not Path(args[0]).exists():
                ctx.fail(unknown("command", args[0], list(self.verbs)))
            args = [self.module.DEFAULT, *args]
        return super().parse_args(ctx, args)

    def verbs_with(self, option: str) -> list[str]:
        """The sub-verbs that have an option."""
        found = ((name, self.get_command(None, name)) for name in self.verbs)
        return [name for name, verb in found if any(option in each.opts for each in verb.params)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A sub-verb, from the function of its name."""
        if cmd_name not in self.verbs:
            return None
        example = self.module.EXAMPLES.get(cmd_name, self.module.EXAMPLE)
        function = getattr(self.module, cmd_name)
        return made(self.module, cmd_name, function, example, self.arguments)


def made(
    module: Any, name: str, function: Any, example: str, arguments: Sequence[str] | None
) -> "Verb":
    """A verb from its function.

    The options of kinds are made only if the arguments have some that are not the verb's own, as
    making them loads all kinds; they are made where there are no arguments, for completion.
    """
    if not hasattr(function, "has_kind_options"):
        return _verb(module, name, function, example)
    own = _verb(module, name, function(False), example)
    known = {option for param in own.params for option in (*param.opts, *param.secondary_opts)}
    given = [each.partition("=")[0] for each in arguments or () if each.startswith("-")]
    if arguments is not None and all(each in known or each in ("--", *HELP) for each in given):
        own.has_network_options = True
        return own
    return _verb(module, name, function(True), example)


def _verb(module: Any, name: str, function: Any, example: str) -> "Verb":
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=SETTINGS)
    alone.command(name, epilog=example, cls=Verb)(function)
    found = typer.main.get_command(alone)
    assert isinstance(found, Verb)
    found.bare = getattr(module, "BARE", {})
    return found


class Verb(TyperCommand):
    """A command for which bbchallenge text is never an option, though it may begin with `---`."""

    bare: Mapping[str, Sequence[str]] = {}  # a verb sets its own
    """Options that may be given without a value, with the values that they have."""
    has_network_options = False
    """Whether it also takes the options of kinds, which its help does not list."""

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

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List arguments, then options by panel; of the options of kinds, where they are."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                record = (record[0], BOUNDS.sub("", record[1]))
                panel = getattr(param, "rich_help_panel", None) or "Options"
                if param.param_type_name == "argument":
                    panel, record = "Arguments", (param.metavar or record[0], record[1])
                panels.setdefault(panel, []).append(record)
        if self.has_network_options:
            panels[NETWORK] = [("--score, --base, …", "See: netwright help networks")]
        for panel in ("Arguments", "Options", NETWORK, ADVANCED):
            if panel in panels:
                with formatter.section(panel):
                    formatter.write_dl(panels[panel])

    def takes_input(self) -> bool:
        """Whether the verb has an INPUT, which may begin with a dash after `--`."""
        return any("INPUT" in (param.metavar or "") for param in self.params)
