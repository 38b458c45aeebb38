"""How a verb's arguments are read: machines that begin with dashes are machines."""

from typing import Any

from typer.core import TyperCommand

from netwright.machine.formats import bbchallenge


class Verb(TyperCommand):
    """A command for which bbchallenge text is never an option, though it may begin with `---`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hide such texts from the parser, which takes all that begins with `-` for options."""
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
