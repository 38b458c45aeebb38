"""`netwright parse`: texts become runs, and what is wrong in a text is found."""

import io
import json
import re
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples
from tests.strategies import machines, wild_names, words

import netwright
from netwright import parse
from netwright.cli import main
from netwright.errors import InputError
from netwright.kind.language_model.text import Follower, Start, machine_text
from netwright.kind.language_model.vocabulary import Vocabulary
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine

PALINDROME = library_machine("palindrome")


def text_of(machine: TuringMachine, word: tuple[str, ...], context: int = 128) -> list[str]:
    vocabulary = Vocabulary.of(machine, context)
    start = Start(word)
    prompt = start.prompt(vocabulary)
    run = islice(machine_text(vocabulary, start), context - len(prompt))
    return [vocabulary.texts[token] for token in [*prompt, *run]]


@examples(60)
@given(st.data(), machines(names=wild_names, symbol_names=wild_names))
def test_a_text_is_the_run(data: st.DataObject, machine: TuringMachine) -> None:
    word = data.draw(words(machine.symbols))
    text = text_of(machine, word)
    found = parse(" ".join(text), machine)
    assert found.problem is None
    expected = simulate(machine, word, found.steps)
    assert found.steps == expected.steps
    if found.state in machine.states:  # not in the middle of a stay
        assert (found.state, found.head) == (expected.state, expected.head)
    if text[-1].startswith("<"):
        assert found.outcome == expected.outcome
        assert found.tape == expected.tape
    # Without the machine nothing is wrong either.
    assert parse(text).problem is None


@examples(150)
@given(st.data())
def test_any_other_token_is_noticed(data: st.DataObject) -> None:
    """A token behind the prompt that is replaced by another of the vocabulary."""
    vocabulary = Vocabulary.of(PALINDROME, 64)
    text = text_of(PALINDROME, tuple("abba"), 64)
    place = data.draw(st.integers(5, len(text) - 1))
    other = data.draw(
        # (At the start of a run, tokens that resume one are right, too.)
        st.sampled_from(
            [t for t in vocabulary.texts if t not in (text[place], "<pad>") and "left:" not in t]
        )
    )
    problem = parse([*text[:place], other, *text[place + 1 :]], PALINDROME).problem
    assert problem is not None
    assert int(problem.split()[1]) in (place + 1, place + 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a <run> R:q:b>b", r"token 3 \(R:q:b>b\) reads b in cell 0, which has a"),
        ("a <run> L:q:a>b", "does not begin with R:a state"),
        ("a <run> R:q:a>b @5", r"\(@5\) is not the last visit of the cell ahead, which is @1"),
        ("a <run> R:q:a>b @1 <accept>", "occurs where a step such as R:q:a is expected"),
        ("a <run> R:q:a>b <accept>", "is not the last visit of the cell ahead, which is @1"),
        (
            "a <run> R:q:a @1",
            r"\(@1\) occurs where the run ends: <accept> or <reject> or <halt>",
        ),
        ("a a <run> R:q:a>a R:q:a>a", r"token 5 \(R:q:a>a\) is not the last visit"),
        ("a <pad> a <run> R:q:a>a @1 R:q:a>a", "reads a in cell 1, which has <pad>"),
        ("a <run> left:b @3 left:c:goto:q @0", r"\(@3\) comes after a cell to the left"),
        ("a <run> left:b @0", "says where to resume"),
        ("a <run> left:b:goto:q @0 left:c:goto:q @0", "comes after the state to resume in"),
        ("%FF <run> R:q:%FF>a", r"token 1 \(%FF\) has an escape that is not text"),
        ("a <run> R:q:a <accept> R:q:_", "comes after the end"),
        ("a a <run> R:q:a>b @1 R:q:a>a", "writes a, but q on a writes b"),
        ("a a <run> R:q:a>a @1 R:q:a>a @2 L:q:a>a", "is not what q does on a: R into q"),
        ("a <run> hello", "occurs where a step such as R:q:a is expected"),
        ("a <run> <accept>", "occurs where a step such as R:q:a is expected"),
        ("q0:a b:R <tape> a <run>", "and the next token are not a rule"),
        ("q0:a b:R:q1 q0:a b:R:q1 <tape> a <run>", "has a rule already"),
        ("q0:a b:R:q1 <tape> a <run> R:q1:a", "does not begin with R:q0"),
        (
            "q0:a b:R:q1 <tape> a <run> R:q0:a @5 R:q1:# @5 R:q1:#",
            "occurs where the run ends: <halt>",
        ),
        ("q0:a b:R:q1 <tape> a <run> R:q0:a @5 R:q1:# @5 <accept>", "the run ends: <halt>"),
        ("q0:a b:R:q1 <tape> a <run> R:q0:a @5 R:q1:# <halt>", "is not the last visit"),
        ("q0:a b:R:acc <tape> a <run> R:q0:a @5 R:acc:# @5", "the run ends: <accept>"),
        ("acc:a b:R:q1 <tape> a <run>", "has a rule for acc"),
        ("q0:a b:R:q1 <tape> q0:b <run>", "occurs where a symbol of the input is expected"),
        ("q0:a b:R:q1 <tape> a <run> R:q0:a>b", "as in the text of another model"),
    ],
)
def test_contradictions(text: str, said: str) -> None:
    problem = parse(text).problem
    assert problem is not None
    assert re.search(said, problem)


