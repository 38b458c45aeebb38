"""Llamas as folders and as GGUF files: what is written, refused, checked; and where it runs."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export.heavy import heavy
from tests.repetition import repeated, some

import netwright as nw
from netwright.cli import main
from netwright.errors import FormatError, InputError, NetworkError
from netwright.export import gguf_target
from netwright.export.checkpoint import read_tensors, write_tensors
from netwright.export.folder import CheckFailedError
from netwright.export.gguf_target import read_gguf
from netwright.export.llama import LlamaTarget
from netwright.export.targets import target_named
from netwright.export.universal import export_universal
from netwright.kind.language_model.llama.construction import CompiledLlama
from netwright.kind.language_model.text import Start, machine_text
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network
from netwright.verify.draw import random_machine

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and transformers
DTYPES = ("float32", "float16", "bfloat16")
NODE = Path(__file__).resolve().parents[2] / ".venv" / "node"


def llama(machine: TuringMachine | str = "palindrome", context: int = 512) -> Network:
    return nw.compile(machine, to="llama", context=context)


def text_of(compiled: CompiledLlama, word: Sequence[str]) -> tuple[list[int], int]:
    start = Start(tuple(word))
    prompt = start.prompt(compiled.vocabulary)
    room = compiled.context - len(prompt)
    return [*prompt, *islice(machine_text(compiled.vocabulary, start), room)], len(prompt)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Llama of palindrome; no test changes it."""
    place = tmp_path_factory.mktemp("llama") / "out"
    made = llama().export("llama", place, inputs=["abba", "ab", ""])
    assert made.holds
    return place


# What needs numpy alone.


def test_every_export_is_checked_on_three_hundred_tokens(folder: Path) -> None:
    checks = json.loads((folder / "checked.json").read_text())["checks"]
    way = checks[0]["way"]
    assert sum(each["outputs"] for each in checks if each["way"] == way) >= 300
    assert all(each["lead"] > 1.8 for each in checks if each["way"] == way)
    words = [each["word"] for each in checks if each["way"] == way]
    assert words[:3] == [["a", "b", "b", "a"], ["a", "b"], []]
    assert len(words[3]) > 50


def test_the_base_of_rope_is_in_both_places(folder: Path, tmp_path: Path) -> None:
    """transformers 5 reads one, transformers 4 the other, and 10,000 where there is none."""
    config = json.loads((folder / "config.json").read_text())
    assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 1e12
    assert config["architectures"] == ["LlamaForCausalLM"]
    shutil.copytree(folder, tmp_path / "damaged")
    (tmp_path / "damaged" / "config.json").write_text(json.dumps({**config, "rope_theta": 1e4}))
    evaluator, _ = LlamaTarget().in_numpy(tmp_path / "damaged")
    tokens, prompt = text_of(llama().compiled, "abba")
    chosen = evaluator.all_logits(tokens[:-1])[prompt - 1 :].argmax(axis=1)
    assert chosen.tolist() != tokens[prompt:]


def test_it_is_run_and_resumed_from_its_files(folder: Path, tmp_path: Path) -> None:
    run = nw.generate(folder, "abba")
    assert (str(run.outcome), run.steps) == ("accepted", 15)
    llama("busy-beaver-4", 64).export("llama", tmp_path / "out")
    assert nw.generate(tmp_path / "out").steps == 107
    assert nw.parse("abba <run> L:rewind:a>a @4", model=folder).problem is None
    said = nw.parse("abba <run> L:rewind:b>b @4", model=folder).problem
    assert said == "token 7 (L:rewind:b>b) reads b in cell 3, which has a"


def test_a_damaged_weight_is_found(folder: Path, tmp_path: Path) -> None:
    """By the digest; by the comparison of weights; and by the tokens."""
    shutil.copytree(folder, tmp_path / "out")
    path = tmp_path / "out" / "model.safetensors"
    tensors = read_tensors(path)
    name = "model.layers.0.mlp.down_proj.weight"
    unit = json.loads((folder / "names.json").read_text())["units"][0].index("rule 'start', 'a'")
    tensors[name] = tensors[name].copy()
    tensors[name][:, unit] = 0
    write_tensors(path, tensors)
    with pytest.raises(FormatError, match="is not the file that was checked"):
        nw.generate(tmp_path / "out", "abba")
    with pytest.raises(NetworkError, match=r"token \d+, "):
        nw.generate(tmp_path / "out", "abba", damaged=True)
    assert nw.generate(tmp_path / "out", "bb", damaged=True).accepted


