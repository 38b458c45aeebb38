"""Draw docs/images/imports.svg, who imports whom: `python docs/imports.py` in the project's folder.

A box is a role of `tests/test_imports.py`, with the lines of its files. An arrow is an import that
is really there; one that follows from others is left out.
"""

import sys
from html import escape
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_imports import MODULES, ROLES, file_of, imported_modules, role_of  # noqa: E402

WIDTH, STEP, HEIGHT, MARGIN = 900, 78, 40, 20


def edges() -> set[tuple[int, int]]:
    """Pairs of roles, of which the first imports the second, without those that follow."""
    found = {
        (role_of(module), role_of(file_of(each)))
        for module, path in MODULES.items()
        for each in imported_modules(path)
    }
    direct = {(a, b) for a, b in found if a != b}

    def leads(a: int, b: int) -> bool:
        return any(c == b or leads(c, b) for start, c in direct if start == a)

    return {
        (a, b)
        for a, b in direct
        if not any(start == a and c != b and leads(c, b) for start, c in direct)
    }


def picture() -> str:
    """The boxes in rows, the command line first, and the arrows between them."""
    lines = [0] * len(ROLES)
    for module, path in MODULES.items():
        lines[role_of(module)] += len(path.read_text(encoding="utf-8").splitlines())
    ranks = sorted(range(len(ROLES)), key=lambda n: -ROLES[n][2])
    rows = [list(row) for _, row in groupby(ranks, key=lambda n: ROLES[n][2])]
    boxes: dict[int, tuple[float, float, float]] = {}
    for y, row in enumerate(rows):
        for x, n in enumerate(row):
            middle = WIDTH * (x + 0.5) / len(row)
            boxes[n] = middle, MARGIN + y * STEP, 9.0 * max(len(ROLES[n][0]), 10) + 24
    parts = []
    for a, b in sorted(edges()):
        (x1, y1, _), (x2, y2, width) = boxes[a], boxes[b]
        bend = 0.0 if y2 - y1 <= STEP else (1 if (a + b) % 2 else -1) * (width / 2 + 30)
        middle = (y1 + HEIGHT + y2) / 2
        parts.append(
            f'<path d="M{x1:.0f} {y1 + HEIGHT:.0f} C{x1 + bend:.0f} {middle:.0f} '
            f'{x2 + bend:.0f} {middle:.0f} {x2:.0f} {y2 - 3:.0f}"/>'
        )
    for n, (left, top, width) in boxes.items():
        name = escape(ROLES[n][0])
        parts.append(
            f'<rect x="{left - width / 2:.0f}" y="{top:.0f}" width="{width:.0f}" height="{HEIGHT}" '
            f'rx="6"/><text x="{left:.0f}" y="{top + 17:.0f}">{name}</text>'
            f'<text class="small" x="{left:.0f}" y="{top + 32:.0f}">{lines[n]:,} lines</text>'
        )
    height = 2 * MARGIN + STEP * len(rows) - (STEP - HEIGHT)
    style = (
        "text { font: 14px sans-serif; text-anchor: middle } "
        ".small { font-size: 11px; fill: #666 } rect { fill: #f4f6fa; stroke: #456 } "
        "path { fill: none; stroke: #89a; marker-end: url(#a) }"
    )
    arrow = (
        '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 L8 4 L0 8 z" style="fill: #89a; stroke: none"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="Who imports whom, from the command line down">'
        f"<style>{style}</style><defs>{arrow}</defs>"
        f'<rect width="{WIDTH}" height="{height}" style="fill: white; stroke: none"/>'
        + "".join(parts)
        + "</svg>\n"
    )


if __name__ == "__main__":
    (ROOT / "docs" / "images" / "imports.svg").write_text(picture(), encoding="utf-8")
