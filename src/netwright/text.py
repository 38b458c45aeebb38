"""Texts that fit."""


def shortened(text: object, width: int = 24) -> str:
    """A text, or its two ends where it is wider.

    >>> shortened("abcdefghij", 7)
    'abc…hij'
    """
    text = str(text)
    half = max(1, (width - 1) // 2)
    return text if len(text) <= width else f"{text[:half]}…{text[-half:]}"
