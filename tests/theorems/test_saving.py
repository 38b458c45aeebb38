"""A network saved and loaded again is equal and runs the same."""

import json
import random
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from safetensors.numpy import load, save
from tests.strategies import machines, wild_names

from netwright.errors import FormatError, OutputError
from netwright.exact.feed_forward import affine_network
from netwright.files import seal
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.nets.attention import dot_product
from netwright.theorems.theorem_3_4_transformer.construction import (
    CompiledTransformer,
    compile_transformer,
)
from netwright.theorems.theorem_3_4_transformer.saving import from_bytes, to_bytes


def compiled(name: str = "palindrome") -> CompiledTransformer:
    return compile_transformer(normalize(library_machine(name)))


@settings(max_examples=40)
@given(machines(names=wild_names, symbol_names=wild_names))
def test_a_saved_network_comes_back_equal(machine: TuringMachine) -> None:
    network = compile_transformer(normalize(machine, blanks_in_input=True))
    again = from_bytes(to_bytes(network))
    assert again == network
    word = machine.default_input
    outputs = (list(islice(n.recognizer.outputs(word), 12)) for n in (network, again))
    assert next(outputs) == next(outputs)


def test_saving_is_deterministic_and_without_pickle() -> None:
    data = to_bytes(compiled())
    assert data == to_bytes(compiled())
    assert all(tensor.dtype == np.int64 for tensor in load(data).values())


def test_the_loaded_network_is_what_the_tensors_say() -> None:
    """Nothing is compiled again: a damaged network comes back as damaged as it was."""
    network = compiled("even-as")
    nothing = affine_network(network.layout)
    damaged = network.with_network("decoder.2.V", nothing)
    again = from_bytes(to_bytes(damaged))
    assert again == damaged != network
    assert again.networks()["decoder.2.V"] == nothing


def test_every_changed_bit_is_noticed() -> None:
    data = to_bytes(compiled("even-as"))
    draw = random.Random(1)
    for _ in range(60):
        place = draw.randrange(len(data))
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        try:
            again = from_bytes(bytes(changed))
        except FormatError:
            continue
        assert again == compiled("even-as")  # padding of the header: nothing is lost


def test_a_network_of_another_kind_is_not_saved() -> None:
    network = compiled("even-as")
    other = replace(network, network=replace(network.network, score=dot_product))
    with pytest.raises(OutputError, match="only networks with the attention and positions of"):
        to_bytes(other)


@pytest.mark.parametrize("cut", [10, 100, 2000, -1])
def test_a_file_cut_short_is_explained(cut: int) -> None:
    with pytest.raises(FormatError, match="net is not a whole network as netwright saves it"):
        from_bytes(to_bytes(compiled())[:cut], "net")


def with_metadata(**changes: object) -> bytes:
    """A whole file, digest and all, that says something else."""
    data = to_bytes(compiled())
    length = int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["netwright"])
    tensors = load(data)
    del about["digest"]
    about |= changes
    return seal(about, tensors)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "netwright transformer 99"}, "is a 'netwright transformer 99'; this netwright"),
        ({"layouts": []}, "is not a whole network"),
        ({"given": "abc"}, "is not a whole network"),
        ({"normal": {"states": [], "delta": []}}, "is not a whole network"),
        ({"names": ["a"]}, "is not a whole network"),
        ({"positions": ["x8"]}, "is not a whole network"),
        ({"networks": {}}, "is not a whole network"),
        ({"layouts": [[["x", [""]]]] * 9}, "has an index outside its layout"),
    ],
)
def test_a_file_with_other_contents_is_explained(changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_bytes(with_metadata(**changes))


def test_another_programs_file_is_explained() -> None:
    with pytest.raises(FormatError, match="is not a whole network as netwright saves it"):
        from_bytes(save({"x": np.zeros(3)}))
