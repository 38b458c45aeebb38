"""Stock language models in transformers: `generate()` writes the runs of machines."""

import json
import os
import random
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from tests.export.heavy import heavy
from tests.machine_table import TABLE

import netwright as nw
from netwright.export.universal import export_universal
from netwright.kind.language_model.construction import (
    CompiledLanguageModel,
    compile_language_model,
)
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.universal import UniversalVocabulary, universal_text
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network
from netwright.verify.draw import random_machine

torch = heavy("torch")
transformers = heavy("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and transformers
DTYPES = ("float32", "float16", "bfloat16")
ROOT = Path(__file__).resolve().parents[2]


def opened(folder: Path, dtype: str = "auto") -> tuple[Any, Any]:
    kind = dtype if dtype == "auto" else getattr(torch, dtype)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=kind)
    return tokenizer, model


def text_of(compiled: CompiledLanguageModel, word: tuple[str, ...]) -> tuple[list[int], int]:
    start = Start(word)
    prompt = start.prompt(compiled.vocabulary)
    room = compiled.context - len(prompt)
    return [*prompt, *islice(machine_text(compiled.vocabulary, start), room)], len(prompt)


def chosen(model: Any, tokens: list[int], prompt: int) -> list[int]:
    """What the model would write behind each token of a text."""
    with torch.no_grad():
        logits = model(torch.tensor([tokens[:-1]])).logits[0, prompt - 1 :]
    return [int(token) for token in logits.argmax(dim=-1)]


@pytest.mark.parametrize("to", ["gpt2", "opt"])
def test_palindromes_of_all_kinds(to: str, tmp_path: Path) -> None:
    """All words to length 5, in one batch that is padded on the left, in three types."""
    network = compile_network(library_machine("palindrome"), "language-model", context=128)
    made = network.export(to, tmp_path / "out", inputs=["abba", "abb", ""])
    assert made.holds
    assert made.about["checked_in"] == "transformers"
    assert {each.way for each in made.checks} == {"all at once", "generate()"}
    cases = [case for case in TABLE if case.machine == "palindrome"]
    for dtype in DTYPES:
        tokenizer, model = opened(tmp_path / "out", dtype)
        expected = {"gpt2": "GPT2LMHeadModel", "opt": "OPTForCausalLM"}[to]
        assert type(model).__name__ == expected
        assert model.dtype is getattr(torch, dtype)
        words = [" ".join(case.word) for case in cases]
        batch = tokenizer(words, return_tensors="pt", padding=True)
        rows = tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)
        for case, row in zip(cases, rows, strict=True):
            tokens, _ = text_of(network.compiled, tuple(case.word))
            assert row == network.compiled.text(*tokens)
            found = nw.parse(row, library_machine("palindrome"))
            assert found.problem is None
            assert (found.outcome.value == "accepted") == case.answer
    one = tokenizer("a b b", return_tensors="pt")
    expected = network.compiled.text(*text_of(network.compiled, tuple("abb"))[0])
    torch.manual_seed(0)
    changes: list[dict[str, Any]] = [{"num_beams": 3}, {"do_sample": True}, {"use_cache": False}]
    for options in (*changes, {"repetition_penalty": 1.3}):
        assert tokenizer.decode(model.generate(**one, **options)[0]) == expected


@pytest.mark.parametrize(("name", "context"), [("busy-beaver-4", 256), ("busy-beaver-5", 4096)])
def test_busy_beavers(name: str, context: int, tmp_path: Path) -> None:
    network = compile_network(library_machine(name), "language-model", context=context)
    network.export("gpt2", tmp_path / "out")
    tokens, prompt = text_of(network.compiled, ())
    assert len(tokens) == (217 if name == "busy-beaver-4" else 4096)
    for dtype in DTYPES:
        tokenizer, model = opened(tmp_path / "out", dtype)
        assert chosen(model, tokens, prompt) == tokens[prompt:]
        written = model.generate(**tokenizer("", return_tensors="pt"), max_length=300)
        assert written[0].tolist() == tokens[:300]


