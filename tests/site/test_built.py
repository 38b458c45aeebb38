"""The site that `make docs` built: its links lead somewhere, and its pages ask for nothing else."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from tests.browser.chromium import watched_page
from tests.site.conftest import SITE

FILES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
SOURCES = [name for name in FILES if name.startswith("generated/source/")]
LIVE = [name for name in FILES if name.startswith("live/")]
# Pages of source files differ in their text alone; tests/browser/test_site.py has those of live/.
LOOKED_AT = [name for name in FILES if name not in {*SOURCES[4:], *LIVE}]
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Links(HTMLParser):
    """What a page links to or loads, and the names of its places."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.places.add(value)
            elif name == "href" and value is not None:
                (self.loaded if tag == "link" else self.links).append(value)
            elif name == "src" and value is not None:
                self.loaded.append(value)


@pytest.fixture(scope="module")
def pages() -> dict[str, Links]:
    return {name: Links(SITE / name) for name in FILES}


def broken(pages: dict[str, Links]) -> Iterator[str]:
    """Links that lead to no file, or to no place in it; what is loaded from elsewhere."""
    for name, page in pages.items():
        for link in [*page.links, *page.loaded]:
            target = urlsplit(urljoin(f"http://site/{name}", link))
            elsewhere = target.netloc != "site"
            if target.scheme == "data" or (elsewhere and link in page.links):
                continue
            path = unquote(target.path).lstrip("/")
            path += "index.html" if path.endswith("/") or not path else ""
            if elsewhere or not (SITE / path).is_file():
                yield f"{name}: {link}"
            elif path in LIVE or path not in pages:
                continue  # the pages of live/ keep what they show behind the #
            elif unquote(target.fragment) not in {"", *pages[path].places}:
                yield f"{name}: {link}"


def test_every_link_leads_to_a_page_and_to_a_place_in_it(pages: dict[str, Links]) -> None:
    assert list(broken(pages)) == []
    assert sum(len(page.links) for page in pages.values()) > 10 * len(pages)


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(
        '<a href="nowhere.html"></a><a href="index.html#nowhere"></a><a href="index.html"></a>'
        '<script src="https://example.org/a.js"></script><a href="https://example.org"></a>',
        encoding="utf-8",
    )
    index = Links(SITE / "index.html")
    assert list(broken({"page.html": Links(file), "index.html": index})) == [
        "page.html: nowhere.html",
        "page.html: index.html#nowhere",
        "page.html: https://example.org/a.js",
    ]


@pytest.mark.parametrize("pages_of", ["docs", "docs/how-to", "docs/lecture"])
def test_every_page_of_docs_is_in_the_site(pages_of: str) -> None:
    folder = Path(__file__).resolve().parents[2] / pages_of
    names = [p.name for p in (*folder.glob("*.md"), *folder.glob("*.ipynb"))]
    built = {path.stem for path in (SITE / pages_of.removeprefix("docs").lstrip("/")).iterdir()}
    assert {name.partition(".")[0] for name in names} <= built


@pytest.fixture(scope="module")
def page(browser: Any, host: str) -> Iterator[Any]:
    found = watched_page(browser, (host, "data:", "blob:"), 1280, 800)
    found.on(
        "response",
        lambda r: r.ok or r.status == 304 or found.troubles.append(f"{r.status} {r.url}"),
    )
    yield found
    found.close()


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_asks_for_itself_alone_and_is_as_wide_as_the_window(
    page: Any, host: str, name: str
) -> None:
    page.troubles.clear()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(host + name)
    assert page.evaluate(OVERFLOW) == 0
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(OVERFLOW) == 0
    pictures = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
    assert page.evaluate(pictures) == []
    assert page.troubles == []


def test_the_home_page_has_a_network_at_work_in_it(page: Any, host: str) -> None:
    page.troubles.clear()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(host + "index.html")
    frame = page.frame_locator("iframe.netwright")
    frame.locator("body[data-shown='17']").wait_for()
    frame.locator("[data-go=on]").click()
    frame.locator("body[data-shown='18']").wait_for()
    assert "last visited by token 13" in frame.locator("#sentence").inner_text()
    assert page.troubles == []


def test_the_search_of_the_site_finds_a_word(page: Any, host: str) -> None:
    page.troubles.clear()
    page.goto(host + "search.html?q=recency")
    page.wait_for_selector("#search-results li a")
    assert re.search(r"recency", page.inner_text("#search-results"), re.I)
    assert page.troubles == []
