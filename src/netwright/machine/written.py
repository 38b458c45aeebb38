"""A machine as JSON, and back."""

from collections.abc import Mapping
from typing import Any

from netwright.machine.turing_machine import Action, Move, TuringMachine

BEHAVIOUR = ("states", "symbols", "blank", "start", "delta", "accepting")
"""What a machine is and does; the rest is words about it."""


def machine_parts(machine: TuringMachine) -> dict[str, Any]:
    """A machine as JSON."""
    return {
        "states": list(machine.states),
        "symbols": list(machine.symbols),
        "blank": machine.blank,
        "start": machine.start,
        "delta": [[*key, q, v, move.value] for key, (q, v, move) in machine.delta.items()],
        "accepting": sorted(machine.accepting),
        "default_input": list(machine.default_input),
        "input_symbols": list(machine.input_symbols),
        "name": machine.name,
        "description": machine.description,
    }


def behaviour(machine: TuringMachine) -> dict[str, Any]:
    """What a machine is and does, as JSON."""
    parts = machine_parts(machine)
    return {name: parts[name] for name in BEHAVIOUR}


def machine_of(parts: Mapping[str, Any]) -> TuringMachine:
    """The machine that `machine_parts` describes."""
    delta = {(q, s): Action(p, w, Move(m)) for q, s, p, w, m in parts["delta"]}
    return TuringMachine(**{**parts, "delta": delta})
