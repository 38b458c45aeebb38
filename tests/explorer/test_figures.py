"""What the figures of a moment say, by what the machine does; and a moment as a picture."""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from tests.repetition import some

from netwright.cli import main
from netwright.exact.rational import Rational, digits_in_base
from netwright.explorer.explored import Explored
from netwright.explorer.figures import Row, Shown, pointed, rows_of, stream_rows
from netwright.explorer.moments import moment_data
from netwright.explorer.pictures import moment_picture
from netwright.kind.registry import REGISTRY, exact_kinds
from netwright.machine.library import library_machine
from netwright.network.network import compile_network
from netwright.network.view import View

UNIVERSAL = ("universal-transformer", "universal-text")
POINTERS = ("pointer-transformer", "positionless-transformer", "residual-free-transformer")
RUNS = [("palindrome", "abba"), ("busy-beaver-4", ""), ("binary-increment", "1011")]


def shown_times(kind: str, name: str, word: str, count: int = 8) -> Iterator[Shown]:
    """Random times of a run at which its machine runs."""
    options = {"context": 256} if kind == "language-model" else {}
    explored = Explored(compile_network(library_machine(name), kind, **options), tuple(word), 500)
    explored.explore(lambda done: True)
    first, last = explored.lead, explored.last[0] - 1
    for t in sorted(Random(name).sample(range(first, last + 1), min(count, last + 1 - first))):
        moment = explored.moment(t)
        assert moment is not None
        yield Shown(explored, moment, moment_data(explored, moment))


def figure(shown: Shown, draw: str) -> list[Row]:
    (found,) = (each for each in shown.explored.view.figures if each["draw"] == draw)
    return rows_of(shown, found)


def said(rows: list[Row]) -> list[list[str]]:
    return [[word.text for word in row.words] for row in rows]


@pytest.mark.parametrize(("name", "word"), RUNS)
@pytest.mark.parametrize("kind", [*UNIVERSAL, *POINTERS])
def test_pointers_and_codes_say_what_the_machine_does(kind: str, name: str, word: str) -> None:
    for shown in shown_times(kind, name, word):
        timeline, data = shown.explored.history.timeline, shown.data
        now, after = (timeline.at(data["t"] - shown.explored.lead + n) for n in (0, 1))
        assert now is not None
        assert after is not None
        action = timeline.action(data["t"] - shown.explored.lead)
        assert action is not None
        reads, rule, _, output = said(figure(shown, "decoded"))
        assert reads[:2] == [f"state {now.state}", f"symbol {shown.name(now.symbol)}"]
        if action.state not in timeline.machine.accepting or kind not in UNIVERSAL:
            does = [f"next state {action.state}", f"writes {shown.name(action.write)}"]
            moves = [f"moves {action.move.value}"]
            if kind == "residual-free-transformer":
                moves = [f"moves {side} {int(side == action.move.value)}" for side in "RL"]
            assert rule == [*does, *moves]
            assert output[:2] == [f"state {after.state}", f"symbol {shown.name(after.symbol)}"]
        visits = dict(
            zip(range(data["tape"]["first"], 10**9), data["tape"]["visits"], strict=False)
        )
        for side, step in (("R", 1), ("L", -1)):
            (row,) = [row for row in figure(shown, "links") if row.about == f"{side}:"]
            token = int(row.words[0].text.split(" → ")[1])
            visit = visits[now.head + step]  # if there is none, NULL, or what laid the input down
            assert token == visit or (visit is None and token <= shown.explored.lead)
            for text, _ in row.words[1:]:  # by links alone, every cell's last visit is found
                cell, token = map(int, re.findall(r"-?\d+", text))
                assert visits[cell] == token


@pytest.mark.parametrize(("name", "word"), RUNS)
@pytest.mark.parametrize("kind", UNIVERSAL)
def test_the_lit_card_is_the_rule(kind: str, name: str, word: str) -> None:
    for shown in shown_times(kind, name, word):
        rule = shown.data["rule"]
        ((lit, _),) = [word for word in figure(shown, "cards")[0].words if word.lit]
        state, symbol = rule["state"], shown.name(rule["symbol"])
        assert (
            lit == f"{state} {symbol} → {rule['next']} {shown.name(rule['write'])} {rule['move']}"
        )


