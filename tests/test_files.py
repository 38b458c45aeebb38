"""Files are read safely and written atomically."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from netwright.cli import main
from netwright.errors import FormatError, OutputError
from netwright.files import locked, read_file, write_whole


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 2
    return capsys.readouterr().err


VERBS = [
    ("run", "{}"),
    ("show", "{}"),
    ("compile", "{}"),
    ("certify", "{}"),
    ("certify", "--check", "{}"),
    ("verify", "{}"),
    ("verify", "--machines", "{}"),
    ("precision", "{}"),
    ("convert", "{}", "--to", "morphett"),
    ("run", "{}:3"),
]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_regular_file_is_refused(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Reading would wait for ever on a pipe without a writer, and never end on a device."""
    os.mkfifo(tmp_path / "pipe")
    for place, kind in ((tmp_path / "pipe", "a pipe"), ("/dev/zero", "a device")):
        message = complaint(capsys, *(word.format(place) for word in verb))
        assert f"{place} is {kind}; expected a file with a " in message
    assert f"{tmp_path} is a directory" in complaint(capsys, *(w.format(tmp_path) for w in verb))


def test_a_checkpoint_is_a_regular_file_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", "/dev/zero", tmp_path):
        call = ("run", "copy", "--resume", str(place), "--checkpoint", str(tmp_path / "new"))
        assert re.search(r" is a (pipe|device|directory)", complaint(capsys, *call))
        assert "not a regular file" in complaint(capsys, "run", "copy", "--resume", str(place))


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 101)
    assert len(read_file(file, 101, "thing")) == 101
    with pytest.raises(FormatError, match="has 101 bytes; a file with a thing has at most 100"):
        read_file(file, 100, "thing")
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_file(tmp_path / "none", 100, "thing")
    with pytest.raises(FormatError, match="no file can have such a name"):
        read_file(Path("a\0b"), 100, "thing")


KILLED = """
import os, signal, sys
from pathlib import Path
import netwright.files as files
files.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(Path(sys.argv[1]), b"new")
"""


def test_what_a_killed_write_left_behind_is_removed_by_the_next(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("old")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
        assert done.returncode == -9
    assert file.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2  # the second removed what the first had left
    write_whole(other, b"x")
    assert len(list(tmp_path.iterdir())) == 3  # and this is another place
    write_whole(file, b"new")
    assert sorted(tmp_path.iterdir()) == [file, other]
    assert file.read_text() == "new"


def test_a_file_that_appears_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_whole(file, b"one", fresh=True)
    with pytest.raises(OutputError, match="exists by now; not overwritten"):
        write_whole(file, b"two", fresh=True)
    assert file.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [file]


def test_a_lock_is_for_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    link = tmp_path / "link"
    link.symlink_to(file)
    with locked(file), pytest.raises(OutputError, match="another run keeps"), locked(link):
        pass
    with locked(link):
        pass
    assert list(tmp_path.iterdir()) == [link]
