"""The page of a language model: a moment is a step, and its pointer heads show visits."""

import json
from pathlib import Path

import pytest

from netwright.cli import main
from netwright.engine.following.tracing import EndedError
from netwright.explorer.explored import Explored
from netwright.explorer.moments import moment_data
from netwright.machine.library import library_machine
from netwright.network.network import compile_network


def explored(name: str, word: str, context: int = 128, on: str = "gpt2") -> Explored:
    network = compile_network(library_machine(name), on, context=context)
    return Explored(network, tuple(word))


@pytest.mark.parametrize("on", ["gpt2", "llama"])
@pytest.mark.parametrize(("name", "word"), [("palindrome", "abba"), ("busy-beaver-4", "")])
def test_every_step_looks_at_the_last_visit(name: str, word: str, on: str) -> None:
    page = explored(name, word, 256, on)
    machine = library_machine(name)
    steps = [*machine.configurations(word)]
    assert page.last == (len(steps), True)
    seen: dict[int, int] = {}
    for t, now in enumerate(steps, start=1):
        moment = page.moment(t)
        assert moment is not None
        data = moment_data(page, moment)
        json.dumps(data)
        assert (data["rule"]["state"], data["rule"]["symbol"]) == (now.state, now.symbol)
        assert data["head"] == now.head
        configuration = moment.configuration
        assert configuration is not None
        assert configuration.tape == now.tape
        if t < len(steps):
            ahead = steps[t].head
            assert data["attention"]["winner"] == seen.get(ahead)
        seen[now.head] = t


@pytest.mark.parametrize("on", ["gpt2", "llama"])
def test_it_ends_with_the_context(on: str) -> None:
    page = explored("busy-beaver-5", "", 64, on)
    last, ended = page.last
    assert not ended
    assert page.moment(last) is not None
    with pytest.raises(EndedError, match="is shown up to"):
        page.moment(last + 1)


@pytest.mark.parametrize("on", ["language-model", "llama"])
def test_a_file(on: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["explore", "palindrome", "abba", "--on", on, "--context", "64"]
    assert main([*call, "-o", str(tmp_path / "page.html")]) == 0
    assert "it opens in a browser" in capsys.readouterr().out
    assert (tmp_path / "page.html").stat().st_size < 150_000
