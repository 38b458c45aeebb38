"""The static site: small, whole, the same twice, and never in the place of anything else."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

import netwright as nw
from netwright.cli import main
from netwright.errors import OutputError
from netwright.explorer import site as built
from netwright.explorer.answers import json_bytes
from netwright.explorer.page import unpacked
from netwright.explorer.site import KINDS, MOST_BYTES, write_site
from netwright.machine.library import library_names

FEW = ("even-as", "palindrome")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("built") / "site"
    write_site(place, url="https://example.org/netwright")
    return place


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A site of some machines; while it is used, `netwright site` writes such ones."""
    place = tmp_path_factory.mktemp("few") / "site"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(built, "library_names", lambda: FEW)
        write_site(place)
        yield place


class Links(HTMLParser):
    """What a page's attributes lead to, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.facts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [value for name in ("href", "src") if (value := given.get(name))]
        if tag == "meta" and (name := given.get("property") or given.get("http-equiv")):
            self.facts[name] = given["content"] or ""


def packed_in(script: Path) -> dict[str, Any]:
    found = re.fullmatch(r'site\.packed\["([^"]+)"\] = "([^"]+)";\n', script.read_text("utf-8"))
    assert found is not None
    assert found[1] == script.stem
    return dict(unpacked(found[2]))


def test_a_site_is_small_enough(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.is_file()]
    assert 3 * len(library_names()) < len(files)
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES == 1_500_000


def test_every_link_leads_into_the_folder_to_what_it_has(site: Path) -> None:
    for page in site.glob("*.html"):
        links = Links(page.read_text(encoding="utf-8"))
        for link in links.found:
            parts = urlsplit(link)
            assert not parts.scheme, (page.name, link)
            assert (site / unquote(parts.path)).is_file(), (page.name, link)
            query = parse_qs(parts.fragment)
            if parts.path == "page.html" and query:
                assert query["machine"][0] in library_names()
                assert query["kind"][0] in KINDS
                assert int(query["t"][0]) >= 1
        assert links.facts["og:image"] == "https://example.org/netwright/picture.png"
        assert links.facts["Content-Security-Policy"].startswith("default-src 'none'; ")
        assert "'unsafe-eval'" not in links.facts["Content-Security-Policy"]
        assert "http" not in links.facts["Content-Security-Policy"]


def test_the_gallery_has_every_machine_and_every_one_of_its_networks(site: Path) -> None:
    links = Links((site / "index.html").read_text(encoding="utf-8")).found
    for name in library_names():
        for kind in KINDS:
            wanted = f"page.html#machine={name}&kind={kind}&t="
            assert any(link.startswith(wanted) for link in links), wanted
        for picture in ("states", "run"):
            assert f"pictures/{name}-{picture}.svg" in links


@pytest.mark.parametrize("name", ["palindrome", "universal-4-6"])
def test_the_networks_of_a_site_are_those_that_are_compiled(site: Path, name: str) -> None:
    found = packed_in(site / "data" / f"{name}.js")
    assert list(found) == list(KINDS)
    machine = nw.load_machine(name)
    for kind, each in found.items():
        blanks = {"blanks": True} if each["network"]["options"].get("blanks") else {}
        expected = nw.compile(machine, to=kind, **blanks)
        assert json_bytes(each["network"]["written"]) == json_bytes(expected.written)
        assert each["run"]["steps"] == machine.run(machine.default_input).steps


def test_the_picture_for_links_is_a_png_of_1200_by_630(site: Path) -> None:
    header = (site / "picture.png").read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", header[16:24]) == (1200, 630)


def test_a_second_build_in_another_process_has_equal_bytes(few: Path, tmp_path: Path) -> None:
    """Of some machines; of all of them in `make test-thorough`."""
    code = (
        "import sys; from pathlib import Path; from netwright.explorer import site; "
        f"site.library_names = lambda: {FEW!r}; site.write_site(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "again")]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "4242"})
    check_equal(few, tmp_path / "again")


def check_equal(one: Path, two: Path) -> None:
    names = {path.relative_to(one) for path in one.rglob("*.*")}
    assert names == {path.relative_to(two) for path in two.rglob("*.*")}
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


@pytest.mark.thorough
def test_two_builds_of_all_have_equal_bytes(site: Path, tmp_path: Path) -> None:
    write_site(tmp_path / "again", url="https://example.org/netwright")
    check_equal(site, tmp_path / "again")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def test_a_site_is_replaced_only_if_asked_and_nothing_else_ever_is(
    few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "site"
    shutil.copytree(few, place)
    (place / "index.html").write_text("changed")
    assert main(["site", "-o", str(place), "--force", "--json"]) == 0
    check_equal(few, place)
    facts = json.loads(capsys.readouterr().out)
    assert facts["machines"] == list(FEW)
    assert facts["bytes"] == sum(p.stat().st_size for p in place.rglob("*") if p.is_file())
    assert main(["site", "-o", str(place)]) == 2
    assert f"{place} exists; name another folder, or overwrite it: --force" in said(capsys)
    (place / "mine.txt").write_text("mine")
    assert main(["site", "-o", str(place), "--force"]) == 2
    assert "has a file mine.txt, which is not part of the site" in said(capsys)
    assert (place / "mine.txt").read_text() == "mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_text("mine")
    assert main(["site", "-o", str(other), "--force"]) == 2
    assert f"{other} is not a site of netwright; not overwritten" in said(capsys)
    assert main(["site", "-o", str(other / "index.html")]) == 2
    assert "exists and is not a folder" in said(capsys)
    assert main(["site"]) == 2
    assert "say which folder to write: -o DIR" in said(capsys)
    with pytest.raises(OutputError, match="No such file or directory"):
        write_site(tmp_path / "nowhere" / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "site"]
