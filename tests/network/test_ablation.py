"""Ablation: every part in turn, which lemma goes, and the ablated networks in other tools."""

import json
from pathlib import Path

import pytest
from tests.beyond_kinds import CHOICES

import netwright as nw
from netwright.cli import main
from netwright.errors import InputError
from netwright.machine.library import library_machine


def test_every_part_of_the_transformer_has_a_row_with_its_lemma() -> None:
    network = nw.compile("palindrome")
    found = network.ablate("abba")
    assert tuple(each.part for each in found) == network.parts
    rows = {each.part: each for each in found}
    assert found.whole == "accepted"
    for layer, lemma in ((1, "Lemma B.2"), (2, "Lemma B.3"), (3, "Lemma B.4")):
        row = rows[f"residual:decoder.{layer}.O"]
        assert (row.statement, row.output, row.breaks) == (lemma, 1, True)
    # Appendix B: the encoder passes its input on, and layer 1 attends to nothing.
    for part in ("attention:encoder.1.self", "attention:decoder.1.self"):
        assert (rows[part].statement, rows[part].output, rows[part].breaks) == (None, None, False)
    for row in found:
        assert row.obligation is not None
        assert f"{row.part} is left out" in row.obligation
        assert (row.difference is None) == (row.statement is None)


def test_outputs_differ_from_the_whole_networks_where_a_row_says_so() -> None:
    network = nw.compile("palindrome")
    (row,) = network.ablate("abba", parts=["attention:decoder.3.self"])
    assert row.output is not None
    damaged = network.without("attention:decoder.3.self")
    pairs = zip(network.outputs("abba"), damaged.outputs("abba"), strict=False)
    same = [y == other for _, (y, other) in zip(range(row.output), pairs, strict=False)]
    assert same == [True] * (row.output - 1) + [False]


@pytest.mark.parametrize("kind", ["rnn", "neural-gpu", "pointer-transformer"])
def test_weights_are_flipped_in_turn_and_the_certificate_sees_them(kind: str) -> None:
    network = nw.compile("busy-beaver-2", to=kind)
    found = network.ablate(weights=True, max_steps=12)
    assert len(found) > 5
    assert any(row.breaks for row in found)
    for row in found:
        if row.breaks:
            assert row.obligation is not None


def test_an_ablated_network_is_certified_as_what_it_is(tmp_path: Path) -> None:
    """The failing obligation is the result, also from a file."""
    damaged = nw.compile("palindrome").without("residual:decoder.2.self", "positions")
    certificate = damaged.certify()
    assert not certificate.holds
    assert "positions, residual:decoder.2.self are left out" in str(certificate.first_failure)
    certificate.save(tmp_path / "c.json")
    assert not nw.check_certificate(tmp_path / "c.json").holds
    data = json.loads((tmp_path / "c.json").read_text())
    data["network"]["network"]["without"] = [None]
    (tmp_path / "d.json").write_text(json.dumps(data))
    assert main(["certify", "--check", str(tmp_path / "d.json")]) == 2


@pytest.mark.parametrize("to", ["numpy", "onnx"])
@pytest.mark.parametrize(
    "part",
    [
        "residual:decoder.3.external",
        "attention:decoder.3.self",
        "residual:encoder.1.O",
        "positions",
    ],
)
def test_an_ablated_network_is_exported_as_what_it_is(to: str, part: str, tmp_path: Path) -> None:
    """Every output and attended index in the other tool is that of the damaged exact network."""
    network = nw.compile("palindrome").without(part)
    made = network.export(to, tmp_path / "out", inputs=["abba"], check=12)
    assert made.holds
    assert made.checks[0].outputs > 0


