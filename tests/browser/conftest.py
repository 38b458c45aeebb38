"""The system's Chromium, and a server to look at. All of these run with `make test-browser`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser.chromium import launched, watched_page
from tests.explorer.serving import base, ended, started

Opened = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    process, line = started("palindrome", "abba", "--port", "0")
    yield base(line)
    ended(process)


@pytest.fixture
def watched(browser: Any) -> Iterator[Opened]:
    """Opens pages that must ask nobody but the server, and complain of nothing."""
    pages = []

    def opened(address: str, width: int = 1280, height: int = 800) -> Any:
        allowed = ("http://127.0.0.1:", "data:", "file://", "about:", "blob:")
        page = watched_page(browser, allowed, width, height)
        pages.append(page)
        page.goto(address)
        return page

    yield opened
    for page in pages:
        assert page.troubles == []
        page.close()


@pytest.fixture
def look(server: str, watched: Opened) -> Opened:
    """The page at a question such as machine=palindrome&input=abba, once it has drawn t."""

    def looked(query: str, t: int | None = None, **size: int) -> Any:
        page = watched(f"{server}?{query}" + (f"&t={t}" if t else ""), **size)
        page.wait_for_selector(f"body[data-shown='{t}']" if t else "body[data-shown]")
        return page

    return looked
