"""Shorten, count and escape text for messages, terminals and token sequences."""

import re
from collections.abc import Callable

Notify = Callable[[str], None]
"""A callback that receives a line about the progress of some work."""


def shortened(text: object, width: int = 24) -> str:
    """A text, with its middle left out if it is wider than `width`.

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
    r"""A text with control characters escaped, so that it cannot control the terminal.

    Everything that this program writes to a terminal passes through here. Line ends remain; names
    are also made `visible`, so that they cannot begin a line of their own.

    >>> printable("a\x1b[31m\n")
    'a\\x1b[31m\n'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def as_token(name: str) -> str:
    """A name as one token: white space, delimiters and unprintable characters become %XX.

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
    """Undo `as_token`."""
    encoded = text.encode("utf-8", "surrogatepass")
    found = re.sub(rb"%([0-9A-F]{2})", lambda match: bytes.fromhex(match[1].decode()), encoded)
    return found.decode("utf-8", "surrogatepass")
