"""A proposed run that vector code accepts is the network's run: the definition's, vector by vector.

What vectors are in vector code is read with `Checked.exact`, in exact numbers.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.machine_table import TABLE
from tests.mutations import mutated_transformer
from tests.repetition import examples, repeated, some
from tests.strategies import machines
from tests.strategies import words as random_words

from netwright.definitions.transformer import Token
from netwright.engine.full.checked import Checked
from netwright.engine.full.forms import NARROW, UNIT, WIDE, Forms
from netwright.engine.full.lanes import name_of
from netwright.engine.full.program import Chosen, Decoder, Part
from netwright.engine.moments import UnsuitableError
from netwright.exact.vector import Vector
from netwright.machine.library import library_machine
from netwright.machine.recorded import Recorded
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.network import Network, compile_network, network_for_word
from netwright.verify.proposal import Proposal

CHUNK = "netwright.engine.full.checked.CHUNK"
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("transformer", {}),
    ("transformer", {"score": "recency"}),
    ("pointer-transformer", {}),
    ("pointer-transformer", {"attention": "dot-product"}),
    ("universal-transformer", {}),
    ("universal-transformer", {"attention": "dot-product"}),
    ("universal-transformer", {"size": 16}),
]


class Proposed:
    """A machine's run as codes of outputs, and vector code that checks that it is a network's.

    Nothing is claimed but that each output is the next one that is proposed.
    """

    def __init__(self, net: Network, word: Sequence[str], size: int) -> None:
        proposal = net.kind.proof.proposal(net.compiled, word)
        assert proposal is not None
        self.proposal: Proposal = proposal
        self.size = size
        self.decoder = decoder = Decoder(proposal.network, proposal.X, proposal.y)
        decoder.require(decoder.vectors["y"], decoder.vector(self._next()))
        self.checked = Checked(decoder)
        self.run = Recorded(proposal.machine, proposal.word, -1, self.checked.given)
        self.run.advance(0, 1)
        self.tokens = 0

    def _next(self) -> list[Part]:
        return [part._replace(shift=1) for part in self.proposal.y]

    def chunk(self, change: Any = None) -> int:
        """How many of the next tokens are as proposed, or as something changes them."""
        self.run.advance(1, self.size)
        if change is not None:
            change(self.checked.given)
        self.tokens = self.checked.tokens
        return self.checked.advance(self.size)

    def exact(self, name: str, k: int) -> Vector | None:
        return self.checked.exact(self.decoder.vectors[name], k, self.tokens, name)

    @property
    def end(self) -> int:
        """The first token of which nothing is proposed, as the machine has halted before."""
        machine, times = self.proposal.machine, np.zeros(self.size + 1, np.int64)
        Recorded(machine, self.proposal.word, -1, {"q": times}).advance(0, self.size + 1)
        return int(np.argmax(times < 0)) - 1 if (times < 0).any() else self.size


def vectors_of(token: Token) -> dict[str, Vector]:
    """All vectors of a token by the names that vector code has for them."""
    found: dict[str, Vector] = {}
    for n, layer in enumerate(token.layers, start=1):
        found |= {f"p{n}": layer.p, f"a{n}": layer.a, f"z{n}": layer.z}
    return {**found, "y": token.y}


def tokens_of(net: Network, word: Sequence[str]) -> Iterator[Token]:
    compiled = net.compiled
    tokens: Iterator[Token] = compiled.network.tokens(compiled.embed(word), compiled.seed)
    return tokens


def every_vector(net: Network, word: Sequence[str], size: int) -> None:
    """All vectors of a chunk are the definition's, but those that depend on a mean at a stay."""
    proposed = Proposed(net, word, size)
    done, known = proposed.chunk(), 0
    assert done >= min(proposed.end, size)
    for k, token in enumerate(islice(tokens_of(net, word), done)):
        for name, vector in vectors_of(token).items():
            found = proposed.exact(name, k)
            known += found is not None
            assert found is None or found == vector, (k, name)
    assert known >= 4 * done


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("case", some([each for each in TABLE if len(each.word) <= 5][::40], 1))
def test_every_vector_on_the_machine_table(
    case: tuple[str, str, object], kind: str, options: dict[str, Any]
) -> None:
    name, word, _ = case
    net = network_for_word(library_machine(name), kind, word, **options)
    every_vector(net, word, 33)


@examples(64)
@given(st.data())
def test_every_vector_on_random_machines(data: st.DataObject) -> None:
    kind, options = data.draw(st.sampled_from(KINDS))
    machine = data.draw(machines(max_symbols=7))
    word = data.draw(random_words(machine.symbols))
    every_vector(network_for_word(machine, kind, word, **options), word, 20)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_vector_code_and_the_definitions_of_its_operations_agree(
    kind: str, options: dict[str, Any]
) -> None:
    net = network_for_word(library_machine("matching-brackets"), kind, "([])", **options)
    proposed = Proposed(net, "([])", 37)
    done, checked = proposed.chunk(), proposed.checked
    assert done >= min(37, proposed.end)
    for k in range(done):
        numbers = checked._numbers(k, k + 1)
        for column in checked.code.stored:
            assert checked.arrays[name_of(column)][k] == numbers[column.operation], column


def test_many_symbols_are_looked_up_in_tables() -> None:
    """More than a few codes with a number are not compared one by one."""
    symbols = [*"_abcdefghij"]
    delta = {
        ("go", symbol): Action("go", after, Move.R if n % 3 else Move.L)
        for n, (symbol, after) in enumerate(zip(symbols, symbols[1:] + symbols[:1], strict=True))
    }
    machine = TuringMachine(states=["go"], symbols=symbols, blank="_", start="go", delta=delta)
    for kind, options in KINDS[2::2]:
        net = network_for_word(machine, kind, tuple("cafe"), **options)
        every_vector(net, tuple("cafe"), 40)


