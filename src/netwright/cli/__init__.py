"""The command line: one thin file per verb.

Exit codes: 0 accepted or halted (or the work is done), 1 rejected, 3 undecided, 2 bad input or
usage with one message on standard error, 130 after Ctrl-C.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper

import typer
from typer.exceptions import TyperException

from netwright.cli import convert, machines, run, show
from netwright.errors import FormatWarning, NetwrightError

BAD_INPUT = 2

app = typer.Typer(
    name="netwright",
    help="Turing machines in, exact neural networks out.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (run, show, machines, convert):
    app.command(verb.__name__.rpartition(".")[2], epilog=verb.EXAMPLE)(verb.command)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"netwright {version_of('netwright')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", FormatWarning)
        warnings.showwarning = _show_warning
        try:
            code = app(arguments, standalone_mode=False)
        except TyperException as error:
            context = getattr(error, "ctx", None)
            help_call = f"{context.command_path if context else 'netwright'} --help"
            typer.echo(f"netwright: {error.format_message()} ({help_call})", err=True)
            return BAD_INPUT
        except NetwrightError as error:
            typer.echo(f"netwright: {error}", err=True)
            return BAD_INPUT
        except (BrokenPipeError, SystemExit):
            # Whoever reads our output has seen enough; typer makes of it a SystemExit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (typer.Abort, KeyboardInterrupt):
            typer.echo("netwright: interrupted", err=True)
            return run.INTERRUPTED
    return code if isinstance(code, int) else 0


def script() -> None:
    """The console script."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(main())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    typer.echo(f"netwright: warning: {message}", err=True)