@pytest.mark.parametrize(("name", "word"), RUNS)
def test_digits_of_stacks_are_the_tape(name: str, word: str) -> None:
    for shown in shown_times("rnn", name, word):
        tape, head = shown.data["tape"], shown.data["head"]
        (row, *_), base = figure(shown, "neurons"), Rational(len(shown.symbols) + 1)
        assert [each.text for each in row.words if each.lit] == [shown.data["rule"]["state"]]
        for block, offset, step, x, digits in stacks_of(shown):
            assert digits_in_base(x, base) == digits
            for n, digit in enumerate(digits):
                place = head + offset + n * step - tape["first"]
                assert tape["cells"][place] == shown.symbols[digit], block


def stacks_of(shown: Shown) -> list[tuple[str, int, int, Rational, list[int]]]:
    from netwright.explorer.figures import stacks

    found = stacks(shown, shown.explored.view.figures[0])
    assert said(figure(shown, "stacks")) == [[str(d) for d in digits] for *_, digits in found]
    return found


@pytest.mark.parametrize(("name", "word"), RUNS)
@pytest.mark.parametrize("kind", ["neural-gpu", "gateless-neural-gpu"])
def test_the_last_cell_of_a_neural_gpu_is_the_machine(kind: str, name: str, word: str) -> None:
    for shown in shown_times(kind, name, word):
        tape, head = shown.data["tape"], shown.data["head"]
        _, state, left, symbol, right = said(figure(shown, "cells"))[-1]
        assert (state, symbol) == (
            shown.data["rule"]["state"],
            shown.name(shown.data["rule"]["symbol"]),
        )
        around = "".join(map(shown.name, tape["cells"]))
        at = head - tape["first"]
        assert around[:at].endswith(left)
        assert around[at + 1 :].startswith(right)
        assert set(around[: at - len(left)]) | set(around[at + 1 + len(right) :]) <= {"␣"}


def test_a_cell_waits_until_the_encoder_comes() -> None:
    explored = Explored(compile_network(library_machine("palindrome"), "neural-gpu"), tuple("ab"))
    moment = explored.moment(2)
    assert moment is not None
    shown = Shown(explored, moment, moment_data(explored, moment))
    found = said(figure(shown, "cells"))
    assert [row[0] for row in found] == ["passed", "here", "to come"]
    assert found[2][1] == "reads the end"


def test_a_cell_without_gates_takes_its_input_in() -> None:
    """Cell i has its first i symbols at time i, the newest on top: then it is the machine."""
    network = compile_network(library_machine("palindrome"), "gateless-neural-gpu")
    explored = Explored(network, tuple("ab"))
    found = []
    for t in (1, 2, 3):
        moment = explored.moment(t)
        assert moment is not None
        shown = Shown(explored, moment, moment_data(explored, moment))
        found.append(said(figure(shown, "cells"))[2])
    assert found[0] == ["comes", "not yet", "", "", "b"]
    assert found[1] == ["comes", "not yet", "", "", "ab"]
    assert found[2] == ["all there", "start", "", "a", "b"]


def test_a_prompt_that_is_read_says_what_it_says_so_far() -> None:
    """After 111A of the prompt the state is number 7, which is accept; after 110A it is back."""
    network = compile_network(library_machine("palindrome"), "universal-text")
    explored, text = Explored(network, tuple("ab")), network.compiled.text(tuple("ab"))
    for number, state in (("111", "accept"), ("110", "back"), ("1", "start")):
        for extra, words in (
            (0, [f"number {int(number, 2)}"]),
            (1, ["number 0", f"state {state}"]),
        ):
            place = re.search(rf"(?<=[<>YN]){number}A", text)
            assert place is not None
            moment = explored.moment(place.start() + len(number) + extra)
            assert moment is not None
            shown = Shown(explored, moment, moment_data(explored, moment))
            (row,) = figure(shown, "decoded")
            assert row.about == "so far"
            assert [word.text for word in row.words][: len(words)] == words


