"""What a verb found: `Report` prints it for a terminal, dumps it as JSON, and plots it.

A verb puts its result into `facts`, the object that `--json` dumps, and adds the same result as
lines and tables, which a terminal shows. Cells of a table are raw values: `Report` formats them.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from netwright.cli.output import console, print_indented, print_json, save_file, say, visible
from netwright.errors import InputError
from netwright.files import check_output

PLOT_FORMATS = (".png", ".svg", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's, which colour-blind readers can distinguish."""
MARKERS = "osD^vP"
_SVG = {"svg.fonttype": "none", "svg.hashsalt": "netwright"}
"""Text stays text, and equal plots are equal files."""


class Line(NamedTuple):
    """A line of text: two columns to the right if indented, never broken if whole."""

    text: str
    indented: bool = False
    whole: bool = False


class Table(NamedTuple):
    """Rows of raw values under headings; no heading at all if every one is empty.

    Numbers are right-justified, as are the columns in `right`; those in `whole` are never broken.
    At most `most` rows are shown.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]
    right: Collection[str] = ()
    whole: Collection[str] = ()
    most: int | None = None
    more: str = ""


class Report:
    """The result of a verb: `facts` for `--json`, lines and tables for a terminal."""

    def __init__(self, facts: dict[str, Any] | None = None) -> None:
        self.facts: dict[str, Any] = {} if facts is None else facts
        self.parts: list[Line | Table] = []

    def line(self, text: str = "", *, indented: bool = False, whole: bool = False) -> None:
        """Add a line; see `Line`."""
        self.parts.append(Line(text, indented, whole))

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[Any]], **how: Any) -> None:
        """Add a table; see `Table`."""
        self.parts.append(Table(headings, list(rows), **how))

    def show(self, *, as_json: bool) -> None:
        """Print the facts as one JSON object, or the lines and tables."""
        if as_json:
            print_json(self.facts)
            return
        out = console()
        for part in self.parts:
            if isinstance(part, Table):
                _print_table(out, part)
            elif part.indented:
                print_indented(out, part.text)
            else:
                out.print(part.text, soft_wrap=part.whole)


def _print_table(out: Any, table: Table) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, show_header=any(table.headings))
    for place, heading in enumerate(table.headings):
        column = [row[place] for row in table.rows]
        numbers = any(_is_number(each) for each in column) and all(
            _is_number(each) or each in (None, "") for each in column
        )
        shown.add_column(
            Text(visible(heading) if "\n" not in heading else heading),
            justify="right" if numbers or heading in table.right else "left",
            no_wrap=heading in table.whole,
            overflow="fold",
        )
    for row in table.rows[: table.most]:
        shown.add_row(*(Text(_cell(value)) for value in row))
    out.print(shown)
    if table.most is not None and len(table.rows) > table.most:
        out.print(f"… and {len(table.rows) - table.most:,} more{table.more}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else visible(str(value))


def check_plot(path: Path, *, force: bool) -> None:
    """Raise InputError for a plot that cannot be drawn, before the long work that it shows."""
    if path.suffix.lower() not in PLOT_FORMATS:
        raise InputError(
            f"--plot is {path}; expected a file that ends in {', '.join(PLOT_FORMATS)}"
        )
    check_output(path, force=force)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "--plot needs matplotlib: pip install matplotlib, or netwright with the extra plots"
        ) from None


def save_plot(
    path: Path,
    title: str,
    draw: Callable[[Any, str], None],
    size: tuple[float, float] = (9, 3.8),
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Draw a figure by `draw(figure, title)` and write it to a file.

    The title is text, whatever it looks like: matplotlib gets no mathematics from a name.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure, visible(title.encode(errors="replace").decode()))
    content = BytesIO()
    with rc_context(_SVG):
        kind = path.suffix[1:].lower()
        without_date: Any = {"metadata": {"Date": None}} if kind == "svg" else {}
        figure.savefig(content, format=kind, dpi=150, **without_date)
    save_file(path, content.getvalue(), force=force)
    if not quiet:
        say(f"\nwrote {path}")
