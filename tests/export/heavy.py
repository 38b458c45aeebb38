"""Packages that are large and may be missing; `make test-export` installs them."""

import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest


def heavy(name: str) -> Any:
    """A package, or a reason to skip; what it warns of as it is imported is its own matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed (make test-export)")


def node_modules() -> Path:
    """The folder with the package of transformers.js, or a reason to skip."""
    found = Path(sys.prefix, "transformers-js", "node_modules")
    if not found.is_dir() or shutil.which("node") is None:
        pytest.skip("transformers.js is not installed (make test-export, where node and npm are)")
    return found
