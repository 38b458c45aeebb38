"""`netwright verify`: a line for each input and network, and the first difference in full."""

import json
from pathlib import Path

import pytest

from netwright.cli import main


def test_every_input_on_every_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "palindrome", "abba", "ab", ""]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.endswith("agrees")]) == 9
    assert lines[-1].startswith("9 runs, ")
    assert lines[-1].endswith("no difference")
    assert max(map(len, lines)) <= 80


def test_a_broken_weight_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    broken = ["--break", "decoder.3.V.s4"]
    assert main(["verify", "palindrome", "abba", *broken]) == 1
    out = capsys.readouterr().out
    assert out.startswith("transformer: decoder.3.V.s4 broken\nleft out, without such a weight")
    assert "or part: rnn, neural-gpu\n" in out
    assert "1 run, " in out
    assert "Lemma B.4 does not hold at time" in out
    assert "of p3" in out
    assert "expected 1\n    found    -1" in out


def test_json_has_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--on", "neural-gpu,transformer", "--without", "gate:reset", "--json"]
    assert main(["verify", "even-as", "a", "--on", "neural-gpu", *arguments[2:]]) == 1
    found = json.loads(capsys.readouterr().out)
    (result,) = found["results"]
    assert (found["runs"], found["differences"], result["on"]) == (1, 1, "neural-gpu")
    assert result["difference"].keys() == {"time", "statement", "part", "expected", "found"}
    assert main(["verify", "even-as", "a", *arguments]) == 1
    both = json.loads(capsys.readouterr().out)
    assert both["results"] == found["results"]
    assert (both["changed"], both["left_out"]) == (
        {"neural-gpu": ["without gate:reset"]},
        ["transformer"],
    )


def test_all_that_is_broken_or_left_out_is_applied(capsys: pytest.CaptureFixture[str]) -> None:
    """The last of several options was taken, and the others silently forgotten."""

    def differences(*arguments: str) -> dict[str, object]:
        main(["verify", "palindrome", "abba", *arguments, "--json"])
        found = json.loads(capsys.readouterr().out)
        return {row["on"]: row["difference"] for row in found["results"]}

    harmless, fatal = "attention:decoder.1.self", "residual:decoder.2.self"
    assert differences("--without", harmless) == {"transformer": None}
    alone = differences("--without", fatal)
    assert alone["transformer"]
    for order in ((harmless, fatal), (fatal, harmless)):
        both = [word for part in order for word in ("--without", part)]
        assert differences(*both) == alone
    of_all = differences("--break", "decoder.3.V.s4", "--break", "U.S", "--without", "gate:reset")
    assert of_all.keys() == {"transformer", "rnn", "neural-gpu"}
    assert all(of_all.values())
    assert of_all["transformer"] == differences("--break", "decoder.3.V.s4")["transformer"]
    earlier = differences("--break", "decoder.3.V.s4", "--break", "decoder.2.V.x4")
    assert earlier == differences("--break", "decoder.2.V.x4")  # which comes before it
    assert earlier["transformer"] != of_all["transformer"]


def test_random_machines_and_inputs_are_those_of_the_seed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    drawn = ["--random-machines", "3", "--states", "2", "--symbols", "2", "--random", "2"]
    found = []
    for seed in ("1", "1", "2"):
        assert main(["verify", *drawn, "--seed", seed, "--max-steps", "9", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] != found[2]
    assert found[0]["runs"] == 3 * 2 * 3


def test_machines_from_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "machines.txt"
    file.write_text("1RB1LB_1LA1RZ  # two states\n\n1RB---_0LA1RB\n")
    assert main(["verify", "--machines", str(file), "--on", "rnn"]) == 0
    assert "2 runs" in capsys.readouterr().out
    file.write_text("1RB1LB_1LA1RZ\nnonsense\n")
    assert main(["verify", "--machines", str(file)]) == 2
    assert f"{file}:2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to verify; name a MACHINE"),
        (["palindrome", "--on", "perceptron"], "no network 'perceptron'"),
        (["palindrome", "abc"], "'c'"),
        (["--machines", "no-such-file"], "no-such-file cannot be read"),
        (
            ["palindrome", "--on", "rnn", "--break", "x"],
            "--break x: no such place in rnn; there are W",
        ),
        (
            ["palindrome", "--break", "decoder.9.V.s4"],
            "no such place in transformer or rnn or neural-gpu; there are decoder.3.V.s4",
        ),
        (["copy", "--without", "gate:rest"], "there are gate:reset"),
        (["copy", "--on", "rnn", "--without", "gate:reset"], "place in rnn; there is nothing"),
        (
            ["copy", "--break", "U.S", "--break", "x"],
            "--break x: no such place in transformer or rnn or neural-gpu",
        ),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_some_machines_have_is_broken_in_those(capsys: pytest.CaptureFixture[str]) -> None:
    """Stays: some random machines have them, and only their RNNs have the neurons."""
    drawn = ["--random-machines", "6", "--states", "2", "--symbols", "2", "--on", "rnn"]
    assert main(["verify", *drawn, "--break", "U.Lstay", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["runs"] < 6
    assert found["changed"] == {"rnn": ["U.Lstay broken"]}
    assert all(row["changed"] == ["U.Lstay broken"] for row in found["results"])


def test_a_limit_beyond_any_comparison_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for limit in ("1000001", "99999999999999999999999"):
        assert main(["verify", "palindrome", "a", "--max-steps", limit]) == 2
        assert "at most 1,000,000 (netwright certify" in capsys.readouterr().err
