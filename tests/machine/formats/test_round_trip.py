"""Reading back what was written gives an equal machine, through a file and by recognition."""

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import machines, wild_names

from netwright.errors import FormatError, FormatWarning
from netwright.machine.formats import FORMATS, WRITABLE, write_text
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine

characters = st.characters(exclude_categories=["Cs"])


def written(machine: TuringMachine, format_name: str) -> str | None:
    """The text, or None where the machine does not fit and a message says why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        try:
            return write_text(machine, format_name)
        except FormatError as error:
            reason = str(error)
    assert "does not fit into" in reason
    return None


@pytest.mark.parametrize("format_name", ["turingmachine.io", "morphett"])
@pytest.mark.parametrize("name", library_names())
def test_the_library_is_written_and_read_back(name: str, format_name: str, tmp_path: Path) -> None:
    machine = library_machine(name)
    text = written(machine, format_name)
    if text is None:  # only a machine that uses Morphett's own signs
        assert format_name == "morphett"
        assert "*" in machine.symbols
        return
    path = tmp_path / "machine"
    path.write_text(text, encoding="utf-8")
    assert load_machine(str(path)) == machine


@pytest.mark.parametrize("format_name", WRITABLE)
@given(machine=machines(names=wild_names, symbol_names=characters))
def test_wild_names_come_back_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, format_name: str, machine: TuringMachine
) -> None:
    text = written(machine, format_name)
    if text is not None:
        path = tmp_path_factory.mktemp("wild") / "machine"
        path.write_text(text, encoding="utf-8", newline="")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FormatWarning)  # of a start that has no rules
            assert load_machine(str(path), format_name=format_name) == machine


@pytest.mark.parametrize("format_name", ["turingmachine.io", "morphett"])
@given(machine=machines())
def test_plain_names_always_fit(format_name: str, machine: TuringMachine) -> None:
    text = written(machine, format_name)
    assert text is not None or not machine.delta


def test_a_format_that_is_only_read_cannot_be_written() -> None:
    with pytest.raises(FormatError, match="netwright reads jflap and does not write it"):
        write_text(library_machine("copy"), "jflap")
    with pytest.raises(FormatError, match="unknown format 'punched cards'; there are jflap"):
        write_text(library_machine("copy"), "punched cards")


def test_every_library_text_is_recognised_as_what_it_is() -> None:
    for name in library_names():
        for format_name in WRITABLE:
            text = written(library_machine(name), format_name)
            if text is not None:
                recognised = next(f for f in FORMATS.values() if f.recognises(text))
                assert recognised.name == format_name
