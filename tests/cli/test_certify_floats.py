"""`netwright certify` for language models: folders, compiled models, certificates, audits."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netwright as nw
from netwright.certificates.language_model.reading import read_folder
from netwright.cli import main
from netwright.export.checkpoint import CheckpointTarget, read_tensors, write_tensors
from netwright.export.universal import export_universal
from netwright.kind.language_model.universal import prompt_text
from netwright.machine.library import library_machine
from netwright.network.float_certificate import (
    certify_folder,
    certify_language_model,
    certify_universal,
    greatest_contexts,
)
from netwright.network.network import compile_network

NAME = "busy-beaver-2"


@pytest.fixture(autouse=True)
def _without_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are installed."""
    monkeypatch.setattr(CheckpointTarget, "runtime", ())


def exported(folder: Path, to: str = "gpt2") -> Path:
    """In a short context, in which a Llama's slow phases must be told apart in bfloat16."""
    on, context = ("llama", 64) if to == "llama" else ("language-model", 24)
    network = compile_network(library_machine(NAME), on, context=context)
    network.export(to, folder)
    return folder


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, without line breaks."""
    found = capsys.readouterr()
    return " ".join((found.out + found.err).split())


def test_a_compiled_model(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["certify", "palindrome", "--on", "language-model", "--context", "64"]
    assert main(call) == 0
    out = capsys.readouterr().out
    assert "bfloat16  certified" in out
    assert "R1  weights are rounded to the format once, to nearest" in out
    assert "R6  masked positions weigh exactly 0" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main([*call, "--dtype", "float16", "--json"]) == 0
    found = shown(capsys)
    assert [each["format"] for each in found["proofs"]] == ["exact", "float16"]
    assert found["certified"] is True
    assert found["proofs"][0]["leads"] == {"step": "2.000", "address": "2.000", "end": "10.000"}


def test_a_compiled_llama(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["certify", NAME, "--on", "llama", "--context", "64"]
    assert main([*call, "-o", str(tmp_path / "c.json")]) == 0
    out = capsys.readouterr().out
    assert "llama, " in out
    assert "bfloat16  certified" in out
    assert "L4  RoPE turns pair j by the position" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main(["certify", "--check", str(tmp_path / "c.json")]) == 0
    assert main(["audit", str(tmp_path / "c.json")]) == 0


@pytest.mark.parametrize("to", ["gpt2", "opt", "llama"])
def test_a_folder(to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = exported(tmp_path / "out", to)
    verdict = json.loads((folder / "checked.json").read_text(encoding="utf-8"))["certificate"]
    assert verdict["certified"] is True
    assert verdict["format"] == "bfloat16"
    call = ["certify", "--model", str(folder), "--machine", NAME]
    assert main([*call, "--json", "-o", str(tmp_path / "c.json")]) == 0
    found = shown(capsys)
    assert [each["certified"] for each in found["proofs"]] == [True] * 4
    assert found["proofs"][-1]["leads"] == verdict["leads"]
    check = ["certify", "--check", str(tmp_path / "c.json"), "--model", str(folder)]
    assert main([*check, "--machine", NAME]) == 0
    assert main(["audit", str(folder)]) == 0
    assert "its files are certified in" in said(capsys)
    assert main([*call, "--dtype", "bfloat16", "--partial-sums", "64"]) == 1
    assert "NOT CERTIFIED" in said(capsys)


def test_gpt2_and_opt_have_the_same_leads(tmp_path: Path) -> None:
    machine = library_machine(NAME)
    found = [
        certify_folder(exported(tmp_path / to, to), machine, ["float16"]) for to in ("gpt2", "opt")
    ]
    network = compile_network(machine, "language-model", context=24)
    found.append(certify_language_model(network, ["float16"]))
    assert len({each.model["digest"] for each in found}) == 1
    assert [each.proofs for each in found] == [found[0].proofs] * 3


def test_a_certificate_is_believed_in_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = exported(tmp_path / "out"), tmp_path / "c.json"
    compiled = ["certify", NAME, "--on", "language-model", "--context", "24", "--dtype", "float16"]
    assert main([*compiled, "-o", str(file)]) == 0
    check = ["certify", "--check", str(file)]
    assert main(check) == 0
    assert main([*check, "--model", str(folder)]) == 0
    assert main(["audit", str(file)]) == 0
    capsys.readouterr()

    assert main([*check, "--machine", "palindrome"]) == 1
    assert "it is about another machine" in said(capsys)

    whole = json.loads(file.read_text(encoding="utf-8"))
    for change, message in (
        (("model", "digest", "0" * 64), "the model's digest is"),
        (("proofs", 1, {**whole["proofs"][1], "certified": True, "leads": {
            "step": "2.000", "address": "2.000", "end": "9.000"}}), "the lead of step is"),
        (("promises", 0, "R1  nothing"), "its promises are not those of the proof"),
    ):  # fmt: skip
        part, key, value = change
        forged = json.loads(json.dumps(whole))
        forged[part][key] = value
        file.write_text(json.dumps(forged), encoding="utf-8")
        assert main(check) == 1
        assert message in said(capsys)
    forged = {**whole, "proofs": [*whole["proofs"], whole["proofs"][0]]}
    file.write_text(json.dumps(forged), encoding="utf-8")
    assert main(check) == 2
    assert "each of them once" in said(capsys)
    for text in ('{"kind": "netwright float certificate 1"}', json.dumps({**whole, "more": 1})):
        file.write_text(text, encoding="utf-8")
        assert main(check) == 2
        assert "expected an object with" in said(capsys)


def test_a_changed_tensor_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A harmless one has another digest; one that breaks a head is not certified either."""
    folder, file = exported(tmp_path / "out"), tmp_path / "c.json"
    call = ["certify", "--model", str(folder), "--machine", NAME, "--dtype", "float32"]
    assert main([*call, "-o", str(file)]) == 0
    tensors = {
        name: array.copy() for name, array in read_tensors(folder / "model.safetensors").items()
    }
    head = tensors["transformer.h.1.attn.c_attn.weight"]
    first = tuple(int(n) for n in np.argwhere(head != 0)[0])
    for value, verdict in ((head[first] * 1.01, 0), (0, 1)):
        head[first] = value
        write_tensors(folder / "model.safetensors", tensors)
        capsys.readouterr()
        assert main(call) == verdict
        assert main(["certify", "--check", str(file), "--model", str(folder)]) == 1
        assert "the model's digest is" in said(capsys)
    assert main(["audit", str(folder)]) == 1


