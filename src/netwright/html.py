"""Small HTML tables: how results are shown in notebooks."""

from collections.abc import Iterable, Sequence
from html import escape

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CAPTION = "text-align:left;font-weight:600;padding:4px 8px;white-space:nowrap"
_CELL = "text-align:left;padding:1px 8px;white-space:pre;border-bottom:1px solid #8884"


def table(caption: str, header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table with all cells escaped.

    >>> "<script>" in table("a machine called <script>", ["t"], [["<script>"]])
    False
    """
    head = "".join(f'<th style="{_CELL}">{escape(str(each))}</th>' for each in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(each))}</td>' for each in row) + "</tr>"
        for row in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if header else ""
    return (
        f'<div style="overflow:auto;max-height:32em"><table style="{_TABLE}">'
        f'<caption style="{_CAPTION}">{escape(caption)}'
        f"</caption>{top}<tbody>{body}</tbody></table></div>"
    )


def part_of(count: int, every: int, what: str) -> str:
    """What a caption says of a table that has some of all rows: nothing if it has all.

    >>> part_of(18, 26, "rows"), part_of(26, 26, "rows")
    ('; 18 of 26 rows shown', '')
    """
    return f"; {count:,} of {every:,} {what} shown" if count < every else ""
