"""Machines in fenced blocks of a Markdown file: FILE:0 is the first, in any of the formats."""

from netwright.errors import FormatError
from netwright.machine.formats.draft import Source
from netwright.machine.turing_machine import TuringMachine

NAME = "markdown"
FENCES = ("```", "~~~")


def split(text: str) -> tuple[list[str], str]:
    r"""The contents of the fenced blocks, and the text outside of them.

    A block ends with a fence of the character and at least the length of the one that opened it.

    >>> split("a\n```yaml\nb\n```\nc\n~~~\nd\n~~~\n")
    (['b\n', 'd\n'], 'a\nc\n\n')
    """
    blocks, outside, inside, fence = list[str](), list[str](), list[str](), ""
    for line in text.split("\n"):
        bare = line.strip()
        if fence:
            if bare.startswith(fence) and not bare.strip(fence[0]):
                blocks.append("".join(f"{each}\n" for each in inside))
                inside, fence = [], ""
            else:
                inside.append(line)
        elif bare.startswith(FENCES):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        else:
            outside.append(line)
    return blocks, "".join(f"{line}\n" for line in outside + inside)


def _machines(text: str) -> list[str]:
    """The blocks that some other format recognises; none if the text around them is a machine."""
    from netwright.machine.formats import recognised  # which lists this module

    blocks, outside = split(text)
    found = [block for block in blocks if recognised(block, but=NAME) is not None]
    return found if found and recognised(outside, but=NAME) is None else []


def recognises(text: str) -> bool:
    """Whether there is a fenced block with a machine in it, and none around it."""
    return any(fence in text for fence in FENCES) and bool(_machines(text))


def read(text: str, source: Source) -> TuringMachine:
    """Read the machine of the only block, or of the one that the part of the source numbers."""
    from netwright.machine.formats import read_text, recognised

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
    format_ = recognised(found[number], but=NAME)
    assert format_ is not None
    label = f"{source.label}:{number}" if len(found) > 1 else source.label
    return read_text(found[number], Source(label, "", source.also), format_.name)
