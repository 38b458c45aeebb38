"""Write the tables of docs/networks.md: `python docs/tables.py`."""

import re
from pathlib import Path

from netwright.exact.meanings import INPUTS, Meanings
from netwright.kind.registry import exact_kinds

PAGE = Path(__file__).with_name("networks.md")


def table(header: str, words: dict[str, str]) -> str:
    """A table of names and words."""
    escaped = {name: text.replace("|", r"\|") for name, text in words.items()}
    rows = "\n".join(f"| `{name}` | {text} |" for name, text in escaped.items())
    return f"| {header} | |\n|---|---|\n{rows}\n"


def tables(meanings: Meanings) -> str:
    """All tables of a kind."""
    names = ["R.bias"] if "R.2" in meanings.weights else []
    names += ["embedding", *(["seed"] if "decoder.1.O" in meanings.weights else [])]
    has_positions = any(words.startswith("position") for words in meanings.blocks.values())
    names += ["positions"] if has_positions else []
    inputs = {name: INPUTS[name] for name in names}
    parts = [table("block", dict(meanings.blocks))]
    parts += [table(f"inside {name}", dict(words)) for name, words in meanings.hidden.items()]
    return "\n".join([*parts, table("weight", {**meanings.weights, **inputs})])


def page(text: str) -> str:
    """The page with its tables as they should be."""
    # Both universal networks have the same words.
    found = {id(kind.look.meanings): kind for kind in reversed(exact_kinds().values())}
    for kind in found.values():
        mark = f"<!-- tables: {kind.name} -->\n"
        start = text.index(mark) + len(mark)
        end = re.compile(r"^## ", re.MULTILINE).search(text, start)
        assert end is not None
        text = f"{text[:start]}\n{tables(kind.look.meanings)}\n{text[end.start() :]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
