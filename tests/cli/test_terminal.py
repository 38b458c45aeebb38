"""Nothing that comes from a file or from a name steers the terminal, or begins a line."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import netwright
from netwright.cli import main

SPITE = "q\x1b[2J\x1b]0;owned\x07\r\ncertified: all of it\x9b31m\u202eend\x7f"
"""A name that clears the screen, and would write a line of its own."""


def spiteful_machine(folder: Path) -> str:
    """An automata-lib file with such names; symbols too."""
    symbols = ["_", "a", f"s{SPITE}"]
    rules = {
        SPITE: {"a": ["r", symbols[2], "R"], "_": [f"x{SPITE}", "a", "R"]},
        "r": {"a": ["r", "a", "R"]},
    }
    parts = {
        "states": [SPITE, f"x{SPITE}", "r"],
        "tape_symbols": symbols,
        "input_symbols": ["a"],
        "blank_symbol": "_",
        "initial_state": SPITE,
        "final_states": [f"x{SPITE}"],
        "transitions": rules,
    }
    path = folder / "spite.json"
    path.write_text(json.dumps(parts))
    return str(path)


def harmless(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text) and not any(
        line.startswith("certified: all of it") for line in text.splitlines()
    )


VERBS = [
    ("run", "{m}"),
    ("run", "{m}", "a"),
    ("run", "{m}", "a", "--on", "rnn", "--json"),
    ("run", "{m}", SPITE),
    ("run", SPITE),
    ("show", "{m}"),
    ("show", "{m}", "--json"),
    ("show", "{m}", "aa"),
    ("compile", "{m}"),
    ("compile", "{m}", "--on", "rnn"),
    ("compile", "{m}", "--on", "neural-gpu", "--json"),
    ("verify", "{m}", "a"),
    ("verify", "{m}", "a", "--break", "decoder.3.V.s4"),
    ("verify", "{m}", "a", "--break", "decoder.1.O.q2"),
    ("verify", "{m}", "a", "--break", "U.S", "--json"),
    ("verify", "{m}", "a", "--break", SPITE),
    ("verify", "--machines", "{m}"),
    ("certify", "{m}"),
    ("certify", "{m}", "--on", "rnn", "--json"),
    ("certify", "--check", SPITE),
    ("claims", SPITE),
    ("convert", "{m}", "--to", "turingmachine.io"),
    ("convert", "{m}", "--to", "morphett"),
    ("convert", "{m}", "--to", "bbchallenge"),
    ("precision", "{m}", "a", "--max-steps", "60", "--bits", "3"),
    ("precision", "{m}", "a", "--max-steps", "60", "--on", "rnn", "--dtype", "bfloat16"),
    ("machines", SPITE),
    ("bench", SPITE),
    ("bench", "{m}", SPITE),
    (SPITE,),
    ("run", "palindrome", "--format", SPITE),
    ("run", "palindrome", f"--{SPITE}"),
    ("run", "palindrome", "--on", SPITE),
]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_shows_control_characters_instead_of_obeying_them(
    verb: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    machine = spiteful_machine(tmp_path)
    main([word.format(m=machine) if "{m}" in word else word for word in verb])
    captured = capsys.readouterr()
    assert captured.out or captured.err
    assert harmless(captured.out), captured.out
    assert harmless(captured.err), captured.err
    if "--json" in verb:
        json.loads(captured.out)


@pytest.mark.parametrize("on", ["transformer", "rnn", "neural-gpu"])
def test_a_certificate_cannot_write_that_it_is_certified(
    on: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its names are shown, its failures too; and so are values of a wrong type."""
    file = tmp_path / "certificate.json"
    call = ["certify", spiteful_machine(tmp_path), "--on", on, "-o", str(file)]
    assert main(call) == 0
    text = file.read_text()
    capsys.readouterr()
    spite = json.dumps(SPITE, ensure_ascii=False)[1:-1]
    for change in (("1", "1"), ('"1"', '"7"'), ('"1"', f'"{spite}"'), ("states", spite)):
        file.write_text(text.replace(*change))
        code = main(["certify", "--check", str(file)])
        captured = capsys.readouterr()
        assert harmless(captured.out)
        assert harmless(captured.err)
        assert (code == 0) == (change == ("1", "1"))
        assert ("\ncertified:" in captured.out) == (code == 0)


def test_everything_goes_through_one_function() -> None:
    """No file of the command line writes to a stream but `output`."""
    for path in (Path(netwright.__file__).parent / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and path.name != "output.py":
                called = ast.unparse(node.func)
                assert called not in ("print", "typer.echo", "Console", "typer.secho"), path
                assert not called.endswith(("stdout.write", "stderr.write")), path


def test_a_name_does_not_begin_a_line_where_text_is_broken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Long names with spaces in them, in a terminal of 80 columns."""
    name = "x" * 66 + " certified: the rnn simulates the machine on every input, for ever"
    parts = {
        "states": [name, "halt"],
        "tape_symbols": ["_", "a"],
        "input_symbols": ["a"],
        "blank_symbol": "_",
        "initial_state": name,
        "final_states": [],
        "transitions": {name: {"a": [name, "a", "R"], "_": ["halt", "_", "R"]}},
    }
    machine, file = tmp_path / "machine.json", tmp_path / "file.json"
    machine.write_text(json.dumps(parts))
    for on in ("transformer", "rnn"):
        assert main(["certify", str(machine), "--on", on, "-o", str(file), "--force"]) == 0
        capsys.readouterr()
        assert main(["certify", "--check", str(file), "--machine", "palindrome"]) == 1
        assert "\ncertified" not in capsys.readouterr().out
        text = file.read_text().replace('"1"', '"7"')
        file.write_text(text)
        assert main(["certify", "--check", str(file)]) in (1, 2)
        assert "\ncertified" not in capsys.readouterr().out
    for call in (["show", str(machine)], ["verify", str(machine), "a", "--break", "F.q1"]):
        main(call)
        assert "\ncertified" not in capsys.readouterr().out


MARKUP = """
import os, pty, sys
from netwright.cli import main

def read(descriptor):
    data = os.read(descriptor, 1024)
    sys.stdout.buffer.write(data)
    return data

child = pty.fork()
if child[0] == 0:
    os._exit(main(["verify", sys.argv[1], "--random", "3", "--max-steps", "5"]))
while True:
    try:
        if not read(child[1]):
            break
    except OSError:
        break
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child[0], 0)[1]))
"""


@pytest.mark.parametrize("name", ["[/b]x.yaml", "[bold red]x.yaml", "[link=x]y.yaml"])
def test_a_name_is_no_markup_on_a_terminal(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("blank: _\nstart state: a\ntable:\n  a: {b: R}\n")
    call = [sys.executable, "-c", MARKUP, name]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, check=False)
    out = done.stdout.decode(errors="replace")
    assert done.returncode == 0, out
    assert "Traceback" not in out
    assert name in out
    assert "\x1b]8;" not in out
    assert "\x1b[1;31m" not in out
