"""A folder for transformers.js: in onnxruntime from Python, and in transformers.js in node."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.export.heavy import node_modules

import netwright as nw
from netwright.cli import main
from netwright.errors import FormatError
from netwright.export import decoder_graphs
from netwright.export.folder import CheckFailedError
from netwright.export.targets import TARGETS
from netwright.export.transformers_js_target import MODEL
from netwright.export.universal import export_universal, vocabulary_of
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.universal import universal_text
from netwright.machine.library import library_machine
from netwright.network.audit import audit
from netwright.network.network import Network, compile_network
from netwright.network.tensors import NamedTensors

TARGET = TARGETS["transformers-js"]


both = pytest.mark.parametrize("architecture", ["gpt2", "llama"])


def language_model(
    name: str = "palindrome", context: int = 256, architecture: str = "gpt2"
) -> Network:
    options = {"context": context, "architecture": architecture}
    return compile_network(library_machine(name), "language-model", **options)


def ended(names: dict[str, Any], tokens: list[int]) -> list[int]:
    """A text as it is generated: that of a Llama ends with `</s>`."""
    return [*tokens, *(names["vocabulary"].index(end) for end in names["ends"] if end == "</s>")]


def text_of(network: Network, word: tuple[str, ...]) -> list[int]:
    vocabulary, start = network.compiled.vocabulary, Start(word)
    tokens = [*start.prompt(vocabulary), *machine_text(vocabulary, start)]
    assert len(tokens) < vocabulary.context
    return ended(network.tensors().names, tokens)


@both
def test_a_folder_is_checked_in_onnxruntime_and_audited(architecture: str, tmp_path: Path) -> None:
    network = language_model(architecture=architecture)
    made = network.export("transformers-js", tmp_path / "out")
    assert made.holds
    assert made.about["checked_in"] == "onnxruntime"
    assert {each.way for each in made.checks} == {"all at once", "token by token"}
    assert made.checks[0].word == tuple("abba")
    generated = [each for each in made.checks if each.way == "token by token"]
    assert sum(each.outputs for each in generated) >= 300
    assert min(each.lead for each in made.checks if each.lead is not None) > 1.9
    found = audit(tmp_path / "out")
    assert found.holds
    assert "onnx/model.onnx" in found.findings[-1].detail
    assert nw.generate(tmp_path / "out", "abba").accepted
    text = network.compiled.text(*text_of(network, tuple("abb")))
    assert str(nw.parse(text, model=tmp_path / "out").outcome) == "rejected"


@both
def test_a_run_longer_than_a_context_is_resumed(architecture: str, tmp_path: Path) -> None:
    network = language_model("busy-beaver-4", 96, architecture)
    network.export("transformers-js", tmp_path / "out")
    assert nw.generate(tmp_path / "out").steps == 107


def padded(rows: list[list[int]]) -> tuple[Any, Any, Any]:
    """Token ids, mask and positions of rows that are padded on the left, as transformers.js has."""
    width = max(map(len, rows))
    mask = np.array([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    ids = np.array([[3] * (width - len(row)) + row for row in rows])
    return ids, mask, np.where(mask == 1, mask.cumsum(axis=1) - 1, 1)


@both
def test_a_padded_batch_has_the_logits_of_each_row(architecture: str, tmp_path: Path) -> None:
    network = language_model(architecture=architecture)
    network.export("transformers-js", tmp_path / "out")
    opened: Any = TARGET.open(tmp_path / "out")
    rows = [text_of(network, tuple(word)) for word in ("abba", "", "ab")]
    ids, mask, places = padded(rows)
    empty = {
        each.name: np.zeros((len(rows), each.shape[1], 0, each.shape[3]), np.float32)
        for each in opened.cached
    }
    feeds = {"input_ids": ids, "attention_mask": mask, "position_ids": places, **empty}
    logits = opened.session.run(["logits"], feeds)[0]
    for row, found in zip(rows, logits, strict=True):
        opened.restart()
        alone = opened.logits(row)
        assert np.abs(found[-len(row) :] - alone).max() < 1e-3


def test_the_check_finds_a_damaged_weight_and_a_wrong_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = type(TARGET).write

    def damaged(change: Any) -> None:
        def written(self: Any, named: NamedTensors, folder: Path, dtype: str) -> None:
            write(self, named, folder, dtype)
            model = onnx.load(folder / MODEL)
            change(model.graph)
            onnx.save(model, folder / MODEL)

        monkeypatch.setattr(type(TARGET), "write", written)

    def row_of_zeros(name: str, row: int) -> Any:
        def change(graph: Any) -> None:
            (tensor,) = (each for each in graph.initializer if each.name == name)
            weights = onnx.numpy_helper.to_array(tensor).copy()
            weights[row] = 0
            tensor.CopyFrom(onnx.numpy_helper.from_array(weights, name))

        return change

    def no_cache(graph: Any) -> None:
        """A new token sees itself and those after it."""
        (node,) = (each for each in graph.node if each.op_type == "LessOrEqual")
        node.op_type = "GreaterOrEqual"

    for change, said in (
        (row_of_zeros("transformer.h.0.mlp.c_proj.weight", 0), "is right only up to 2 tokens"),
        (row_of_zeros("transformer.wpe.weight", 255), r"a wrong weight: transformer\.wpe\.weight"),
        (no_cache, "is right only up to 0 tokens"),
    ):
        damaged(change)
        with pytest.raises(CheckFailedError, match=said):
            language_model().export("transformers-js", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_check_finds_a_wrong_base_of_rope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder_graphs, "FREQUENCIES", 1e4 ** (-np.arange(32) / 32))
    with pytest.raises(CheckFailedError, match="is right only up to"):
        language_model(architecture="llama").export("transformers-js", tmp_path / "out")


def test_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["export", "palindrome", "--to", "transformers-js", "--context", "64", "-o", "out"]
    assert main(call) == 0
    assert "checked in onnxruntime" in capsys.readouterr().out
    assert main([*call, "--force", "--dtype", "float16"]) == 2
    assert "no dtype for transformers-js 'float16'" in capsys.readouterr().err
    (tmp_path / "out" / MODEL).write_bytes(b"\xff" * 99)
    with pytest.raises(FormatError, match=r"model\.onnx is not the file that was checked"):
        nw.generate("out")
    with pytest.raises(FormatError, match=r"is incomplete: ValueError .*model\.onnx"):
        nw.generate("out", damaged=True)


SCRIPT = """
import { AutoModelForCausalLM, AutoTokenizer, env, pipeline } from "@huggingface/transformers";
env.allowRemoteModels = false;
const found = {};
for (const [folder, words] of Object.entries(JSON.parse(process.argv[2]))) {
  const place = `./${folder}`;
  const tokenizer = await AutoTokenizer.from_pretrained(place);
  const model = await AutoModelForCausalLM.from_pretrained(place);
  const pipe = await pipeline("text-generation", place);
  found[folder] = [];
  for (const word of words) {
    const [ids] = (await model.generate(tokenizer(word))).tolist();
    const [{ generated_text }] = await pipe(word, { max_new_tokens: null });
    found[folder].push([ids.map(Number), tokenizer.decode(ids), generated_text]);
  }
}
console.log(JSON.stringify(found));
"""


def in_node(script: str, folder: Path, *arguments: str) -> str:
    """What a script prints that has transformers.js."""
    (folder / "node_modules").symlink_to(node_modules())
    (folder / "script.mjs").write_text(script)
    call = ["node", "script.mjs", *arguments]
    return subprocess.run(call, cwd=folder, check=True, capture_output=True, text=True).stdout


@both
def test_transformers_js_writes_the_text_of_the_machine(architecture: str, tmp_path: Path) -> None:
    """Palindromes, the 4-state busy beaver to its end, and machines in a prompt: every token."""
    expected: dict[str, dict[str, list[int]]] = {"universal": {}}
    words = [tuple(word) for word in ("", "a", "ab", "abba", "babab", "abbaabba", "abbaabbb")]
    for name, inputs in (("palindrome", words), ("busy-beaver-4", [()])):
        network = language_model(name, architecture=architecture)
        network.export("transformers-js", tmp_path / name)
        expected[name] = {" ".join(word): text_of(network, word) for word in inputs}
    assert len(expected["busy-beaver-4"][""]) == (217 if architecture == "gpt2" else 221)
    folder = tmp_path / "universal"
    export_universal("transformers-js", folder, context=512, architecture=architecture)
    names = json.loads((folder / "names.json").read_text())
    vocabulary = vocabulary_of(names)
    for name in ("palindrome", "busy-beaver-4", "binary-increment"):
        machine = library_machine(name)
        prompt, run = universal_text(machine, machine.default_input, vocabulary)
        word = nw.prompt(machine, model=folder)
        expected["universal"][word] = ended(names, [*prompt, *run])
    asked = {name: list(rows) for name, rows in expected.items()}
    found = json.loads(in_node(SCRIPT, tmp_path, json.dumps(asked)))
    for name, rows in expected.items():
        for (ids, text, piped), tokens in zip(found[name], rows.values(), strict=True):
            assert ids == tokens
            assert piped.strip() == text.removeprefix("<s>").removesuffix("</s>").strip()
            assert nw.parse(text, model=tmp_path / name).problem is None


def test_a_llama_takes_the_bare_word(tmp_path: Path) -> None:
    network = language_model(architecture="llama")
    network.export("transformers-js", tmp_path / "out")
    found = json.loads(in_node(SCRIPT, tmp_path, json.dumps({"out": ["abba", "bab", "abx"]})))
    for word, (ids, _, _) in zip(("abba", "bab"), found["out"], strict=False):
        tokens = text_of(network, tuple(word))
        assert ids[len(word) + 2 :] == tokens[len(word) + 2 :]
    assert found["out"][2][2].endswith("<run> <reject>")


def test_the_lines_in_the_readme_of_the_folder_run(tmp_path: Path) -> None:
    network = language_model()
    network.export("transformers-js", tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text()
    code = page.split("```js\n")[1].split("```")[0]
    text = network.compiled.text(*text_of(network, tuple("abba")))
    assert in_node(code, tmp_path / "out").strip() == text
