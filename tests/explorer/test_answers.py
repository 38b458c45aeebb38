"""What the page is told: exactly what the network has, and a sentence where there is nothing."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from tests.machine_table import ORACLES
from tests.mutations import mutated_rnn

from netwright.explorer import answers as answers_module
from netwright.explorer.answers import Answer, Answers
from netwright.explorer.demos import DEMOS
from netwright.explorer.explored import Explored
from netwright.explorer.page import explore
from netwright.kind.registry import kinds
from netwright.machine.library import library_machine
from netwright.machine.load import machine_of_text
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import compile_network

LONGEST = {machine: max(words, key=len) for machine, (words, _) in ORACLES.items()}


@pytest.fixture
def answers() -> Answers:
    return Answers()


def settled(answers: Answers, path: str, query: Mapping[str, str]) -> Answer:
    """The answer, asked for until it is there: whether it is not yet (202) depends on a clock."""
    while (found := answers.answer(f"/api/{path}", query)).status == 202:
        pass
    return found


def ask(answers: Answers, path: str, **query: object) -> Any:
    found = settled(answers, path, {name: str(value) for name, value in query.items()})
    assert found.status == 200, found.body
    return json.loads(found.body)


def unfolded(moment: dict[str, Any]) -> dict[str, dict[int, fmpq]]:
    """The vectors of a moment, whole: each says what changed since the one before."""
    whole: dict[str, dict[int, fmpq]] = {}
    now: dict[int, fmpq] = {}
    for vector in moment["vectors"]:
        now = dict(now)
        for place, text in vector["entries"]:
            value = fmpq(*map(int, text.split("/")))
            now[place] = value
            if not value:
                del now[place]
        whole[vector["name"]] = now
    return whole


def test_the_page_offers_and_shows_the_universal_network_of_16_coordinates(
    answers: Answers,
) -> None:
    kinds = {kind["name"]: kind for kind in ask(answers, "machines")["kinds"]}
    offered = {each["name"]: each["choices"] for each in kinds["universal-transformer"]["options"]}
    assert offered["size"] == ["21", "16"]
    query = {"machine": "even-as", "kind": "universal-transformer", "input": "a", "size": "16"}
    run = ask(answers, "run", **query)
    assert (run["dimension"], run["options"]["size"], run["outcome"]) == (16, 16, "rejected")
    for t in range(1, run["last"] + 1):
        [moment] = ask(answers, "moments", **query, **{"from": t})
        assert moment["rule"]["state"] in run["machine"]["states"]
        assert len(moment["vectors"]) > 5
    refused = settled(answers, "run", {**query, "attention": "dot-product"})
    assert refused.status == 400
    assert b"its form with dot products is not known" in refused.body


@pytest.mark.parametrize("score", ["paper", "recency"])
@pytest.mark.parametrize("machine", ["palindrome", "binary-increment", "busy-beaver-4", "copy"])
def test_every_token_is_the_definitions(answers: Answers, machine: str, score: str) -> None:
    network = compile_network(library_machine(machine), score=score)
    word = LONGEST.get(machine, "")
    subject = {"machine": machine, "input": word, "score": score}
    last = min(ask(answers, "run", **subject)["last"], 60)
    compiled = network.compiled
    tokens = compiled.network.tokens(compiled.recognizer.embed(tuple(word)), compiled.seed)
    for t, token in zip(range(1, last + 1), tokens, strict=False):
        [moment] = ask(answers, "moments", **subject, **{"from": t})
        found = unfolded(moment)
        assert found["decoder.1.input"] == token.input.entries
        for n, layer in enumerate(token.layers, start=1):
            for letter in "paz":
                assert found[f"decoder.{n}.{letter}"] == getattr(layer, letter).entries
        assert found["y"] == token.y.entries
        assert all(lemma["holds"] for lemma in moment["lemmas"])
        weights = token.layers[-1].self_weights
        assert weights[moment["attention"]["winner"] - 1] == 1


@pytest.mark.parametrize("kind", ["transformer", "rnn", "neural-gpu"])
def test_tape_and_sentence_are_the_machines(answers: Answers, kind: str) -> None:
    machine, word = library_machine("palindrome"), "abba"
    run = ask(answers, "run", machine="palindrome", input=word, kind=kind)
    assert (run["outcome"], run["steps"], run["ended"]) == ("accepted", 15, True)
    moments = list(configurations(machine, word))
    seen = 0
    for t in range(1, run["last"] + 1):
        [moment] = ask(
            answers, "moments", machine="palindrome", input=word, kind=kind, **{"from": t}
        )
        if moment["step"] is None or moment["step"] < 0 or moment["rule"] is None:
            continue
        now = moments[moment["step"]]
        assert (moment["rule"]["state"], moment["rule"]["symbol"]) == (now.state, now.symbol)
        assert moment["head"] == now.head
        tape = moment["tape"]
        assert tape["cells"][now.head - tape["first"]] == now.symbol
        action = machine.action(now.state, now.symbol)
        if action:
            rule = moment["rule"]
            assert (rule["next"], rule["write"], rule["move"]) == action
        seen += 1
    # The last configuration of a Transformer is an output, and no token takes it.
    assert seen == len(moments) - (kind == "transformer")


def test_a_machine_that_stays_and_an_input_with_the_blank(answers: Answers) -> None:
    stays = "0 x y * 1\n0 _ _ * 1\n1 * * r halt\n"
    name = json.loads(answers.post_machine(stays).body)["machine"]
    run = ask(answers, "run", machine=name, input="x")
    assert (run["steps"], run["last"]) == (2, 2 * 1 + 3 + 3)
    steps = [
        ask(answers, "moments", machine=name, input="x", **{"from": t})[0]["step"]
        for t in range(1, 9)
    ]
    assert steps == [-1, -1, -1, -1, -1, 0, 0, 1]
    run = ask(answers, "run", machine="palindrome", input="a_b")
    assert run["options"]["blanks"] is True


def test_margin_and_runner_up_at_token_145_of_the_busy_beaver(answers: Answers) -> None:
    [moment] = ask(answers, "moments", machine="busy-beaver-5", **{"from": 145})
    found = moment["attention"]
    assert (found["winner"], found["second"]) == (136, 134)
    assert found["margin"] == "9/349135027520"
    # More than float32 has: there the network goes wrong at this token.
    assert found["bits"] == 25


def test_a_moment_in_the_middle_of_the_busy_beaver(answers: Answers) -> None:
    [moment] = ask(answers, "moments", machine="busy-beaver-5", **{"from": 23_456_789})
    assert moment["rule"] == {"state": "B", "symbol": "1", "write": "1", "move": "R", "next": "B"}
    assert moment["attention"]["winner"] == 23_455_162
    assert all(lemma["holds"] for lemma in moment["lemmas"])
    run = ask(answers, "run", machine="busy-beaver-5")
    assert (run["outcome"], run["steps"]) == ("halted", 47_176_870)


def test_a_diagram(answers: Answers) -> None:
    found = answers.answer(
        "/api/diagram", {"machine": "palindrome", "input": "abba", "from": "5", "to": "15"}
    )
    start, stop, columns, first, last, rows = map(int, np.frombuffer(found.body[:48], dtype="<f8"))
    assert (start, stop, columns) == (5, 15, 10)
    low, high = np.frombuffer(found.body[48 : 48 + 160], dtype="<f8").reshape(2, 10)
    image = np.frombuffer(found.body[208:], dtype=np.uint8).reshape(columns, rows)
    explored = Explored(compile_network(library_machine("palindrome")), tuple("abba"))
    for column in range(10):
        now = explored.history.timeline.at(start + column - 1)
        assert now is not None
        assert low[column] == high[column] == now.head
        cells = explored.history.timeline.cells(now.time, first, last)
        assert [bool(x) for x in image[column]] == [cell != "_" for cell in cells]
    fitted = answers.answer(
        "/api/diagram",
        {"machine": "palindrome", "input": "abba", "from": "5", "to": "7", "fit": "1"},
    )
    first, last = np.frombuffer(fitted.body[:48], dtype="<f8")[3:5]
    assert (first, last) == (min(low[:2]) - 2, max(high[:2]) + 2)


@pytest.mark.parametrize("kind", ["rnn", "neural-gpu", "pointer-transformer", "universal-text"])
def test_an_accelerated_run_is_the_same(answers: Answers, kind: str) -> None:
    """Every moment and diagram but for the visits of cells; both when it halts and when not."""
    for machine, word in (("palindrome", "abba"), ("sweeper", "")):
        query = {"machine": machine, "input": word, "kind": kind}
        runs = [ask(answers, "run", **query, engine=each) for each in ("auto", "accelerated")]
        assert runs[1]["options"].pop("engine") == "accelerated"
        if runs[0]["ended"]:
            assert runs[0] == runs[1]
        for t in (1, 3, 7, 12, min(runs[0]["last"], 2345)):
            one, other = (
                ask(answers, "moments", **query, engine=each, **{"from": t})[0]
                for each in ("auto", "accelerated")
            )
            if t >= runs[0]["lead"]:
                assert other["tape"].pop("visits") == []
                del one["tape"]["visits"]
            assert one == other
        part = {**query, "from": "5", "to": "15", "fit": "1"}
        one = settled(answers, "diagram", part)
        other = settled(answers, "diagram", {**part, "engine": "accelerated"})
        assert one == other


def test_a_changed_networks_accelerated_run_is_its_own() -> None:
    whole = compile_network(library_machine("busy-beaver-4"), "rnn")
    draw, seen = random.Random(5), set()
    for _ in range(6):
        changed = replace(whole.compiled, network=mutated_rnn(whole.compiled.network, draw))
        network = replace(whole, compiled=changed, changes=("a weight",))
        found = [Explored(network, (), 500, engine=each) for each in ("auto", "accelerated")]
        ends = []
        for explored in found:
            assert explored.explore(lambda done: True)
            outcome = explored.description()
            ends.append([*map(outcome.get, ("last", "ended", "outcome", "steps"))])
        assert ends[0] == ends[1]
        seen.add(tuple(ends[0]))
    assert len(seen) > 1


def test_a_moment_after_ten_to_the_twelve_steps(answers: Answers) -> None:
    query = {"machine": "1RB1LA_1LA1RB", "kind": "rnn", "engine": "accelerated"}
    run = ask(answers, "run", **query)
    assert (run["ended"], run["last"], run["cut"]) == (False, 10**12 + 2, "")
    [moment] = ask(answers, "moments", **query, **{"from": 10**12})
    assert moment["rule"] == {"state": "A", "symbol": "1", "write": "1", "move": "L", "next": "A"}
    assert moment["rule"] == ask(answers, "configuration", **query, t=10**12)["rule"]
    assert set(moment["tape"]["cells"]) == {"1"}
    found = settled(answers, "diagram", {**query, "columns": "50"})
    assert np.frombuffer(found.body[:16], dtype="<f8").tolist() == [1, 10**12 + 3]


def test_the_papers_transformer_has_no_accelerated_run(answers: Answers) -> None:
    offered = {
        kind["name"]: "engine" in [option["name"] for option in kind["options"]]
        for kind in ask(answers, "machines")["kinds"]
    }
    without = {name for name, has_it in offered.items() if not has_it}
    others = {"positionless-transformer", "residual-free-transformer"}  # they run accelerated
    assert without == {"transformer", "language-model", *others}
    refused = settled(answers, "run", {"machine": "palindrome", "engine": "accelerated"})
    assert refused.status == 400
    assert b"no engine for a page of transformer 'accelerated'" in refused.body


def test_a_changed_network_shows_which_lemma_fails_first() -> None:
    whole = compile_network(library_machine("palindrome"))
    broken = whole.broken("decoder.3.V.s4", word="abba")
    answers = Answers(broken)
    run = ask(answers, "run", machine="given", input="abba")
    assert run["changes"]
    for t in range(1, run["last"] + 1):
        [moment] = ask(answers, "moments", machine="given", input="abba", **{"from": t})
        failed = [lemma for lemma in moment["lemmas"] if not lemma["holds"]]
        if failed:
            break
    assert failed[0]["statement"] == "Lemma B.4"
    assert failed[0]["found"] != failed[0]["wanted"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"machine": "no-such-machine"}, "not a machine of the library"),
        ({"machine": "palindrom"}, "did you mean palindrome?"),
        ({"machine": "/etc/passwd"}, "not a machine of the library"),
        ({"machine": "README.md"}, "not a machine of the library"),
        ({"machine": "palindrome", "input": "abc"}, "'c'"),
        ({"machine": "palindrome", "input": "a" * 3000}, "3,000 symbols"),
        ({"machine": "palindrome", "kind": "perceptron"}, "transformer, rnn, neural-gpu"),
        ({"machine": "palindrome", "score": "best"}, "score"),
        ({"machine": "posted:0123"}, "post it again"),
        ({"machine": ""}, "not a machine of the library"),
    ],
)
@pytest.mark.parametrize("path", ["run", "moments", "diagram"])
def test_bad_questions_get_a_sentence(
    answers: Answers, path: str, query: dict[str, str], words: str
) -> None:
    found = answers.answer(f"/api/{path}", query)
    assert found.status == 400
    assert words in json.loads(found.body)["error"]


def test_symbols_of_several_characters_and_commas() -> None:
    """A word is told by its symbols, and not guessed from a text."""
    ones = TuringMachine(["q"], ["_", "1", "11"], "_", "q", {("q", "11"): ("q", "_", "R")})
    answers = Answers(compile_network(ones))
    run = ask(answers, "run", machine="given", word=json.dumps(["11"]))
    assert (run["input"], run["steps"]) == (["11"], 1)
    assert ask(answers, "run", machine="given", input="11")["input"] == ["1", "1"]
    comma = TuringMachine(["q"], ["_", "a", ","], "_", "q", {("q", "a"): ("q", "_", "R")})
    answers = Answers(compile_network(comma))
    assert ask(answers, "run", machine="given", input="a,a")["input"] == ["a", ",", "a"]
    for bad in ("[", "{}", "[1]", '"a"'):
        found = answers.answer("/api/run", {"machine": "given", "word": bad})
        assert found.status == 400
        assert "expected a list of symbols" in json.loads(found.body)["error"]


def test_a_given_network_with_another_score_or_blanks() -> None:
    answers = Answers(compile_network(library_machine("palindrome")))
    run = ask(answers, "run", machine="given", input="ab", score="recency")
    assert run["options"]["score"] == "recency"
    assert ask(answers, "run", machine="given", input="ab")["options"]["score"] == "paper"
    run = ask(answers, "run", machine="palindrome", input="ab", blanks="True")
    assert run["options"]["blanks"] is True


def test_a_changed_network_ends_where_it_ends_and_has_its_own_answer() -> None:
    whole = compile_network(library_machine("palindrome"))
    other = whole.with_weight("decoder.1.O.1", "x1", "m", 0)
    own = other.run("ab")
    run = ask(Answers(other), "run", machine="given", input="ab")
    assert (run["outcome"], run["steps"]) == (own.outcome.value, own.steps)
    assert run["last"] == len(other.trace("ab")) != len(whole.trace("ab"))
    [moment] = ask(Answers(other), "moments", machine="given", input="ab", **{"from": 99})
    assert moment["t"] == run["last"]
    assert explore(other, "ab").html
    lost = whole.broken("decoder.3.V.s4", word="abba")
    assert ask(Answers(lost), "run", machine="given", input="abba")["outcome"] == "no answer"


@pytest.mark.parametrize("kind", ["transformer", "rnn", "neural-gpu"])
def test_limits_are_steps_of_the_machine(kind: str) -> None:
    """even-as takes 3 steps on ab: a limit of 3 sees it halt, one of 2 does not."""
    question = {"machine": "even-as", "input": "ab", "kind": kind}
    run = ask(Answers(limit=3), "run", **question)
    assert (run["ended"], run["steps"]) == (True, 3)
    run = ask(Answers(limit=1), "run", **question)
    assert (run["ended"], run["outcome"]) == (False, None)


def test_half_of_a_surrogate_pair_is_no_fault() -> None:
    odd = TuringMachine(["\ud800", "h"], "_a", "_", "\ud800", {("\ud800", "_"): ("h", "a", "R")})
    answers = Answers(compile_network(odd))
    assert ask(answers, "run", machine="given", input="")["steps"] == 1
    assert explore(odd).html.encode()


def test_a_fault_is_told_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("here")

    monkeypatch.setattr(answers_module, "moment_data", faulty)
    answers = Answers()
    found = answers.answer("/api/moments", {"machine": "even-as", "input": "a"})
    assert found.status == 500
    assert "ZeroDivisionError: here" in json.loads(found.body)["error"]
    assert not answers._work


@pytest.mark.parametrize("t", ["-5", "x", "", "1e9", "99999999999999999999999", "٣"])
def test_a_time_that_is_none_is_clipped(answers: Answers, t: str) -> None:
    [moment] = ask(answers, "moments", machine="palindrome", input="ab", **{"from": t})
    assert 1 <= moment["t"] <= 30


def test_a_path_is_never_read(answers: Answers, tmp_path: Any) -> None:
    file = tmp_path / "machine.txt"
    file.write_text("1RB1LB_1LA1RZ")
    found = answers.answer("/api/run", {"machine": str(file)})
    assert found.status == 400
    assert b"1RB" not in found.body


def test_a_machine_that_is_too_large_to_draw(answers: Answers) -> None:
    states = [f"q{n}" for n in range(15_000)]
    lines = "\n".join(f"{q} {s} 1 r {q}" for q in states for s in "01")
    found = answers.post_machine(lines)
    name = json.loads(found.body)["machine"]
    found = settled(answers, "run", {"machine": name})
    assert found.status == 400
    assert "too many" in json.loads(found.body)["error"]
    assert answers.post_machine("x" * (2 << 20)).status == 413


def test_a_run_that_never_halts_says_so(answers: Answers) -> None:
    limited = Answers(limit=5000)
    run = ask(limited, "run", machine="1RB1LB_1LA1RA")
    assert (run["ended"], run["outcome"], run["steps"]) == (False, None, 5000)
    [moment] = ask(limited, "moments", machine="1RB1LB_1LA1RA", **{"from": 10**9})
    assert moment["t"] == run["last"]
    for limit in (0, 10**12):
        found = Answers(limit=limit).answer("/api/run", {"machine": "even-as"})
        assert "from 1 to 1,000,000,000 steps" in json.loads(found.body)["error"]


def test_long_work_says_how_far_it_is_and_stops_when_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers_module, "SOON", 0.0)
    monkeypatch.setattr(answers_module, "ABANDONED", 0.05)
    answers = Answers()
    query = {"machine": "busy-beaver-5", "from": "47000000"}
    found = answers.answer("/api/moments", query)
    assert found.status == 202
    assert 0 <= json.loads(found.body)["done"] <= 1
    [work] = answers._work.values()
    assert work.future.result(timeout=60).status == 409


def test_answers_are_functions_of_the_url(answers: Answers) -> None:
    """In any order, with other questions in between."""
    draw = random.Random(1)
    queries = [{"machine": "busy-beaver-4", "from": str(t)} for t in range(1, 100, 9)]
    queries += [{**query, "kind": "rnn"} for query in queries]
    first: dict[str, bytes] = {}
    for query in draw.sample(queries * 2, 2 * len(queries)):
        body = settled(answers, "moments", query).body
        assert first.setdefault(str(query), body) == body


def test_every_demo_opens(answers: Answers) -> None:
    assert ask(answers, "demos") == json.loads(json.dumps(DEMOS))
    for demo in DEMOS:
        query = dict(demo["query"])
        t = query.pop("t")
        [moment] = ask(answers, "moments", **query, **{"from": t})
        assert moment["t"] == int(t), demo["title"]
    assert "Lemma B.4" in ask(answers, "statements")
    assert len(ask(answers, "machines")["machines"]) > 20
    assert answers.answer("/api/nothing", {}).status == 404


def test_memory_has_a_limit_that_is_said(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest runs are forgotten first; then a new one is refused."""
    for name in ("even-as", "copy", "palindrome"):
        ask(answers, "run", machine=name, input="")
    assert len(answers._explored) == 3
    sizes = iter([10**10, *([10**9] * 1000)])
    monkeypatch.setattr(answers_module, "resident_bytes", lambda: next(sizes))
    assert ask(answers, "run", machine="reverse", input="")["ended"]
    names = [key[0] for key in answers._explored]
    assert names == ["copy", "palindrome", "reverse"]
    monkeypatch.setattr(answers_module, "resident_bytes", lambda: 10**10)
    found = settled(answers, "run", {"machine": "busy-beaver-4"})
    assert found.status == 400
    assert "the page may use 2.0 GB" in json.loads(found.body)["error"]
    assert answers_module.resident_bytes() == 10**10
    monkeypatch.undo()
    assert 10**7 < answers_module.resident_bytes() < 10**11