@pytest.mark.parametrize("on", ["gpt2", "llama"])
def test_the_text_that_a_head_points_to_is_the_visit(on: str) -> None:
    """R and L of GPT-2 name the step of the last visit, counted in tokens from 0."""
    explored = Explored(compile_network(library_machine("busy-beaver-4"), on, context=256), ())
    for t in range(3, 60):
        moment = explored.moment(t)
        assert moment is not None
        data = moment_data(explored, moment)
        visits = dict(zip(range(data["tape"]["first"], 99), data["tape"]["visits"], strict=False))
        cells = {"R": data["head"] + 1, "L": data["head"] - 1, "ahead": data["next"]}
        for side, place, tokens in data["text"]["pointed"]:
            if (visit := visits[cells[side]]) is not None:
                first = explored.network.compiled.vocabulary.steps_from(0)
                assert (place - first) // 2 + 1 == visit
                assert len(tokens) == 2
        shown = Shown(explored, moment, data)
        if on == "gpt2":
            right, left = said(figure(shown, "decoded"))[2]
            places = {side: place for side, place, _ in data["text"]["pointed"]}
            for side, text in (("R", right), ("L", left)):
                if visits[cells[side]] is not None:
                    assert text.split()[1] == str(places[side])


def test_any_kind_has_its_blocks_by_name() -> None:
    """The view of a kind that has none: blocks, and what it attends to."""
    explored = Explored(
        compile_network(library_machine("palindrome"), "transformer"), tuple("abba")
    )
    explored.view = View()
    moment = explored.moment(18)
    assert moment is not None
    data = moment_data(explored, moment)
    rows = dict(rows_of(Shown(explored, moment, data), View().figures[0]))
    assert "q1 back" in [word.text for word in rows["decoder.1.input"]]
    words = [word.text for word in rows["attends to"]]
    assert "decoder.3.self → 13" in words
    assert "decoder.2.self 18 alike" in words


@pytest.mark.parametrize("kind", REGISTRY)
def test_a_picture_of_any_kind(kind: str, tmp_path: Path) -> None:
    for shown in shown_times(kind, "palindrome", "abba", 1):
        picture = moment_picture(shown.explored, shown.data["t"])
        ElementTree.fromstring(picture.svg())
        texts = picture.svg()
        for row in [row for each in shown.explored.view.figures for row in rows_of(shown, each)]:
            for text, _ in row.words:
                assert not text or text.replace(">", "&gt;")[:40] in texts
        for row in stream_rows(shown, shown.explored.view):
            assert row.about in texts
        picture.save(tmp_path / "moment.png")


def test_draw_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "moment.svg"
    assert main(["draw", "palindrome", "abba", "--on", "rnn", "--t", "10", "-o", str(file)]) == 0
    assert "in match-a reading a: write ␣, move L" in file.read_text(encoding="utf-8")
    for more, message in (
        (["--t", "99"], "there is no time 99; this run begins at 1 and ends at 20"),
        (["--t", "3", "--what", "run"], "leave out --what"),
    ):
        call = ["draw", "palindrome", "abba", "--on", "rnn", *more, "-o", str(tmp_path / "x.svg")]
        assert main(call) == 2
        assert message in capsys.readouterr().err


def test_pointers() -> None:
    assert [pointed(Rational(*x)) for x in ((1, 1), (1, 7), (2, 7), (0, 1))] == [1, 7, None, None]


@pytest.mark.parametrize("kind", some([*exact_kinds()], 3))
def test_obligations_of_a_kind_are_those_of_its_certificate(kind: str) -> None:
    from netwright.explorer.answers import obligations_data

    network = compile_network(library_machine("even-as"), kind)
    found = obligations_data(network)["obligations"]
    assert [tuple(each) for each in found] == [*network.certify().obligations]


def test_the_docs_have_two_pictures_of_every_kind() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    shown = re.findall(r"\((images/view-[^)]+)\)", (docs / "views.md").read_text(encoding="utf-8"))
    script = (docs / "screenshots.py").read_text(encoding="utf-8")
    names = {"language-model": ("gpt2", "llama"), "universal-text": ("text",)}
    for kind in REGISTRY:
        assert f'"{kind}' in script
        first = kind if kind in ("transformer", "neural-gpu", "rnn") else kind.split("-neural")[0]
        for name in names.get(kind, (first.removesuffix("-transformer"),)):
            assert {f"images/view-{name}.png", f"images/view-{name}-phone.png"} <= set(shown)
    assert len(shown) == len(set(shown)) == 2 * (len(REGISTRY) + 1)
    for name in shown:
        assert (docs / name).stat().st_size < 100_000