def test_the_library(tmp_path: Path) -> None:
    for name in library_names():
        machine = library_machine(name)
        network = compile_network(machine, "language-model", context=512)
        network.export("gpt2", tmp_path / name, check=50)
        tokens, prompt = text_of(network.compiled, machine.default_input)
        for dtype in DTYPES:
            assert chosen(opened(tmp_path / name, dtype)[1], tokens, prompt) == tokens[prompt:]


def some_machine(seed: int, most: int) -> tuple[TuringMachine, tuple[str, ...]]:
    draw = random.Random(seed)
    machine = random_machine(draw, draw.randint(2, most), draw.randint(2, 6))
    return machine, tuple(draw.choices(machine.symbols, k=draw.randint(0, 6)))


def test_random_machines(tmp_path: Path) -> None:
    tokens_seen = 0
    for seed in range(50):
        machine, word = some_machine(seed, 8)
        compiled = compile_language_model(machine, 160)
        network = compile_network(machine, "language-model", context=160)
        network.export("gpt2", tmp_path / str(seed), inputs=[word], check=20)
        tokens, prompt = text_of(compiled, word)
        tokens_seen += len(tokens) - prompt
        for dtype in DTYPES:
            assert chosen(opened(tmp_path / str(seed), dtype)[1], tokens, prompt) == tokens[prompt:]
    assert tokens_seen > 1000


ALONE = """
import json, sys
sys.modules["netwright"] = None
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, file, dtype = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
found = []
for text in json.load(open(file)):
    given = tokenizer(text, return_tensors="pt")
    ids = model.generate(**given, max_new_tokens=230, max_length=None)
    found.append(tokenizer.decode(ids[0]))
print(json.dumps(found))
"""


def test_one_model_for_all_machines(tmp_path: Path) -> None:
    """From plain text, in a process without netwright: three machines and twenty random ones."""
    made = export_universal("gpt2", tmp_path / "out", states=16, symbols=8, context=1024)
    assert made.holds
    assert (tmp_path / "out" / "model.safetensors").stat().st_size < 5_000_000
    vocabulary = UniversalVocabulary.of(16, 8, 1024)
    cases = [
        *((library_machine(name), library_machine(name).default_input) for name in
          ("palindrome", "busy-beaver-4", "binary-increment")),
        *(some_machine(seed, 7) for seed in range(40)),
    ]  # fmt: skip
    cases = [(machine, word) for machine, word in cases if machine.start not in machine.accepting]
    cases = cases[:23]
    assert len(cases) == 23
    prompts = [nw.prompt(machine, word, model=tmp_path / "out") for machine, word in cases]
    (tmp_path / "prompts.json").write_text(json.dumps(prompts))
    for dtype in ("float32", "bfloat16"):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                ALONE,
                str(tmp_path / "out"),
                str(tmp_path / "prompts.json"),
                dtype,
            ],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for (machine, word), text in zip(cases, json.loads(done.stdout), strict=True):
            prompt, run = universal_text(machine, word, vocabulary)
            expected = [vocabulary.texts[token] for token in [*prompt, *islice(run, 230)]]
            assert text.split() == expected
            assert nw.parse(text).problem is None


@pytest.mark.parametrize("to", ["gpt2", "opt"])
def test_an_unknown_word_gives_a_text(to: str, tmp_path: Path) -> None:
    nw.compile("palindrome", to="language-model", context=64).export(to, tmp_path / "out")
    export_universal(to, tmp_path / "all", context=256)
    for folder, given, end in (
        ("out", "a b x a", "<reject>"),
        ("all", "q0:a x <tape> a", "<halt>"),
    ):
        tokenizer, model = opened(tmp_path / folder)
        text = tokenizer.decode(model.generate(**tokenizer(given, return_tensors="pt"))[0])
        assert text.split()[-2:] == ["<run>", end]
        assert text.count("<unk>") == 1
        assert "replaces a word that is not in" in str(nw.parse(text).problem)


