"""`netwright show`: a machine's rules, or its run as a space-time diagram."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netwright.cli.arguments import (
    AsJson,
    FormatName,
    Head,
    Machine,
    MaxSteps,
    Separator,
    load_with_word,
    word_text,
)
from netwright.cli.output import console, print_json, say, visible
from netwright.cli.rules import halting_only, print_rules
from netwright.errors import InputError
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import configurations, first_steps, outcome_of
from netwright.machine.turing_machine import TuringMachine
from netwright.text import counted

if TYPE_CHECKING:
    from rich.text import Text

EXAMPLE = """\b
Examples:
  netwright show palindrome
  netwright show palindrome abba
  netwright show universal-4-6 --run --max-steps 60"""
LONGEST_STATE = 24
MOST_STEPS = 100_000


def command(
    machine: Machine,
    word: Annotated[
        str | None,
        typer.Argument(
            metavar="INPUT",
            help="Show the run on this word, '' for the empty one; none shows the rules.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Show the run on the machine's own default input.")
    ] = False,
    max_steps: MaxSteps = 100,
    head: Head = 0,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Show a machine's rules; with INPUT or --run, its run as a space-time diagram."""
    _, turing, symbols = load_with_word(machine, word, separator, format_name, head)
    if word is None and not run:
        if as_json:
            print_json(_machine_object(machine, turing))
        else:
            print_rules(turing)
        return
    if max_steps > MOST_STEPS:
        raise InputError(
            f"--max-steps is {max_steps:,}, and show prints every step; at most {MOST_STEPS:,} "
            "(netwright run shows where a long run ends)"
        )
    moments = list(first_steps(max_steps, configurations(turing, symbols)))
    if as_json:
        print_json(_run_object(machine, turing, symbols, moments, separator))
    else:
        _print_diagram(turing, moments)
        outcome = outcome_of(turing, moments[-1].state, moments[-1].symbol)
        limit = " (the limit; --max-steps sets it)" if outcome == "undecided" else ""
        say(f"{outcome} after {counted(len(moments) - 1, 'step')}{limit}")


def _machine_object(argument: str, machine: TuringMachine) -> dict[str, Any]:
    return {
        "machine": argument,
        "description": machine.description,
        "digest": machine.digest,
        "states": machine.states,
        "symbols": machine.symbols,
        "blank": machine.blank,
        "start": machine.start,
        "accepting": sorted(machine.accepting),
        "halting": halting_only(machine),
        "input": word_text(machine, machine.default_input),
        "rules": [
            {"state": state, "read": symbol, "write": write, "move": move, "next": target}
            for (state, symbol), (target, write, move) in machine.delta.items()
        ],
    }


def _run_object(
    argument: str,
    machine: TuringMachine,
    word: tuple[str, ...],
    moments: list[Configuration],
    separator: str | None,
) -> dict[str, Any]:
    return {
        "machine": argument,
        "input": word_text(machine, word, separator),
        "outcome": outcome_of(machine, moments[-1].state, moments[-1].symbol).value,
        "steps": len(moments) - 1,
        "configurations": [
            {
                "step": step,
                "state": moment.state,
                "head": moment.head,
                "tape_start": moment.tape.start,
                "tape": word_text(machine, moment.tape.cells, separator),
            }
            for step, moment in enumerate(moments)
        ],
    }


def _print_diagram(machine: TuringMachine, moments: list[Configuration]) -> None:
    """A line a moment: the step, the state, and the tape with the head's cell in brackets.

    Where the tape is wider than the terminal, a window moves along with the head; the head's cell
    is then told by its number, and … marks where the window cuts.
    """
    from rich.text import Text

    terminal = console()
    first, last = _reach(moments)
    steps_width = len(str(len(moments) - 1))
    state_width = min(LONGEST_STATE, max(len(visible(moment.state)) for moment in moments))
    cell_width = max(len(visible(symbol)) for symbol in machine.symbols)
    room = (terminal.width - steps_width - state_width - 6) // (cell_width + 1)
    windowed = last - first + 1 > room
    head_width = max(len(str(first)), len(str(last))) + 2 if windowed else 0
    if windowed:
        room = max(3, room - head_width // (cell_width + 1) - 2)
    left = first
    for step, moment in enumerate(moments):
        if windowed and not left < moment.head < left + room - 1:
            left = moment.head - room // 2
        name = _cut(visible(moment.state), state_width)
        line = Text(f"{step:>{steps_width}}  ", style="dim")
        line.append(f"{name:<{state_width}}  ", style="bold cyan")
        if windowed:
            line.append(f"{moment.head:>{head_width - 2}} …", style="dim")
        right = left + room - 1 if windowed else last
        for cell in _cells(moment, left, right, cell_width):
            line.append_text(cell)
        if windowed:
            line.append("…", style="dim")
        terminal.print(line, no_wrap=True, overflow="crop")


def _reach(moments: list[Configuration]) -> tuple[int, int]:
    """The first and the last cell that the run reads or has written."""
    heads, tapes = [each.head for each in moments], [each.tape for each in moments]
    ends = [tape.start + len(tape.cells) - 1 for tape in tapes]
    return min(*heads, *(tape.start for tape in tapes)), max(*heads, *ends)


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _cells(moment: Configuration, left: int, right: int, width: int) -> Iterator["Text"]:
    """The cells of a line, each with the space or bracket before it; the last with one behind."""
    from rich.text import Text

    start, cells = moment.tape
    for cell in range(left, right + 1):
        inside = 0 <= cell - start < len(cells)
        symbol = cells[cell - start] if inside else moment.blank
        before = "[" if cell == moment.head else "]" if cell == moment.head + 1 else " "
        style = "bold reverse" if cell == moment.head else ""
        yield Text.assemble(before, (f"{visible(symbol):<{width}}", style))
    yield Text("]" if moment.head == right else " ")