# A wrong proposal is refused where it is wrong.


def wrong_codes(proposed: Proposed) -> list[str]:
    """The names of what is proposed of outputs."""
    return list(dict.fromkeys(part.hint for part in proposed.proposal.y))


def meaning(proposed: Proposed, name: str, code: int) -> list[object]:
    """What a code, or a pointer, puts into an output: several codes may stand for 0."""
    found: list[object] = []
    for part in proposed.proposal.y:
        if part.hint == name and isinstance(part, Chosen):
            rows = part.rows.values()
            found += [dict(enumerate(row, start=part.first)).get(code, 0) for row in rows]
        elif part.hint == name:
            found.append(code)
    return found


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_wrong_proposal_is_refused_at_the_first_wrong_token(
    kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One code or pointer of y_{i+1} is another one: token i is not as proposed, all before are."""
    monkeypatch.setattr(CHUNK, 48)
    net = compile_network(library_machine("binary-counter"), kind, **options)
    draw = random.Random(kind)
    for place in [0, 14, 15, 16, 31, 32, 46, 47, *draw.choices(range(48), k=repeated(100, 4))]:
        for before in range(2):
            proposed = Proposed(net, (), 48)
            for _ in range(before):
                assert proposed.chunk() == 48
                proposed.checked.shift(48)
            name = draw.choice(wrong_codes(proposed))

            def change(given: dict[str, Any], name: str = name, place: int = place) -> None:
                old = meaning(proposed, name, int(given[name][place + 1]))  # noqa: B023
                others = [n for n in range(1, 4) if meaning(proposed, name, n) != old]  # noqa: B023
                given[name][place + 1] = draw.choice(others)

            assert proposed.chunk(change) == place, (name, before)


@pytest.mark.parametrize("kind", ["pointer-transformer", "universal-transformer"])
def test_a_wrong_hint_where_a_token_was_is_refused_and_never_believed(kind: str) -> None:
    """Cells only help to find a token: a wrong one may be refused, and the run is the same."""
    net = compile_network(library_machine("binary-counter"), kind)
    tokens = [*islice(tokens_of(net, ()), 40)]
    draw = random.Random(5)
    for _ in range(repeated(200, 20)):
        proposed, place = Proposed(net, (), 40), draw.randrange(40)
        name, by = draw.choice(["cell", "look"]), draw.choice([-3, -2, -1, 1, 2, 1000])

        def change(
            given: dict[str, Any], name: str = name, place: int = place, by: int = by
        ) -> None:
            given[name][place] += by

        done = proposed.chunk(change)
        assert done >= place
        for k in range(done):
            assert proposed.exact("y", k) in (None, tokens[k].y)


# Cells on both sides, over chunks.


@pytest.mark.parametrize("size", [5, 16, 100])
@pytest.mark.parametrize("name", ["sweeper", "binary-counter"])
@pytest.mark.parametrize(("kind", "options"), [KINDS[0], KINDS[1], KINDS[2]])
def test_cells_grow_to_both_sides_from_chunk_to_chunk(
    kind: str, options: dict[str, Any], name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CHUNK, size)
    proposed = Proposed(compile_network(library_machine(name), kind, **options), (), size)
    while proposed.checked.tokens < 12_000:
        assert proposed.chunk() == size
        proposed.checked.shift(size)


# Changed weights.


def test_what_is_accepted_of_a_changed_network_is_its_run() -> None:
    accepted = 0
    for seed in range(repeated(600, 9)):
        draw, (kind, options) = random.Random(seed), KINDS[seed % len(KINDS)]
        machine = library_machine(draw.choice(["palindrome", "copy", "busy-beaver-4"]))
        word = "".join(draw.choices([s for s in "ab" if s in machine.symbols] or [""], k=3))
        net = network_for_word(machine, kind, word, **options)
        compiled = mutated_transformer(net.compiled, draw)
        changed = Network(net.kind, net.machine, net.options, compiled)
        try:
            proposed = Proposed(changed, word, 30)
        except UnsuitableError:
            continue
        done = proposed.chunk()
        accepted += done > 0
        wanted = proposed.decoder.vector(proposed._next())
        for k, token in enumerate(islice(tokens_of(changed, word), done)):
            assert proposed.checked.exact(wanted, k, 0) == token.y, (seed, k)
    assert accepted


# Numbers that do not fit.


def test_a_coefficient_that_32_bits_may_not_hold_is_refused() -> None:
    forms = Forms()
    code = forms.column("code", "q", 0, 0, (1,), low=0, high=1)
    with pytest.raises(UnsuitableError, match="a coefficient is too large"):
        forms.total([(NARROW, code)])
    assert forms.total([(NARROW - 1, code)]) != 0


@pytest.mark.parametrize(("factor", "over"), [(1 << 26, 1), (1, WIDE), (1, (1 << 64) + 1)])
def test_a_sum_that_64_bits_may_not_hold_is_refused(factor: int, over: int) -> None:
    forms = Forms()
    number = forms.unknown("whole", forms.column("given", "cell", 0, high=1, wide=True))
    with pytest.raises(UnsuitableError, match="too large for 64 bits"):
        forms.whole([(factor, 1, (number, 0))], over)


def test_a_bound_of_sigma_beyond_32_bits_is_no_bound() -> None:
    forms = Forms()
    move = forms.column("code", "m", 0, -1, (-1, 0, 1), low=-1, high=1)
    found = forms._activated({UNIT: (move, 1 << 32)}, 1)  # type: ignore[arg-type]  # σ's top
    ((number, over),) = found.values()
    assert over == 1 << 32
    assert forms.operations[number.operation].arguments == (move, -1)  # type: ignore[union-attr]
