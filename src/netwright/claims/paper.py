"""PAPER.toml: every numbered statement of the paper, its title, and where it departs from print."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_PLACES = (
    Path(__file__).parents[1] / "PAPER.toml",  # in an installed package
    Path(__file__).parents[3] / "PAPER.toml",  # in a clone
)


@cache
def statements() -> dict[str, dict[str, Any]]:
    """The statements by name, in the paper's order.

    >>> statements()["Lemma B.4"]["label"]
    'lem:vli'
    """
    path = next(path for path in _PLACES if path.is_file())
    return tomllib.loads(path.read_text(encoding="utf-8"))
