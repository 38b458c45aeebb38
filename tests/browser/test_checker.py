"""The page's checker of certificates says what Python's says: of good ones, and of mutants."""

import base64
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.browser.forged import CHOICES, mutants, python_says
from tests.browser.looking import PALINDROME, text
from tests.conftest import COUNTED
from tests.repetition import examples
from tests.strategies import machines

import netwright as nw
from netwright.certificates.reading import Blocks
from netwright.kind.registry import exact_kinds
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network

HERE = Path(__file__).parent
CHECKER = Path(nw.__file__).parent / "explorer" / "web" / "checker"
KEPT = HERE.parent / "network" / "kept"


def page_says(files: Sequence[bytes]) -> list[dict[str, Any]]:
    """The verdicts of the page's checker, in node."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        pytest.fail("no node here; `make test-browser` installs it where it can")
    lines = "".join(f"{base64.b64encode(data).decode()}\n" for data in files)
    done = subprocess.run(
        [node, str(HERE / "checker.mjs"), str(CHECKER / "check.js")],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def agree(named: Iterable[tuple[str, bytes]]) -> Counter[str]:
    """How many certificates both checkers hold for right, for wrong, and for none at all."""
    names, files = zip(*named, strict=True)
    found = page_says(files)
    assert len(found) == len(files)
    counts: Counter[str] = Counter()
    for name, data, page in zip(names, files, found, strict=True):
        python = python_says(data)
        if page["verdict"] == "unchecked":
            assert page["on"] not in {on for on, _ in CHOICES}, name
            page["verdict"] = "refused"
        assert page["verdict"] == python["verdict"], (name, page, python)
        if python["counts"] is not None:
            assert page["failed"] == python["failed"], (name, page, python)
            assert page["counts"] == python["counts"], name
        counts[page["verdict"]] += 1
    return counts


def test_the_network_of_16_coordinates_is_left_to_python() -> None:
    small: dict[str, Any] = {"size": 16}
    files = [in_a_file("palindrome", "universal-transformer", small)]
    files.append(nw.universal(**small).certify().to_bytes())
    for found in page_says(files):
        assert found["verdict"] == "unchecked"


def in_a_file(name: str, on: str, options: dict[str, Any]) -> bytes:
    return compile_network(library_machine(name), on, **options).certify().to_bytes()


@pytest.mark.parametrize(("on", "options"), CHOICES)
def test_every_certificate_of_the_library(on: str, options: dict[str, Any]) -> None:
    names = library_names()
    files = [(name, in_a_file(name, on, options)) for name in names]
    assert agree(files) == {"holds": len(names)}


def test_certificates_that_are_kept_and_those_for_all_machines() -> None:
    alone = {*exact_kinds()} - {on for on, _ in CHOICES}
    kept = [(path.stem, path.read_bytes()) for path in KEPT.glob("*.json")]
    left = page_says([data for name, data in kept if name in alone])
    assert [found["verdict"] for found in left] == ["unchecked"] * len(alone)
    files = [(name, data) for name, data in kept if name not in alone]
    assert agree(files) == {"holds": len(files) - 1, "refused": 1}  # one is of an older format
    universal = [("rules", {}), ("rules", {"attention": "dot-product"}), ("text", {})]
    certificates = [nw.universal(prompt, **options).certify() for prompt, options in universal]
    files = [(str(each), each.to_bytes()) for each in certificates]
    assert agree(files) == {"holds": 3}


@examples(40)
@given(machines(), st.sampled_from(CHOICES))
def test_random_machines(machine: TuringMachine, choice: tuple[str, dict[str, Any]]) -> None:
    on, options = choice
    base = {"base": str(len(machine.symbols) + 2)} if "base" in options else options
    network = compile_network(machine, on, **base)
    assert agree([(on, network.certify().to_bytes())]) == {"holds": 1}


GOOD = in_a_file("even-as", "transformer", {})
SPELLINGS: dict[str, tuple[bytes, bytes]] = {
    "a float": (b'"bias": [[', b'"bias": [[1.0, "1"], ['),
    "an exponent": (b'"layout": 0', b'"layout": 0e0'),
    "minus zero": (b'"layout": 0', b'"layout": -0'),
    "a leading zero": (b'"layout": 0', b'"layout": 00'),
    "a plus": (b'"layout": 0', b'"layout": +0'),
    "spaces": (b'"layout": 0', b'"layout"\t:\r\n 0'),
    "another space": (b'"layout": 0', b'"layout":\xc2\xa00'),
    "NaN": (b'"holds": true', b'"holds": NaN'),
    "Infinity": (b'"holds": true', b'"holds": -Infinity'),
    "a long integer": (b'"layout": 0', b'"layout": ' + b"0" * 5000),
    "a key as an escape": (b'"layout": 0', b'"layou\\u0074": 0'),
    "a key twice, once as an escape": (b'"layout": 0', b'"layou\\u0074": 0, "layout": 0'),
    "a pair of escapes": (b'"even"', b'"\\ud83d\\ude00"'),
    "half a pair": (b'"even"', b'"\\ud83d"'),
    "a bad escape": (b'"even"', b'"\\x65ven"'),
    "half an escape": (b'"even"', b'"\\u00"'),
    "a line end in a text": (b'"even"', b'"ev\nen"'),
    "a delete in a text": (b'"even"', b'"ev\x7fen"'),
    "a line separator in a text": (b'"even"', b'"ev\xe2\x80\xa8en"'),
    "no UTF-8": (b'"even"', b'"ev\xff"'),
    "a comma too many": (b"}], ", b"},], "),
    "a byte order mark": (b'{"kind"', b'\xef\xbb\xbf{"kind"'),
    "two byte order marks": (b'{"kind"', b'\xef\xbb\xbf\xef\xbb\xbf{"kind"'),
    "single quotes": (b'"kind"', b"'kind'"),
    "a comment": (b'{"kind"', b'/**/{"kind"'),
    "two values": (b'{"kind"', b'{} {"kind"'),
    "a key of objects": (b'{"kind"', b'{"__proto__": 1, "kind"'),
    "nested deeply": (b'"holds": true', b'"holds": ' + b"[" * 5000 + b"]" * 5000),
    "not in lowest terms": (b'"-1/2"', b'"-2/4"'),
    "over one": (b'"1"', b'"1/1"'),
    "over zero": (b'"1"', b'"1/0"'),
    "zero over": (b'"1"', b'"0/1"'),
    "a number of 4,000 digits": (b'"-1/2"', b'"' + b"7" * 4000 + b'"'),
    "a number of 4,001 digits": (b'"-1/2"', b'"' + b"7" * 4001 + b'"'),
    "a line end after a number": (b'"1"', b'"1\\n"'),
    "another script's digit": (b'"1"', '"١"'.encode()),
    "left out": (b'"network": {"layout"', b'"network": {"without": ["decoder.1"], "layout"'),
    "nothing left out": (b'"network": {"layout"', b'"network": {"without": [], "layout"'),
    "left out, of another type": (b'"network": {"layout"', b'"network": {"without": 1, "layout"'),
    "another kind": (b'"on": "transformer"', b'"on": "abacus"'),
    "a language model": (b'"on": "transformer"', b'"on": "language-model"'),
    "an object's own name": (b'"on": "transformer"', b'"on": "constructor"'),
    "the kind of another": (b'"on": "transformer"', b'"on": "pointer-transformer"'),
    "nothing": (GOOD, b""),
}


def test_ways_to_write_json() -> None:
    for old, _ in SPELLINGS.values():
        assert old in GOOD
    counts = agree((way, GOOD.replace(old, new)) for way, (old, new) in SPELLINGS.items())
    assert counts == {"refused": 35, "fails": 2, "holds": 7}


def test_two_rules_with_one_code() -> None:
    whole = json.loads(in_a_file("even-as", "universal-transformer", {}))
    rules = whole["network"]["rules"]
    rules[1][2] = rules[0][2]
    data = json.dumps(whole).encode()
    assert python_says(data)["failed"] == "prompt: the codes of pairs differ"
    assert agree([("twice", data)]) == {"fails": 1}


def test_hidden_units_that_do_not_saturate() -> None:
    """What F reads of the positions, an eighth of it: it is a function of A and D as before."""
    whole = json.loads(GOOD)
    network = whole["network"]["network"]
    blocks = Blocks(whole["network"]["layouts"][network["layout"]])
    places = blocks.of("x6", "x7", "x9")
    for weight in network["F"]["maps"][0]["weights"]:
        if weight[0] in places:
            weight[2] = str(fmpq(int(weight[2])) / 8)
    data = json.dumps(whole).encode()
    assert python_says(data)["failed"] == "Lemma B.5: F saturates in the positions"
    assert agree([("an eighth", data)]) == {"fails": 1}


@pytest.mark.thorough
def test_many_mutants(record_property: Callable[[str, object], None]) -> None:
    counts = agree(mutants(10_000, 100_000))
    record_property(COUNTED, f"10,000 mutants of certificates, two checkers agree: {counts}")
    assert counts.total() == 10_000


def test_mutants() -> None:
    counts = agree(mutants(300))
    assert min(counts[verdict] for verdict in ("holds", "fails", "refused")) >= 20


def dropped(page: Any, name: str, data: bytes) -> None:
    """Drop a file onto the page, and wait for the verdict."""
    files = page.evaluate_handle("() => new DataTransfer()")
    added = "(files, [name, text]) => void files.items.add(new File([text], name))"
    files.evaluate(added, [name, data.decode()])
    for kind in ("dragover", "drop"):
        page.dispatch_event("main", kind, {"dataTransfer": files})
    page.wait_for_selector(f"#checked[data-verdict]:has-text('{name}'):has(.verdict)")


def checks_here(page: Any) -> None:
    """A good certificate, a damaged one, and what is none."""
    machine = library_machine("even-as")
    dropped(page, "good.json", GOOD)
    assert text(page, ".verdict").startswith("Certified: the transformer simulates the machine")
    rows = page.locator(".obligations tbody tr").all_inner_texts()
    wanted = compile_network(machine, "transformer").certify().obligations
    assert [row.split("\t")[:2] for row in rows] == [[o.name, f"{o.cases:,}"] for o in wanted]
    assert all(row.endswith("holds") for row in rows)
    page.click("#checked summary")
    assert f"sha256 {machine.digest}" in text(page, "#checked details")
    assert text(page, "#checked pre").count("\n") == len(machine.delta) - 1
    damaged = GOOD.replace(b'"-1/2"', b'"-1/3"')
    dropped(page, "damaged.json", damaged)
    assert text(page, ".verdict").startswith("Not certified. Lemma B.3: Q, K, V and O of layer 2: ")
    failed = [name for name, cases in python_says(damaged)["counts"] if cases is None]
    assert page.locator("#checked tr.failed td:first-child").all_inner_texts() == failed
    dropped(page, "none.json", b"{}")
    assert text(page, ".verdict").startswith("Refused: this is no netwright certificate: ")
    dropped(page, "other.json", GOOD.replace(b'"on": "transformer"', b'"on": "abacus"'))
    elsewhere = "of kind abacus; netwright certify --check does."
    assert (
        text(page, ".verdict") == f"Not checked: this page does not check certificates {elsewhere}"
    )


def test_a_certificate_dropped_onto_the_page(look: Any) -> None:
    checks_here(look(PALINDROME, 1))


def test_a_certificate_dropped_onto_a_file(watched: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    nw.explore("palindrome", "abba", to="universal").save(file)
    page = watched(file.as_uri())
    page.wait_for_selector("body[data-shown]")
    checks_here(page)
    page.keyboard.press("Escape")
    page.click("#check-button")
    page.wait_for_selector("#dialog[open]")
    page.set_input_files("#dialog input[type=file]", KEPT / "universal-text.json")
    page.wait_for_selector("#checked[data-verdict=holds]")
    assert "universal-text.json, universal-text: 14 obligations" in text(page, "#checked")
