"""A machine's rules as a table: for `show`, and for certificates, which say whose they are."""

from itertools import islice

from netwright.cli.output import console, listed, print_indented, visible
from netwright.errors import FormatError
from netwright.machine.formats import write_text
from netwright.machine.turing_machine import TuringMachine
from netwright.text import counted, shortened

MOST_RULES = 400


def halting_only(machine: TuringMachine) -> list[str]:
    """The states in which the machine halts without accepting."""
    return [state for state in machine.halting_states if state not in machine.accepting]


def bbchallenge_text(machine: TuringMachine) -> str | None:
    """The machine on one line; None if it does not fit into that format."""
    try:
        return write_text(machine, "bbchallenge").strip()
    except FormatError:
        return None


def print_rules(machine: TuringMachine) -> None:
    """What the machine is, and its rules: so many that somebody may still read them."""
    from rich.table import Table
    from rich.text import Text

    terminal = console()
    room = terminal.width - len("accepting  ")
    blank = f"  (blank: {visible(machine.blank)})"
    counts = f"{counted(len(machine.states), 'state')}, {counted(len(machine.symbols), 'symbol')}"
    facts = [
        f"{counts}, {counted(len(machine.delta), 'rule')}; starts in {visible(machine.start)}",
        f"symbols    {listed(machine.symbols, room - len(blank))}{blank}",
        f"accepting  {listed(sorted(machine.accepting), room)}",
        f"halting    {listed(halting_only(machine), room)}",
        f"input      {listed(machine.default_input, room, '')}",
    ]
    shown = [shortened(fact, terminal.width) for fact in facts if len(fact.split()) > 1]
    if machine.description:
        print_indented(terminal, visible(machine.description))
        terminal.print()
    table = Table("state", "reads", "writes", "moves", "goes to", box=None, header_style="bold")
    before = ""
    for (state, symbol), (target, write, move) in islice(machine.delta.items(), MOST_RULES):
        names = ("" if state == before else state, symbol, write, move.value, target)
        table.add_row(*(Text(visible(name)) for name in names))
        before = state
    terminal.print(Text("\n".join([*shown, ""])))
    terminal.print(table)
    if len(machine.delta) > MOST_RULES:
        more = counted(len(machine.delta) - MOST_RULES, "more rule")
        terminal.print(f"… and {more}; --json prints them all")