def test_a_resumed_text() -> None:
    vocabulary = Vocabulary.of(PALINDROME, 64)
    start = Start(tuple("ba"), tuple("ab"), "have-a")
    run = list(machine_text(vocabulary, start))
    text = [vocabulary.texts[token] for token in [*start.prompt(vocabulary), *run]]
    for found in (parse(text), parse(text, PALINDROME)):
        assert found.problem is None
        assert found.state in PALINDROME.halting_states


def test_what_is_no_text() -> None:
    with pytest.raises(InputError, match="has <run> after its input; this one does not"):
        parse("a b b a")
    problem = parse("q0:a b:R:q1 <tape> a <run>", "palindrome").problem
    assert (
        problem
        == "token 1 (q0:a) and the next token are a rule: this text is of the universal model"
    )


@pytest.mark.parametrize(
    ("text", "machine", "said"),
    [
        ("z <run>", "palindrome", "is not a symbol of the machine"),
        ("a <run> left:z @0 left:a:goto:back @0", "palindrome", "is not a symbol of the machine"),
        ("a <run> left:a:goto:nowhere @0", "palindrome", "names no state of the machine"),
        ("b <run> left:b:goto:reject @0 R:reject:b <halt>", "palindrome", "ends: <reject>"),
        ("b <run> left:b:goto:reject @0 R:reject:b @1 <reject>", "palindrome", "ends: <reject>"),
        ("0 <run> left:0:goto:Z @0 R:Z:0 <accept>", "busy-beaver-4", "ends: <halt>"),
        ("a b <run> R:start:a>_ R:have-a:b>b", "palindrome", "is not the last visit"),
    ],
)
def test_what_a_machine_does_not_say(text: str, machine: str, said: str) -> None:
    problem = parse(text, machine).problem
    assert problem is not None
    assert said in problem


@examples(100)
@given(st.data())
def test_any_token_that_is_left_out_or_put_in_is_noticed(data: st.DataObject) -> None:
    text = text_of(PALINDROME, tuple("abba"), 64)
    place = data.draw(st.integers(5, len(text) - 2))
    assert parse([*text[:place], *text[place + 1 :]], PALINDROME).problem is not None
    for known in (PALINDROME, None):
        twice = [*text[: place + 1], text[place], *text[place + 1 :]]
        assert parse(twice, known).problem is not None
        other = data.draw(st.sampled_from(["<pad>", "<bos>", "a", "@0", "<run>", "<tape>"]))
        assert parse([*text[:place], other, *text[place:]], known).problem is not None