def test_the_verb_shows_a_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", "palindrome", "abba", "--heads"]) == 0
    out = capsys.readouterr().out
    assert "attention:decoder.3.self" in out
    assert "residual" not in out
    assert "7 parts left out, one at a time: 5 of 7 break something here" in out
    assert main(["ablate", "palindrome", "abba", "--residuals"]) == 0
    assert "11 parts left out, one at a time: 11 of 11 break" in capsys.readouterr().out
    part = "residual:decoder.2.self"
    assert main(["ablate", "palindrome", "abba", "--part", part, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["part"], row["statement"], row["breaks"]) == (part, "Lemma B.3", True)
    for arguments, message in (
        (["--heads", "--weights"], "name one"),
        (["--part", "residual:decoder"], "no part 'residual:decoder'"),
        (["--on", "rnn"], "rnn has no parts to leave out"),
    ):
        assert main(["ablate", "palindrome", "abba", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_misspelt_part_lists_all_that_begin_so(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["verify", "palindrome", "abba", "--on", "transformer"]
    assert main([*call, "--without", "residual:decoder"]) == 2
    message = capsys.readouterr().err
    for layer in (1, 2, 3):
        for name in ("self", "external", "O"):
            assert f"residual:decoder.{layer}.{name}" in message
    with pytest.raises(InputError, match="parts are left out, weights are flipped"):
        nw.compile("palindrome").ablate("abba", parts=["positions"], weights=True)


@pytest.mark.parametrize("name", ["pointer", "rules", "rules-16", "text", "residual-free"])
def test_every_part_of_the_other_transformers_has_a_row(name: str) -> None:
    """Without positions the comparison was an AssertionError."""
    network = CHOICES[name].network(library_machine("busy-beaver-2"))
    rows = {each.part: each for each in network.ablate(max_steps=8)}
    assert tuple(rows) == network.parts
    assert rows["positions"].breaks
    for row in rows.values():
        if row.answer == "no answer":
            assert row.output is not None, row.part
    for part in ("positions", network.parts[0]):
        assert network.ablate(parts=[part], max_steps=0)[0].part == part


@pytest.mark.parametrize(
    "kind",
    [
        "pointer-transformer",
        "universal-transformer",
        "universal-text",
        "gateless-neural-gpu",
        "positionless-transformer",
        "residual-free-transformer",
    ],
)
def test_an_ablated_network_is_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    network = nw.compile("palindrome", to=kind)
    for part in network.parts:
        network.without(part).save(tmp_path / "file", force=True)
        assert nw.load(tmp_path / "file") == network.without(part)


@pytest.mark.parametrize(
    ("kind", "part", "statement", "obligation"),
    [
        ("gateless-neural-gpu", "kernel:above", "A Neural GPU without gates", "loading"),
        ("positionless-transformer", "mask:encoder", "Lemma B.1", "shape"),
        ("positionless-transformer", "attention:decoder.1.self", "The mean of b", "parts"),
        ("residual-free-transformer", "attention:decoder.1.head.1", "Head 1", "heads"),
        ("residual-free-transformer", "attention:decoder.2.head.2", "Linked visits", "heads"),
        ("residual-free-transformer", "positions", "Head 1", "shape"),
    ],
)
def test_parts_of_the_open_questions(kind: str, part: str, statement: str, obligation: str) -> None:
    """Each part is needed, but for the second head of layer 1, which gives nothing."""
    network = nw.compile("palindrome", to=kind)
    (row,) = network.ablate("abba", parts=[part])
    assert row.breaks
    assert row.statement == statement
    assert str(row.obligation).startswith(obligation)
    idle = {"attention:decoder.1.head.2"}
    assert {each.part for each in network.ablate("abba") if not each.breaks} <= idle


def test_parts_are_named_by_texts() -> None:
    network = nw.compile("palindrome")
    for bad in (None, 3, ["positions"]):
        with pytest.raises(InputError, match="a part is named by a text"):
            network.without(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no part '3'"):
        network.ablate("ab", parts=[3])  # type: ignore[list-item]
    assert [row.part for row in network.ablate("ab", parts="positions")] == ["positions"]
    with pytest.raises(InputError, match="expected"):
        nw.draw("palindrome", "abba", max_steps=-1)


def test_a_certificate_names_its_kind_in_full(tmp_path: Path) -> None:
    nw.compile("palindrome", to="pointer").certify().save(tmp_path / "c.json")
    data = json.loads((tmp_path / "c.json").read_text())
    assert data["on"] == "pointer-transformer"
    (tmp_path / "d.json").write_text(json.dumps({**data, "on": "pointer"}))
    assert main(["certify", "--check", str(tmp_path / "d.json")]) == 2
