"""A static site: a gallery of the library, the page with its engine, a playground, a walk.

A folder that opens from `file://` and from any static host. Modules and data are gzipped and in
base 85 in classic scripts, since from `file://` neither modules nor `fetch` load: `site.js` has all
modules once, and `data/NAME.js` the networks of one machine, which the page loads when it shows
them. The content depends on the library and the code alone: two builds are equal, byte for byte.
"""

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from netwright.drawing.machines import FAINT, space_time, state_diagram
from netwright.drawing.picture import Picture
from netwright.explorer.answers import json_bytes, obligations_data, statement_titles
from netwright.explorer.demos import DEMOS
from netwright.explorer.explored import Explored
from netwright.explorer.moments import moment_data
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
from netwright.kind.registry import kind_named, kinds_of_the_paper
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, network_for_word
from netwright.network.weight import EMBEDDING, POSITIONS, SEED

KINDS = (*kinds_of_the_paper(), "pointer-transformer", ANY_MACHINE)
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
FAR_AWAY = 23_456_789
"""The token of the walk, as in web/site/runs.js."""
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
            kind: {
                "run": each.description(),
                "network": network_data(each.network),
                "obligations": obligations_data(each.network),
            }
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
    ends = found.explored[KINDS[0]].last[1]
    steps = 10_000_000 if ends else STEPS_DRAWN
    run = space_time(machine, machine.default_input, steps, width=320, height=160, words=False)
    return {
        f"data/{name}.js": _script(name, found.data()),
        f"pictures/{name}-states.svg": state_diagram(machine).svg().encode(),
        f"pictures/{name}-run.svg": run.svg().encode(),
    }


def _script(name: str, data: object) -> bytes:
    """Data as a script that hands it to the page."""
    return f"site.packed[{json.dumps(name)}] = {json.dumps(packed(data))};\n".encode()


def _far() -> dict[str, Any]:
    """What the walk shows of the busy beaver on the universal network: its moment FAR_AWAY."""
    machine = library_machine("busy-beaver-5")
    explored = Explored(network_for_word(machine, ANY_MACHINE, ()), ())
    moment = explored.moment(FAR_AWAY)
    assert moment is not None
    return moment_data(explored, moment)


def _pages(entries: list[Entry], url: str) -> dict[str, bytes]:
    """The pages, and what they share."""
    shown = {
        "index.html": _gallery(entries, url),
        "page.html": _page(url, "page.html", "main.js"),
        "playground.html": _page(url, "playground.html", "main.js", ' data-edit="1"'),
        "walk.html": _page(url, "walk.html", "site/walk.js"),
    }
    return {
        **{name: text.encode() for name, text in shown.items()},
        "site.js": _shared(entries).encode(),
        "style.css": ASSETS["/style.css"].body,
        "site.css": SITE["/site/site.css"].body,
        "icon.svg": ASSETS["/icon.svg"].body,
        "data/walk.js": _script("walk", _far()),
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
            {"name": name, "statement": kind_named(name).statement, "options": []} for name in KINDS
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
    words = {each.machine.name: each.word for each in entries}
    return (
        set(query) <= {"machine", "input", "kind", "t", "break", "bits"}
        and query["machine"] in words
        and query.get("input", words[query["machine"]]) == words[query["machine"]]
        and query.get("kind", KINDS[0]) in KINDS
        and int(query["t"]) <= MOST_IN_THE_PAGE
    )


def _meta(url: str, name: str) -> str:
    """What every page has in its head; `url` makes the picture's address whole."""
    base = url if not url or url.endswith("/") else f"{url}/"
    facts = {
        "og:type": "website",
        "og:title": TITLE,
        "og:description": ABOUT,
        "og:image": base + PICTURE,
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": "A state diagram and the tape over time of a Turing machine",
        **({"og:url": base + ("" if name == "index.html" else name)} if base else {}),
    }
    return "\n".join(
        [
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f'<meta name="description" content="{escape(ABOUT)}">',
            *(f'<meta property="{key}" content="{escape(value)}">' for key, value in facts.items()),
            '<meta name="twitter:card" content="summary_large_image">',
            '<link rel="stylesheet" href="style.css">',
            '<link rel="icon" href="icon.svg">\n',
        ]
    )


def _page(url: str, name: str, main: str = "", more: str = "") -> str:
    """A page whose module and networks come from the folder."""
    own = {"index.html": "/site/gallery.html", "walk.html": "/site/walk.html"}
    asset = SITE[own[name]] if name in own else None
    style = '<link rel="stylesheet" href="site.css">\n' if asset else ""
    script = f'<script defer src="site.js" data-main="{main}"{more}></script>\n'
    return with_head(_meta(url, name) + style + script, asset or ASSETS["/"])


def _gallery(entries: list[Entry], url: str) -> str:
    """The first page: every machine with its pictures, and links that open its networks."""
    cards = "\n".join(map(_card, entries))
    return _page(url, "index.html").replace("<!-- machines -->", cards)


def _card(found: Entry) -> str:
    """A machine: its pictures, its run, and its networks with their sizes."""
    machine = found.machine
    name, about = escape(machine.name), escape(machine.description)
    run = found.explored[KINDS[0]].description()
    end = f"{run['outcome']} after {run['steps']:,} steps" if run["ended"] else "never halts"
    word = f"on {escape(found.word)}" if found.word else "on an empty tape"
    pictures = "".join(
        f'<img src="pictures/{quote(machine.name)}-{what}.svg" alt="{alt} of {name}" '
        f'loading="lazy" width="{width}" height="150">'
        for what, alt, width in (("states", "The states", 150), ("run", "The tape over time", 200))
    )
    rows = "".join(
        f'<tr><th scope="row"><a href="{escape(found.address(kind))}">{kind}</a></th>'
        f"<td>{each.network.dimension}</td><td>{_numbers(each.network):,}</td></tr>"
        for kind, each in found.explored.items()
    )
    return (
        f'<article id="{name}"><h3><a href="{escape(found.address(KINDS[0]))}">{name}</a></h3>'
        f"<p>{about}</p><div class='pictures'>{pictures}</div>"
        f"<p class='quiet'>{len(machine.states)} states, {len(machine.symbols)} symbols; {word}: "
        f"{end}</p><table><thead><tr><th scope='col'>network</th><th scope='col'>dimension</th>"
        f"<th scope='col'>weights</th></tr></thead><tbody>{rows}</tbody></table></article>"
    )


def _numbers(network: Network) -> int:
    """The weights and biases that are not 0."""
    found = network.weights().values()
    counted = (each for each in found if each.name not in (EMBEDDING, SEED, POSITIONS))
    return sum(len(each.affine.weights) + len(each.bias.entries) for each in counted)


def social_picture() -> Picture:
    """The picture that a link to the site shows: 1200 × 630."""
    picture = Picture(1200, 630, TITLE)
    picture.text((60, 92), "netwright", 54)
    picture.text((60, 144), "Turing machines in, exact neural networks out", 30)
    picture.text((60, 188), "The networks run in your browser. Nothing is trained.", 20, FAINT)
    machine = library_machine("busy-beaver-4")
    picture.add(space_time(machine, (), width=790, height=400), (4, 216))
    states = state_diagram(machine)
    picture.add(states, (800, 236), 380 / states.width)
    return picture
