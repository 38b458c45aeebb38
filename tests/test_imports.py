"""Imports point one way: definitions know nothing of constructions, constructions of speed."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import netwright

SOURCE = Path(netwright.__file__).parent
# errors ← exact ← machine, definitions ← engine, constructions ← what follows a machine, readings
# ← certificates, verify, checks, precision ← what a network is ← kinds ← what users hold ← claims,
# export, campaign ← explorer ← cli. A file imports lower ranks only, and files of its own role. The
# first pattern that fits counts. `docs/imports.py` draws it.
ROLES = (
    ("errors, text", "errors|html|text|assembler", 0),
    ("exact", "files|jit|exact/.*", 1),
    ("machine, definitions", "machine/.*|definitions/.*|kind/language_model/definition", 2),
    ("engine/following, readings", "engine/following/.*|kind/[^/]+/(reading|tracing)", 5),
    (
        "engine/transformer, engine/pointers",
        "engine/(pointers|transformer)/.*|engine/attended",
        4,
    ),
    ("engine: stacks, full", "engine/.*|kind/language_model/evaluators", 3),
    (
        "verify, checks, certificates, precision",
        "certificates/.*|verify/.*|precision/.*|kind/[^/]+/checks",
        6,
    ),
    (
        "network: tree, trace, weight, view",
        "network/(tensors|trace|tree|view|weight|without|__init__)",
        6,
    ),
    ("kind", "kind/(__init__|record|registry|decoder)|kind/.+/(kind|parse)", 8),
    ("explorer, audit", "network/audit|explorer/.*", 11),
    ("network", "network/.*", 9),
    ("constructions, statements", "kind/.*|statements/.*", 4),
    (
        "claims, export, campaign, drawing",
        "claims/.*|benchmark|drawing/.*|export/.*|campaign/.*",
        10,
    ),
    ("cli", "cli/.*", 12),
    ("netwright", "__init__|__main__", 13),
)
MODULES = {
    path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in SOURCE.rglob("*.py")
}


def role_of(module: str) -> int:
    """The number of the pattern that fits a module: its role."""
    return next(n for n, (_, pattern, _) in enumerate(ROLES) if re.fullmatch(pattern, module))


def file_of(imported: str) -> str:
    """The module that an import means: "netwright.exact.vector.Vector" is in exact/vector."""
    parts = imported.split(".")[1:]
    for end in range(len(parts), 0, -1):
        for name in ("/".join(parts[:end]), "/".join([*parts[:end], "__init__"])):
            if name in MODULES:
                return name
    return "__init__"


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


def violations(importer: str, imports: list[str]) -> list[str]:
    """The imports by a file that do not point downwards."""
    own = role_of(importer)
    wrong = []
    for each in imports:
        other = role_of(file_of(each))
        if other != own and ROLES[other][2] >= ROLES[own][2]:
            wrong.append(each)
    return wrong


def test_imports_point_one_way() -> None:
    for module, path in MODULES.items():
        assert not violations(module, imported_modules(path)), path


def folders_imported(module: str) -> set[str]:
    """The folders, or single files, that a file imports."""
    return {file_of(each).split("/")[0] for each in imported_modules(MODULES[module])}


def test_engines_read_weights_and_never_machines() -> None:
    """What follows a machine's run is a folder of its own."""
    known = {"assembler", "definitions", "engine", "errors", "exact", "html", "jit", "text"}
    for module in MODULES:
        if module.startswith("engine/") and not module.startswith("engine/following/"):
            assert folders_imported(module) <= known, module


def test_a_kind_imports_no_other_but_those_that_it_names() -> None:
    uses = {
        "neural_gpu": {"rnn"},
        "gateless_neural_gpu": {"neural_gpu", "rnn"},
        "positionless_transformer": {"pointer_transformer", "transformer"},
        "residual_free_transformer": {"pointer_transformer"},
        "pointer_transformer": {"transformer", "universal_text", "universal_transformer"},
        "universal_text": {"pointer_transformer", "transformer", "universal_transformer"},
        "universal_transformer": {"pointer_transformer"},
        "language_model": {"universal_transformer", "pointer_transformer"},
    }
    for module in MODULES:
        kind = re.match("kind/([^/]+)/", module)
        if kind is None:
            continue
        for each in imported_modules(MODULES[module]):
            other = re.match("kind/([^/]+)/", file_of(each))
            if other is not None and other[1] != kind[1]:
                assert other[1] in uses.get(kind[1], set()), (module, each)


def test_a_trace_comes_from_the_network_alone() -> None:
    """It knows machines as types of its answers, and nothing of what is proved of them."""
    types = {
        "netwright.machine.bookmarks.Bookmarks",  # of any run
        "netwright.machine.configuration.Configuration",
        "netwright.machine.simulate.Run",
    }
    known = {"definitions", "engine", "errors", "exact", "html", "network", "text"}
    for name in ("network/trace", "engine/following/tracing", "engine/following/seek"):
        found = {file_of(each) for each in imported_modules(MODULES[name]) if each not in types}
        assert {module.split("/")[0] for module in found} <= known, name


def test_a_wrong_import_would_be_found() -> None:
    assert violations("machine/load", ["netwright.cli.run"]) == ["netwright.cli.run"]
    assert violations("machine/load", ["netwright.definitions.rnn"]) == []
    assert violations("engine/following/drive", ["netwright.kind.rnn.neurons"]) == []
    wrong = ["netwright.kind.rnn.neurons"]
    assert violations("engine/kernel", wrong) == wrong
    assert violations("cli/run", ["netwright.load_machine"]) == ["netwright.load_machine"]


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


CALLED = """
import sys
import netwright.engine.moments
from netwright.cli import main

netwright.engine.moments.REFERENCE_SECONDS = 10**9  # a slow computer takes the same way
called = {}

def note(frame, event, _):
    module = frame.f_globals.get("__name__", "")
    if event == "call" and module.startswith("netwright") and module not in called:
        while frame is not None and not (
            frame.f_code.co_name == "<module>"
            and frame.f_globals.get("__name__", "").startswith("netwright")
        ):
            frame = frame.f_back
        if frame is None:  # not while a module is imported
            called[module] = True

sys.setprofile(note)
main(sys.argv[1:])
sys.setprofile(None)
print("|".join(called))
"""


def test_a_run_calls_few_modules() -> None:
    """What a reader walks through: each module once, in the order of the first calls."""
    call = [sys.executable, "-c", CALLED, "run", "palindrome", "abba"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    walk = done.stdout.splitlines()[-1].split("|")
    assert walk[:2] == ["netwright.cli", "netwright.cli.verb"]
    assert "netwright.kind.transformer.lemma_b4_last_visit" in walk
    assert len(walk) <= 40, walk


def test_what_is_not_named_is_not_loaded() -> None:
    """A machine alone needs nothing of networks, and a kind nothing of other kinds."""
    alone = loaded("run", "palindrome", "abba", "--on", "machine")
    assert len(alone) <= 40
    assert not any("engine" in name for name in alone)
    assert [name for name in alone if ".kind." in name] == ["netwright.kind.registry"]
    rnn = loaded("run", "palindrome", "abba", "--on", "rnn")
    assert "netwright.kind.rnn.kind" in rnn
    kinds = {name.split(".")[2] for name in rnn if name.count(".") > 2 and ".kind." in name}
    assert kinds == {"rnn"}
