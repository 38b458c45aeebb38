"""Real machines that nobody here wrote; they lie beside the project, never inside it."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from netwright.errors import FormatWarning
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "corpora"
needs_corpora = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the corpora are not at ../shared/corpora"
)
OTHERS = (
    "oibra_jflap/test_tm.jff",
    "automata_lib/test_machines.json:dtm1",
    "automata_lib/test_machines.json:dtm2",
)
"""Machines without a recorded run, all of them over 0 and 1."""


def table(name: str) -> Any:
    """A JSON file of the corpora; nothing where they are not there."""
    path = FOLDER / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def load(name: str) -> TuringMachine:
    """A machine by its path in the corpora, or by bbchallenge text."""
    inside = (FOLDER / name.partition(":")[0]).exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)  # a head's mark, a start state by guess
        return load_machine(FOLDER / name if inside else name)


def inputs(machine: TuringMachine) -> list[tuple[str, ...]]:
    """Words to run a machine on: its default input, and two of 0 and 1 if it has none."""
    if machine.default_input or not {"0", "1"} <= set(machine.symbols) - {machine.blank}:
        return [machine.default_input]
    return [(), tuple("0011"), tuple("001")]


def short_runs(longest: int) -> list[str]:
    """The machines of the corpora that finish within so many steps."""
    runs = table("expected_runs.json").get("runs", {})
    beavers = table("busy_beavers.json").get("machines", [])
    return [
        *(name for name, each in runs.items() if each["steps"] <= longest),
        *(beaver["machine"] for beaver in beavers if beaver["steps"] <= longest),
        *(OTHERS if runs else ()),
    ]
