"""The command line: one thin file per verb.

Exit codes: 0 accepted or halted (or the work is done), 1 rejected, 3 undecided, 2 bad input or
usage with one message on standard error, 130 after Ctrl-C, 143 after SIGTERM.
"""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from types import FrameType
from typing import Any

import typer
from typer.exceptions import TyperException

from netwright.cli.output import say
from netwright.cli.verb import SETTINGS, SubVerbs, Verb, Verbs
from netwright.errors import FormatWarning, NetwrightError, StoppedError

BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143
LONGEST = 20  # lines of a message

app = typer.Typer(
    name="netwright",
    help="Turing machines in, exact neural networks out.",
    cls=Verbs,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    if version:
        from importlib.metadata import version as version_of

        say(f"netwright {version_of('netwright')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", FormatWarning)
        warnings.showwarning = _show_warning
        try:
            code = app(arguments, prog_name="netwright", standalone_mode=False)
            if sys.stdout is not None:
                sys.stdout.flush()
        except TyperException as error:
            _complain(_usage_message(error))
            return BAD_INPUT
        except StoppedError as error:
            _complain(str(error))
            return INTERRUPTED
        except NetwrightError as error:
            _complain(str(error))
            return BAD_INPUT
        except (BrokenPipeError, SystemExit):
            # Whoever reads our output has seen enough; typer makes of it a SystemExit.
            _silence_output()
            return 0
        except (typer.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except MemoryError:
            _complain("not enough memory; a smaller --max-steps needs less")
            return BAD_INPUT
        except OSError as error:
            _complain(f"the output cannot be written: {error.strerror}")
            _silence_output()
            return BAD_INPUT
    if code == INTERRUPTED:  # also typer's answer to a Ctrl-C
        _complain("interrupted")
    return code if isinstance(code, int) else 0


def script() -> int:
    """The console script: `main`, and SIGTERM is heard like Ctrl-C."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    terminated = False

    def terminate(_number: int, _frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, terminate)
    code = main()
    return TERMINATED if terminated and code == INTERRUPTED else code


def _usage_message(error: TyperException) -> str:
    """What is wrong with a call, and where to read how it is right."""
    context: Any = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    message = error.format_message()
    command = getattr(context, "command", None)
    group = getattr(getattr(context, "parent", None), "command", None)
    if option and isinstance(group, SubVerbs) and (others := group.verbs_with(option)):
        message = f"{option} belongs to: {context.parent.command_path} {' or '.join(others)}"
    if option and isinstance(command, Verb) and command.takes_input():
        message += f"; put -- before an INPUT that begins with -, as in: -- {option}"
    return f"{message} ({context.command_path if context else 'netwright'} --help)"


def _silence_output() -> None:
    """Send what is still to be written nowhere, so that leaving does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(message: str) -> None:
    """One message on standard error; its further lines are indented, whatever is in them."""
    first, *others = message.split("\n")
    if len(others) >= LONGEST:
        others = [*others[: LONGEST - 2], f"… and {len(others) - LONGEST + 2} more lines"]
    lines = [first, *(line if line.startswith("  ") else f"  {line}" for line in others)]
    say(f"netwright: {chr(10).join(lines)}", err=True)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _complain(f"warning: {message}")
