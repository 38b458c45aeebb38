"""Run a notebook's cells in order, and compare what they print with what it shows."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any


def assert_prints_what_it_shows(path: Path) -> None:
    """Each cell of code prints the output that is kept with it."""
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec("".join(cell["source"]), names)
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert printed.getvalue() == shown
