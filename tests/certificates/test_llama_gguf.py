"""GGUF files, certified from the weights that they have, in blocks of 8 bits or not."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.certificates.llama_streams import Proved, Recorded, names_of, texts
from tests.repetition import repeated

from netwright.certificates.language_model.llama.gguf import read_gguf
from netwright.certificates.language_model.rounding import FORMATS
from netwright.cli import main
from netwright.errors import FormatError, InputError
from netwright.export.gguf_target import read_gguf as read_by_gguf
from netwright.machine.library import library_machine
from netwright.network.network import compile_network

pytest.importorskip("gguf")
CONTEXT = 64


@pytest.fixture(scope="module", params=["Q8_0", "F16"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    network = compile_network(library_machine("palindrome"), "llama", context=CONTEXT)
    network.export("gguf", path, dtype=request.param, check=0)
    return path


def test_its_numbers_are_those_that_the_package_gguf_reads(file: Path) -> None:
    own, other = read_gguf(file).model.tensors, read_by_gguf(file).tensors
    assert own.keys() == other.keys()
    assert all((own[name] == other[name]).all() for name in own)


def test_it_is_certified_and_streams_are_in_their_intervals(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certify", "--model", str(file), "--machine", "palindrome"]) == 0
    assert "float32  certified" in capsys.readouterr().out
    machine, model = library_machine("palindrome"), read_gguf(file).model
    proved = Proved(model, names_of(machine), FORMATS["float32"])
    evaluator = Recorded(model, "float32")
    for text in list(texts(machine, CONTEXT))[: repeated(20, 3)]:
        streams, logits = evaluator.all_of(text.tokens[:-1])
        assert not list(proved.outside(text.tokens[:-1], streams))
        assert not list(proved.too_small(text, logits))


def test_damaged_files_are_refused(file: Path, tmp_path: Path) -> None:
    data, path = file.read_bytes(), tmp_path / "model.gguf"

    def changed(old: bytes, new: bytes) -> bytes:
        assert len(old) == len(new)
        assert old in data
        return data.replace(old, new, 1)

    def setting(name: str, kind: int, form: str, old: float, new: float) -> bytes:
        before = name.encode() + struct.pack("<I", kind)
        return changed(before + struct.pack(form, old), before + struct.pack(form, new))

    at_types = data.index(b"tokenizer.ggml.token_type") + 25 + 4 + 4 + 8
    own_type = bytearray(data)
    struct.pack_into("<i", own_type, at_types, 4)
    at_shape = data.index(b"blk.1.attn_q.weight") + 19 + 4
    shapes = []
    for shape in ((1 << 32, 1 << 32), (0, 0), (1 << 63, 2)):
        shapes.append(bytearray(data))
        struct.pack_into("<2Q", shapes[-1], at_shape, *shape)

    for content, message in (
        *((bytes(each), "of tensor") for each in shapes),
        (bytes(own_type), "may change words"),
        (changed(b"<0x41>", b"0:even"), "may change words"),
        (changed(b"<0x41>", "\u2581xyz".encode()), "may change words"),
        (b"", "ends too early"),
        (data[:1000], "ends too early"),
        (data[:-40], "ends too early"),
        (changed(b"GGUF", b"GGUG"), "is not a GGUF file of version 3"),
        (changed(b"blk.1.attn_q.weight", b"blk.9.attn_q.weight"), "expected (64, 256), found none"),
        (changed(b"llama.block_count", b"llama.clock_count"), "llama.block_count is null"),
        (changed(b"general.file_type", b"feneral.file_type"), "feneral.file_type is not a"),
        (setting("llama.rope.freq_base", 6, "<f", 1e12, np.inf), "llama.rope.freq_base is"),
        (setting("llama.rope.dimension_count", 4, "<I", 64, 32), "rope.dimension_count is 32"),
        (setting("llama.context_length", 4, "<I", CONTEXT, CONTEXT + 1), ""),
    ):
        path.write_bytes(content)
        if message:
            with pytest.raises((FormatError, InputError), match=re.escape(message)):
                read_gguf(path)
        else:  # a token too few
            assert main(["certify", "--model", str(path), "--machine", "palindrome"]) == 2
