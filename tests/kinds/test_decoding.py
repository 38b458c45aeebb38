"""`netwright decode`: texts become runs, and what is wrong in a text is found."""

import io
import json
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import machines, wild_names, words

from netwright.cli import main
from netwright.errors import InputError
from netwright.machine.library import library_machine
from netwright.machine.simulate import simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.networks.decoding import decode
from netwright.theorems.beyond.language_model.text import Start, machine_text
from netwright.theorems.beyond.language_model.vocabulary import Vocabulary

PALINDROME = library_machine("palindrome")


def text_of(machine: TuringMachine, word: tuple[str, ...], context: int = 128) -> list[str]:
    vocabulary = Vocabulary.of(machine, context)
    start = Start(word)
    prompt = start.prompt(vocabulary)
    run = islice(machine_text(vocabulary, start), context - len(prompt))
    return [vocabulary.texts[token] for token in [*prompt, *run]]


@settings(max_examples=60, deadline=None)
@given(st.data(), machines(names=wild_names, symbol_names=wild_names))
def test_a_text_is_the_run(data: st.DataObject, machine: TuringMachine) -> None:
    word = data.draw(words(machine.symbols))
    text = text_of(machine, word)
    found = decode(" ".join(text), machine)
    assert found.problem is None
    expected = simulate(machine, word, found.steps)
    assert found.steps == expected.steps
    if found.state in machine.states:  # not in the middle of a stay
        assert (found.state, found.head) == (expected.state, expected.head)
    if text[-1].startswith("<"):
        assert found.outcome == expected.outcome
        assert found.tape == expected.tape
    # Without the machine nothing is wrong either.
    assert decode(text).problem is None


@settings(max_examples=150, deadline=None)
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
    problem = decode([*text[:place], other, *text[place + 1 :]], PALINDROME).problem
    assert problem is not None
    assert int(problem.split()[1]) in (place + 1, place + 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a <run> R:q:b>b", r"token 3 \(R:q:b>b\) reads b in cell 0, where a stands"),
        ("a <run> L:q:a>b", "begins otherwise than with R:a state"),
        ("a <run> R:q:a>b @5", r"\(@5\) is not the last visit of the cell ahead, which is @1"),
        ("a <run> R:q:a>b @1 <accept>", "ends where q has a rule for a"),
        ("a <run> R:q:a @1 R:q:_", "goes on where there is no rule"),
        ("a <run> R:q:a <accept> R:q:_", "stands behind the end"),
        ("a a <run> R:q:a>b @1 R:q:a>a", "writes a, where q on a writes b"),
        ("a a <run> R:q:a>a @1 R:q:a>a @2 L:q:a>a", "is not what q does on a: R into q"),
        ("a <run> hello", "stands where a step such as R:q:a should be"),
        ("a <run> <accept>", "ends before the first step"),
        ("q0:a b:R <tape> a <run>", "and the next are no rule"),
        ("q0:a b:R:q1 q0:a b:R:q1 <tape> a <run>", "has a rule already"),
        ("q0:a b:R:q1 <tape> a <run> R:q1:a", "begins otherwise than with R:q0"),
        ("q0:a b:R:q1 <tape> a <run> R:q0:a @5 R:q1:# @5 R:q1:#", "goes on where there is no rule"),
        ("q0:a b:R:q1 <tape> a <run> R:q0:a @5 R:q1:# @5 <accept>", "is not how a run ends in q1"),
    ],
)
def test_contradictions(text: str, said: str) -> None:
    problem = decode(text).problem
    assert problem is not None
    with pytest.raises(ValueError, match=said):
        raise ValueError(problem)


def test_a_resumed_text() -> None:
    vocabulary = Vocabulary.of(PALINDROME, 64)
    start = Start(tuple("ba"), tuple("ab"), "have-a")
    run = list(machine_text(vocabulary, start))
    text = [vocabulary.texts[token] for token in [*start.prompt(vocabulary), *run]]
    for found in (decode(text), decode(text, PALINDROME)):
        assert found.problem is None
        assert found.state in PALINDROME.halting_states


def test_what_is_no_text() -> None:
    with pytest.raises(InputError, match="has <run> behind its input; this has none"):
        decode("a b b a")
    with pytest.raises(InputError, match="the text has its own rules"):
        decode("q0:a b:R:q1 <tape> a <run>", PALINDROME)


def test_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(text_of(PALINDROME, tuple("abba")))
    file = tmp_path / "text.txt"
    file.write_text(text)
    assert main(["decode", str(file), "--machine", "palindrome"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("accepted after 15 steps\n  state  accept\n")
    assert "37 tokens, right against palindrome" in out
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["decode", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"] is None
    assert main(["decode", "a <run> R:q:b>b"]) == 1
    assert "reads b in cell 0, where a stands" in capsys.readouterr().out
    assert main(["decode", "a <run> R:q:a>b @1"]) == 3
    capsys.readouterr()
    for arguments, said in (
        (["no-such-file"], "is no file, and no text of a language model"),
        (["a b"], "has <run> behind its input"),
        ([text, "--machine", "palindrome", "--model", "x"], "not both"),
        ([text, "--model", str(tmp_path)], "is no folder that netwright exported"),
        ([text, "--machine", "nobody"], "nobody"),
    ):
        assert main(["decode", *arguments]) == 2
        captured = capsys.readouterr()
        assert said in captured.err
        assert captured.out == ""
