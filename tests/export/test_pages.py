"""The blocks of README and docs/ that need torch: `py`, each with the text that it prints."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from tests.export.heavy import heavy
from tests.test_docs import BLOCKS

from netwright.cli import main

heavy("torch")
heavy("transformers")
PAGES = [name for name, blocks in BLOCKS.items() if any(each[1] == "py" for each in blocks)]
NEED = ("transformer_lens", "nnsight")


@pytest.mark.filterwarnings("ignore")  # of torch
@pytest.mark.parametrize("name", PAGES)
def test_the_blocks_of_a_page_print_what_it_shows(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Exports are made first, in the same folder; a block's output is the next block, of `text`."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    for number, (file_name, language, text) in enumerate(BLOCKS[name]):
        if file_name is not None:
            Path(file_name).write_text(text, encoding="utf-8")
        elif language in ("console", "sh"):
            for call in re.findall(r"^(?:\$ )?netwright (export .*)$", text, re.M):
                assert main(shlex.split(call)) == 0
        elif language == "py":
            for module in NEED:
                if f"import {module}" in text or f"from {module}" in text:
                    heavy(module)
            # nnsight reads the source of a `with` block, so that has to be in a file.
            file = tmp_path / f"block_{number}.py"
            file.write_text(text, encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, file, "exec"), names)
            printed = out.getvalue()
        elif language == "text" and printed:
            assert printed.split()[-len(text.split()) :] == text.split()
            printed = ""
    assert not printed, "what the last block prints is not shown"
