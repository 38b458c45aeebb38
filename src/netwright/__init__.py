"""netwright: Turing machines in, exact neural networks out.

>>> import netwright
>>> machine = netwright.load_machine("binary-increment")
>>> run = netwright.simulate(machine, "1011")
>>> run.outcome.value, run.steps, "".join(run.tape.cells)
('halted', 8, '1100')
"""

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
