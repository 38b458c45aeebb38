"""PAPER.toml and the project name the same things, in both directions."""

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest
from tests.corpora import FOLDER

ROOT = Path(__file__).resolve().parents[1]
STATEMENTS = tomllib.loads((ROOT / "PAPER.toml").read_text(encoding="utf-8"))
LATEX = FOLDER.parent / "paper" / "turing-completeness-iclr2019.tex"
# The folders whose modules are some statement of the paper, but for those of these roles.
OF_THE_PAPER = ("definitions", "statements", "kind/transformer", "kind/rnn", "kind/neural_gpu")
ROLES = ("__init__", "kind", "reading", "checks")


def resolve(reference: str) -> object:
    """The module or object that "netwright.module:name" names."""
    module, _, name = reference.partition(":")
    found: object = importlib.import_module(module)
    for part in filter(None, name.split(".")):
        found = getattr(found, part)
    return found


def has_test(reference: str) -> bool:
    path, _, name = reference.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_resolves(name: str) -> None:
    statement = STATEMENTS[name]
    assert statement.keys() <= {"label", "title", "code", "tests", "deviation", "ours", "coq"}
    assert statement["title"]
    assert bool(statement["code"]) == bool(statement["tests"]), "code and tests come together"
    for reference in statement["code"]:
        assert resolve(reference) is not None
    for reference in statement["tests"]:
        assert has_test(reference), reference


def test_every_module_of_the_paper_is_named() -> None:
    named = {ref.partition(":")[0] for s in STATEMENTS.values() for ref in s["code"]}
    for folder in OF_THE_PAPER:
        for path in (ROOT / "src" / "netwright" / folder).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
            if path.stem not in ROLES:
                assert module in named, f"{module} is no statement's code in PAPER.toml"


@pytest.mark.skipif(not LATEX.is_file(), reason="the paper's source is not at ../shared/paper")
def test_every_statement_of_the_paper_is_listed() -> None:
    text = LATEX.read_text(encoding="utf-8", errors="replace")
    kinds = "theorem|proposition|corollary|lemma"
    printed = re.findall(rf"\\begin{{(?:{kinds})}}(?:\[.*?\])?\s*\\label{{(.*?)}}", text)
    listed = {statement.get("label") for statement in STATEMENTS.values()}
    assert len(printed) >= 12
    assert set(printed) <= listed


def test_statements_in_coq_are_there() -> None:
    """`make proofs` compiles them; here they are only looked for."""
    named = [each for about in STATEMENTS.values() for each in about.get("coq", [])]
    assert named
    for each in named:
        file, _, theorem = each.partition(".")
        text = (ROOT / "proofs" / f"{file}.v").read_text(encoding="utf-8")
        assert re.search(rf"^(Theorem|Lemma) {theorem}\b", text, re.M), each