def test_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(text_of(PALINDROME, tuple("abba")))
    file = tmp_path / "text.txt"
    file.write_text(text)
    assert main(["parse", str(file), "--machine", "palindrome"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("accepted after 15 steps\n  state  accept\n")
    assert "37 tokens, right against palindrome" in out
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["parse", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"] is None
    assert main(["parse", "a <run> R:q:b>b"]) == 1
    assert "reads b in cell 0, which has a" in capsys.readouterr().out
    assert main(["parse", "a <run> R:q:a>b @1"]) == 0
    assert main(["parse", " ".join(text_of(PALINDROME, tuple("ab")))]) == 0
    assert "rejected after 4 steps" in capsys.readouterr().out
    for arguments, said in (
        (["no-such-file"], "is neither a file nor a text of a language model"),
        (["a b"], "has <run> after its input"),
        ([text, "--model", str(tmp_path)], "is not a folder exported by netwright"),
        ([text, "--machine", "nobody"], "nobody"),
    ):
        assert main(["parse", *arguments]) == 2
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""


RESUMED = "a b <run> left:_:goto:accept @0 R:accept:a <accept>"


def test_a_resumed_text_is_called_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    """It was called the run of its input, accepted and right."""
    found = parse(RESUMED, "palindrome")
    assert (found.resumed, found.begins[0], found.holds) == (True, "accept", True)
    assert repr(found).startswith("<accepted after 0 steps from accept on, resumed, in accept")
    assert main(["parse", RESUMED, "--machine", "palindrome"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("accepted after 0 steps from accept on\n")
    assert "resumed: the text says itself where it begins; it is not a run from the" in out
    assert main(["parse", RESUMED, "--machine", "palindrome", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["resumed"], answer["resumed_from"]) == (True, "accept")
    assert not parse("1 1 <run> R:r:1>1 @1 R:r:1>1 @2 R:r:_ <halt>").resumed


def chain(machine: TuringMachine, word: str, lengths: list[int]) -> list[str]:
    """The run of a machine in texts, each cut behind some tokens of its run."""
    vocabulary = Vocabulary.of(machine, 1024)
    follower, texts = Follower(vocabulary, word), []
    start = follower.start
    for length in [*lengths, 500]:
        tokens = list(islice(machine_text(vocabulary, start), length))
        assert not any(map(follower.take, tokens))
        prompt = start.prompt(vocabulary)
        texts.append(" ".join(vocabulary.texts[token] for token in [*prompt, *tokens]))
        start = follower.resumed()
        follower.go_on()
    return texts


@pytest.mark.parametrize("name", ["palindrome", "binary-increment", "copy"])
def test_a_chain_of_texts_is_checked_at_its_joints(name: str, tmp_path: Path) -> None:
    machine = library_machine(name)
    word = "".join(machine.default_input)
    texts = chain(machine, word, [4, 7, 3])
    found = parse(texts[0], machine, then=texts[1:])
    wanted = simulate(machine, word)
    assert (found.problem, found.resumed) == (None, False)
    assert (found.outcome, found.steps, found.state) == (
        *(wanted.outcome, wanted.steps, wanted.state),
    )
    assert (found.head, found.tape) == (wanted.head, wanted.tape)
    assert "starts again" in str(parse(texts[0], machine, then=[texts[0]]).problem)
    for n in (1, 2):
        left_out = parse(texts[0], machine, then=[*texts[1:n], *texts[n + 1 :]])
        assert "continues in" in str(left_out.problem)
    behind = parse(texts[0], machine, then=[*texts[1:], texts[-1]]).problem
    assert "continues" in str(behind)
    files = [tmp_path / str(n) for n in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    assert main(["parse", *map(str, files), "--machine", name]) == 0
    assert main(["parse", *map(str, files[:1] + files[2:]), "--machine", name]) == 1


def test_the_former_name_still_works_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "a <run> R:q:a>b @1"]) == 0
    assert "decode is called parse now" in capsys.readouterr().err
    with pytest.warns(FutureWarning, match=r"netwright\.decode is called parse now"):
        assert netwright.decode is netwright.parse
