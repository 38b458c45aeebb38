"""A static site: a gallery of the library, the page with its engine, a playground, a walk.

A folder that opens from `file://` and from any static host. Modules and data are gzipped and in
base64 in classic scripts, since from `file://` neither modules nor `fetch` load: `site.js` has all
modules once, and `data/NAME.js` the networks of one machine, which the page loads when it shows
them. The content depends on the library and the code alone: two builds are equal, byte for byte.
"""

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from netwright.drawing.machines import space_time, state_diagram
from netwright.drawing.picture import Picture
from netwright.explorer.answers import json_bytes, statement_titles
from netwright.explorer.demos import DEMOS
from netwright.explorer.explored import Explored
from netwright.explorer.page import (
    ANY_MACHINE,
    ASSETS,
    MOST_IN_THE_PAGE,
    SERVED,
    SITE,
    UNPACK,
    modules_by_name,
    packed,
    with_head,
)
from netwright.export.json_target import network_data
from netwright.export.place import SITE as SORT
from netwright.export.place import check_place, new_folder, put_in_place
from netwright.kind.registry import kind_named
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, network_for_word

KINDS = ("transformer", "rnn", "neural-gpu", "pointer-transformer", ANY_MACHINE)
"""The kinds in a site: those of the paper, and two of ours that run far in the page."""
MOST_BYTES = 1_500_000
POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline' data:; "
    "style-src 'self' file: 'unsafe-inline'; img-src 'self' file: data: blob:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'"
)
"""As strict as a file's, and scripts, style sheets and pictures of the folder itself."""
FAR = 2000
"""The latest time at which a link of the gallery opens: the network's run to it is short."""
STEPS_DRAWN = 100_000
"""Where the picture of a run is cut off that does not end by itself."""
TITLE = "netwright: Turing machines in, exact neural networks out"
ABOUT = (
    "Any Turing machine, compiled into the weights of a Transformer, an RNN or a Neural GPU. "
    "The networks run here, in this page, in exact numbers. Nothing is trained."
)
PICTURE = "picture.png"
START = """
document.documentElement.dataset.theme = /[#&]theme=(dark|light)/.exec(location.hash)?.[1]
  ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
"""


