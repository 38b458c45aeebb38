"""What long work shows on a terminal, and only there: a bar for a run, a line for other work."""

import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self

from netwright.cli.output import console, visible

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

    def __call__(self, steps: int, cells: int) -> None:
        """Show how far the run is."""
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
                TextColumn("{task.fields[rate]} steps/s  {task.fields[cells]:,} cells"),
                TimeElapsedColumn(),
            )
            self.bar = Progress(*columns, console=console(stderr=True), transient=True)
            self.task = self.bar.add_task("run", total=self.max_steps, rate="", cells=cells)
            self.bar.start()
        before, began = self.first
        rate = (steps - before) / max(now - began, 1e-9)
        self.bar.update(self.task, completed=steps, rate=f"{rate:,.0f}", cells=cells)


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
