"""Write the site's generated pages into docs/generated: an extension that docs/conf.py names.

The command line from `--help`, `--json` from runs, the public names from `__all__`, a page for each
statement of PAPER.toml, a page for each source file that some page links to, what the project's
own Markdown files say, and the page of `netwright explore` as a file.
"""

import contextlib
import inspect
import io
import json
import os
import re
import shlex
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import netwright
from netwright.claims.experiments import EXPERIMENTS
from netwright.cli import main
from netwright.cli.verb import VERBS

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
GENERATED = DOCS / "generated"
EXAMPLES = ROOT / "examples"
OWN = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security"}
"""Pages of the project's root that are pages of the site, too."""
LANGUAGES = {".py": "python", ".js": "javascript", ".v": "coq", ".toml": "toml", ".yaml": "yaml"}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
RUNS = {  # `--json` of each verb
    "run": "run palindrome abba --json",
    "compile": "compile palindrome --json",
    "verify": "verify palindrome abba --json",
    "certify": "certify palindrome --json",
    "ablate": "ablate palindrome abba --part residual:decoder.2.self --json",
    "parse": 'parse "a b <run> R:start:a>_ @1" --json',
    "claims": 'claims "Lemma B.4" --json',
    "precision": "precision busy-beaver-4 --dtype bfloat16 --json",
    "show": "show busy-beaver-2 --json",
    "machines": "machines --json",
    "audit": "audit palindrome.safetensors --json",
    "export": "export palindrome --to numpy -o palindrome-numpy --json",
    "draw": "draw palindrome -o states.svg --json",
    "convert": "convert busy-beaver-2 --to bbchallenge --json",
    "campaign run": "campaign run every:2x1 --do run,certify --max-steps 50 -o tiny --json",
    "campaign status": "campaign status tiny --json",
}
RETURNED = (
    "netwright.exact.vector:Vector",
    "netwright.exact.layout:Layout",
    "netwright.network.weight:Weights",
    "netwright.network.weight:LabelledArray",
    "netwright.kind.record:Kind",
    "netwright.verify.comparison:Verification",
    "netwright.verify.comparison:Comparison",
    "netwright.network.network:Standing",
    "netwright.network.ablation:Ablations",
    "netwright.network.audit:Audit",
    "netwright.certificates.reading:Obligation",
    "netwright.export.texts:Prompt",
    "netwright.kind.language_model.parse:ParsedText",
    "netwright.explorer.page:Page",
    "netwright.drawing.picture:Picture",
    "netwright.machine.turing_machine:Action",
    "netwright.verify.comparison:Difference",
    "netwright.network.audit:Finding",
)
"""Types of what the public functions and methods return."""


