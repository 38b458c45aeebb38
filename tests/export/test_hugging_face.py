"""Hugging Face: `generate()` writes the machine's run, and text stands for any names."""

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export.heavy import heavy

from netwright.errors import InputError
from netwright.export import hugging_face
from netwright.export.folder import CheckFailedError
from netwright.export.hugging_face import HuggingFaceTarget
from netwright.machine.library import library_machine
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.network import Network, compile_network
from netwright.network.tensors import NamedTensors
from netwright.text import as_token

torch = heavy("torch")
transformers = heavy("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and transformers
PALINDROME = compile_network(library_machine("palindrome"))


def opened(folder: Path) -> tuple[Any, Any]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    return tokenizer, model


def expected_text(network: Network, word: Any, most: int = 10**6) -> str:
    """The word, `<start>`, and state, symbol and move of every exact output."""
    trace = network.trace(word, max_steps=most)
    tokens = [*map(as_token, word), "<start>"]
    outputs = [moment["y"] for moment in islice(trace, most)]
    for y in outputs:
        move = "R" if y.number("x1") > 0 else "L"
        tokens.append(f"{as_token(str(y.label('q1')))}:{as_token(str(y.label('s1')))}:{move}")
    if len(outputs) < most and y.label("q1") not in network.compiled.final_states:
        tokens.append("<reject>" if network.machine.accepting else "<halt>")
    return " ".join(tokens)


def generated(tokenizer: Any, model: Any, word: Any, **options: Any) -> str:
    text = " ".join(map(as_token, word))
    found = model.generate(**tokenizer(text, return_tensors="pt"), **options)
    return str(tokenizer.decode(found[0]))


def test_palindromes(tmp_path: Path) -> None:
    words = ["abba", "abb", "", "a", "babab", "ba"]
    made = PALINDROME.export("hf", tmp_path / "out", inputs=words)
    assert made.holds
    assert {each.way for each in made.checks} == {"step by step", "generate()"}
    tokenizer, model = opened(tmp_path / "out")
    assert model.dtype is torch.float64
    for word in words:
        found = generated(tokenizer, model, word)
        assert found == expected_text(PALINDROME, word)
        assert found.endswith("accept:_:R" if word == word[::-1] else "<reject>")
        assert found == generated(tokenizer, model, word, use_cache=False)
        torch.manual_seed(0)
        assert found == generated(tokenizer, model, word, do_sample=True)
        assert found == generated(tokenizer, model, word, num_beams=3)


def test_a_batch_of_words_of_different_lengths(tmp_path: Path) -> None:
    PALINDROME.export("hf", tmp_path / "out")
    tokenizer, model = opened(tmp_path / "out")
    words = ["abba", "", "abb", "bab", "b"]
    batch = tokenizer([" ".join(word) for word in words], return_tensors="pt", padding=True)
    assert tokenizer.padding_side == "left"
    for options in ({}, {"num_beams": 2}):
        for word, row in zip(words, model.generate(**batch, **options), strict=True):
            text = tokenizer.decode(row).replace("<pad> ", "").replace(" <pad>", "")
            assert text == expected_text(PALINDROME, word)
    with pytest.raises(ValueError, match="only outputs can come after <start>"):
        model.generate(torch.tensor([[3, 0, 3]]))
    with pytest.raises(ValueError, match="every row needs <start> in the same column"):
        model(torch.tensor([[3, 0, 1], [3, 3, 0]]))
    with pytest.raises(ValueError, match="only symbols of the input can come before <start>"):
        model(torch.tensor([[9, 0]]))
    with pytest.raises(Exception, match=r"Missing \[UNK\] token"):
        tokenizer("a c")


@pytest.mark.parametrize(
    ("name", "options", "outputs"),
    [("busy-beaver-4", {}, 110), ("busy-beaver-5", {"score": "recency"}, 2000)],
)
def test_busy_beavers(name: str, options: dict[str, str], outputs: int, tmp_path: Path) -> None:
    network = compile_network(library_machine(name), **options)
    made = network.export("hf", tmp_path / "out", check=outputs)
    assert made.holds
    tokenizer, model = opened(tmp_path / "out")
    found = generated(tokenizer, model, "", max_new_tokens=outputs)
    assert found == expected_text(network, "", outputs)
    assert len(found.split()) == outputs + 1


def test_float32(tmp_path: Path) -> None:
    PALINDROME.export("hf", tmp_path / "out", dtype="float32", inputs=["abba", "ab"])
    tokenizer, model = opened(tmp_path / "out")
    assert model.dtype is torch.float32
    assert generated(tokenizer, model, "abba") == expected_text(PALINDROME, "abba")


ODD = TuringMachine(
    states=["q 1", "q:2", "<pad>", "é%", "halt\n"],
    symbols=["_", "a b", ":", "<start>", "%"],
    blank="_",
    start="q 1",
    delta={
        ("q 1", "a b"): Action("q:2", ":", Move.R),
        ("q:2", ":"): Action("<pad>", "<start>", Move.R),
        ("<pad>", "<start>"): Action("é%", "%", Move.L),
        ("é%", "<start>"): Action("halt\n", "a b", Move.L),
    },
    accepting=["halt\n"],
)


def test_odd_names(tmp_path: Path) -> None:
    """White space, delimiters, names like special tokens: all go through text and back."""
    network = compile_network(ODD)
    words = [["a b", ":", "<start>"], ["%"], []]
    assert network.export("hf", tmp_path / "out", inputs=words).holds
    tokenizer, model = opened(tmp_path / "out")
    for word in words:
        assert generated(tokenizer, model, word) == expected_text(network, word)
    text = generated(tokenizer, model, words[0])
    assert text.startswith("a%20b %3A %3Cstart%3E <start> q_read:a%20b:R ")
    assert text.endswith(" halt%0A:%3A:L")
    vocabulary = json.loads((tmp_path / "out" / "tokenizer.json").read_text(encoding="utf-8"))
    assert len(vocabulary["model"]["vocab"]) == model.config.vocab_size


def test_a_machine_with_one_symbol(tmp_path: Path) -> None:
    run = TuringMachine(["q"], ["_"], "_", "q", {("q", "_"): Action("q", "_", Move.R)})
    assert compile_network(run).export("hf", tmp_path / "out", check=20).holds


def test_the_readme_in_a_process_without_netwright(tmp_path: Path) -> None:
    PALINDROME.export("hf", tmp_path / "out")
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    lines = readme.split("```python\n")[1].split("```")[0]
    alone = f"import sys; sys.modules['netwright'] = None\n{lines}"
    done = subprocess.run(
        [sys.executable, "-c", alone],
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stdout.strip() == expected_text(PALINDROME, "abba")


def test_a_damaged_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the vectors of tokens, which the exact network has not."""
    from safetensors.numpy import load_file, save_file

    write = HuggingFaceTarget.write
    for name in ("vectors", "network.decoder.1.O.2.weight"):

        def damage(
            self: HuggingFaceTarget, named: NamedTensors, folder: Path, dtype: str, name: str = name
        ) -> None:
            write(self, named, folder, dtype)
            tensors = load_file(folder / "model.safetensors")
            tensors[name] = np.zeros_like(tensors[name])
            save_file(tensors, folder / "model.safetensors", {"format": "pt"})

        monkeypatch.setattr(HuggingFaceTarget, "write", damage)
        with pytest.raises(CheckFailedError, match="right only up to 0 outputs"):
            PALINDROME.export("hf", tmp_path / "out")
    assert [*tmp_path.iterdir()] == []


def test_a_vocabulary_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "MOST_TOKENS", 60)
    with pytest.raises(InputError, match="66 tokens, one for each state, symbol and move"):
        PALINDROME.export("hf", tmp_path / "out")