@pytest.mark.parametrize("kind", kinds())
def test_what_the_machine_does_is_what_the_network_shows(answers: Answers, kind: str) -> None:
    """The quick answer agrees with the moment's own at every time."""
    subject = {"machine": "even-as", "input": "ab", "kind": kind}
    for t in range(1, ask(answers, "run", **subject)["last"] + 1):
        quick = ask(answers, "configuration", **subject, t=t)
        [moment] = ask(answers, "moments", **subject, **{"from": t})
        assert {name: moment[name] for name in quick} == quick, (kind, t)


STAYS = """; a machine whose head stays
0 0 1 * b
0 1 1 r 0
b 1 0 r 0
b 0 0 r 0
0 _ 1 * c
c 1 0 l halt
"""


@pytest.mark.parametrize("kind", kinds())
def test_steps_are_those_of_the_given_machine_where_its_head_stays(
    answers: Answers, kind: str
) -> None:
    name = json.loads(answers.post_machine(STAYS).body)["machine"]
    subject = {"machine": name, "input": "01", "kind": kind}
    run = ask(answers, "run", **subject)
    assert run["steps"] == machine_of_text(STAYS).run("01").steps == 5
    moments = [
        ask(answers, "moments", **subject, **{"from": t})[0] for t in range(1, run["last"] + 1)
    ]
    steps = [each["step"] for each in moments if each["step"] is not None]
    assert steps == sorted(steps)
    assert set(range(5)) <= set(steps) <= set(range(-1, 6))
    assert all(lemma["holds"] for each in moments for lemma in each["lemmas"])


def test_the_form_has_all_options_but_other_names_of_kinds(answers: Answers) -> None:
    listed = {kind["name"]: kind["options"] for kind in ask(answers, "machines")["kinds"]}
    assert list(listed) == list(kinds())
    names = {name: [option["name"] for option in options] for name, options in listed.items()}
    assert names["language-model"] == ["architecture", "context", "dtype"]
    assert names["universal-transformer"] == ["size", "attention", "blanks", "engine"]


@pytest.mark.parametrize("kind", ["transformer", "rnn", "universal-transformer", "universal-text"])
def test_the_steps_of_a_run_that_is_cut_are_the_limit(kind: str) -> None:
    """And of one that halts right there, all of them."""
    network = compile_network(library_machine("busy-beaver-4"), kind)
    for limit, steps in ((106, 106), (107, 107), (50, 50)):
        found = Explored(network, (), limit).description()
        assert (found["steps"], found["ended"]) == (steps, limit == 107), limit
