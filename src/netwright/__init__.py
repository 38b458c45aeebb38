"""netwright: Turing machines in, exact neural networks out.

>>> import netwright
>>> machine = netwright.load_machine("binary-increment")
>>> run = netwright.simulate(machine, "1011")
>>> run.outcome.value, run.steps, "".join(run.tape.cells)
('halted', 8, '1100')

A name is imported when it is first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netwright.errors import FormatWarning, NetwrightError
    from netwright.machine.configuration import Configuration, Tape
    from netwright.machine.formats import write_text
    from netwright.machine.library import library_names
    from netwright.machine.load import load_machine
    from netwright.machine.simulate import Engine, Outcome, Run, configurations, simulate
    from netwright.machine.turing_machine import Action, Move, TuringMachine

__all__ = [
    "Action",
    "Configuration",
    "Engine",
    "FormatWarning",
    "Move",
    "NetwrightError",
    "Outcome",
    "Run",
    "Tape",
    "TuringMachine",
    "configurations",
    "library_names",
    "load_machine",
    "simulate",
    "write_text",
]
_HOMES = {
    "errors": ("FormatWarning", "NetwrightError"),
    "machine.configuration": ("Configuration", "Tape"),
    "machine.formats": ("write_text",),
    "machine.library": ("library_names",),
    "machine.load": ("load_machine",),
    "machine.simulate": ("Engine", "Outcome", "Run", "configurations", "simulate"),
    "machine.turing_machine": ("Action", "Move", "TuringMachine"),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
