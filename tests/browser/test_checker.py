"""The page's checker of certificates says what Python's says: of good ones, and of mutants."""

import base64
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.browser.forged import CHOICES, mutants, python_says

import netwright as nw
from netwright.machine.library import library_machine, library_names
from netwright.network.network import compile_network

HERE = Path(__file__).parent
CHECKER = Path(nw.__file__).parent / "explorer" / "web" / "checker"
KEPT = HERE.parent / "network" / "kept"


def page_says(files: Sequence[bytes]) -> list[dict[str, Any]]:
    """The verdicts of the page's checker, in node."""
    node = shutil.which("node")
    if node is None:
        pytest.fail("no node here; `make test-browser` installs it where it can")
    lines = "".join(f"{base64.b64encode(data).decode()}\n" for data in files)
    done = subprocess.run(
        [node, str(HERE / "checker.mjs"), str(CHECKER / "check.js")],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def agree(named: Iterable[tuple[str, bytes]]) -> Counter[str]:
    """How many certificates both checkers hold for right, for wrong, and for none at all."""
    names, files = zip(*named, strict=True)
    found = page_says(files)
    assert len(found) == len(files)
    counts: Counter[str] = Counter()
    for name, data, page in zip(names, files, found, strict=True):
        python = python_says(data)
        if page["verdict"] == "unchecked":
            assert page["on"] not in {on for on, _ in CHOICES}, name
            page["verdict"] = "refused"
        assert page["verdict"] == python["verdict"], (name, page, python)
        if python["counts"] is not None:
            assert page["failed"] == python["failed"], (name, page, python)
            assert page["counts"] == python["counts"], name
        counts[page["verdict"]] += 1
    return counts


def test_mutants() -> None:
    counts = agree(mutants(300))
    assert min(counts[verdict] for verdict in ("holds", "fails", "refused")) >= 20
