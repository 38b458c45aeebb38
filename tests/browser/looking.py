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
