"""PyTorch modules: every activation beside the exact one, hooks, patches, and other tools."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export.heavy import heavy
from tests.networks import KINDS

from netwright.exact.rational import as_float
from netwright.export.folder import CheckFailedError
from netwright.export.targets import TARGETS
from netwright.export.torch_target import TorchTarget
from netwright.kind.registry import kind_named
from netwright.machine.library import library_machine
from netwright.network.network import Network, compile_network
from netwright.network.tensors import NamedTensors

torch = heavy("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch and of those who use it
PALINDROME = library_machine("palindrome")
TRANSFORMER = compile_network(PALINDROME)


def made_for_floats(name: str, kind: str, **options: Any) -> Network:
    machine = library_machine(name)
    return compile_network(
        machine, kind, **kind_named(kind).construction.for_export(options, machine)
    )


def floats(vector: Any) -> Any:
    found = torch.zeros(vector.layout.dimension, dtype=torch.float64)
    for place, number in vector.entries.items():
        found[place] = as_float(number)
    return found


@pytest.mark.parametrize("kind", [*KINDS, "gateless-neural-gpu"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_kind(kind: str, dtype: str, tmp_path: Path) -> None:
    network = made_for_floats("palindrome", kind)
    words = ["abba", "ab", "", "a", "babab"]
    made = network.export("torch", tmp_path / "out", inputs=words, dtype=dtype)
    assert made.holds
    ways = ["step by step", "all at once"] if kind == "transformer" else ["step by step"]
    assert [each.way for each in made.checks] == ways * len(words)
    opened: Any = TARGETS["torch"].open(tmp_path / "out")
    direct = network.to_torch(dtype)
    for word in words:
        assert opened.outcome(word) == ("accepted" if word == word[::-1] else "rejected")
        states = opened.generate(word, 12)
        assert torch.equal(states, direct.generate(word, 12))
        assert states.dtype is getattr(torch, dtype)
        # All at once is the same as one after the other.
        assert torch.equal(opened(opened.word(word), states[:-1]), states[1:])


@pytest.mark.parametrize(
    ("machine", "word", "kind", "options"),
    [
        ("palindrome", "abba", "transformer", {"score": "paper"}),
        ("busy-beaver-5", "", "transformer", {"score": "recency"}),
        ("palindrome", "abba", "pointer-transformer", {}),
        ("palindrome", "abba", "pointer-transformer", {"attention": "dot-product"}),
    ],
)
def test_every_activation_is_the_exact_one(
    machine: str, word: str, kind: str, options: dict[str, str]
) -> None:
    network = compile_network(library_machine(machine), kind, **options)
    model = network.to_torch()
    trace = network.trace(word, max_steps=20)
    tokens = 26 if word else 40
    states = model.generate(word, tokens)
    _, cache = model.run_with_cache(model.word(word), states[:-1])
    names = set(model.names["activations"])
    assert set(cache.keys()) == (names if word else {n for n in names if "encoder" not in n})
    for name, vectors in trace.encoder.items():
        exact = [floats(vector) for vector in vectors]
        if exact:
            assert torch.equal(cache[name], torch.stack(exact))
    for t in range(1, tokens + 1):
        moment = network.trace(word, max_steps=40)[t]
        for name, vector in moment.items():
            difference = (cache[name][t - 1] - floats(vector)).abs().max()
            assert difference < 1e-13, (t, name)
        for name, attention in moment.attention.items():
            if len(attention):
                weights = [as_float(weight) for weight in attention.weights]
                assert cache[f"{name}.pattern"][t - 1, : len(weights)].tolist() == weights


def test_attention_and_patching_in_transformer_lens() -> None:
    lens = heavy("transformer_lens")
    beaver = compile_network(library_machine("busy-beaver-5"))
    model = beaver.to_torch()
    assert isinstance(model, lens.HookedRootModule)
    states = model.generate("", 200)
    result, cache = model.run_with_cache(model.word(""), states[:-1])
    assert torch.equal(result, states[1:])
    pattern = cache["decoder.3.self.pattern"]
    assert pattern.shape == (200, 200)
    trace = beaver.trace("", max_steps=300)
    for t in range(1, 201):
        exact = trace[t].attention["decoder.3.self"]
        assert pattern[t - 1].nonzero()[:, 0].tolist() == [w - 1 for w in exact.winners]
    # A token that looks up a 1 is made to look at a visit that left a 0: that symbol changes, in
    # this output, and nothing else does.
    found, written = (
        trace[1]["y"].layout,
        [trace[t]["decoder.1.z"].label("s2") for t in range(1, 201)],
    )
    t = next(
        t
        for t in range(60, 200)
        if trace[t]["y"].label("s1") == "1" and trace[t]["decoder.3.z"].label("s4") == "1"
    )
    other = next(k for k in range(t) if written[k] == "0")

    def look_elsewhere(pattern: Any, hook: Any) -> Any:
        assert hook.name == "decoder.3.self.pattern"
        pattern[t - 1] = 0
        pattern[t - 1, other] = 1
        return pattern

    hooks = [("decoder.3.self.pattern", look_elsewhere)]
    patched = model.run_with_hooks(model.word(""), states[:-1], fwd_hooks=hooks)
    rows, places = (patched != states[1:]).nonzero(as_tuple=True)
    assert set(rows.tolist()) == {t - 1}
    assert {str(found.coordinates[k]) for k in places} == {"s1[1]", "s1[0]"}
    assert patched[t - 1, found.index("s1", "0")] == 1
    assert torch.equal(model(model.word(""), states[:-1]), states[1:])  # hooks are gone


def test_a_pattern_of_many_is_changed_where_it_is_changed() -> None:
    """Equal attention sums first; a hook that changes nothing changes nothing, whatever r is."""
    model = compile_network(library_machine("busy-beaver-5")).to_torch()
    states = model.generate("", 120)
    same = [(name, lambda x, hook: 1 * x) for name in model.names["activations"] if "dec" in name]
    word = model.word("")
    assert torch.equal(model.run_with_hooks(word, states[:-1], fwd_hooks=same), states[1:])
    half = [("decoder.2.self.pattern", lambda x, hook: x / 2)]
    before = model.run_with_cache(word, states[:-1])[1]["decoder.2.p"]
    seen: dict[str, Any] = {}
    model.run_with_hooks(
        word,
        states[:-1],
        fwd_hooks=[*half, ("decoder.2.p", lambda x, hook: seen.update(p=x))],
    )
    x4, x5 = (model.names["layouts"]["vector"].index(name) for name in ("x4", "x5"))
    assert torch.allclose(seen["p"][:, [x4, x5]], before[:, [x4, x5]] / 2)


WITHOUT = """
import sys
sys.modules["netwright"] = sys.modules["transformer_lens"] = None
from model import HookedRootModule, load
model = load()
assert HookedRootModule.__module__ == "model"
word, states = model.word("abba"), model.generate("abba", 26)
result, cache = model.run_with_cache(word, states[:-1])
assert len(cache) == len(model.names["activations"]) and (result == states[1:]).all()
hook = ("decoder.3.self.pattern", lambda x, hook: 0 * x)
changed = model.run_with_hooks(word, states[:-1], fwd_hooks=[hook])
names = model.names["layouts"]["vector"]
print(sorted({names[k] for k in (changed != result).nonzero()[:, 1]}))
"""


def test_without_netwright_and_without_transformer_lens(tmp_path: Path) -> None:
    TRANSFORMER.export("torch", tmp_path / "out")

    def shown(*command: str) -> str:
        return subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path / "out",
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert shown("-c", WITHOUT) == "['s1[_]', 's1[a]', 's1[b]']\n"
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    lines = readme.split("```python\n")[1].split("```")[0]
    alone = "import sys; sys.modules['netwright'] = None\n"
    assert "26 accept _\n47 torch.Size([20, 20])\n" in shown("-c", alone + lines)
    assert shown("model.py", "ab").endswith("rejected\n")


def test_nnsight() -> None:
    nnsight = heavy("nnsight")
    model = TRANSFORMER.to_torch()
    states = model.generate("abba", 26)
    looked_into = nnsight.NNsight(model)
    with looked_into.trace(model.word("abba"), states[:-1]):
        pattern = getattr(looked_into.decoder, "3").self.pattern.output.save()
        y = looked_into.y.output.save()
    assert torch.equal(y, states[1:])
    assert int(pattern[25].argmax()) == 22  # token 26 looks at token 23
    with looked_into.trace(model.word("abba"), states[:-1]):
        getattr(looked_into.decoder, "3").self.pattern.output[:] = 0
        changed = looked_into.y.output.save()
    assert not torch.equal(changed, y)


@pytest.mark.parametrize("kind", KINDS)
def test_type_and_device_follow(kind: str) -> None:
    network = made_for_floats("palindrome", kind)
    model = network.to_torch().to(torch.float32)
    states = model.generate("abba", 10)
    assert states.dtype is torch.float32
    assert torch.equal(states.double(), network.to_torch().generate("abba", 10))
    far = model.to("meta")
    assert far(model.word("abba"), states[:-1].to("meta")).device.type == "meta"


@pytest.mark.parametrize("kind", KINDS)
def test_torch_compile(kind: str) -> None:
    if shutil.which("g++") is None:
        pytest.skip("torch.compile needs a C++ compiler")
    model = made_for_floats("palindrome", kind).to_torch()
    states, word = model.generate("abba", 20), model.word("abba")
    compiled = torch.compile(model)
    found = compiled(word, states[:-1])
    assert (found - states[1:]).abs().max() < 1e-12
    assert torch.equal(found.round(decimals=6), states[1:].round(decimals=6))


def test_gradients_reach_the_weights() -> None:
    model = TRANSFORMER.to_torch()
    states = model.generate("abba", 26)
    model(model.word("abba"), states[:-1]).sum().backward()
    assert model.decoder["3"].V.weight.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "part", ["residual:decoder.3.external", "attention:decoder.3.self", "residual:encoder.1.O"]
)
def test_an_ablated_network_is_the_ablated_module(part: str, tmp_path: Path) -> None:
    network = compile_network(library_machine("palindrome")).without(part)
    assert network.export("torch", tmp_path / "out", inputs=["abba"], check=12).holds


def test_the_example_finds_the_head() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "find_the_head.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    hits = {line.split()[0]: line.split(" at ")[-1] for line in done.stdout.splitlines()}
    assert hits["decoder.3.self.pattern"] == "26 of 26 tokens"
    assert hits["decoder.1.self.pattern"].strip() != "26 of 26 tokens"


def test_a_damaged_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from safetensors.numpy import load_file, save_file

    write = TorchTarget.write

    def damage(self: TorchTarget, named: NamedTensors, folder: Path, dtype: str) -> None:
        write(self, named, folder, dtype)
        tensors = load_file(folder / "weights.safetensors")
        tensors["decoder.3.K.weight"] = np.zeros_like(tensors["decoder.3.K.weight"])
        save_file(tensors, folder / "weights.safetensors")

    monkeypatch.setattr(TorchTarget, "write", damage)
    with pytest.raises(CheckFailedError, match="attends to"):
        TRANSFORMER.export("torch", tmp_path / "out")
    assert [*tmp_path.iterdir()] == []
