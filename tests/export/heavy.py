"""Packages that are large and may be missing; `make test-export` installs them."""

import warnings
from typing import Any

import pytest


def heavy(name: str) -> Any:
    """A package, or a reason to skip; what it warns of as it is imported is its own matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed (make test-export)")
