"""The example page for transformers.js, with the package from npm and folders of ours."""

import shutil
from pathlib import Path

from tests.browser.chromium import hosted
from tests.browser.conftest import Opened
from tests.browser.looking import text
from tests.export.heavy import node_modules

import netwright as nw
from netwright.export.universal import export_universal

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "transformers_js"


def test_the_page_runs_the_word_that_is_typed(watched: Opened, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(node_modules())
    shutil.copy(EXAMPLE / "index.html", tmp_path)
    network = nw.compile("palindrome", to="language-model", context=128)
    network.export("transformers-js", tmp_path / "model")
    llama = nw.compile("palindrome", to="language-model", architecture="llama", context=128)
    llama.export("transformers-js", tmp_path / "llama")
    export_universal("transformers-js", tmp_path / "turing", context=256)
    prompt = nw.prompt("binary-increment", "1011", model=tmp_path / "turing")
    with hosted(tmp_path) as address:
        for query, word, end in (
            ("", "abba", "<accept>"),
            ("", "a b", "<reject>"),
            ("?model=llama", "abba", "<accept>"),
            ("?model=turing", prompt, "<halt>"),
        ):
            page = watched(f"{address}index.html{query}")
            page.wait_for_selector("button:not([disabled])")
            page.fill("#word", word)
            page.click("button")
            page.wait_for_selector("#verdict:has-text('the run ends')")
            assert text(page, "#verdict").endswith(f"the run ends with {end}")
            run = " ".join(text(page, "#text").split())
            folder = tmp_path / (query.partition("=")[2] or "model")
            assert nw.parse(run, model=folder).problem is None
            assert end in run.split()[-2:]