class Entry(NamedTuple):
    """A machine of the library with its networks."""

    machine: TuringMachine
    explored: dict[str, Explored]

    @property
    def word(self) -> str:
        """Its default input."""
        return "".join(self.machine.default_input)

    def data(self) -> dict[str, Any]:
        """By kind: the run and the network, as the page's engine takes them."""
        return {
            kind: {"run": each.description(), "network": network_data(each.network)}
            for kind, each in self.explored.items()
        }

    def address(self, kind: str) -> str:
        """The page that shows one of its networks at work."""
        t = max(1, min(2 * self.explored[kind].last[0] // 3, FAR))
        return "page.html#" + urlencode({"machine": self.machine.name, "kind": kind, "t": t})


def entry(name: str) -> Entry:
    """Compile the networks of a machine of the library for its default input."""
    machine = library_machine(name)
    word = machine.default_input
    explored = {kind: Explored(network_for_word(machine, kind, word), word) for kind in KINDS}
    for each in explored.values():
        each.explore(lambda done: True)
    return Entry(machine, explored)


def write_site(
    place: Path,
    *,
    url: str = "",
    force: bool = False,
    tell: Callable[[str], None] = lambda what: None,
) -> dict[str, Any]:
    """Write the site into a new folder, whole or not at all; return what is in it.

    Args:
        place: the folder; with `force`, an older site in it is replaced.
        url: where the site will be, for the links that need a whole address.
        force: whether an older site may be replaced.
        tell: is called with what is being done.
    """
    check_place(place, force=force, sort=SORT)
    entries = []
    with new_folder(place) as folder:
        for name in library_names():
            tell(f"{name}: networks and pictures")
            entries.append(found := entry(name))
            for path, content in _machine_files(found).items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_bytes(content)
        tell("pages")
        for path, content in _pages(entries, url).items():
            (folder / path).write_bytes(content)
        sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
        report: dict[str, Any] = {
            "format": SORT.format,
            "url": url,
            "machines": [each.machine.name for each in entries],
            "kinds": [*KINDS],
        }
        put_in_place(folder, place, report, force=force, sort=SORT)
    return {
        "site": str(place),
        "files": len(sizes) + 1,
        "bytes": sum(sizes.values()) + (place / SORT.file).stat().st_size,
        "machines": report["machines"],
        "kinds": report["kinds"],
    }


def _machine_files(found: Entry) -> dict[str, bytes]:
    """The networks of a machine as a script, and its two pictures."""
    name, machine = found.machine.name, found.machine
    data = f"site.packed[{json.dumps(name)}] = {json.dumps(packed(found.data()))};\n"
    ends = found.explored[KINDS[0]].last[1]
    steps = 10_000_000 if ends else STEPS_DRAWN
    run = space_time(machine, machine.default_input, steps, width=440, height=220)
    return {
        f"data/{name}.js": data.encode(),
        f"pictures/{name}-states.svg": state_diagram(machine).svg().encode(),
        f"pictures/{name}-run.svg": run.svg().encode(),
    }


def _pages(entries: list[Entry], url: str) -> dict[str, bytes]:
    """The pages, and what they share."""
    shown = {
        "index.html": _gallery(entries, url),
        "page.html": _live(url, "page.html", "main.js"),
        "playground.html": _live(url, "playground.html", "main.js", 'data-edit="1"'),
    }
    return {
        **{name: text.encode() for name, text in shown.items()},
        "site.js": _shared(entries).encode(),
        "style.css": ASSETS["/style.css"].body,
        "site.css": SITE["/site/site.css"].body,
        "icon.svg": ASSETS["/icon.svg"].body,
        PICTURE: social_picture().png(1),
    }


def _shared(entries: list[Entry]) -> str:
    """The script that every page runs: what there is, all modules, and the start of one."""
    known = {
        "universal": ANY_MACHINE,
        "machines": [
            {
                "name": each.machine.name,
                "about": each.machine.description,
                "states": len(each.machine.states),
                "input": each.word,
            }
            for each in entries
        ],
        "kinds": [
            {"name": name, "statement": kind_named(name).statement, "options": []}
            for name in KINDS
        ],
        "demos": [demo for demo in DEMOS if _has(entries, demo["query"])],
        "statements": statement_titles(),
        "packed": {},
        "data": {},
    }
    modules = packed(modules_by_name(SERVED))
    return (
        f"globalThis.site = {json_bytes(known).decode()};\n{UNPACK}{START}"
        "{ const { main, edit } = document.currentScript.dataset;\n"
        f"if (edit) site.edit = true;\nif (main) begin({json.dumps(modules)}, main); }}\n"
    )


def _has(entries: list[Entry], query: dict[str, str]) -> bool:
    """Whether the site shows what a demo asks for."""
    asked = {"machine", "kind", "t", "break", "bits"} | ({"input"} if "input" in query else set())
    words = {each.machine.name: each.word for each in entries}
    return (
        set(query) <= asked
        and query.get("kind", KINDS[0]) in KINDS
        and int(query["t"]) <= MOST_IN_THE_PAGE
        and query.get("input", words[query["machine"]]) == words[query["machine"]]
    )


def _meta(url: str, name: str, title: str, about: str) -> str:
    """What every page has in its head; `url` makes the picture's address whole."""
    base = url if not url or url.endswith("/") else f"{url}/"
    facts = {
        "og:type": "website",
        "og:title": title,
        "og:description": about,
        "og:image": base + PICTURE,
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": "A state diagram and the tape over time of a Turing machine",
        **({"og:url": base + ("" if name == "index.html" else name)} if base else {}),
    }
    return "\n".join(
        [
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f'<meta name="description" content="{escape(about)}">',
            *(f'<meta property="{key}" content="{escape(value)}">' for key, value in facts.items()),
            '<meta name="twitter:card" content="summary_large_image">',
            '<link rel="stylesheet" href="style.css">',
            '<link rel="icon" href="icon.svg">\n',
        ]
    )


def _live(url: str, name: str, main: str, more: str = "") -> str:
    """The page, which takes its networks from the folder."""
    script = f'<script defer src="site.js" data-main="{main}" {more}></script>\n'
    return with_head(_meta(url, name, TITLE, ABOUT) + script)


def _gallery(entries: list[Entry], url: str) -> str:
    """The first page: every machine with its pictures, and links that open its networks."""
    weights = {
        (each.machine.name, kind): sum(len(w.entries) for w in found.network.weights().values())
        for each in entries
        for kind, found in each.explored.items()
    }
    cards = "\n".join(_card(each, weights) for each in entries)
    text = SITE["/site/gallery.html"].body.decode()
    head = _meta(url, "index.html", TITLE, ABOUT) + (
        '<link rel="stylesheet" href="site.css">\n<script src="site.js"></script>\n'
    )
    return text.replace("<!-- head -->\n", head).replace("<!-- machines -->", cards)


def _card(found: Entry, weights: dict[tuple[str, str], int]) -> str:
    machine = found.machine
    name, about = escape(machine.name), escape(machine.description)
    run = found.explored[KINDS[0]].description()
    end = f"{run['outcome']} after {run['steps']:,} steps" if run["ended"] else "never halts"
    word = f"on {escape(found.word)}" if found.word else "on an empty tape"
    pictures = "".join(
        f'<img src="pictures/{quote(machine.name)}-{what}.svg" alt="{alt} of {name}" '
        f'loading="lazy" width="{width}" height="150">'
        for what, alt, width in (("states", "The states", 150), ("run", "The tape over time", 300))
    )
    rows = "".join(
        f'<tr><th scope="row"><a href="{escape(found.address(kind))}">{kind}</a></th>'
        f"<td>{each.network.dimension}</td><td>{weights[machine.name, kind]:,}</td></tr>"
        for kind, each in found.explored.items()
    )
    return (
        f'<article id="{name}"><h3><a href="{escape(found.address(KINDS[0]))}">{name}</a></h3>'
        f"<p>{about}</p><div class='pictures'>{pictures}</div>"
        f"<p class='quiet'>{len(machine.states)} states, {len(machine.symbols)} symbols; {word}: "
        f"{end}</p><table><thead><tr><th scope='col'>network</th><th scope='col'>dimension</th>"
        f"<th scope='col'>weights</th></tr></thead><tbody>{rows}</tbody></table></article>"
    )


def social_picture() -> Picture:
    """The picture that a link to the site shows: 1200 × 630."""
    picture, machine = Picture(1200, 630, TITLE), library_machine("palindrome")
    picture.text((56, 92), "netwright", 54)
    picture.text((56, 144), "Turing machines in, exact neural networks out", 27)
    states = state_diagram(machine)
    picture.add(states, (770, 10), 400 / states.width)
    word = machine.check_word("abbaabbaabba")
    picture.add(space_time(machine, word, width=1130, height=400), (14, 222))
    picture.text((56, 196), "The networks run in your browser. Nothing is trained.", 19)
    return picture