def test_the_check_finds_what_a_target_damages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def damaged(path: Path, tensors: dict[str, Any]) -> None:
        changed = dict(tensors)
        changed["lm_head.weight"] = changed["lm_head.weight"] * 0
        write_tensors(path, changed)

    monkeypatch.setattr("netwright.export.checkpoint.write_tensors", damaged)
    with pytest.raises(CheckFailedError, match="is right only up to 0 tokens"):
        llama().export("llama", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = TuringMachine(["q"], ["_", "▁"], "_", "q", {})
    with pytest.raises(InputError, match="has the character ▁, with which Llama's tokenizer"):
        nw.compile(marked, to="llama", context=64).export("llama", tmp_path / "out")
    with pytest.raises(InputError, match="gpt2 takes a model of the architecture gpt2, not llama"):
        llama().export("gpt2", tmp_path / "out")
    with pytest.raises(InputError, match="llama takes a model of the architecture llama"):
        nw.compile("palindrome", to="gpt2").export("llama", tmp_path / "out")
    for kind, why in (
        ("Q4_0", "it holds 1 but not -1"),
        ("iq4_nl", "most tokens of busy-beaver-5 were wrong in IQ4"),
        ("IQ3_XXS", "it has fewer bits than types that were wrong"),
        ("Q3_K_M", "most tokens of a universal model were wrong in Q3_K; take one of Q8_0"),
    ):
        with pytest.raises(InputError, match=f"is too coarse for computed weights: {why}"):
            target_named("gguf").read_dtype(kind)
    with pytest.raises(InputError, match="no type for gguf 'Q9_9'"):
        target_named("gguf").read_dtype("Q9_9")
    monkeypatch.setattr(gguf_target, "has_llama_cpp", lambda: False)
    with pytest.raises(InputError, match=r"pip install 'netwright\[llama-cpp\]'"):
        target_named("gguf").read_dtype("Q4_K_M")


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    call = ["run", "palindrome", "abba", "--on", "llama", "--context", "64"]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["steps"], found["network_steps"]) == ("accepted", 15, 42)
    assert main([*call[:4], "language-model", "--architecture", "llama", *call[5:]]) == 0
    capsys.readouterr()
    place = str(tmp_path / "out")
    assert main(["export", "palindrome", "--to", "llama", "-o", place, "--context", "512"]) == 0
    assert "architecture=llama" in capsys.readouterr().out
    assert main(["export", "palindrome", "--to", "llama", "--quantize", "Q8_0", "-o", "x"]) == 2
    assert "--quantize TYPE is for --to gguf" in capsys.readouterr().err


def test_converters_to_gguf_add_nothing_after_a_text(folder: Path) -> None:
    """They take a named token there for the end; `<run>` is added without a name."""
    found = heavy("gguf").SpecialVocab(folder, load_merges=False)
    assert found.add_special_token == {"bos": True}
    assert "{{ bos_token + (" in found.chat_template


def gguf_of(network: Network, place: Path, kind: str = "Q8_0") -> Any:
    heavy("gguf")
    return network.export("gguf", place, dtype=kind)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0"])
def test_a_gguf_file_is_read_back_and_run(kind: str, tmp_path: Path) -> None:
    made = gguf_of(llama(), tmp_path / "model.gguf", kind)
    assert made.holds
    assert sum(each.outputs for each in made.checks if each.way == "in numpy") >= 300
    assert (tmp_path / "model.gguf").is_file()
    fields, found, tensors = read_gguf(tmp_path / "model.gguf")
    assert (found, fields["llama.rope.freq_base"]) == (kind, np.float32(1e12))
    assert tensors["lm_head.weight"].shape == (len(fields["tokenizer.ggml.tokens"]), 256)
    with pytest.raises(nw.errors.OutputError, match="exists; name another file"):
        gguf_of(llama(), tmp_path / "model.gguf")


