"""A Transformer without residual connections: what its heads attend to, and its prompt."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st
from tests.networks import facts
from tests.repetition import examples
from tests.strategies import machines, words

import netwright as nw
from netwright.exact.rational import ONE, ZERO
from netwright.exact.vector import Vector
from netwright.explorer.explored import Explored
from netwright.kind.residual_free_transformer.checks import HeadsValues
from netwright.kind.residual_free_transformer.construction import (
    CompiledResidualFree,
    compile_residual_free,
)
from netwright.machine.library import library_machine
from netwright.machine.simulate import configurations, simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine


def check_heads(compiled: CompiledResidualFree, word: tuple[str, ...], count: int) -> None:
    """Head 1 attends to the token itself, head 2 of layer 2 to the visit, and to no other."""
    network, values = compiled.network, HeadsValues(compiled, word, count)
    seen: list[list[Vector]] = [[] for _ in network.decoder]
    tokens = islice(network.tokens(compiled.embed(word), compiled.seed), count)
    for i, token in enumerate(tokens):
        z = token.input
        for n, layer in enumerate(network.decoder):
            seen[n].append(z)
            total = Vector.zero(compiled.layout)
            for h, head in enumerate(layer.heads):
                scores = [network.score(head.Q(z), head.K(x)) for x in seen[n]]
                best = [j for j, score in enumerate(scores) if score == max(scores)]
                if (n, h) != (0, 1):  # which has V = 0
                    assert len(best) == 1
                    followed = values.followed(i) if h and i <= values.end else None
                    assert best[0] == (i if followed is None else followed)
                total += head.V(seen[n][best[0]])
            assert token.layers[n].a == total  # nothing else is added
            assert token.layers[n].z == layer.O(total)
            assert all(ZERO <= x <= ONE for x in total.entries.values())
            z = token.layers[n].z
        assert token.y == network.F(z)


@examples(40)
@given(data=st.data())
def test_what_the_heads_attend_to_is_the_only_maximum(data: st.DataObject) -> None:
    """Also after the halt; and all coordinates are in [0, 1]."""
    machine = data.draw(machines(default_input=False))
    word = data.draw(words(machine.symbols))
    check_heads(compile_residual_free(machine), word, len(word) + 14)


def test_what_the_heads_attend_to_on_a_long_run() -> None:
    check_heads(compile_residual_free(library_machine("busy-beaver-4")), (), 109)


@examples(40)
@given(data=st.data())
def test_outputs_show_the_machine_after_the_prompt(data: st.DataObject) -> None:
    """y_{n+2+t} shows time t of the machine that always moves; the prompt's pointers are F's."""
    machine = data.draw(machines(default_input=False, moves="LR"))
    word = data.draw(words(machine.symbols))
    compiled = compile_residual_free(machine)
    X, n = compiled.embed(word), len(word)
    outputs = [*islice(compiled.network.outputs(X, compiled.seed), n + 14)]
    for x, y in zip(X, outputs, strict=False):
        assert (x["R"], x["L"]) == (y["R"], y["L"])
    assert outputs[n]["q1"] == {compiled.prompted.run: ONE}
    for y, now in zip(outputs[n + 1 :], configurations(machine, word), strict=False):
        assert y["q1"] == {now.state: ONE}
        assert y["s1"] == {now.symbol: ONE}


@given(machines())
def test_the_dimension(machine: TuringMachine) -> None:
    compiled = compile_residual_free(machine)
    made = compiled.prompted.machine
    assert compiled.layout.dimension == 2 * len(made.states) + 3 * len(made.symbols) + 9
    if not any(action.move is Move.S for action in machine.delta.values()):
        assert len(made.states) == len(machine.states) + 2


STAYING = TuringMachine(
    states=["a", "b", "_load"],
    symbols="_12",
    blank="_",
    start="a",
    delta={
        ("a", "1"): Action("b", "2", Move.S),
        ("b", "2"): Action("_load", "1", Move.R),
        ("b", "1"): Action("a", "2", Move.S),
        ("_load", "1"): Action("b", "1", Move.S),
        ("_load", "_"): Action("a", "1", Move.L),
    },
)


def test_a_stay_is_two_moves_and_one_step() -> None:
    """Also on the page, whose history begins where loading ends, and has the machine's steps."""
    network = nw.compile(STAYING, to="residual-free-transformer")
    for word in ("", "1", "11", "1_1", "2"):
        wanted = simulate(STAYING, tuple(word), 50)
        assert facts(network.run(word, 50)) == facts(wanted)
        explored = Explored(network, tuple(word))
        last, ended = explored.last
        assert ended
        assert last == len(network.trace(word))
        steps = []
        for t in range(1, last + 1):
            moment = explored.moment(t)
            assert moment is not None
            rule = network.kind.look.rule(network.compiled, moment)
            now = explored.history.timeline.at(t - explored.lead) if t >= explored.lead else None
            assert (rule is None) == (now is None) == (t < len(word) + 2)
            if rule is not None and now is not None:
                assert (rule.state, rule.symbol) == (now.state, now.symbol)
                steps.append(now.step)
        assert steps == sorted(steps)
        if wanted.steps:
            assert steps[-1] in (wanted.steps - 1, wanted.steps)
