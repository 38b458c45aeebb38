"""Machines as JSON, and back."""

from collections.abc import Mapping
from typing import Any

from netwright.machine.turing_machine import Action, Move, TuringMachine

BEHAVIOUR = ("states", "symbols", "blank", "start", "delta", "accepting")
"""The parts that decide what a machine does; the others are words about it."""


def machine_parts(machine: TuringMachine) -> dict[str, Any]:
    """All parts of a machine as JSON."""
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
    """The parts that decide what a machine does, as JSON."""
    parts = machine_parts(machine)
    return {name: parts[name] for name in BEHAVIOUR}


def machine_of(parts: Mapping[str, Any]) -> TuringMachine:
    """Rebuild a machine from its `machine_parts`."""
    delta = {(q, s): Action(p, w, Move(m)) for q, s, p, w, m in parts["delta"]}
    return TuringMachine(**{**parts, "delta": delta})