def test_a_gguf_folder_has_a_card(tmp_path: Path) -> None:
    heavy("gguf")
    made = export_universal("gguf", tmp_path / "out", states=8, symbols=4, context=512)
    assert made.holds
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("model.gguf", "README.md", "names.json", "checked.json"),
    }
    assert "in every" not in (tmp_path / "out" / "README.md").read_text()
    prompt = nw.prompt("binary-increment", "11", model=tmp_path / "out")
    assert prompt.endswith("<tape> 1 <run> R:q0:1 @3")


# What needs transformers and others.


def opened(folder: Path, dtype: str = "auto") -> tuple[Any, Any]:
    torch, transformers = heavy("torch"), heavy("transformers")
    kind = dtype if dtype == "auto" else getattr(torch, dtype)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer, transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=kind)


def assert_chosen(folder: Path, tokens: list[int], prompt: int) -> None:
    """In three types, what the model would write after each token of a text."""
    torch = heavy("torch")
    for dtype in DTYPES:
        with torch.no_grad():
            logits = opened(folder, dtype)[1](torch.tensor([tokens[:-1]])).logits[0, prompt - 1 :]
        assert logits.argmax(dim=-1).tolist() == tokens[prompt:], dtype


@pytest.mark.parametrize("name", some(library_names(), 2))
def test_the_library_in_transformers(name: str, tmp_path: Path) -> None:
    machine = library_machine(name)
    network = llama(machine, 600)
    network.export("llama", tmp_path / "out", check=50)
    tokens, prompt = text_of(network.compiled, machine.default_input)
    assert_chosen(tmp_path / "out", tokens, prompt)
    tokenizer, model = opened(tmp_path / "out")
    assert type(model).__name__ == "LlamaForCausalLM"
    written = model.generate(heavy("torch").tensor([tokens[:prompt]]), max_length=300)[0].tolist()
    ended = [*tokens, tokenizer.eos_token_id] if len(tokens) < 600 else tokens
    assert written == ended[:300]


def test_random_machines_in_transformers(tmp_path: Path) -> None:
    """Stays, blanks in the input, empty words; with seeds."""
    heavy("transformers")
    for seed in range(repeated(50, 6)):
        draw = random.Random(seed)
        machine = random_machine(draw, draw.randint(2, 8), draw.randint(2, 6))
        word = draw.choices(machine.symbols, k=draw.randint(0, 6))
        network = llama(machine, 160)
        network.export("llama", tmp_path / str(seed), inputs=[word], check=20)
        assert_chosen(tmp_path / str(seed), *text_of(network.compiled, word))


def test_long_texts_in_transformers(tmp_path: Path) -> None:
    network = llama("busy-beaver-5", repeated(8192, 2048))
    network.export("llama", tmp_path / "out", check=50)
    assert_chosen(tmp_path / "out", *text_of(network.compiled, ()))


def test_both_forms_of_the_tokenizer_agree(folder: Path) -> None:
    """Words with spaces and without; unknown characters; the texts of runs."""
    tokenizer, _ = opened(folder)
    pieces = heavy("sentencepiece").SentencePieceProcessor(
        model_file=str(folder / "tokenizer.model")
    )
    compiled = llama().compiled
    tokens, _ = text_of(compiled, "abba")
    run = compiled.text(*tokens[1:])
    for text in ("abba <run>", "a b b a <run>", "axb", "a  b", "é <run>", "<accept>", run):
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert ids == pieces.encode(text)
        assert tokenizer.decode(ids) == pieces.decode(ids)
    assert tokenizer("a b b a")["input_ids"] == tokens[:6]
    assert tokenizer(run, add_special_tokens=False)["input_ids"] == tokens[1:]


