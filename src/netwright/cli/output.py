"""What several verbs write: text that a terminal can show, JSON, files; progress of long work."""

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer

from netwright.files import check_output, write_whole
from netwright.text import printable

if TYPE_CHECKING:
    from rich.console import Console


def visible(name: str) -> str:
    r"""A name or symbol on one line, with nothing in it that a terminal does not show.

    >>> visible(" "), visible("a b"), visible("q\n")
    ('␣', 'a b', 'q\\n')
    """
    return "␣" if name == " " else printable(name).replace("\n", "\\n")


def say(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Write a text to standard output, or to standard error."""
    typer.echo(printable(text) + end, nl=False, err=err)


def console(*, stderr: bool = False) -> "Console":
    """The terminal for rich: it shows nothing that is not printable, and interprets no markup.

    A reader that goes away is an error for `main` to handle, not for rich.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                shown = segment.control or segment.text.isprintable()
                yield segment if shown else segment._replace(text=printable(segment.text))

    width = max(40, get_terminal_size().columns)
    return Terminal(highlight=False, markup=False, emoji=False, width=width, stderr=stderr)


def print_indented(out: "Console", text: str) -> None:
    """Print a text two columns to the right, the lines too into which it is broken."""
    for line in text.split("\n"):
        shown = textwrap.fill(line, out.width, initial_indent="  ", subsequent_indent="    ")
        out.print(shown, soft_wrap=True)


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on standard output, without a character that could steer a terminal."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    say(text)


def listed(names: Sequence[str], width: int, separator: str = " ") -> str:
    """Names side by side, as many as fit, and how many more there are.

    >>> listed(["a", "b"], 20), listed(["state"] * 1000, 30)
    ('a b', 'state state … and 998 more')
    """
    shown: list[str] = []
    used = 0
    for n, name in enumerate(names):
        more = f" … and {len(names) - n:,} more"
        used += len(visible(name)) + len(separator)
        if used > width - (len(more) if n < len(names) - 1 else 0):
            return (separator.join(shown) + more).lstrip()
        shown.append(visible(name))
    return separator.join(shown)


def save_file(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file whole or not at all; one that exists is kept unless `force`."""
    check_output(path, force=force)
    write_whole(path, content)


PATIENCE = 0.7  # seconds before a bar appears


class Bar:
    """A bar that is there on a terminal alone, and gone in the end."""

    def __init__(self) -> None:
        self.shown = sys.stderr is not None and sys.stderr.isatty()
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            self.bar.stop()


class StepProgress(Bar):
    """Shows steps, rate and cells; give it to a run as its `progress`.

    >>> with StepProgress(1000) as progress:
    ...     progress(500, 12)
    """

    def __init__(self, max_steps: int) -> None:
        super().__init__()
        self.max_steps = max_steps
        self.started = monotonic()
        self.first: tuple[int, float] | None = None

    def __call__(self, steps: int, cells: int, moves: int | None = None) -> None:
        """Show how far the run is; in moves, if a run of cells is done at once."""
        now = monotonic()
        if self.first is None:
            self.first = steps, now  # a run that is gone on with has steps behind it
        if not self.shown or now - self.started < PATIENCE:
            return
        if self.bar is None:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (
                BarColumn(bar_width=20),
                TextColumn("{task.completed:,} steps"),
                TextColumn("{task.fields[work]}  {task.fields[cells]:,} cells"),
                TimeElapsedColumn(),
            )
            self.bar = Progress(*columns, console=console(stderr=True), transient=True)
            self.task = self.bar.add_task("run", total=self.max_steps, work="", cells=cells)
            self.bar.start()
        before, began = self.first
        rate = (steps - before) / max(now - began, 1e-9)
        work = f"{rate:,.0f} steps/s" if moves is None else f"{moves:,} moves"
        self.bar.update(self.task, completed=steps, work=work, cells=cells)


class Working:
    """Shows what is being done, and lets Ctrl-C end it with what is finished.

    A context manager: a KeyboardInterrupt inside leaves the block, and `interrupted` is True then.

    >>> with Working() as work:
    ...     work.tell("counting")
    >>> work.interrupted
    False
    """

    def __init__(self) -> None:
        self.status: Any = None
        self.interrupted = False

    def __enter__(self) -> "Working":
        if sys.stderr is not None and sys.stderr.isatty():
            from rich.text import Text

            self.status = console(stderr=True).status(Text())
            self.status.start()
        return self

    def tell(self, what: str) -> None:
        """Show what is being done now."""
        if self.status is not None:
            from rich.text import Text

            self.status.update(Text(visible(what)))  # a str would be read as markup

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> bool:
        if self.status is not None:
            self.status.stop()
        self.interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        return self.interrupted
