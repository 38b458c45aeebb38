"""The code that exports carry: each file whole, in the order in which it can be read."""

import ast
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from tests.networks import KINDS

from netwright.export.sources import NOTICE, PACKAGE, source_of
from netwright.export.targets import TARGETS

PARTS = [
    target.source_name(kind)
    for target in TARGETS.values()
    for kind in KINDS
    if target.takes(kind) and not target.is_exact  # JSON has no code
]


@pytest.mark.parametrize("name", PARTS)
def test_a_file_has_all_of_its_parts_once(name: str, tmp_path: Path) -> None:
    text = source_of(name)
    tree = ast.parse(text)
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert len(defined) == len(set(defined))
    assert "Readable" in defined
    assert "netwright.export" not in text
    assert text.count(NOTICE) == 1
    (tmp_path / "code.py").write_text(text, encoding="utf-8")
    # Nothing is undefined or imported in vain; and it is formatted as if it had been written so.
    ruff = [sys.executable, "-m", "ruff"]
    for check in (["check", "--isolated", "--select", "F", "--quiet"], ["format", "--isolated"]):
        options = ["--line-length", "100", *(["--check"] if check[0] == "format" else [])]
        done = subprocess.run(
            [*ruff, *check, *options, str(tmp_path / "code.py")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_kind_has_code_for_three_targets_and_all_code_is_used() -> None:
    for to in ("numpy", "onnx", "torch"):
        assert all(TARGETS[to].takes(kind) for kind in KINDS)
    assert [kind for kind in KINDS if TARGETS["hf"].takes(kind)] == ["transformer"]
    shared = {"__init__", "reading", "numpy_parts", "onnx_parts", "torch_parts"}
    there = {path.name.removesuffix(".py") for path in files(PACKAGE).iterdir()}
    assert there - {"__pycache__"} == {*PARTS, *shared}