REFUSED = [
    ("config.json", {"model_type": "bert"}, "no certificate for \"bert\" yet"),
    ("config.json", {"model_type": []}, "no certificate for [] yet"),
    ("config.json", {"rope_theta": 1e12}, "rope_theta is not a setting that is known here"),
    ("config.json", {"activation_function": "gelu"}, "activation_function is \"gelu\""),
    ("config.json", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
    ("config.json", {"reorder_and_upcast_attn": True}, "reorder_and_upcast_attn is true"),
    ("config.json", {"tie_word_embeddings": True}, "tie_word_embeddings is true"),
    ("config.json", {"layer_norm_epsilon": 0}, "layer_norm_epsilon is 0"),
    ("config.json", {"something": 1}, "something is not a setting that is known here"),
    ("config.json", {"n_layer": 2}, "which this model has not"),
    ("config.json", {"n_positions": 23}, "expected [23,"),
    ("config.json", {"vocab_size": 5}, "vocab_size is 5"),
    ("tokenizer.json", {"normalizer": {"type": "Lowercase"}}, "normalizer must be null"),
    ("tokenizer.json", {"pre_tokenizer": None}, "pre_tokenizer must be WhitespaceSplit"),
    ("tokenizer.json", {"post_processor": None}, "post_processor must add <run>"),
    ("tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer"}, "tokenizer_class is \"GPT2"),
    ("tokenizer.json", {"added_tokens": 1}, "added_tokens has 1"),
    ("tokenizer_config.json", {"eos_token": "0"}, "that is no special token"),
    ("tokenizer_config.json", {"added_tokens_decoder": {}}, "is not a setting that is known here"),
]  # fmt: skip


