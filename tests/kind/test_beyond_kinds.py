"""Pointer and universal Transformers agree with the machine, and every vector is as claimed."""

import json
import pickle
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.beyond_kinds import CHOICES, Choice, every_choice
from tests.corpora import inputs, load, needs_corpora, short_runs
from tests.machine_table import TABLE, Case
from tests.mutations import mutated_transformer
from tests.networks import facts
from tests.repetition import examples, repeated, some
from tests.strategies import machines, words

import netwright as nw
from netwright.campaign.plan import Plan
from netwright.cli import main
from netwright.errors import FormatError, InputError, NetworkError
from netwright.explorer.explored import Explored
from netwright.explorer.moments import moment_data
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Run, simulate
from netwright.machine.turing_machine import Action, Move, TuringMachine
from netwright.network.network import Network
from netwright.verify.draw import random_machine

UNDECIDED = 3  # the exit code
OPTIONS: dict[str, dict[str, Any]] = {
    "rules": {},
    "rules-16": {"size": 16},
    "rules-dot": {"attention": "dot-product"},
    "text": {},
}
DIMENSIONS = {"rules-16": 16, "text": 37}
KINDS = {name: "universal-text" if name == "text" else "universal-transformer" for name in OPTIONS}


def agrees(choice: Choice, machine: TuringMachine, word: tuple[str, ...], limit: int) -> Run:
    """The run, which is the machine's; before its end where nothing shows that."""
    wanted = simulate(machine, word, limit)
    found = choice.network(machine, word).run(word, limit, engine="fast")
    if found.before_end:
        assert not choice.shows_the_end
        assert (found.outcome, found.steps) == (wanted.outcome, wanted.steps)
        before = simulate(machine, word, wanted.steps - 1)
        assert (found.state, found.head, found.tape) == (before.state, before.head, before.tape)
    else:
        assert facts(found) == facts(wanted)
    return found


@every_choice
@pytest.mark.parametrize("name", some(library_names(), 4))
def test_the_library(name: str, choice: Choice) -> None:
    machine = library_machine(name)
    assert agrees(choice, machine, machine.default_input, repeated(300, 60)).note is None


@pytest.mark.parametrize("case", some(TABLE, 14))
def test_the_machine_table_on_16_coordinates(case: Case) -> None:
    """Answers of oracles that know nothing of Turing machines."""
    machine, word = library_machine(case.machine), tuple(case.word)
    found = agrees(CHOICES["rules-16"], machine, word, 10**6)
    if isinstance(case.answer, bool):
        assert found.outcome.value == ("accepted" if case.answer else "rejected")
    else:
        assert str(found.tape) == case.answer


@needs_corpora
@every_choice
@pytest.mark.parametrize("name", some(short_runs(300), 4))
def test_real_machines(name: str, choice: Choice) -> None:
    machine = load(name)
    if choice.kind == "universal-text" and len(machine.delta) > 120:
        pytest.skip("a prompt of thousands of symbols; universal-transformer runs it")
    for word in inputs(machine):
        agrees(choice, machine, word, 300)