@pytest.mark.parametrize("to", ["gpt2", "opt"])
def test_a_pipeline_writes_a_text_that_can_be_parsed(to: str, tmp_path: Path) -> None:
    """It leaves `<run>` out, and glues the first step to the word."""
    nw.compile("palindrome", to="language-model", context=64).export(to, tmp_path / "out")
    pipe = transformers.pipeline("text-generation", model=str(tmp_path / "out"))
    (found,) = pipe("a b b a")
    assert str(nw.parse(found["generated_text"], "palindrome").outcome) == "accepted"


@pytest.mark.parametrize("to", ["gpt2", "opt"])
@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_ctranslate2_writes_the_same_text(to: str, compute_type: str, tmp_path: Path) -> None:
    ctranslate2 = heavy("ctranslate2")
    network = compile_network(library_machine("busy-beaver-4"), "language-model", context=256)
    network.export(to, tmp_path / "out")
    converter = heavy("ctranslate2.converters").TransformersConverter(str(tmp_path / "out"))
    converter.convert(str(tmp_path / "converted"))
    config = tmp_path / "converted" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "bos_token": "<pad>"}))
    generator = ctranslate2.Generator(str(tmp_path / "converted"), compute_type=compute_type)
    options = {"max_length": 256, "end_token": ["<halt>"], "return_end_token": True}
    (found,) = generator.generate_batch([["<run>"]], sampling_topk=1, **options)
    assert found.sequences[0] == network.compiled.text(*text_of(network.compiled, ())[0]).split()


def test_the_engine_torch_is_the_checkpoint(tmp_path: Path) -> None:
    beaver = library_machine("busy-beaver-4")
    expected = beaver.run()
    for dtype in DTYPES:
        network = compile_network(beaver, "language-model", context=64, dtype=dtype)
        run = network.run(engine="torch")
        assert (run.steps, run.head, run.tape) == (107, expected.head, expected.tape)
    network.export("gpt2", tmp_path / "out")
    assert nw.generate(tmp_path / "out", engine="torch").steps == 107


def test_the_readme_runs_a_machine_in_a_stock_language_model(tmp_path: Path) -> None:
    """The first lines of Python that the README shows, word for word, and what they print."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(
        r"```sh\n(netwright export .*?)```\n+```py\n(.*?)```\n+```text\n(.*?)```", page, re.S
    )
    assert found is not None
    call, code, printed = found.groups()
    subprocess.run(
        [sys.executable, "-m", *call.split()], cwd=tmp_path, check=True, capture_output=True
    )
    alone = f"import sys; sys.modules['netwright'] = None\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", alone], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == printed.split()


def test_transformer_lens_boots_the_folder(tmp_path: Path) -> None:
    """The recipe of docs/language-model.md: every token, and what the heads of block 1 look at."""
    bridges = heavy("transformer_lens.model_bridge")
    machine = library_machine("palindrome")
    network = compile_network(machine, "language-model", context=64, dtype="float32")
    network.export("gpt2", tmp_path / "out", dtype="float32")
    bridge = bridges.TransformerBridge.boot_transformers(str(tmp_path / "out"), device="cpu")
    ids = bridge.tokenizer("a b b a", return_tensors="pt")["input_ids"]
    text = bridge.original_model.generate(ids)[0]
    words = bridge.tokenizer.convert_ids_to_tokens(text)
    end, start = words.index("<accept>"), ids.shape[1]
    logits, cache = bridge.run_with_cache(text[None])
    assert logits[0].argmax(-1)[start - 1 : end].tolist() == text[start : end + 1].tolist()
    trace = network.trace("abba")
    for head in (0, 1):
        looks_at = cache["blocks.1.attn.hook_pattern"][0, head].argmax(-1).tolist()
        exact = [trace[t].attention[f"block.1.head.{head}"].winner for t in range(1, end + 1)]
        pairs = [*zip(looks_at, exact, strict=False)]
        assert all(winner in (None, place + 1) for place, winner in pairs)
        assert sum(winner is not None for _, winner in pairs) > 10
