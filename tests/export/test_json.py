"""`--to json`: the whole network as text, exact, and read back as the same network."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.beyond_kinds import CHOICES
from tests.networks import KINDS

from netwright.cli import main
from netwright.errors import InputError
from netwright.export.folder import CheckFailedError
from netwright.export.json_target import FILE, VERSION, JsonTarget
from netwright.machine.library import library_machine
from netwright.network.audit import audit
from netwright.network.network import Network, compile_network

PALINDROME = library_machine("palindrome")
NETWORKS = {
    **{kind: compile_network(PALINDROME, kind) for kind in KINDS},
    **{name: choice.network(PALINDROME) for name, choice in CHOICES.items()},
    "recency": compile_network(PALINDROME, score="recency"),
    "blanks": compile_network(PALINDROME, blanks=True),
    "base 5": compile_network(PALINDROME, "rnn", base=5),
    "changed": compile_network(PALINDROME).with_weight("decoder.3.V", "s2[a]", "s4[a]", "-1/3"),
    "without": compile_network(PALINDROME).without("residual:decoder.2.self"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_file_is_the_network(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    made = network.export("json", tmp_path / "out", inputs=["abba"], check=30)
    assert made.holds
    data = json.loads((tmp_path / "out" / FILE).read_text(encoding="utf-8"))
    assert (data["version"], data["kind"]) == (VERSION, network.kind.name)
    assert data["written"] == network.written
    assert data["changes"] == list(network.changes)
    assert [block for block, *_ in data["blocks"]] == [block for block, _ in network.layout.blocks]
    assert list(data["meanings"]) == list(network.weights())
    assert data["lemmas"]
    opened: Network = JsonTarget().open(tmp_path / "out")
    assert opened == network
    findings = audit(tmp_path / "out").findings
    assert findings[-1].what == "they are the exact network's"
    assert findings[-1].holds


def test_numbers_are_text() -> None:
    """No number of a map is a JSON number, which a reader would take for a float."""
    data = JsonTarget().named(NETWORKS["changed"]).data

    def numbers(tree: Any) -> list[Any]:
        if isinstance(tree, dict):
            rows = [row for key in ("weights", "bias") for row in tree.get(key) or ()]
            return [
                *(row[-1] for row in rows),
                *(x for each in tree.values() for x in numbers(each)),
            ]
        return [x for each in tree for x in numbers(each)] if isinstance(tree, list) else []

    found = numbers(data["written"]["network"])
    assert "-1/3" in found
    assert all(isinstance(number, str) for number in found)


def test_a_changed_number_in_the_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = JsonTarget.write

    def damaged(self: JsonTarget, named: Any, folder: Path, dtype: str) -> None:
        write(self, named, folder, dtype)
        text = (folder / FILE).read_text(encoding="utf-8")
        assert text.count('[[29,31,"1"]') == 1
        (folder / FILE).write_text(text.replace('[[29,31,"1"]', '[[29,31,"1/2"]'), encoding="utf-8")

    monkeypatch.setattr(JsonTarget, "write", damaged)
    with pytest.raises(CheckFailedError, match="nothing was written") as caught:
        NETWORKS["transformer"].export("json", tmp_path / "out")
    wrong = caught.value.export.weight
    assert wrong is not None
    assert (wrong.tensor, wrong.place) == ("decoder.2.V.weight", [29, 31])
    assert (wrong.expected, wrong.found) == ("1", "1/2")


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = compile_network(library_machine("even-as"), "language-model", context=64)
    with pytest.raises(InputError, match=r"is not exact .* exported to gpt2, opt"):
        model.export("json", tmp_path / "out")
    with pytest.raises(InputError, match="no dtype for json 'float64'; there are rational"):
        NETWORKS["rnn"].export("json", tmp_path / "out", dtype="float64")
    call = ["export", "palindrome", "--to", "json", "-o", str(tmp_path / "out")]
    assert main([*call, "--on", "universal"]) == 0
    assert "for json in rational: universal-transformer of palindrome" in capsys.readouterr().out
    assert main(call) == 2
