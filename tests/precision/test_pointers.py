"""The pointer Transformer in floats: the order of summation decides how far it is right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines

import netwright as nw
from netwright.errors import InputError
from netwright.kind.pointer_transformer.construction import (
    CompiledPointerTransformer,
    compile_pointer_transformer,
)
from netwright.machine.library import library_machine
from netwright.machine.normal_form import normalize
from netwright.machine.turing_machine import TuringMachine
from netwright.precision.float_arithmetic import arithmetic_of
from netwright.precision.formats import FORMATS
from netwright.precision.pointers import first_pointer_failures, in_good_order


def compiled(machine: TuringMachine) -> CompiledPointerTransformer:
    return compile_pointer_transformer(normalize(machine, keep_stays=True))


def first_wrong(name: str, form: str, *, good: bool, outputs: int = 1500) -> int | None:
    """The first output after a wrong look-up."""
    network = compiled(library_machine(name))
    found = first_pointer_failures(
        in_good_order(network) if good else network, (), arithmetic_of(FORMATS[form]), outputs
    )
    return None if found.index is None else found.index.token + 1


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("busy-beaver-5", 1353, 30), ("sweeper", 1347, 25), ("binary-counter", 1292, 23)],
)
def test_first_wrong_look_ups_in_float16(name: str, good: int, bad: int) -> None:
    assert first_wrong(name, "float16", good=True) == good
    assert first_wrong(name, "float16", good=False) == bad
    assert first_wrong(name, "float32", good=True) is None


@examples(30)
@given(machine=machines(default_input=False, max_states=3, max_symbols=3), data=st.data())
def test_what_is_proved_right_is_right(machine: TuringMachine, data: st.DataObject) -> None:
    """t < 2^(p − 2) tokens, for any machine that stays or does not."""
    form = FORMATS[data.draw(st.sampled_from(["bfloat16", "float16"]))]
    outputs = min(200, 2 ** (form.bits - 2))
    network = in_good_order(compiled(machine))
    found = first_pointer_failures(network, (), arithmetic_of(form), outputs)
    assert (found.index, found.vector, found.reading) == (None, None, None)


@examples(20)
@given(machine=machines(default_input=False, max_states=3, max_symbols=3))
def test_the_reordered_network_is_the_same(machine: TuringMachine) -> None:
    network = compiled(machine)
    other = in_good_order(network)
    assert other.layout.dimension == network.layout.dimension
    outputs = zip(
        network.network.outputs((), network.seed),
        other.network.outputs((), other.seed),
        range(20),
        strict=False,
    )
    for y, z, _ in outputs:
        assert {str(c): y.entries.get(k) for k, c in enumerate(y.layout.coordinates)} == {
            str(c): z.entries.get(k) for k, c in enumerate(z.layout.coordinates)
        }


def test_rows_and_refusals() -> None:
    network = nw.compile("busy-beaver-4", to="pointer-transformer")
    rows = list(network.precision(steps=60))
    assert {row["order"] for row in rows} == {"constants first", "constants last"}
    assert rows[0]["predicted"]["safe_until"] == 2**51
    with pytest.raises(InputError, match="softmax is for the attention of a transformer"):
        next(network.precision(softmax="1e-6"))
    other = nw.compile("busy-beaver-4", to="pointer-transformer", attention="dot-product")
    with pytest.raises(InputError, match="has only attention=absolute"):
        next(other.precision())
