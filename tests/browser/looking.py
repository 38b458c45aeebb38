"""Looking at a page."""

from typing import Any

PALINDROME = "machine=palindrome&input=abba"


def text(page: Any, selector: str) -> str:
    return str(page.inner_text(selector)).strip()


def at(page: Any, t: int) -> None:
    page.wait_for_selector(f"body[data-shown='{t}']")


def press(page: Any, key: str, t: int) -> None:
    page.keyboard.press(key)
    at(page, t)


def until(page: Any, expression: str) -> None:
    """Wait until JavaScript is true; the page's policy forbids Playwright's own way."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")
