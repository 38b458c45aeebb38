"""The page: its assets, as one self-contained file, and as a frame in a notebook.

A file has the network, which the page's own engine runs at any time up to a limit; that of the
universal one takes any machine as its prompt. What the engine does not run (language models,
networks that were changed, chosen moments) is recorded: the answers that the page would request.
Modules and data are gzipped and in base 85; the modules become `data:` URLs in an import map.
Nothing is ever fetched.
"""

import base64
import gzip
import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from os import PathLike
from pathlib import PurePath, PurePosixPath
from posixpath import normpath
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from netwright.errors import InputError
from netwright.explorer.answers import Answer, json_bytes, obligations_data, statement_titles
from netwright.explorer.explored import LIMIT, Explored
from netwright.explorer.moments import moment_data
from netwright.export.json_target import network_data
from netwright.files import check_output, output_path, write_whole
from netwright.machine.load import load_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network
from netwright.network.running import machine_in, network_of
from netwright.network.universal import HALTED

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
LONGEST = 1000
"""Maximum number of moments in a file by default; longer runs are cut around the start."""
MOST = 20_000
MOST_IN_THE_PAGE = 100_000
"""The last time of a run in a file that has the network, as in engine/source.js."""
UNPACK = """
globalThis.unpacked = async (text) => {
  const UNUSED = [34, 36, 38, 39, 47, 60, 62, 92, 96];
  const left = (5 - (text.length % 5)) % 5, whole = text + "~".repeat(left), digits = new Map();
  for (let c = 33; c < 127; c++) if (!UNUSED.includes(c)) digits.set(c, digits.size);
  const view = new DataView(new ArrayBuffer((whole.length / 5) * 4));
  for (let n = 0, x = 0; n < whole.length; n++) {
    x = 85 * x + digits.get(whole.charCodeAt(n));
    if (n % 5 === 4) { view.setUint32(((n - 4) / 5) * 4, x); x = 0; }
  }
  const bytes = new Blob([view.buffer.slice(0, view.byteLength - left)]).stream();
  return new Response(bytes.pipeThrough(new DecompressionStream("gzip"))).json();
};
globalThis.begin = async (packed, main) => {
  const imports = {}, map = document.createElement("script");
  for (const [name, source] of Object.entries(await unpacked(packed)))
    imports[name] = `data:text/javascript,${encodeURIComponent(source)}`;
  map.type = "importmap";
  map.textContent = JSON.stringify({ imports });
  document.head.append(map);
  await import(`netwright/${main}`);
};
"""
"""What a file or a site runs first: it makes its modules known by name, and starts the page."""
THEIRS = f"{digits}{ascii_uppercase}{ascii_lowercase}!#$%&()*+-;<=>?@^_`{{|}}~"
"""The 85 digits of Python's base 85."""
DIGITS = "".join(chr(c) for c in range(33, 127) if chr(c) not in "\"$&'/<>\\`")
"""Ours, none of which HTML or a text of JavaScript writes in another way."""
START = 'begin(document.getElementById("modules").textContent, "main.js");\n'
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; "
    "img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'"
)


def _files(folder: str) -> dict[str, Answer]:
    """The files of a folder by path."""
    return {
        f"{folder}/{file.name}": Answer(200, TYPES[suffix], file.read_bytes())
        for file in files("netwright.explorer").joinpath(f"web{folder}").iterdir()
        if (suffix := PurePath(file.name).suffix) in TYPES
    }


ASSETS = _files("")
"""The page's own files by path."""
ASSETS["/"] = ASSETS["/index.html"]
FIGURES = _files("/figures")
"""The modules that draw a moment of a kind of network."""
ENGINE = _files("/engine")
"""The modules that run a network in the page."""
ANY_MACHINE = "universal-transformer"
"""What runs the machines that are typed in a file."""
CHECKER = _files("/checker")
"""The modules that check certificates in the page, which loads them when they are used."""
IN_A_FILE = ASSETS | FIGURES | ENGINE | CHECKER
SITE = _files("/site")
"""The walk, and what only a static site has."""
SERVED = IN_A_FILE | SITE | {"/walk.html": SITE["/site/walk.html"]}


