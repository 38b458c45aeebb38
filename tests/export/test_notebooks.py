"""The notebooks in examples/ print what they show."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.export.heavy import heavy

heavy("torch")
heavy("transformers")
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore")  # of torch
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    names: dict[str, Any] = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec("".join(cell["source"]), names)
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert printed.getvalue() == shown
