"""Real machines that nobody here wrote; they lie beside the project, never inside it."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "corpora"
needs_corpora = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the corpora are not at ../shared/corpora"
)
