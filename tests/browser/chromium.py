"""The system's Chromium, pages that are watched, and a static host for a folder."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def launched() -> Iterator[Any]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.fail("no Chromium here; `make test-browser` installs it where it can")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield found
        finally:
            found.close()


def watched_page(browser: Any, allowed: tuple[str, ...], width: int, height: int) -> Any:
    """An empty page whose `troubles` are its errors, and what it asks others than those allowed."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.troubles = []
    page.on("console", lambda m: m.type == "error" and page.troubles.append(m.text))
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    page.on(
        "request",
        lambda r: r.url.startswith(allowed) or page.troubles.append(f"asked {r.url}"),
    )
    return page


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """The address of a folder on a static host."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