def test_other_settings_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = exported(tmp_path / "out")
    call = ["certify", "--model", str(folder), "--machine", NAME]
    for name, changes, message in REFUSED:
        before = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(json.dumps(json.loads(before) | changes), encoding="utf-8")
        assert main(call) == 2, message
        assert message in said(capsys)
        (folder / name).write_text(before, encoding="utf-8")
    for name, text in (("special_tokens_map", '{"pad_token": "1"}'), ("added_tokens", '{"1": 7}')):
        path = folder / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        assert main(call) == 2
        assert f"{name}.json: " in said(capsys)
        path.unlink()
    path = folder / "model.safetensors"
    data = path.read_bytes()
    tensors = {name: array.astype(np.float32) for name, array in read_tensors(path).items()}
    shape = re.search(rb'"shape": ?\[(\d\d+)\]', data)
    assert shape is not None
    unknown = b"-1".ljust(len(shape[1]))
    for content, message in (
        (data[: shape.start(1)] + unknown + data[shape.end(1) :], "has the shape [-1]"),
        (data[:-2], "bytes; expected"),
        (data + b"\0\0", "bytes; expected"),
        (data[:100], "is not a whole safetensors file"),
        (b"", "is not a whole safetensors file"),
    ):
        path.write_bytes(content)
        assert main(call) == 2, message
        assert message in said(capsys)
    bias = "transformer.h.0.mlp.c_fc.bias"
    for changed, message in (
        ({**tensors, "more": tensors[bias]}, "it has a tensor more"),
        ({n: a for n, a in tensors.items() if n != bias}, "there is no tensor"),
        ({**tensors, bias: tensors[bias] * np.float32(np.nan)}, "that is not finite"),
        ({**tensors, bias: tensors[bias][:-1]}, "expected ["),
    ):
        write_tensors(path, changed)
        assert main(call) == 2, message
        assert message in said(capsys)


