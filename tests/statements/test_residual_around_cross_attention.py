"""Without the residual connection around the attention to the encoder, short inputs show no run."""

from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.networks import facts
from tests.repetition import examples
from tests.strategies import transformers, vectors

from netwright.definitions.transformer import Transformer, hardmax, square_plus_one
from netwright.definitions.without import TransformerWithout
from netwright.errors import InputError, NetworkError
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.network.network import Network, compile_network
from netwright.statements.residual_around_cross_attention import first_difference, most_outputs


def without(network: Transformer, layer: int) -> TransformerWithout:
    return TransformerWithout.of(network, f"residual:decoder.{layer}.external")


@examples(100)
@given(transformers(positions=True), st.lists(vectors(), max_size=1), vectors(), st.data())
def test_on_at_most_one_symbol_all_outputs_are_equal(
    network: Transformer, X: list[Vector], seed: Vector, data: st.DataObject
) -> None:
    """In any one layer, with any weights, score and normaliser."""
    layer = data.draw(st.integers(1, len(network.decoder)))
    assert first_difference(without(network, layer), X, seed, 5) is None


@examples(60)
@given(transformers(positions=True), st.lists(vectors(), max_size=3), vectors())
def test_in_the_last_layer_there_are_few_outputs(
    network: Transformer, X: list[Vector], seed: Vector
) -> None:
    collapsed = without(replace(network, rho=hardmax), len(network.decoder))
    outputs = [*islice(collapsed.outputs(X, seed), 10)]
    assert sum(y not in outputs[:n] for n, y in enumerate(outputs)) <= most_outputs(
        collapsed, len(X)
    )


def answer(network: Network, word: str) -> object:
    try:
        return facts(network.run(word, 30))
    except NetworkError:
        return None


@pytest.mark.parametrize("kind", ["transformer", "pointer-transformer", "positionless-transformer"])
def test_no_machine_runs_without_it(kind: str) -> None:
    """On one symbol and on none; with it the outputs differ, so the statement is not empty."""
    machine = library_machine("copy")
    whole = compile_network(machine, kind)
    for n in range(1, len(whole.compiled.network.decoder) + 1):
        changed = whole.without(f"residual:decoder.{n}.external")
        for word in ("", "a"):
            assert answer(changed, word) != facts(simulate(machine, tuple(word), 30))
            X, seed = whole.compiled.embed(tuple(word)), whole.compiled.seed
            if len(X) < 2:  # ^ and $ are input tokens, too
                assert first_difference(changed.compiled.network, X, seed, 12) is None
                assert len({str(y) for y in islice(whole.outputs(word), 12)}) > 4


def test_what_the_statements_are_not_about_is_refused() -> None:
    compiled = compile_network(library_machine("even-as")).compiled
    network, one = compiled.network, compiled.embed("a")
    with pytest.raises(InputError, match=r"Transformers without residual:decoder\.1\.external or"):
        first_difference(network, one, compiled.seed, 3)
    with pytest.raises(InputError, match="about at most one input token; got 2"):
        first_difference(without(network, 1), one * 2, compiled.seed, 3)
    with pytest.raises(InputError, match=r"without residual:decoder\.3\.external$"):
        most_outputs(without(network, 1), 2)
    with pytest.raises(InputError, match="about hard attention"):
        most_outputs(replace(without(network, 3), rho=square_plus_one), 2)
