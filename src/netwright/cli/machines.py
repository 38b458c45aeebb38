"""`netwright machines`: the shipped library."""

from netwright.cli.arguments import AsJson, word_text
from netwright.cli.report import Report
from netwright.machine.library import library_machine, library_names

EXAMPLE = "Example: netwright machines --json"


def command(as_json: AsJson = False) -> None:
    """List the machines of the library."""
    found = [library_machine(name) for name in library_names()]
    words = [word_text(machine, machine.default_input) for machine in found]
    report = Report()
    report.facts["machines"] = [
        {
            "name": machine.name,
            "states": len(machine.states),
            "symbols": len(machine.symbols),
            "rules": len(machine.delta),
            "input": word,
            "description": machine.description,
        }
        for machine, word in zip(found, words, strict=True)
    ]
    report.table(
        ("machine", "Q×Σ", "input", "what it does"),
        [
            (
                machine.name,
                f"{len(machine.states)}×{len(machine.symbols)}",
                word if len(word) <= 12 else f"{word[:11]}…",
                machine.description,
            )
            for machine, word in zip(found, words, strict=True)
        ],
        whole=("machine", "Q×Σ"),
    )
    report.show(as_json=as_json)
