"""Ctrl-C and SIGTERM at any moment: no traceback, and what was finished is printed."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import pytest

from netwright import benchmark
from netwright.claims.experiments import run_claim
from netwright.cli import bench, certify, claims, main
from netwright.kind.registry import exact_kinds
from netwright.network.certificate import check_written
from netwright.network.network import Network
from netwright.precision.laboratory import AttentionExperiment


def interrupted_after(count: int, rows: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """The first rows of a generator, then Ctrl-C."""

    def generator(*arguments: Any, **options: Any) -> Iterator[Any]:
        yield from islice(rows(*arguments, **options), count)
        signal.raise_signal(signal.SIGINT)

    return generator


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """What an interrupted call prints, on both streams."""
    assert main(arguments) == 130
    captured = capsys.readouterr()
    assert captured.err.startswith("netwright: interrupted after ")
    assert captured.err.count("\n") == 1
    return captured.out, captured.err


def test_verify(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compare, compared = Network.compare, count()

    def some(network: Network, *rest: Any) -> Any:
        if next(compared) % 5 == 4:
            signal.raise_signal(signal.SIGINT)
        return compare(network, *rest)

    monkeypatch.setattr(Network, "compare", some)
    call = ("verify", "palindrome", "abba", "ab", "--random-machines", "7")
    out, err = outcome(capsys, *call)
    assert out.count("agrees") == 4
    assert "4 runs, " in out
    assert err == "netwright: interrupted after 4 runs of 8 machines\n"
    found = json.loads(outcome(capsys, *call, "--json")[0])
    assert (found["interrupted"], len(found["results"])) == (True, 4)


def test_claims(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []

    def some(name: str, thorough: bool) -> Any:
        names.append(name)
        if len(names) == 3:
            signal.raise_signal(signal.SIGINT)
        return run_claim(name, thorough)

    monkeypatch.setattr(claims, "run_claim", some)
    out, err = outcome(capsys, "claims")
    assert out.count("holds") == 2
    assert err == "netwright: interrupted after 2 of 24 statements\n"
    names.clear()
    found = json.loads(outcome(capsys, "claims", "--json")[0])
    assert (found["interrupted"], len(found["claims"])) == (True, 2)


def test_certify_certifies_nothing_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(certify, "check_written", interrupted_after(11, check_written))
    out, err = outcome(capsys, "certify", "copy", "-o", str(tmp_path / "file"))
    assert out.count("holds") == 11
    assert "certified" not in out
    assert err == "netwright: interrupted after 11 obligations: nothing is certified\n"
    assert not list(tmp_path.iterdir())
    found = json.loads(outcome(capsys, "certify", "copy", "--json")[0])
    assert (found["certified"], found["interrupted"], len(found["obligations"])) == (
        *(False, True),
        11,
    )


def test_precision(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    results = interrupted_after(1, AttentionExperiment.results)
    monkeypatch.setattr(AttentionExperiment, "results", results)
    call = ("precision", "sweeper", "--max-steps", "100", "--dtype", "bfloat16,float16")
    out, err = outcome(capsys, *call)
    assert "bfloat16" in out
    assert "\nfloat16" not in out
    assert "after 1 of 2 formats" in err
    found = json.loads(outcome(capsys, *call, "--json")[0])
    assert (found["interrupted"], len(found["results"])) == (True, 1)


def test_bench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "peak_memory", lambda *_: None)
    monkeypatch.setattr(
        bench, "measure", interrupted_after(2 * len(exact_kinds()) + 2, benchmark.measure)
    )
    monkeypatch.setattr(benchmark, "first_run", lambda *_: 0.1)
    out, err = outcome(capsys, "bench", "copy", "ab")
    assert "dictionary simulator" in out
    assert "transformer" not in out
    assert "after 2 measurements" in err or "after 1 measurement" in err


STARTING = """
import builtins, os, signal
import netwright.__main__ as entry
real = builtins.__import__

def slow(name, *rest):
    if name.startswith("netwright.cli"):
        os.kill(os.getpid(), signal.{})
    return real(name, *rest)

builtins.__import__ = slow
entry.script()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_while_it_is_being_imported(name: str, code: int) -> None:
    call = [sys.executable, "-c", STARTING.format(name)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "netwright: interrupted\n"
