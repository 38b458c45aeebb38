"""From what a user types to a machine, and what they are told when it is none."""

import os
from pathlib import Path

import pytest

from netwright.errors import FormatError, FormatWarning
from netwright.machine.load import load_machine, machine_of_text

MORPHETT = "0 a b r 0\n0 _ _ * halt\n"


def test_a_name_a_text_and_a_file(tmp_path: Path) -> None:
    assert load_machine("palindrome").name == "palindrome"
    assert load_machine("1RB1LB_1LA1RZ") == load_machine("busy-beaver-2")
    (tmp_path / "machine.txt").write_text(MORPHETT)
    assert load_machine(str(tmp_path / "machine.txt")).start == "0"


def test_a_text_longer_than_a_file_name_may_be() -> None:
    text = "_".join(["1RA1LA1RB1LB"] * 26)
    assert len(load_machine(text).states) == 26


def test_a_part_of_a_file_with_a_colon_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "list:of:machines"
    path.write_text("1RZ---\n1RB1LB_1LA1RZ\n")
    assert load_machine(f"{path}:1") == load_machine("busy-beaver-2")


def test_a_part_of_a_file_with_one_machine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "machine.txt"
    path.write_text(MORPHETT)
    with pytest.raises(FormatError, match="holds one machine; leave out ':nonsense'"):
        load_machine(f"{path}:nonsense")


def test_a_path_object_will_do(tmp_path: Path) -> None:
    path = tmp_path / "machine.txt"
    path.write_text(MORPHETT)
    assert load_machine(path) == load_machine(str(path))


def test_windows_files_and_old_encodings(tmp_path: Path) -> None:
    path = tmp_path / "machine.txt"
    path.write_bytes(b"\xef\xbb\xbf" + MORPHETT.replace("\n", "\r\n").encode())
    assert load_machine(str(path)).start == "0"
    path.write_bytes("0 a b r arrêt\n".encode("latin-1"))
    with pytest.warns(FormatWarning, match=r"not UTF-8 \(byte 11\), read as Latin-1"):
        assert "arrêt" in load_machine(str(path)).states


def test_what_is_no_machine_is_explained(tmp_path: Path) -> None:
    def message(content: bytes, format_name: str | None = None) -> str:
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r".") as caught:
            load_machine(str(path), format_name=format_name)
        return str(caught.value)

    assert "is empty" in message(b"")
    assert "is empty" in message(b" \n\n")
    assert "is a binary file" in message(bytes(range(256)))
    assert "is a binary file" in message(b"\x7fELF\0\0\0")
    assert "has at most 10,000,000" in message(b"0 a b r 0\n" * 1_000_001)
    assert "not in a format netwright knows" in message(b"Dear Alan,\nhow are you?")
    assert "is not a Morphett machine" in message(b"Dear Alan,\nhow are you?", "morphett")
    assert "unknown format 'cards'" in message(b"x", "cards")
    assert "does not have the header" in message(b"x" * 60, "bbchallenge-seeds")


def test_a_yaml_document_may_begin_with_dashes(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text("---\nblank: _\nstart state: a\ntable:\n  a: {_: R}\n")
    assert load_machine(path).start == "a"


def test_many_empty_lines_cost_little(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("\n" * 200_000 + "x")
    with pytest.raises(FormatError, match="not in a format netwright knows"):
        load_machine(path)


def test_a_directory_a_missing_file_and_a_misspelt_name(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a directory; expected a file"):
        load_machine(str(tmp_path))
    with pytest.raises(FormatError, match="is not a file here, not bbchallenge text, and not a"):
        load_machine(str(tmp_path / "missing.yaml"))
    with pytest.raises(FormatError, match=r"did you mean palindrome\?"):
        load_machine("palindrom")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(MORPHETT)
    path.chmod(0)
    with pytest.raises(FormatError, match="cannot be read: Permission denied"):
        load_machine(str(path))


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        load_machine(str(path))


def test_a_file_of_one_line_is_read_as_text() -> None:
    line = (
        '{"states": ["p", "h"], "input_symbols": ["a"], "tape_symbols": ["a", "."], '
        '"initial_state": "p", "blank_symbol": ".", "final_states": ["h"], '
        '"transitions": {"p": {"a": ["p", "a", "R"], ".": ["h", "a", "R"]}}}'
    )
    assert machine_of_text(line) == load_machine(line) == machine_of_text(f"{line}\n")
    assert machine_of_text(line).states == ("p", "h")
