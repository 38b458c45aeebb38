"""Texts that fit, and that a terminal can show."""


def shortened(text: object, width: int = 24) -> str:
    """A text, or its two ends where it is wider.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    text = str(text)
    half = max(1, (width - 1) // 2)
    return text if len(text) <= width else f"{text[:half]}…{text[-half:]}"


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


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
