"""Texts that fit, that a terminal can show, and that can stand among others."""

import re
from collections.abc import Callable

Notify = Callable[[str], None]
"""A callback that receives a line on how far some work is."""


def shortened(text: object, width: int = 24) -> str:
    """A text, or its two ends where it is wider.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    text = str(text)
    half = max(1, (width - 1) // 2)
    return text if len(text) <= width else f"{text[:half]}…{text[-half:]}"


def counted(number: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "step"), counted(2000, "step")
    ('1 step', '2,000 steps')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def printable(text: str) -> str:
    r"""A text as a terminal can show it: whatever could steer the terminal is escaped.

    Everything that this program writes to a terminal passes through here. Line ends remain; a name
    inside a text is made `visible`, so that it cannot begin a line of its own.

    >>> printable("a\x1b[31m\n")
    'a\\x1b[31m\n'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def as_token(name: str) -> str:
    """A name as a token of text: white space, delimiters and what is not printable become %XX.

    >>> as_token("q 1"), as_token("a:b"), as_token("é"), from_token("q%201")
    ('q%201', 'a%3Ab', 'é', 'q 1')
    """
    return "".join(
        c
        if c.isprintable() and c not in " %:<>@"
        else "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "surrogatepass"))
        for c in name
    )


def from_token(text: str) -> str:
    """The name that `as_token` wrote."""
    found = re.sub(
        rb"%([0-9A-F]{2})",
        lambda match: bytes.fromhex(match[1].decode()),
        text.encode("utf-8", "surrogatepass"),
    )
    return found.decode("utf-8", "surrogatepass")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
