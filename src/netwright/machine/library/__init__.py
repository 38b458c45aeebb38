"""The shipped machines: turingmachine.io files in this folder, named by their file names."""

from functools import cache
from importlib.resources import files

from netwright.errors import FormatError
from netwright.machine.formats import turingmachine_io
from netwright.machine.formats.draft import Source
from netwright.machine.turing_machine import TuringMachine


@cache
def library_names() -> tuple[str, ...]:
    """The names of the shipped machines, in alphabetical order."""
    entries = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in entries if name.endswith(".yaml")))


@cache
def library_machine(name: str) -> TuringMachine:
    """Load a shipped machine; raise FormatError for an unknown name.

    >>> library_machine("even-as").description
    'Accepts the words over a and b with an even number of a.'
    """
    if name not in library_names():
        raise FormatError(f"no machine {name!r} in the library: {', '.join(library_names())}")
    text = files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    return turingmachine_io.read(text, Source(name))