def moments_recorded(explored: Explored, tokens: str | None, t: int | None) -> range:
    """Parse `A:B`, both inclusive; None means all moments, or those around `t` of a long run."""
    explored.check(t or 1)
    last, _ = explored.last
    if tokens is None:
        if last <= LONGEST:
            return range(1, last + 1)
        first = max(1, min((t or 1) - LONGEST // 10, last - LONGEST // 5 + 1))
        return range(first, min(last, first + LONGEST // 5 - 1) + 1)
    found = re.fullmatch(r"\s*([0-9]{0,15})\s*:\s*([0-9]{0,15})\s*", tokens.replace(",", ""))
    if not found:
        raise InputError(f"--tokens is {tokens[:40]!r}; expected A:B, such as 1:200")
    first, end = int(found[1] or 1), int(found[2] or last)
    if not 1 <= first <= end <= last:
        raise InputError(f"--tokens is {tokens}; this run has the times 1 to {last:,}")
    if end - first >= MOST:
        raise InputError(f"--tokens has {end - first + 1:,} moments; a file has at most {MOST:,}")
    if t is not None and not first <= t <= end:
        raise InputError(f"t is {t:,}, but the file has the times {first:,} to {end:,}")
    return range(first, end + 1)


def page_file(
    explored: Explored,
    tokens: str | None = None,
    t: int | None = None,
    query: dict[str, str] | None = None,
    tell: Callable[[float], None] = lambda done: None,
) -> str:
    """Return the page with one run recorded in it, as self-contained HTML."""
    explored.explore(lambda done: True)
    recorded: dict[str, Any] = {"run": explored.description(), "statements": statement_titles()}
    network = explored.network
    recorded["obligations"] = obligations_data(network)
    if tokens is None and _runs_in_the_page(explored, t or 1):
        explored.check(t or 1)
        recorded |= {"network": network_data(network), "query": {"machine": "", "t": str(t or 1)}}
        if network.kind.name != ANY_MACHINE:
            recorded["universal"] = network_data(compile_network(HALTED, ANY_MACHINE))
    else:
        times = moments_recorded(explored, tokens, t)
        moments = []
        for number, time in enumerate(times):
            tell(number / len(times))
            moment = explored.moment(time)
            assert moment is not None
            moments.append(moment_data(explored, moment))
        query = {**(query or {}), "t": str(t or times[0])}
        recorded |= {"moments": moments, "query": query}
    modules = modules_by_name(IN_A_FILE if "network" in recorded else ASSETS | FIGURES)
    style = re.sub(r"/\*.*?\*/", "", ASSETS["/style.css"].body.decode(), flags=re.DOTALL)
    style = re.sub(r"\s*([{};,])\s*", r"\1", style)
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<style>{style}</style>\n"
        f'<script type="application/octet-stream" id="recorded">{packed(recorded)}</script>\n'
        f'<script type="application/octet-stream" id="modules">{packed(modules)}</script>\n'
        f"<script>{UNPACK}{START}</script>\n"
    )
    return with_head(head)


def with_head(head: str, asset: Answer = ASSETS["/"]) -> str:
    """The page, or another asset, with something else in the place of its assets."""
    page = asset.body.decode()
    begin, end = page.index("<!-- assets -->"), page.index("<!-- /assets -->")
    return page[:begin] + head + page[end + len("<!-- /assets -->") :]


def modules_by_name(assets: Mapping[str, Answer]) -> dict[str, str]:
    """Modules as an import map has them: by names that begin with `netwright/`."""
    return {
        f"netwright{path}": _by_name(path, each.body)
        for path, each in sorted(assets.items())
        if path.endswith(".js")
    }


def _runs_in_the_page(explored: Explored, t: int) -> bool:
    """Whether a file has the network.

    A changed network has moments, as the page reads a machine's run off unchanged ones alone; so
    has the universal one of 16 coordinates, whose prompts the page cannot make.
    """
    network = explored.network
    is_small = network.options.get("size") == 16
    is_known = network.kind.look.reader and not is_small and not network.changes
    return bool(is_known) and t <= MOST_IN_THE_PAGE


def _by_name(path: str, module: bytes) -> str:
    """A module whose imports are by name instead of by path: a `data:` URL has no path.

    Lines of comments and indentation are left out; no string has a line end in it.
    """
    folder = PurePosixPath(path).parent

    def name(found: re.Match[str]) -> str:
        return f'{found[1]}"netwright{normpath(folder / found[2])}"'

    text = re.sub(r"(?m)^[ \t]*(?://.*)?\n?", "", module.decode())
    return re.sub(r'(from |import\()"(\.\.?/[^"]+)"', name, text)


def packed(data: object) -> str:
    """Data as a script has it: JSON, gzipped, in base 85; equal data is equal text.

    >>> unpacked(packed({"t": 18}))
    {'t': 18}
    """
    found = base64.b85encode(gzip.compress(json_bytes(data), 9, mtime=0)).decode()
    return found.translate(str.maketrans(THEIRS, DIGITS))


def unpacked(text: str) -> Any:
    """What was packed."""
    found = base64.b85decode(text.translate(str.maketrans(DIGITS, THEIRS)))
    return json.loads(gzip.decompress(found))


class Page:
    """A network's run as a page, to show in a notebook or save as a file."""

    def __init__(self, explored: Explored, tokens: str | None = None, t: int | None = None) -> None:
        self._network = explored.network
        self.html = page_file(explored, tokens, t)

    def __repr__(self) -> str:
        return f"<page of {repr(self._network)[1:-1]}: .save(path) writes it, a notebook shows it>"

    def _repr_html_(self) -> str:
        # The sandbox allows the page nothing but to run its scripts.
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(self.html)}" '
            'style="width: 100%; height: 720px; border: 1px solid #8888"></iframe>'
        )

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file; raise OutputError if it exists, unless `force`."""
        place = output_path(path)
        check_output(place, force=force)
        write_whole(place, self.html.encode())


def explore(
    source: "TuringMachine | Network | PathLike[str] | str",
    word: Iterable[str] | None = None,
    *,
    t: int | None = None,
    to: str | None = None,
    tokens: str | None = None,
    max_steps: int = LIMIT,
    **options: object,
) -> Page:
    """Make a page that shows a network's run: `netwright.explore`.

    Args:
        source: a network; or a machine, a name, a path or a text, as `netwright.compile` takes.
        word: the input; none means the machine's default input.
        t: the time of the network at which the page begins.
        to: the kind of network, for a machine.
        tokens: the moments in the page, such as `"100:200"`.
        max_steps: the maximum number of steps of the machine.
        options: those of the kind, such as `score="recency"`.

    >>> explore("palindrome", "abba")
    <page of transformer of palindrome, dimension 45: .save(path) writes it, a notebook shows it>
    """
    if not isinstance(source, TuringMachine | Network):
        source = load_machine(source)
    machine = machine_in(source)
    symbols = machine.check_word(machine.default_input if word is None else word)
    network = network_of(source, to, symbols, **options)
    return Page(Explored(network, symbols, max_steps), tokens, t)