def command(line: str) -> str:
    """What `netwright LINE` prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main(shlex.split(line))
    return printed.getvalue()


def fence(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"````{language}\n{text.rstrip()}\n````\n"


def write(path: str, text: str) -> None:
    """Write a generated page."""
    file = GENERATED / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def command_line() -> None:
    """The help of every verb."""
    parts = ["# Every verb and option\n", fence(command("--help"))]
    for verb in VERBS:
        parts += [f"## netwright {verb}\n", fence(command(f"{verb} --help"))]
        module = import_module(f"netwright.cli.{verb}")
        for name in getattr(module, "VERBS", {}):
            text = command(f"{verb} {name} --help")
            parts += [f"### netwright {verb} {name}\n", fence(text)]
    parts += ["## The options of networks\n", fence(command("help networks"))]
    write("command-line.md", "\n".join(parts))


TYPES = {
    dict: "object",
    list: "list",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
}


def keys(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each key of an object and of those in it, with the type of its value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.{key}" if path else key
            yield name, TYPES.get(type(inner), "null")
            yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")


def key_table(value: Any) -> str:
    """A line for each key; one whose value differs from object to object has all its types."""
    types: dict[str, dict[str, None]] = {}
    for name, kind in keys(value):
        types.setdefault(name.lstrip("[].") or name, {})[kind] = None
    rows = [f"| `{name}` | {' or '.join(kinds)} |" for name, kinds in types.items()]
    return "| key | type |\n|---|---|\n" + "\n".join(rows) + "\n"


def json_outputs() -> None:
    """What `--json` prints, as keys with types, from a run of each verb."""
    parts = [
        "# What `--json` prints\n",
        "One object, or one list, on standard output. The tables are read off the run that is "
        "shown, with this version; a key that is null there may be a value elsewhere. "
        "[campaigns.md](../campaigns.md) has the columns of a campaign's rows, and "
        "[`certificates/schema.py`](../../src/netwright/certificates/schema.py) the format of a "
        "certificate.\n",
    ]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        command("compile palindrome -o palindrome.safetensors")
        for verb, line in RUNS.items():
            printed = command(line)
            value = json.loads(printed)
            text = json.dumps(value, indent=1, ensure_ascii=False)
            if len(text) > 3000:
                text = text[:3000] + "\n…"
            parts += [
                f"## {verb}\n",
                fence(f"$ netwright {line}", "text"),
                f"A {'list of objects' if isinstance(value, list) else 'single object'}:\n",
                key_table(value),
                "<details><summary>The output</summary>\n",
                fence(text, "text"),
                "</details>\n",
            ]
    write("json.md", "\n".join(parts))


def names() -> None:
    """The public names, and the types of what they return, by autodoc."""
    parts = [
        "# Public names\n",
        "`import netwright as nw` has these names; [python.md](../python.md) shows their use.\n",
    ]
    public = [getattr(netwright, name) for name in netwright.__all__ if name != "campaign"]
    parts += map(documented, sorted(public, key=lambda thing: isinstance(thing, type)))
    parts.append("## What they return\n")
    parts += [documented(named(reference), "###") for reference in RETURNED]
    parts.append("## netwright.campaign\n")
    for name in netwright.campaign.__all__:
        parts.append(documented(getattr(netwright.campaign, name), "###"))
    write("names.md", "\n".join(parts))


def documented(thing: Any, heading: str = "##") -> str:
    """A section on a class or function."""
    kind = "autoclass" if isinstance(thing, type) else "autofunction"
    options = "\n   :members:" if isinstance(thing, type) else ""
    if isinstance(thing, type) and issubclass(thing, Enum):
        options += "\n   :undoc-members:"
    name = thing.__name__
    directive = f".. {kind}:: {thing.__module__}.{name}{options}"
    return f"{heading} {name}\n\n```{{eval-rst}}\n{directive}\n```\n"


def source(path: str) -> str:
    """Write the page of a source file; its place in docs/generated."""
    page = f"source/{path}.md"
    language = LANGUAGES.get(Path(path).suffix, "text")
    up = os.path.relpath(ROOT / path, (GENERATED / page).parent)
    options = f":language: {language}\n:linenos:"
    title = f"---\norphan: true\n---\n\n# {Path(path).name}\n\n`{path}`\n\n"
    write(page, f"{title}```{{literalinclude}} {up}\n{options}\n```\n")
    return page


def slug(name: str) -> str:
    """The file name of a statement's page."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def named(reference: str) -> Any:
    """What `netwright.module:name` names; without a name, the module."""
    module, _, name = reference.partition(":")
    found: Any = import_module(module)
    for part in filter(None, name.split(".")):
        found = getattr(found, part)
    return found


def file_of(reference: str) -> str:
    """The source file of `netwright.module:name`."""
    module = reference.partition(":")[0]
    return str(Path(import_module(module).__file__ or "").relative_to(ROOT))


def to_source(path: str, text: str) -> str:
    """A link from a statement's page to a source file's."""
    return f"[`{text}`](../{source(path)})"


def statements() -> None:
    """A page for each statement of PAPER.toml, and a list of them."""
    about = tomllib.loads((ROOT / "PAPER.toml").read_text(encoding="utf-8"))
    rows: dict[bool, list[str]] = {False: [], True: []}
    for name, statement in about.items():
        page = slug(name)
        ours = statement.get("ours", False)
        departs = "yes" if statement.get("deviation") else ""
        coq = "yes" if statement.get("coq") else ""
        rows[ours].append(f"| [{name}]({page}.md) | {statement['title']} | {departs} | {coq} |")
        origin = "Ours, beyond the paper." if ours else ""
        if statement.get("label"):
            origin = f"In the paper's source: `{statement['label']}`."
        parts = [f"# {name}\n", f"**{statement['title']}.** {origin}\n"]
        says = inspect.getdoc(named(statement["code"][0])) or ""
        parts += ["## What it says\n", re.sub(r"^#", r"\\#", says, flags=re.M), ""]
        if statement.get("deviation"):
            parts += ["## Where this departs from the print\n", statement["deviation"] + "\n"]
        if name in EXPERIMENTS:
            experiment = EXPERIMENTS[name]
            parts += [
                "## Try it\n",
                f"The experiment: {experiment.checked}\n",
                fence(f'netwright claims "{name}"\nnetwright claims "{name}" --thorough', "sh"),
            ]
        if statement["code"]:
            parts.append("## Code\n")
            for each in statement["code"]:
                parts.append(f"- {to_source(file_of(each), each)}{first_line(each)}")
            parts.append("\n## Tests\n")
            for each in statement["tests"]:
                path, _, test = each.partition("::")
                parts.append(f"- {to_source(path, test)}: {test[5:].replace('_', ' ')}")
            parts.append("")
        if statement.get("coq"):
            parts.append("## In Coq\n")
            for each in statement["coq"]:
                file = f"proofs/{each.partition('.')[0]}.v"
                parts.append(f"- {to_source(file, each)}")
            parts.append("\n[proofs.md](../../proofs.md) says what is proved there.\n")
        write(f"paper/{page}.md", "\n".join(parts))
    header = "| | says | departs from the print | in Coq |\n|---|---|---|---|\n"
    pages = "\n".join(slug(name) for name in about)
    write(
        "paper/index.md",
        "# The paper, statement by statement\n\n"
        "*On the Turing Completeness of Modern Neural Network Architectures* (Pérez, Marinković, "
        "Barceló, ICLR 2019). Each page has what a statement says, in the words of its code, where "
        "the project departs from the print, the experiment that tries it, its code and its tests. "
        "All of it is generated from [PAPER.toml](../../../PAPER.toml).\n\n"
        f"{header}" + "\n".join(rows[False]) + "\n\n## Beyond the paper\n\n"
        f"{header}" + "\n".join(rows[True]) + f"\n\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n",
    )


