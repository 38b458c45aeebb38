"""Imports point one way: definitions know nothing of constructions, constructions of speed."""

import ast
import subprocess
import sys
from pathlib import Path

import netwright

SOURCE = Path(netwright.__file__).parent
# errors ← exact ← machine, nets ← engine ← runtime, theorems ← following ← verify, precision
# ← networks ← claims, benchmark ← explorer ← cli. A package imports lower ranks only.
RANKS = {
    "errors": 0,
    "files": 1,
    "html": 0,
    "interrupts": 0,
    "text": 0,
    "assembler": 0,
    "jit": 1,
    "exact": 1,
    "machine": 2,
    "nets": 2,
    "theorems": 4,
    "engine": 3,
    "runtime": 4,
    "following": 5,
    "verify": 6,
    "precision": 6,
    "networks": 7,
    "claims": 8,
    "benchmark": 8,
    "export": 8,
    "campaign": 8,
    "auditing": 9,
    "explorer": 9,
    "cli": 10,
    "__init__": 11,
    "__main__": 11,
}


def imported_modules(path: Path) -> list[str]:
    """The modules of netwright that a file imports anywhere, inside functions too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return [module for module in found if module.split(".")[0] == "netwright"]


def violations(importer: str, modules: list[str]) -> list[str]:
    """The imports by a part of the house that do not point downwards."""
    wrong = []
    for module in modules:
        target = [*module.split("."), "__init__"][1]
        if target not in RANKS or (target != importer and RANKS[target] >= RANKS[importer]):
            wrong.append(module)
    return wrong


def test_imports_point_one_way() -> None:
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        assert not violations(part, imported_modules(path)), path


def test_engines_read_weights_and_never_machines() -> None:
    for package in ("engine", "runtime"):
        for path in (SOURCE / package).rglob("*.py"):
            parts = {module.split(".")[1] for module in imported_modules(path)}
            others = {"assembler", "errors", "exact", "html", "nets", "text", "engine", package}
            assert parts <= others, path


def test_a_trace_comes_from_the_network_alone() -> None:
    """It knows machines as types of its answers, and nothing of what is proved of them."""
    types = {
        "netwright.machine.bookmarks.Bookmarks",  # of any run
        "netwright.machine.configuration.Configuration",
        "netwright.machine.simulate.Run",
    }
    for name in ("networks/trace.py", "following/tracing.py", "following/seek.py"):
        modules = set(imported_modules(SOURCE / name)) - types
        parts = {module.split(".")[1] for module in modules}
        assert parts <= {
            "engine",
            "errors",
            "exact",
            "following",
            "html",
            "nets",
            "networks",
            "runtime",
            "text",
        }, name


def test_a_wrong_import_would_be_found() -> None:
    assert violations("machine", ["netwright.cli.run"]) == ["netwright.cli.run"]
    assert violations("machine", ["netwright.nets.rnn"]) == ["netwright.nets.rnn"]
    assert violations("following", ["netwright.theorems.x", "netwright.errors.E"]) == []
    assert violations("runtime", ["netwright.theorems.x"]) == ["netwright.theorems.x"]
    assert violations("cli", ["netwright.load_machine"]) == ["netwright.load_machine"]


def test_the_public_names_are_few_and_there() -> None:
    assert len(netwright.__all__) <= 34
    assert netwright.__all__ == sorted(netwright.__all__)
    assert all(hasattr(netwright, name) for name in netwright.__all__)


LOADED = """
import sys
from netwright.cli import main
main(sys.argv[1:])
print("|".join(name for name in sys.modules if name.startswith("netwright")))
"""


def loaded(*arguments: str) -> set[str]:
    """The modules that a call of the command line loads."""
    call = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split("|"))


def test_what_is_not_named_is_not_loaded() -> None:
    """A machine alone needs nothing of networks, and a kind nothing of other kinds."""
    alone = loaded("run", "palindrome", "abba", "--on", "machine")
    assert len(alone) <= 40
    assert not any("runtime" in name or "theorems" in name for name in alone)
    rnn = loaded("run", "palindrome", "abba", "--on", "rnn")
    assert "netwright.networks.rnn" in rnn
    others = ("networks.transformer", "networks.language_model", "networks.pointer_transformer")
    assert not {f"netwright.{name}" for name in others} & rnn
