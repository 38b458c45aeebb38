"""Checkpoints for GPT-2 and OPT, without torch: written, read, checked in our own evaluator."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netwright as nw
from netwright.cli import main
from netwright.errors import FormatError, InputError, NetworkError, NetwrightError
from netwright.export import checkpoint
from netwright.export.checkpoint import CheckpointTarget, read_tensors, write_tensors
from netwright.export.folder import CheckFailedError
from netwright.export.targets import TARGETS
from netwright.export.universal import export_universal
from netwright.kind.language_model.universal import UniversalVocabulary, universal_text
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network
from netwright.network.tensors import NamedTensors


@pytest.fixture(autouse=True)
def _without_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are installed."""
    monkeypatch.setattr(CheckpointTarget, "runtime", ())


def language_model(name: str = "palindrome", context: int = 96) -> Network:
    return compile_network(library_machine(name), "language-model", context=context)


@pytest.mark.parametrize("to", ["gpt2", "opt"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float16"])
def test_every_type(to: str, dtype: str, tmp_path: Path) -> None:
    words = ["abba", "ab", "", "babab"]
    made = language_model().export(to, tmp_path / "out", dtype=dtype, inputs=words)
    assert made.holds
    assert all(each.ended for each in made.checks)
    assert made.about["checked_in"] == "netwright's own evaluator"
    assert min(each.lead for each in made.checks) > 0.99
    for word in words:
        assert nw.generate(tmp_path / "out", word).accepted == (word == word[::-1])
    size = {"bfloat16": 2, "float16": 2, "float32": 4}[dtype]
    tensors = read_tensors(tmp_path / "out" / "model.safetensors")
    assert {array.dtype.itemsize for array in tensors.values()} == {size}


def test_names_for_everything(tmp_path: Path) -> None:
    folder = language_model().export("gpt2", tmp_path / "out").folder
    names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    tensors = read_tensors(folder / "model.safetensors")
    width = tensors["transformer.wte.weight"].shape[1]
    assert len(names["layouts"]["vector"]) == width
    assert names["layouts"]["vector"][-3:] == ["bal", "c1", "c2"]
    assert len(names["vocabulary"]) == len(tensors["lm_head.weight"])
    assert names["vocabulary"][:4] == ["<run>", "<accept>", "<reject>", "<pad>"]
    rule = names["units"][0].index("rule 'start', 'a'")
    row = tensors["transformer.h.0.mlp.c_proj.weight"][rule]
    named = {names["layouts"]["vector"][k]: float(x) for k, x in enumerate(row) if x}
    assert named == {"q2[have-a]": 1, "w[_]": 1, "m2[R]": 1, "bal": -3}
    assert [head["meaning"] for head in names["attention"]][1] == (
        "the last visit of the cell to the right"
    )


def test_what_was_checked_is_what_is_said(tmp_path: Path) -> None:
    made = language_model("busy-beaver-5", 64).export("gpt2", tmp_path / "short", check=3)
    assert [(each.outputs, each.ended) for each in made.checks] == [(3, False)]
    assert "checked to 3 tokens; lead" in str(made.checks[0])
    made = language_model("palindrome", 8).export("gpt2", tmp_path / "full", inputs=["abba"])
    assert [each.ended for each in made.checks] == [False]
    text = checkpoint.CheckedText(("a",), [5, 0, 7, 8], 2, True)
    stopped = checkpoint.compared(text, "generate()", iter([(7, None)]), 2, ["?"] * 9)
    assert not stopped.holds
    assert str(stopped) == "right to 1: token 2 is nothing, not ?"


def test_damaged_folders(tmp_path: Path) -> None:
    """One message each, and never an answer that the files do not give."""
    language_model().export("gpt2", tmp_path / "out", dtype="float32")
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    config = json.loads(files["config.json"])

    def refused(name: str, content: bytes | None, said: str) -> None:
        for each, data in files.items():
            (tmp_path / "out" / each).write_bytes(data)
        if content is None:
            (tmp_path / "out" / name).unlink()
        else:
            (tmp_path / "out" / name).write_bytes(content)
        with pytest.raises(NetwrightError, match=said):
            nw.generate(tmp_path / "out", "abba", damaged=True)
        with pytest.raises(FormatError, match=f"{name} is not the file that was checked"):
            nw.generate(tmp_path / "out", "abba")

    for name in ("model.safetensors", "config.json"):
        refused(name, None, "is incomplete: FileNotFoundError")
        refused(name, b"", "is incomplete")
        refused(name, files[name][:99], "is incomplete")
        refused(name, b"[]", "is incomplete")
    for key, value in (("model_type", "llama"), ("model_type", "opt"), ("dtype", "int8")):
        refused(
            "config.json",
            json.dumps({**config, key: value}).encode(),
            "incomplete|no dtype|different networks",
        )
    refused("netwright.safetensors", None, "no such file")
    other = language_model("busy-beaver-4").export("gpt2", tmp_path / "other").folder
    refused(
        "netwright.safetensors",
        (other / "netwright.safetensors").read_bytes(),
        "different networks",
    )
    weights = files["model.safetensors"]
    refused("model.safetensors", weights[:-200_000] + bytes(200_000), "token 1, ")
    tensors = {
        n: a.copy() for n, a in read_tensors(tmp_path / "other" / "model.safetensors").items()
    }
    write_tensors(tmp_path / "x", {n: a.astype(np.float32) * np.nan for n, a in tensors.items()})
    refused("model.safetensors", (tmp_path / "x").read_bytes(), "different networks")


def test_a_run_longer_than_the_context(tmp_path: Path) -> None:
    language_model("busy-beaver-4", 64).export("opt", tmp_path / "out")
    run = nw.generate(tmp_path / "out", max_steps=1000)
    expected = library_machine("busy-beaver-4").run()
    assert (run.steps, run.head, run.tape) == (107, expected.head, expected.tape)


@pytest.mark.parametrize("to", ["gpt2", "opt"])
def test_a_damaged_weight_is_found(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = type(TARGETS[to])
    write = target.write

    def damage(self: CheckpointTarget, named: NamedTensors, folder: Path, dtype: str) -> None:
        write(self, named, folder, dtype)
        path = folder / "model.safetensors"
        tensors = {name: array.copy() for name, array in read_tensors(path).items()}
        name = next(n for n in tensors if n.endswith(("mlp.c_proj.weight", "fc2.weight")))
        flat = tensors[name].reshape(-1)
        flat[np.flatnonzero(flat.astype(np.float32) == 1)[0]] = 0
        write_tensors(path, tensors)

    monkeypatch.setattr(target, "write", damage)
    with pytest.raises(
        CheckFailedError, match=r"a wrong weight|right only up to \d tokens"
    ) as caught:
        language_model().export(to, tmp_path / "out")
    assert caught.value.export.weight is not None
    assert [*tmp_path.iterdir()] == []


def test_the_universal_model(tmp_path: Path) -> None:
    made = export_universal("gpt2", tmp_path / "out", states=16, symbols=8, context=512)
    assert made.holds
    assert [each.word[0] for each in made.checks][:3] == [
        "palindrome:",
        "busy-beaver-4:",
        "binary-increment:",
    ]
    assert (tmp_path / "out" / "model.safetensors").stat().st_size < 5_000_000
    found = nw.prompt("palindrome", "abba", model=tmp_path / "out")
    assert found.startswith("q0:a #:R:q1 ")
    assert found.endswith(" <tape> a b b a")
    assert found.states["start"] == "q0"
    assert found.states["accept"] == "acc"
    with pytest.raises(InputError, match="the model has 15 and 8"):
        nw.prompt("binary-multiplication", model=tmp_path / "out")
    with pytest.raises(InputError, match="is not a language model of one machine"):
        nw.generate(tmp_path / "out")
    with pytest.raises(FormatError, match="is not a folder exported by netwright"):
        nw.prompt("palindrome", model=tmp_path)
    with pytest.raises(InputError, match=r"is for gpt2, opt, .*; not for numpy"):
        export_universal("numpy", tmp_path / "other")
    with pytest.raises(InputError, match="a vocabulary has at most 1,048,576"):
        export_universal("gpt2", tmp_path / "other", states=4096, symbols=4096)
    small = export_universal("gpt2", tmp_path / "small", states=2, symbols=2, context=8)
    assert [each.word for each in small.checks] == [("one step:",)]
    assert "for 1 state and 2 symbols" in small.title
    names = json.loads((tmp_path / "small" / "names.json").read_text(encoding="utf-8"))
    for damage in ({"states": 3}, {"symbols": ["#"]}, {"context": "x"}):
        (tmp_path / "small" / "names.json").write_text(json.dumps({**names, **damage}))
        with pytest.raises(FormatError, match=r"its names\.json is incomplete"):
            nw.prompt("palindrome", model=tmp_path / "small", damaged=True)


def test_texts_are_decoded_with_their_model(tmp_path: Path) -> None:
    """Tokens, machine, rules, and stays that count once."""
    language_model().export("gpt2", tmp_path / "own")
    export_universal("gpt2", tmp_path / "universal", context=256, check=0)
    vocabulary = UniversalVocabulary.of(16, 8, 256)
    own: Any = {"model": tmp_path / "own"}
    assert "is not the last visit" in str(nw.parse("a b <run> R:start:a>_ @2", **own).problem)
    assert "is not a token of the model" in str(
        nw.parse("a b <run> R:start:a>_ @999", **own).problem
    )
    stays = TuringMachine(
        ["q", "r"], ["_", "a"], "_", "q", {("q", "a"): ("r", "_", "S"), ("r", "_"): ("q", "_", "R")}
    )
    prompt, run = universal_text(stays, "aa", vocabulary)
    text = " ".join(vocabulary.texts[token] for token in [*prompt, *run])
    both = nw.parse(text, stays, model=tmp_path / "universal")
    assert (both.problem, both.steps) == (None, 4)
    assert nw.parse(text, model=tmp_path / "universal").steps == 6
    other = nw.parse(text, "palindrome", model=tmp_path / "universal").problem
    assert "comes after rules that are not those of palindrome" in str(other)
    bad = "q0:zz 1:R:q77 <tape> zz <run> R:q0:zz @5 R:q77:#"
    assert "is not a token of the model" in str(nw.parse(bad, model=tmp_path / "universal").problem)
    none = nw.parse("a a <run>", model=tmp_path / "universal").problem
    assert "is not a text of the universal model: it has no rules" in str(none)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("netwright.kind.language_model.kind.find_spec", lambda _name: None)
        with pytest.raises(InputError, match="engine torch needs torch and transformers"):
            nw.generate(tmp_path / "own", engine="torch")
    compile_network(library_machine("palindrome")).export("numpy", tmp_path / "numpy")
    with pytest.raises(InputError, match="that is not a universal language model"):
        nw.parse(text, model=tmp_path / "numpy")
    with pytest.raises(InputError, match="give a machine or a model, not both"):
        nw.parse(text, "palindrome", model=tmp_path / "own")


def test_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "palindrome", "--to", "gpt2", "--context", "64", "-o", "out"]) == 0
    *_, row, last, proved, _ = capsys.readouterr().out.splitlines()
    assert proved.startswith("certified in bfloat16 for every input and context of at most 64")
    assert row.split() == [
        "abba",
        "in",
        "numpy",
        "checked",
        "to",
        "32",
        "tokens,",
        "the",
        "end;",
        "lead",
        "2.00",
    ]
    assert last.startswith("checked in netwright's own evaluator; in transformers with pip")
    small = ["--states", "8", "--symbols", "4", "--context", "256"]
    assert main(["export", "--universal", "--to", "opt", *small, "-o", "universal"]) == 0
    assert "for 7 states and 4 symbols, context 256" in capsys.readouterr().out
    call = ["compile", "binary-increment", "11", "--prompt"]
    assert main([*call, "--model", "universal"]) == 0
    captured = capsys.readouterr()
    assert captured.out.endswith("q1:# 1:L:q2 <tape> 1 1\n")
    assert captured.err == "states: right=q0 carry=q1 done=q2\nsymbols: _=#\n"
    assert main([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["states"]["right"] == "q0"
    assert main(["compile", "binary-increment", "--on", "universal-language-model"]) == 0
    assert capsys.readouterr().out.endswith("<tape> 1 0 1 1\n")
    bad: list[tuple[list[str], str]] = [
        (["export", "palindrome", "--to", "gpt2", "--on", "rnn", "-o", "x"], "no code for gpt2"),
        (["export", "palindrome", "--states", "4", "-o", "x"], "are for --universal"),
        (["export", "--universal", "--to", "numpy", "-o", "x"], "is for gpt2, opt"),
        (["export", "--universal", "palindrome", "--to", "gpt2", "-o", "x"], "for all machines"),
        (["export", "--universal", "--to", "gpt2", "--states", "1", "-o", "x"], "2 to 4,096"),
        (["export", "--zoo", "--to", "gpt2", "-o", "x"], "no network of the paper"),
        (["compile", "palindrome", "abba"], "INPUT, --separator and --model are for --prompt"),
        ([*call, "-o", "x"], "--prompt only prints; it takes no --on, --weights, --explain or -o"),
        ([*call, "--score", "recency"], "score is not an option of a prompt"),
        ([*call, "--model", "nothing"], "is not a folder exported by netwright"),
        ([*call, "--model", "out"], "that is not a universal language model"),
        (["compile", "palindrome", "xyz", "--prompt"], "input symbol 'x'"),
    ]
    for arguments, said in bad:
        assert main(arguments) == 2, arguments
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "universal"]


def test_there_is_no_module_of_our_own_for_it() -> None:
    with pytest.raises(InputError, match="language-model has no code for torch; export it to gpt2"):
        language_model().to_torch()


def test_large_texts_are_checked_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "AT_ONCE", 7)
    made = language_model("busy-beaver-4", 256).export("gpt2", tmp_path / "out")
    checks: list[Any] = list(made.checks)
    assert [(each.outputs, each.ended) for each in checks] == [(216, True)]


def test_a_damaged_folder_is_not_run_unless_it_is_asked_for(tmp_path: Path) -> None:
    """Five of 99 damaged weights gave wrong answers without a word."""
    folder = tmp_path / "own"
    language_model().export("gpt2", folder)
    assert nw.generate(folder, "abba").outcome.value == "accepted"
    for name in ("model.safetensors", "config.json", "names.json", "netwright.safetensors"):
        whole = (folder / name).read_bytes()
        damaged = bytearray(whole)
        damaged[len(damaged) * 2 // 3] ^= 1
        (folder / name).write_bytes(bytes(damaged))
        with pytest.raises(FormatError, match=rf"{name} is not the file that was checked"):
            nw.generate(folder, "abba")
        with pytest.raises(FormatError, match="is not the file that was checked"):
            nw.parse("a <run>", model=folder)
        (folder / name).write_bytes(whole)
    weights = folder / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-9] ^= 64
    weights.write_bytes(bytes(changed))
    nw.parse("a <run> R:start:a>_ @1", model=folder, damaged=True)
    assert main(["parse", "a <run> R:start:a>_ @1", "--model", str(folder)]) == 2
    assert main(["parse", "a <run> R:start:a>_ @1", "--model", str(folder), "--damaged"]) == 0
    with suppress(NetworkError):
        nw.generate(folder, "abba", damaged=True)
    (folder / "checked.json").unlink()
    with pytest.raises(FormatError, match="not a folder exported by netwright, or its checked"):
        nw.generate(folder, "abba")