def test_a_bare_word_is_accepted_in_a_chat(folder: Path) -> None:
    transformers = heavy("transformers")
    heavy("torch")
    pipe = transformers.pipeline("text-generation", model=str(folder))
    for word, answer in (("abba", "<accept>"), ("a b b a", "<accept>"), ("abb", "<reject>"),
                         ("", "<accept>"), ("abxa", "<reject>")):  # fmt: skip
        (found,) = pipe([{"role": "user", "content": word}])
        assert found["generated_text"][-1]["content"].split()[-1] == answer
    (found,) = pipe("abba")
    assert str(nw.parse(found["generated_text"], "palindrome").outcome) == "accepted"


def test_the_ways_to_generate_give_one_text(folder: Path) -> None:
    """Beams, sampling, no cache, a penalty; a batch padded on the left; 8-bit matrices of torch."""
    torch = heavy("torch")
    tokenizer, model = opened(folder, "float32")
    one, _ = tokenizer("abb", return_tensors="pt"), torch.manual_seed(0)
    text = tokenizer.decode(model.generate(**one)[0])
    assert text.endswith("<reject></s>")
    changes: list[dict[str, Any]] = [{"num_beams": 3}, {"do_sample": True}, {"use_cache": False}]
    for options in (*changes, {"repetition_penalty": 1.3}):
        assert tokenizer.decode(model.generate(**one, **options)[0]) == text
    words = ["abba", "", "a", "bb", "abab"]
    batch = model.generate(**tokenizer(words, return_tensors="pt", padding=True))
    for word, row in zip(
        words, tokenizer.batch_decode(batch, skip_special_tokens=True), strict=True
    ):
        alone = model.generate(**tokenizer(word, return_tensors="pt"))[0]
        assert row == tokenizer.decode(alone, skip_special_tokens=True)
    linear = {torch.nn.Linear}
    coarse = torch.ao.quantization.quantize_dynamic(model, linear, dtype=torch.qint8)
    assert tokenizer.decode(coarse.generate(**one)[0]) == text


def test_the_engine_torch_is_the_checkpoint(folder: Path) -> None:
    heavy("torch")
    for dtype in DTYPES:
        run = nw.compile("busy-beaver-4", to="llama", context=96, dtype=dtype).run(engine="torch")
        assert run.steps == 107
    assert nw.generate(folder, "abba", engine="torch").steps == 15


ALONE = """
import sys
sys.modules["netwright"] = None
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=sys.argv[2])
for text in sys.stdin.read().splitlines():
    ids = model.generate(**tokenizer(text, return_tensors="pt"))
    print(tokenizer.decode(ids[0], skip_special_tokens=True))
"""


def test_one_llama_for_all_machines(tmp_path: Path) -> None:
    """From plain text, in a process without netwright."""
    heavy("transformers")
    made = export_universal("llama", tmp_path / "out", states=16, symbols=8, context=1024)
    assert made.holds
    names = ("palindrome", "binary-increment", "busy-beaver-4")
    prompts = "\n".join(nw.prompt(name, model=tmp_path / "out") for name in names)
    for dtype in ("float32", "bfloat16"):
        call = [sys.executable, "-c", ALONE, str(tmp_path / "out"), dtype]
        done = subprocess.run(call, input=prompts, capture_output=True, text=True, check=True)
        for name, text in zip(names, done.stdout.splitlines(), strict=True):
            found = nw.parse(text, name, model=tmp_path / "out")
            expected = library_machine(name).run()
            assert (found.problem, found.steps) == (None, expected.steps)


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
@pytest.mark.parametrize(("name", "context"), [("busy-beaver-4", 256), ("busy-beaver-5", 2048)])
def test_ctranslate2_writes_the_same_text(
    name: str, context: int, compute_type: str, tmp_path: Path
) -> None:
    ctranslate2 = heavy("ctranslate2")
    network = llama(name, context)
    network.export("llama", tmp_path / "out", check=50)
    converter = heavy("ctranslate2.converters").TransformersConverter(str(tmp_path / "out"))
    converter.convert(str(tmp_path / "converted"))
    generator = ctranslate2.Generator(str(tmp_path / "converted"), compute_type=compute_type)
    tokens, prompt = text_of(network.compiled, ())
    tokenizer, _ = opened(tmp_path / "out")
    wanted = tokenizer.convert_ids_to_tokens(tokens)
    options = {"max_length": len(tokens) - 1, "end_token": ["</s>"], "sampling_topk": 1}
    (found,) = generator.generate_batch([wanted[:prompt]], **options)
    assert found.sequences[0] == wanted[1:]  # without <s>


