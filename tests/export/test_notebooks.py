"""The notebooks in examples/ print what they show."""

from pathlib import Path

import pytest
from tests.export.heavy import heavy
from tests.notebooks import assert_prints_what_it_shows

heavy("torch")
heavy("transformers")
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore")  # of torch
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    assert_prints_what_it_shows(path)
