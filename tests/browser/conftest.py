"""The system's Chromium, and a server to look at. All of these run with `make test-browser`."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.explorer.serving import base, ended, started

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
Opened = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail("no Chromium here; `make test-browser` installs it where it can")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


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
        page = browser.new_page(viewport={"width": width, "height": height})
        page.troubles = []
        page.on("console", lambda m: m.type == "error" and page.troubles.append(m.text))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        allowed = ("http://127.0.0.1:", "data:", "file://", "about:", "blob:")
        page.on(
            "request",
            lambda r: r.url.startswith(allowed) or page.troubles.append(f"asked {r.url}"),
        )
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
