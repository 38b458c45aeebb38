"""`netwright show`: a machine's rules, or its run as a space-time diagram."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from netwright import pipeline
from netwright.cli.arguments import AsJson, FormatName, Input, Machine, MaxSteps, Separator
from netwright.cli.output import print_json, visible, word_text
from netwright.machine.configuration import Configuration
from netwright.machine.simulate import configurations, first_steps, outcome_of
from netwright.machine.turing_machine import TuringMachine

EXAMPLE = """\b
Examples:
  netwright show palindrome
  netwright show palindrome abba"""


def command(
    machine: Machine,
    word: Input = None,
    max_steps: MaxSteps = 100,
    separator: Separator = None,
    format_name: FormatName = None,
    as_json: AsJson = False,
) -> None:
    """Show a machine's rules; with INPUT, its run as a space-time diagram."""
    also = () if word is None else tuple(word.split(separator) if separator else word)
    turing = pipeline.load_machine(machine, format_name=format_name, also=also)
    if word is None:
        if as_json:
            print_json(_machine_object(machine, turing))
        else:
            _print_rules(turing)
        return
    symbols = pipeline.read_word(turing, word, separator)
    moments = list(first_steps(max_steps, configurations(turing, symbols)))
    if as_json:
        print_json(_run_object(machine, turing, symbols, moments, separator))
    else:
        _print_diagram(turing, moments)


def _machine_object(argument: str, machine: TuringMachine) -> dict[str, Any]:
    return {
        "machine": argument,
        "description": machine.description,
        "states": machine.states,
        "symbols": machine.symbols,
        "blank": machine.blank,
        "start": machine.start,
        "accepting": sorted(machine.accepting),
        "halting": machine.halting_states,
        "input": machine.default_input,
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


def _print_rules(machine: TuringMachine) -> None:
    console = Console()
    facts = Text()
    if machine.description:
        facts.append(machine.description + "\n\n")
    facts.append(
        f"{len(machine.states)} states, {len(machine.symbols)} symbols, "
        f"{len(machine.delta)} rules; starts in {machine.start}\n"
    )
    facts.append(f"symbols    {' '.join(map(visible, machine.symbols))}")
    facts.append(f"  (blank: {visible(machine.blank)})\n")
    if machine.accepting:
        facts.append(f"accepting  {' '.join(sorted(machine.accepting))}\n")
    if others := [s for s in machine.halting_states if s not in machine.accepting]:
        facts.append(f"halting    {' '.join(others)}\n")
    if machine.default_input:
        facts.append(f"input      {''.join(map(visible, machine.default_input))}\n")
    console.print(facts)
    table = Table("state", "reads", "writes", "moves", "goes to", box=None, header_style="bold")
    before = ""
    for (state, symbol), (target, write, move) in machine.delta.items():
        table.add_row(
            *map(Text, (state if state != before else "", visible(symbol), visible(write))),
            move.value,
            Text(target),
        )
        before = state
    console.print(table)


def _print_diagram(machine: TuringMachine, moments: list[Configuration]) -> None:
    """A line a moment: the step, the state, and the tape with the head's cell in brackets."""
    console = Console()
    steps_width = len(str(len(moments) - 1))
    state_width = min(24, max(len(visible(moment.state)) for moment in moments))
    cell_width = max(len(visible(symbol)) for symbol in machine.symbols)
    room = max(3, (console.width - steps_width - state_width - 6) // (cell_width + 1))
    first = min(min(moment.head, moment.tape.start) for moment in moments)
    last = max(max(m.head, m.tape.start + len(m.tape.cells) - 1) for m in moments)
    for step, moment in enumerate(moments):
        left = first
        if last - first + 1 > room:  # too wide: a window that follows the head
            left = min(max(first, moment.head - room // 2), last - room + 1)
        line = Text(f"{step:>{steps_width}}  ", style="dim")
        name = visible(moment.state)[:state_width]
        line.append(f"{name:<{state_width}}  ", style="bold cyan")
        for cell in _cells(moment, left, min(last, left + room - 1), cell_width):
            line.append_text(cell)
        console.print(line, no_wrap=True, overflow="crop", highlight=False)
    outcome = outcome_of(machine, moments[-1].state, moments[-1].symbol)
    console.print(f"{outcome} after {len(moments) - 1:,} steps", highlight=False)


def _cells(moment: Configuration, left: int, right: int, width: int) -> Iterator[Text]:
    """The cells of a line, each with the space or bracket before it; the last with one behind."""
    start, cells = moment.tape
    for cell in range(left, right + 1):
        inside = 0 <= cell - start < len(cells)
        symbol = cells[cell - start] if inside else moment.blank
        before = "[" if cell == moment.head else "]" if cell == moment.head + 1 else " "
        style = "bold reverse" if cell == moment.head else "dim" if symbol == moment.blank else ""
        yield Text.assemble(before, (f"{visible(symbol):<{width}}", style))
    yield Text("]" if moment.head == right else " ")
