"""The site that `make docs` has built in site/, on a static host, in the system's Chromium."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.chromium import hosted, launched

SITE = Path(__file__).resolve().parents[2] / "site"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/site" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def host() -> Iterator[str]:
    assert (SITE / "index.html").is_file(), "no site here: `make docs` builds it"
    with hosted(SITE) as address:
        yield address
