"""`netwright machines`: the shipped library."""

from netwright.cli.arguments import AsJson
from netwright.cli.given import word_text
from netwright.cli.output import console, print_json, visible
from netwright.machine.library import library_machine, library_names

EXAMPLE = "Example: netwright machines --json"


def command(as_json: AsJson = False) -> None:
    """List the machines of the library."""
    rows = []
    for name in library_names():
        machine = library_machine(name)
        rows.append(
            {
                "name": name,
                "states": len(machine.states),
                "symbols": len(machine.symbols),
                "rules": len(machine.delta),
                "input": word_text(machine, machine.default_input),
                "description": machine.description,
            }
        )
    if as_json:
        print_json({"machines": rows})
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("machine", "Q×Σ", "input", "what it does", box=None, header_style="bold")
    table.columns[0].no_wrap = True
    table.columns[1].no_wrap = True
    for row in rows:
        word = "".join(map(visible, str(row["input"])))
        table.add_row(
            str(row["name"]),
            f"{row['states']}×{row['symbols']}",
            Text(word if len(word) <= 12 else word[:11] + "…"),
            Text(str(row["description"])),
        )
    console().print(table)
