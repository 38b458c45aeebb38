"""How often a claim is repeated: `make test` does a part of what `make test-thorough` does.

A claim stays in `make test`; what moves to `make test-thorough` is more of the same: further
examples, machines, mutants.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings

PART = 8
"""`make test` takes one example of so many."""
thorough = False
"""Whether marked tests run as well; `conftest` says so before test modules are imported."""


def repeated(often: int, sometimes: int) -> int:
    """How often: with `make test-thorough`, and with `make test`."""
    return often if thorough else sometimes


def examples(count: int) -> settings:
    """The decorator of a property: so many examples, or a part of them."""
    return settings(max_examples=repeated(count, max(5, count // PART)))


def some(cases: Sequence[Any], count: int) -> list[Any]:
    """Cases for `parametrize`: `count` of them at even distances; the others are thorough."""
    kept = {n * len(cases) // count for n in range(count)}
    return [
        case if n in kept else pytest.param(case, marks=pytest.mark.thorough)
        for n, case in enumerate(cases)
    ]