LLAMA_REFUSED = [
    ("config.json", {"rope_theta": 10000.0}, "rope_parameters is"),
    ("config.json", {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "rope_scaling is"),
    ("config.json", {"rope_theta": 1}, "rope_theta is 1"),
    ("config.json", {"hidden_act": "gelu"}, "hidden_act is \"gelu\""),
    ("config.json", {"attention_bias": True}, "attention_bias is true"),
    ("config.json", {"num_key_value_heads": 2}, "num_key_value_heads must be"),
    ("config.json", {"head_dim": 63}, "head_dim is 63"),
    ("config.json", {"rms_norm_eps": 0}, "rms_norm_eps is 0"),
    ("config.json", {"sliding_window": 4}, "sliding_window is not a setting"),
    ("config.json", {"num_hidden_layers": 3}, "which this model has not"),
    ("tokenizer.json", {"normalizer": None}, "normalizer must mark"),
    ("tokenizer.json", {"pre_tokenizer": {"type": "WhitespaceSplit"}}, "pre_tokenizer must be"),
    ("tokenizer.json", {"post_processor": None}, "post_processor must add <s>"),
    ("tokenizer_config.json", {"pad_token": "A"}, "that is no special token"),
    ("tokenizer.json", {"added_tokens": [{"id": 0, "content": "<x>"}]}, "added_tokens has"),
]  # fmt: skip


def test_other_settings_of_a_llama_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = exported(tmp_path / "out", "llama")
    call = ["certify", "--model", str(folder), "--machine", NAME]
    for name, changes, message in LLAMA_REFUSED:
        before = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(json.dumps(json.loads(before) | changes), encoding="utf-8")
        assert main(call) == 2, message
        assert message in said(capsys)
        (folder / name).write_text(before, encoding="utf-8")
    path = folder / "config.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    without = {name: value for name, value in whole.items() if name != "rms_norm_eps"}
    path.write_text(json.dumps(without), encoding="utf-8")
    assert read_folder(folder).model.epsilon == 1e-6  # what transformers takes
    path.write_text(json.dumps(whole), encoding="utf-8")
    path = folder / "tokenizer.json"
    before = json.loads(path.read_text(encoding="utf-8"))
    other = {**before["post_processor"], "type": "ByteLevel"}
    path.write_text(json.dumps({**before, "post_processor": other}), encoding="utf-8")
    assert main(call) == 2
    assert "post_processor must add <s>" in said(capsys)
    for part, value, message in (
        ("merges", [["\u2581", "0"]], "cannot be merged from its left"),
        ("merges", [["0", "1"]], "model.merges has"),
        ("type", "Unigram", "model.type must be BPE"),
        ("byte_fallback", False, "model.byte_fallback is false"),
    ):
        changed = {**before, "model": {**before["model"], part: value}}
        path.write_text(json.dumps(changed), encoding="utf-8")
        assert main(call) == 2, message
        assert message in said(capsys)


def test_what_has_no_certificate_yet_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export_universal("gpt2", tmp_path / "universal", states=4, symbols=4, context=128, check=0)
    export_universal("llama", tmp_path / "llama", states=4, symbols=4, context=128, check=0)
    for call, message in (
        (["--model", str(tmp_path / "universal"), "--machine", NAME], "for all machines"),
        (["--model", str(tmp_path / "llama"), "--machine", NAME], "universal"),
        (["--model", str(exported(tmp_path / "one"))], "say which it must be: --machine"),
        (["--model", str(tmp_path / "no"), "--machine", NAME], "is not a folder"),
        (["palindrome", "--partial-sums", "2"], "are for language models"),
        (["palindrome", "--on", "language-model", "--partial-sums", "-1"], "partial sums are -1"),
        (["--model", str(tmp_path), "--machine", NAME, "--context", "5"], "no options"),
    ):
        assert main(["certify", *call]) == 2, call
        assert message in said(capsys)


# -- one model for all machines -------------------------------------------------------------------

SIZE = ["--states", "8", "--symbols", "4", "--context", "64"]


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_universal_model(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.json"
    call = ["certify", "--universal", "--architecture", kind, *SIZE]
    assert main([*call, "-o", str(file)]) == 0
    out = capsys.readouterr().out
    assert f"{kind}, for 8 states, 4 symbols" in out
    assert "certified: on every machine of this size and input" in " ".join(out.split())
    assert max(map(len, out.split("\nwrote ")[0].splitlines())) <= 80
    assert main([*call, "--on", "language-model", "--dtype", "bfloat16", "--json"]) == 0
    found = shown(capsys)
    assert found["universal"] == {"states": 8, "symbols": 4}
    assert [each["format"] for each in found["proofs"]] == ["exact", "bfloat16"]
    assert main(["certify", "--check", str(file)]) == 0
    assert main(["audit", str(file)]) == 0
    whole = json.loads(file.read_text(encoding="utf-8"))
    for change, code, message in (
        ({"universal": {"states": 16, "symbols": 4}}, 1, "the model has 16 states"),
        ({"universal": {"states": 8}}, 2, "expected an object with"),
        ({"universal": {"states": 1, "symbols": 4}}, 2, "2 to 4,096 states"),
        ({"model": {**whole["model"], "digest": "0" * 64}}, 1, "the model's digest is"),
        ({"machine": {}}, 2, "expected an object with"),
    ):
        file.write_text(json.dumps(whole | change), encoding="utf-8")
        capsys.readouterr()
        assert main(["certify", "--check", str(file)]) == code
        if code == 2 or "digest" in message:
            assert message in said(capsys)


@pytest.mark.parametrize("to", ["gpt2", "opt", "llama"])
def test_a_universal_folder(to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, file = tmp_path / "out", tmp_path / "c.json"
    export_universal(to, folder, states=8, symbols=4, context=64)
    checked = json.loads((folder / "checked.json").read_text(encoding="utf-8"))["certificate"]
    assert checked["certified"] is True
    assert checked["universal"] == {"states": 8, "symbols": 4}
    assert "for every machine within its bounds" in (folder / "README.md").read_text("utf-8")
    call = ["certify", "--model", str(folder), "--dtype", "bfloat16"]
    assert main([*call, "--json", "-o", str(file)]) == 0
    assert shown(capsys)["proofs"][1]["leads"] == checked["leads"]
    check = ["certify", "--check", str(file), "--model", str(folder)]
    assert main(check) == 0
    assert main([*check, "--machine", NAME]) == 2
    assert "so it takes no --machine" in said(capsys)
    assert main(["audit", str(folder)]) == 0
    assert "its files are certified in" in said(capsys)

    config = (folder / "config.json").read_text(encoding="utf-8")
    activation = "hidden_act" if to == "llama" else "activation_function"
    changed = {**json.loads(config), activation: "gelu"}
    (folder / "config.json").write_text(json.dumps(changed), encoding="utf-8")
    assert main(check) == 2
    (folder / "config.json").write_text(config, encoding="utf-8")
    tensors = {
        name: array.copy() for name, array in read_tensors(folder / "model.safetensors").items()
    }
    name = next(name for name in tensors if re.search(r"\.1\..*(c_attn|q_proj)\.weight", name))
    place = tuple(int(n) for n in np.argwhere(tensors[name] != 0)[0])
    tensors[name][place] = 0
    write_tensors(folder / "model.safetensors", tensors)
    capsys.readouterr()
    assert main(check) == 1
    assert "the model's digest is" in said(capsys)
    assert main(call) == 1
    assert main(["audit", str(folder)]) == 1


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_prompt_in_a_file(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export_universal(kind, tmp_path / "out", states=8, symbols=4, context=64, check=0)
    file = tmp_path / "prompt.txt"
    size = [*SIZE, "--architecture", kind]
    for how in (["--model", str(tmp_path / "out")], ["--universal", *size]):
        call = ["certify", *how, "--dtype", "float32", "--prompt-file", str(file)]
        assert main(["compile", NAME, "--prompt", "--model", str(tmp_path / "out")]) == 0
        prompt = capsys.readouterr().out
        file.write_text(prompt, encoding="utf-8")
        assert main([*call, "--json"]) == 0
        assert all(each["failure"] is None for each in shown(capsys)["prompt"])
        assert main(call) == 0
        assert "certified: on every run of the machine in this prompt" in said(capsys)
        for text, failure in (
            (prompt.replace("q1:", "q0:"), "has a rule already, at token 1"),
            (prompt.replace("<tape>", ""), "is expected"),
            (prompt.replace(" <tape>", "\xa0<tape>"), "is no token of a prompt"),
            ("", "token 1: the prompt ends where <tape> is expected"),
            ("x\n" * 100_000, "token 1: 'x' is no token of a prompt"),
        ):
            file.write_text(text, encoding="utf-8")
            assert main(call) == 1
            out = capsys.readouterr().out
            assert failure in " ".join(out.split())
            assert "R1" not in out
            assert "L1" not in out
            assert max(map(len, out.splitlines())) <= 80
        file.write_bytes(b"\xff")
        assert main(call) == 2
        assert "is not UTF-8: byte 0" in said(capsys)
        file.unlink()
        assert main(call) == 2
        assert "prompt.txt" in said(capsys)


def test_a_prompt_is_checked_where_it_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def twice(*given: Any) -> Any:
        text, renaming = prompt_text(*given)
        key, action, *rest = text.split(" ")
        return " ".join([key, action, key, action, *rest]), renaming

    monkeypatch.setattr("netwright.export.texts.prompt_text", twice)
    assert main(["compile", NAME, "--prompt"]) == 2
    assert "the prompt is not as its model needs it: token 3" in said(capsys)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["--universal", NAME], "it takes no MACHINE"),
        (["--universal", "--machine", NAME], "it takes no MACHINE"),
        (["--universal", "--on", "rnn"], "it takes no MACHINE"),
        (["--universal", "--model", "x"], "it takes no MACHINE"),
        (["--universal", "--base", "4"], "it takes no MACHINE"),
        (["--universal", "--states", "1"], "2 to 4,096 states"),
        (["--universal", "--architecture", "rnn"], "architecture"),
        (["--universal", "--on", "llama", "--architecture", "gpt2"], "--on llama is"),
        (["--universal", "--context", "4"], "expected 8 to 65,536 tokens"),
        (["--universal", "--partial-sums", "-1"], "partial sums are -1"),
        ([NAME, "--states", "4"], "are for --universal"),
        ([NAME, "--prompt-file", "x"], "is for a universal model"),
    ],
)
def test_options_of_universal_models(
    call: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", *call]) == 2
    assert message in said(capsys)


def test_a_prompt_is_for_universal_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p").write_text("<tape>", encoding="utf-8")
    call = ["certify", "--model", str(exported(tmp_path / "out")), "--machine", NAME]
    assert main([*call, "--prompt-file", str(tmp_path / "p")]) == 2
    assert "is of one machine" in said(capsys)


def test_a_checkpoint_of_another_machine_has_other_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = exported(tmp_path / "out")
    assert main(["certify", "--model", str(folder), "--machine", "palindrome"]) == 2
    assert "it has no token" in said(capsys)


def test_the_greatest_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netwright.network.float_certificate.LONGEST", 256)
    machine = library_machine("busy-beaver-2")
    assert set(greatest_contexts(machine).values()) == {256}
    assert set(greatest_contexts(machine, architecture="llama").values()) == {256}
    assert set(greatest_contexts(certify_universal(4, 4, 64).about).values()) == {256}
    found = greatest_contexts(machine, partial_sums=8)
    assert found["float32"] == 256
    assert found["bfloat16"] is None


def test_names_that_have_to_be_written_in_another_way() -> None:
    """White space and signs in names, stays, and rules of an accepting state, which ends runs."""
    machine = nw.TuringMachine(
        ["q 0", "a:b", "a:b'", "end"],
        ["#", ">", "%", "@"],
        "#",
        "q 0",
        {
            ("q 0", ">"): ("a:b", "%", "S"),
            ("q 0", "#"): ("a:b", "@", "L"),
            ("a:b", "%"): ("a:b'", ">", "R"),
            ("a:b'", "#"): ("end", "#", "S"),
            ("end", "#"): ("q 0", "#", "R"),
        },
        ["end"],
    )
    network = compile_network(machine, "language-model", context=32)
    assert certify_language_model(network).holds