def first_line(reference: str) -> str:
    """The first sentence of an object's docstring, where it has one."""
    text = (inspect.getdoc(named(reference)) or "").partition("\n")[0]
    return f": {text.replace('|', chr(92) + '|')}" if text and text[:1] != "(" else ""


def own_pages() -> None:
    """The project's own Markdown files; their links are to docs/."""
    for file, page in OWN.items():
        path = ROOT / file
        if path.is_file():
            write(f"{page}.md", linked(path.read_text(encoding="utf-8"), ROOT, GENERATED))


def linked(text: str, of: Path, into: Path) -> str:
    """A page's text with its links into the project as links into the site."""

    def target(found: re.Match[str]) -> str:
        words, link = found[1], found[2]
        place, _, anchor = link.partition("#")
        if "://" in link or not place:
            return found[0]
        file = (of / place).resolve()
        if not file.exists() or file.is_dir() or not file.is_relative_to(ROOT):
            return words
        path = file.relative_to(ROOT).as_posix()
        if path == "README.md":
            file = DOCS / "index.md"
        elif path in OWN:
            file = GENERATED / f"{OWN[path]}.md"
        elif file.parent == EXAMPLES and file.suffix == ".ipynb":
            file = GENERATED / "examples" / file.name
        elif (not file.is_relative_to(DOCS) and file.suffix in LANGUAGES) or (
            file.is_relative_to(DOCS) and file.suffix == ".py"
        ):
            file = GENERATED / source(path)
        ending = f"#{anchor}" if anchor else ""
        return f"[{words}]({os.path.relpath(file, into)}{ending})"

    pieces = re.split(r"(^```.*?^```|^    .*?$)", text, flags=re.M | re.S)
    return "".join(piece if n % 2 else LINK.sub(target, piece) for n, piece in enumerate(pieces))


def notebooks() -> None:
    """The notebooks of examples/."""
    (GENERATED / "examples").mkdir()
    for path in EXAMPLES.glob("*.ipynb"):
        shutil.copy(path, GENERATED / "examples")


def page_itself() -> None:
    """What `netwright site` writes: gallery, walk, playground and the page."""
    live = GENERATED / "extra" / "live"
    live.parent.mkdir(parents=True)
    command(f"site -o {shlex.quote(str(live))}")


def generate() -> None:
    """Write all of it."""
    shutil.rmtree(GENERATED, ignore_errors=True)
    for each in (command_line, json_outputs, names, statements, own_pages, notebooks, page_itself):
        each()
    for page in [*DOCS.glob("*.md"), *DOCS.glob("*/*.md"), *GENERATED.glob("paper/*.md")]:
        linked(
            page.read_text(encoding="utf-8"), page.parent, page.parent
        )  # writes what it links to


def on_read(app: Any, name: str, content: list[str]) -> None:
    """Sphinx is about to read a page: links out of docs/ lead to pages of the site."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md" and not path.is_relative_to(GENERATED / "source"):
        content[0] = linked(content[0], path.parent, path.parent)


def on_docstring(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Autodoc has a docstring: read its sections of arguments, and no type in "a: b"."""
    from sphinx.ext.napoleon import Config, GoogleDocstring

    if lines[:1] and re.match(r"Alias for field number \d+$", lines[0]):
        lines.clear()  # what Python says of each field of a named tuple
    what = "function" if what in ("attribute", "data", "property") else what
    lines[:] = GoogleDocstring(lines, Config(), app, what, name, thing).lines()


def on_begin(app: Any) -> None:
    """MyST-NB's copies of notebooks belong into docs/generated, and not beside the site."""
    config = app.env.mystnb_config
    app.env.mystnb_config = config.copy(output_folder=str(GENERATED / "executed"))


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", on_begin)
    app.connect("source-read", on_read)
    app.connect("autodoc-process-docstring", on_docstring)
    generate()
    return {"parallel_read_safe": True, "parallel_write_safe": True}
