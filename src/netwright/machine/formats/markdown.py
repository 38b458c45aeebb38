"""Machines in fenced blocks of a Markdown file: FILE:0 is the first, in any of the formats."""

import re
from collections.abc import Iterator

from netwright.errors import FormatError
from netwright.machine.formats.draft import Source
from netwright.machine.turing_machine import TuringMachine

NAME = "markdown"
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`\n]*\n(.*?)^ {0,3}\1[`~]*[ \t]*$", re.M | re.S)


def blocks(text: str) -> Iterator[str]:
    r"""The contents of the fenced blocks.

    >>> list(blocks("a\n```yaml\nb\n```\nc\n~~~\nd\n~~~\n"))
    ['b\n', 'd\n']
    """
    return (match[2] for match in _FENCE.finditer(text))


def _machines(text: str) -> list[str]:
    """The blocks that some other format recognises."""
    from netwright.machine.formats import recognised  # which lists this module

    return [block for block in blocks(text) if recognised(block) is not None]


def recognises(text: str) -> bool:
    """Whether there is a fenced block with a machine in it."""
    return ("```" in text or "~~~" in text) and bool(_machines(text))


def read(text: str, source: Source) -> TuringMachine:
    """Read the machine of the only block, or of the one that the part of the source numbers."""
    from netwright.machine.formats import read_text

    found = _machines(text)
    if not found:
        raise FormatError(f"{source.label}: no fenced block has a machine in a known format")
    if not source.part and len(found) > 1:
        choices = ", ".join(f"{source.label}:{n}" for n in range(min(8, len(found))))
        raise FormatError(f"{source.label} holds {len(found)} machines; name one of: {choices}")
    number = source.number if source.part else 0
    if number is None or number >= len(found):
        raise FormatError(
            f"{source.label} has no machine {source.part!r}; there are 0 to {len(found) - 1}"
        )
    label = f"{source.label}:{number}" if len(found) > 1 else source.label
    return read_text(found[number], Source(label, "", source.also))