@pytest.mark.parametrize("seed", some(range(20), 2))
def test_200_random_machines(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        machine = random_machine(draw, draw.randint(1, 6), draw.randint(1, 5))
        word = tuple(draw.choice(machine.symbols) for _ in range(draw.randint(0, 4)))
        for choice in CHOICES.values():
            agrees(choice, machine, word, 60)


@every_choice
@examples(25)
@given(data=st.data())
def test_every_vector_of_random_machines_is_as_claimed(choice: Choice, data: st.DataObject) -> None:
    machine = data.draw(machines(default_input=False, max_states=3, max_symbols=3))
    word = tuple(data.draw(words(machine.symbols)))
    found = choice.network(machine, word).compare(word, 12)
    assert found.difference is None, found.difference
    assert found.checks


@every_choice
@pytest.mark.parametrize("name", some(library_names(), 4))
def test_every_vector_of_the_library_is_as_claimed(name: str, choice: Choice) -> None:
    machine = library_machine(name)
    network = choice.network(machine)
    if network.facts.get("prompt_tokens", 0) > 200:
        pytest.skip("by the definition a long prompt takes minutes")
    assert network.verify(max_steps=15).holds


ODD = {
    "accepts at once": TuringMachine(
        states=["q", "p"], symbols=["_", "1"], blank="_", start="q", delta={}, accepting=["q"]
    ),
    "one symbol": TuringMachine(
        states=["q", "p", "h"],
        symbols=["_"],
        blank="_",
        start="q",
        delta={("q", "_"): Action("p", "_", Move.L), ("p", "_"): Action("h", "_", Move.R)},
    ),
    "stays for ever": TuringMachine(
        states=["q"],
        symbols=["_", "1"],
        blank="_",
        start="q",
        delta={("q", s): Action("q", "1", Move.S) for s in "_1"},
    ),
    "a state named _start, two that accept": TuringMachine(
        states=["_start", "q_init", "yes", "also"],
        symbols=["_", "1", "#"],
        blank="_",
        start="_start",
        delta={
            ("_start", "1"): Action("q_init", "#", Move.R),
            ("q_init", "1"): Action("also", "1", Move.L),
            ("q_init", "_"): Action("yes", "1", Move.S),
        },
        accepting=["yes", "also"],
    ),
}


@every_choice
@pytest.mark.parametrize("machine", ODD.values(), ids=ODD)
def test_odd_machines(machine: TuringMachine, choice: Choice) -> None:
    letters = [symbol for symbol in machine.symbols if symbol != machine.blank]
    words = [(), ("_",), ("_", "_"), *((letter, "_", letter) for letter in letters)]
    for word in (*words, *((letter, letter) for letter in letters)):
        for limit in (0, 1, 2, 20)[:: repeated(1, 3)]:
            agrees(choice, machine, word, limit)
        network = choice.network(machine, word)
        assert network.compare(word, 10).difference is None
        assert network.certify().holds


@every_choice
def test_what_is_saved_is_the_network(choice: Choice, tmp_path: Path) -> None:
    network = choice.network(library_machine("palindrome"))
    path = tmp_path / "network.safetensors"
    network.save(path)
    again = nw.load(path)
    assert again == network
    assert pickle.loads(pickle.dumps(network)) == network
    assert facts(again.run("abba")) == facts(network.run("abba"))
    assert again.certify().holds
    path.write_bytes(path.read_bytes().replace(b"universal-tr", b"universal-xx"))
    if network.kind.name == "universal-transformer":
        with pytest.raises(FormatError, match="not an intact netwright network"):
            nw.load(path)


@every_choice
def test_a_run_goes_on_from_where_it_was_kept(
    choice: Choice, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--{name}={value}" for name, value in choice.options.items()]
    command = ["run", "busy-beaver-5", "--on", choice.kind, *options, "--json"]
    kept = str(tmp_path / "kept")
    assert main([*command, "--max-steps", "5000", "--checkpoint", kept]) == UNDECIDED
    capsys.readouterr()
    assert main([*command, "--max-steps", "9000", "--resume", kept]) == UNDECIDED
    found = json.loads(capsys.readouterr().out)
    wanted = agrees(choice, library_machine("busy-beaver-5"), (), 9000)
    assert (found["steps"], found["state"], found["head"]) == (9000, wanted.state, wanted.head)
    assert found["tape"] == str(wanted.tape)


@every_choice
def test_a_trace_has_named_vectors_and_attentions(choice: Choice) -> None:
    machine = library_machine("even-as")
    network = choice.network(machine)
    trace = network.trace("ab")
    outputs = network.outputs("ab")
    for moment in trace:
        assert network.kind.reading.output(moment) == next(outputs)
        names = [name for name in moment if not name.rpartition(".")[2].isdigit()]
        assert names == network.kind.reading.vectors(network.compiled)
    assert trace.run.outcome.value == "rejected"
    history = network.kind.look.history(network.compiled, tuple("ab"), 10)
    first = history.lead
    attention = trace[first + 1].attention
    assert bool(attention) == (choice.kind != "gateless-neural-gpu")
    assert all(attention[name].winners for name in attention)
    rule = network.kind.look.rule(network.compiled, trace[first + 2])
    assert rule is not None
    assert (
        rule.state
        in network.kind.look.history(network.compiled, tuple("ab"), 10).timeline.machine.states
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_one_digest_for_the_whole_library(name: str) -> None:
    universal = nw.universal(name.partition("-")[0], **OPTIONS[name])
    for machine in map(library_machine, library_names()):
        network = nw.compile(machine, to=KINDS[name], **OPTIONS[name])
        assert universal.of(machine) == network
        found = network.facts["weights_digest"]
        assert found == universal.weights_digest
    assert universal.dimension == DIMENSIONS.get(name, 21)
    assert universal.certify().holds


@pytest.mark.parametrize(("size", "numbers"), [(21, 62), (16, 43)])
def test_every_weight_is_in_the_digest(size: int, numbers: int) -> None:
    """Any weight that is flipped changes it, and nearly any changes what a run shows."""
    network = nw.compile("even-as", to="universal-transformer", size=size)
    digest = network.facts["weights_digest"]
    same_runs = count = 0
    for name, weight in network.weights().items():
        for (row, column), value in weight.entries.items() if name != "positions" else ():
            changed = network.with_weight(name, row, column, -value)
            assert changed.facts["weights_digest"] != digest
            count += 1
            try:
                runs = [changed.run(word, 40) for word in ("", "a", "abba")]
            except NetworkError:
                continue
            same_runs += [*map(facts, runs)] == [
                facts(simulate(network.machine, tuple(word), 40)) for word in ("", "a", "abba")
            ]
    assert count == numbers
    assert same_runs < count // 5


def test_long_runs() -> None:
    beaver = library_machine("busy-beaver-5")
    wanted = simulate(beaver, (), 10**6)
    for name in ("rules", "rules-16", "rules-dot"):
        assert facts(CHOICES[name].network(beaver).run("", 10**6)) == facts(wanted)
    for name in ("pointer", "positionless", "residual-free", "gateless"):
        done = CHOICES[name].network(beaver).run("", 10**8)
        assert (done.steps, done.outcome.value, done.note) == (47_176_870, "halted", None)
    four = CHOICES["text"].network(library_machine("busy-beaver-4")).run()
    assert (four.steps, sum(cell == "1" for cell in four.tape.cells)) == (107, 13)


@pytest.mark.parametrize("name", ["rules", "rules-16"])
def test_every_weight_at_every_token_gives_the_same_run(name: str) -> None:
    """Of size 16, many numbers x show one state: its code is read off the checked output."""
    for machine, word in (
        ("palindrome", "abba"),
        ("palindrome", "ab"),
        ("even-as", "aba"),
        ("binary-increment", "1011"),
        ("busy-beaver-4", ""),
    ):
        network = CHOICES[name].network(library_machine(machine))
        found = network.run(word, engine="full")
        assert facts(found) == facts(simulate(network.machine, tuple(word), 10**4))
        assert (found.engine, found.note) == ("full", None)


def answer(network: Network, word: str, engine: str) -> object:
    try:
        return facts(network.run(word, 40, engine=engine))
    except NetworkError as error:
        return str(error)


def test_changed_networks_of_16_coordinates_run_alike_on_all_engines() -> None:
    network, answers = CHOICES["rules-16"].network(library_machine("even-as")), set()
    for seed in range(repeated(100, 8)):
        compiled = mutated_transformer(network.compiled, random.Random(seed))
        changed = replace(network, compiled=compiled)
        wanted = answer(changed, "aba", "reference")
        assert answer(changed, "aba", "fast") == wanted
        assert answer(changed, "aba", "full") == wanted
        answers.add(str(wanted))
    assert len(answers) > 1


def test_options_that_do_not_go_together_are_refused() -> None:
    machine = library_machine("even-as")
    for options, message in (
        ({"prompt": "prose"}, "no prompt 'prose'; there are rules, text"),
        ({"attention": "soft"}, "no attention 'soft'; there are absolute, dot-product"),
        ({"form": "short"}, "form is not an option of universal-transformer"),
        ({"size": 17}, "no size '17'; there are 21, 16"),
        (
            {"size": 16, "attention": "dot-product"},
            "size=16 has attention=absolute only: its form with dot products is not known; take",
        ),
    ):
        with pytest.raises(InputError, match=message):
            nw.compile(machine, to="universal-transformer", **options)
    with pytest.raises(InputError, match="compiled for inputs without blanks"):
        nw.compile("even-as", to="pointer-transformer").run("a_a")
    with pytest.raises(InputError, match="no form 'tiny'; there are long, short"):
        nw.compile(machine, to="universal-text", form="tiny")


def test_a_text_as_an_option_is_said_to_be_a_kind_now(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(nw.FormatWarning, match="prompt=text is the kind universal-text now"):
        network = nw.compile("even-as", to="universal-transformer", prompt="text", form="short")
    assert network == nw.compile("even-as", to="universal-text", form="short")
    assert network.run("a_a").decided
    call = ["run", "even-as", "abab", "--on", "universal-transformer", "--prompt", "text"]
    assert main(call) == 0
    said = capsys.readouterr()
    assert said.out.startswith("accepted after 5 steps")
    assert "warning: prompt=text is the kind universal-text now" in said.err
    call = ["verify", "even-as", "a_", "--on", "universal-transformer,rnn", "--prompt", "text"]
    assert main([*call, "--form", "short", "--json", "--max-steps", "5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["on"] for row in found["results"]] == ["universal-text", "rnn"]
    with pytest.warns(nw.FormatWarning, match="is the kind universal-text now"):
        plan = Plan(on="rnn,universal-transformer", options={"prompt": "text", "form": "short"})
    assert (plan.on, plan.options) == (("rnn", "universal-text"), {"form": "short"})
    assert main(["compile", "even-as", "--on", "universal-transformer", "--prompt", "text"]) == 0
    text = capsys.readouterr().out
    assert main(["compile", "even-as", "--on", "universal-text", "--prompt"]) == 0
    assert capsys.readouterr().out == text


def test_parts_can_be_left_out() -> None:
    network = nw.compile("palindrome", to="pointer-transformer")
    for part in ("residual:decoder.2.external", "attention:decoder.2.self", "positions"):
        without = network.without(part)
        assert without.compare("abba", 20).difference is not None


@every_choice
def test_every_block_and_weight_has_words(choice: Choice) -> None:
    network = choice.network(library_machine("palindrome"))
    meanings = network.kind.look.meanings
    for block, _ in network.layout.blocks:
        assert meanings.of_block(block)
    for name, weight in network.weights().items():
        assert meanings.of_weight(name)
        if weight.affine.output != network.layout:
            inside = next(words for key, words in meanings.hidden.items() if name.startswith(key))
            blocks = {block for block, _ in weight.affine.output.blocks}
            assert blocks <= inside.keys() | meanings.blocks.keys()


@every_choice
def test_pages_show_them(choice: Choice) -> None:
    """Every time of a run: the machine's configuration beside what the vectors say."""
    network = choice.network(library_machine("even-as"))
    explored = Explored(network, ("a", "b"))
    timeline, lead = explored.history.timeline, explored.lead
    last, ended = explored.last
    assert ended
    for t in range(1, last + 1):
        moment = explored.moment(t)
        assert moment is not None
        data = moment_data(explored, moment)
        assert data["vectors"]
        if t >= lead and (now := timeline.at(t - lead)) is not None:
            assert (data["rule"]["state"], data["rule"]["symbol"]) == (now.state, now.symbol)
            assert data["head"] == now.head
            found = data.get("attention")
            if found is not None and data["rule"]["next"] is not None:
                assert found["null"] or found["cell"] in (None, data["next"])