def test_transformer_lens_boots_the_folder(tmp_path: Path) -> None:
    """Every token, and what the head of block 2 looks at."""
    bridges = heavy("transformer_lens.model_bridge")
    network = llama("busy-beaver-4", 256)
    network.export("llama", tmp_path / "out", dtype="float32")
    bridge = bridges.TransformerBridge.boot_transformers(str(tmp_path / "out"), device="cpu")
    tokens, prompt = text_of(network.compiled, ())
    logits, cache = bridge.run_with_cache(heavy("torch").tensor([tokens]))
    assert logits[0].argmax(-1)[prompt - 1 : -1].tolist() == tokens[prompt:]
    looks_at = cache["blocks.2.attn.hook_pattern"][0, 0].argmax(-1).tolist()
    trace = network.trace("")
    exact = [trace[t].attention["block.2.head.0"].winner for t in range(1, len(tokens) + 1)]
    pairs = [*zip(looks_at, exact, strict=True)]
    assert all(winner in (None, place + 1) for place, winner in pairs)
    assert sum(winner is not None for _, winner in pairs) > 100


@pytest.mark.parametrize("kind", ["Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M"])
def test_llama_cpp_runs_the_file(kind: str, tmp_path: Path) -> None:
    """The 5-state busy beaver to 2,000 tokens, and a universal model; `make test-llama`."""
    llama_cpp = heavy("llama_cpp")
    made = llama("busy-beaver-5", 2048).export("gguf", tmp_path / "own", dtype=kind, check=2046)
    assert {each.way for each in made.checks} == {"in numpy", "llama.cpp", "generated"}
    assert made.checks[0].outputs == 2046
    assert export_universal("gguf", tmp_path / "all", context=1024, dtype=kind).holds
    llama().export("gguf", tmp_path / "chat.gguf", dtype=kind)
    model = llama_cpp.Llama(str(tmp_path / "chat.gguf"), n_ctx=512, verbose=False)
    for word, answer in (("abba", "<accept>"), ("a b b a", "<accept>"), ("abb", "<reject>"),
                         ("", "<accept>")):  # fmt: skip
        chat = [{"role": "user", "content": word}]
        found = model.create_chat_completion(chat, temperature=0.8, repeat_penalty=1.1)
        assert found["choices"][0]["message"]["content"].split()[-1] == answer


COMPLETE = """
import {getLlama, LlamaCompletion} from "node-llama-cpp";
const [path, prompt, size] = process.argv.slice(2);
const llama = await getLlama({build: "never", gpu: false, logLevel: "error"});
const model = await llama.loadModel({modelPath: path});
const context = await model.createContext({contextSize: +size, threads: 1});
const completion = new LlamaCompletion({contextSequence: context.getSequence()});
const options = {temperature: 0, maxTokens: +size};
console.log(await completion.generateCompletion(prompt, options));
process.exit(0);
"""


def test_node_llama_cpp_runs_the_file(tmp_path: Path) -> None:
    """llama.cpp as it is in a package of npm, with its own tokenizer: a bare word."""
    if not (NODE / "node_modules" / "node-llama-cpp").is_dir():
        pytest.skip("node-llama-cpp is not installed (make test-export)")
    network = llama("palindrome", 512)
    gguf_of(network, tmp_path / "model.gguf")
    script = NODE / "complete.mjs"
    script.write_text(COMPLETE)
    for word in ("abba", "ab", "a b a"):
        call = ["node", str(script), str(tmp_path / "model.gguf"), f"{word} <run>", "512"]
        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=120)
        tokens, prompt = text_of(network.compiled, word.replace(" ", ""))
        assert done.stdout.split() == network.compiled.text(*tokens[prompt:]).split()
