"""`netwright compile … --on universal-transformer`: digests and prompts."""

import json
from pathlib import Path

import pytest

import netwright as nw
from netwright.cli import main

ON = ("--on", "universal-transformer")
BB4 = "AB1C>A1BN1AB10C1>1A1B10C1<10AB1C1<10A1B11C<11ABY11A1B100C1<100AB100C1>100A1B1C>!"


TEXT = ("--on", "universal-text")
SMALL = ("--on", "universal", "--size", "16")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_every_machine_has_the_same_digest(capsys: pytest.CaptureFixture[str]) -> None:
    for on in (ON, TEXT, SMALL):
        digests = {
            json.loads(said(capsys, "compile", name, *on, "--json"))["weights_digest"]
            for name in ("palindrome", "busy-beaver-5", "copy", "1RB1LB_1LA1RZ")
        }
        assert len(digests) == 1
        assert len(digests.pop()) == 64


def test_the_prompt_as_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "compile", "busy-beaver-4", *TEXT, "--prompt", "--form", "short")
    assert text == f"{BB4}\n"
    long = said(capsys, "compile", "busy-beaver-4", *TEXT, "--prompt=text").strip()
    assert long.endswith("101ABY101A1BY!")
    with_input = said(capsys, "compile", "palindrome", "ab", *TEXT, "--prompt", "text")
    assert with_input.endswith("BN10T1T!\n")
    found = json.loads(
        said(capsys, "compile", "palindrome", "ab", *TEXT, "--prompt=text", "--json")
    )
    assert found["prompt"] == with_input.strip()
    assert found["dimension"] == 37


def test_the_prompt_as_rules(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "compile", "even-as", "ab", *ON, "--prompt").splitlines()
    assert lines[0].split() == ["a", "on=5", "al=1/4", "one_=1"]
    assert lines[2].startswith("q_init _ → q_read _ R")
    assert len(lines) == 2 + 7 * 3
    assert max(map(len, lines)) <= 80
    found = json.loads(said(capsys, "compile", "even-as", "ab", *ON, "--prompt", "--json"))
    assert [token["means"] for token in found["prompt"]][:2] == ["a", "b"]
    assert found["prompt"][0]["coordinates"] == {"on": "5", "al": "1/4", "one_": "1"}


def test_the_prompt_of_the_smaller_network(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "compile", "even-as", "ab", *SMALL, "--prompt").splitlines()
    assert len(lines) == 2 + 8 * 3 + 1
    texts = [" ".join(line.split()) for line in lines]
    assert texts[3] == "q_init a → dead on=1/4 r2=21/32 w2=1/4 m2=1 one_=1"
    assert texts[-2] == "dead b → dead on=23/32 r2=21/32 w2=1/16 m2=1 one_=1"
    assert texts[-1] == "accepted → accepted on=1 r2=1 m2=1 one_=1"
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("word", "outcome", "code"),
    [("abba", "accepted", 0), ("a", "accepted", 0), ("ab", "rejected", 1), ("", "accepted", 0)],
)
def test_the_smaller_network_from_the_command_line(
    word: str, outcome: str, code: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["run", "palindrome", word, *SMALL, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], found["dimension"]) == (outcome, 16)
    assert found["steps"] == nw.load_machine("palindrome").run(word).steps
    path = str(tmp_path / "small.safetensors")
    assert "agrees" in said(capsys, "verify", "palindrome", word, *SMALL)
    assert "49" in said(capsys, "compile", "palindrome", *SMALL, "-o", path)
    assert "16" in said(capsys, "audit", path)
    assert main(["run", path, word]) == code


def test_the_prompt_of_a_language_model_is_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "compile", "palindrome", "abba", "--prompt").endswith("<tape> a b b a\n")
    assert said(capsys, "compile", "palindrome", "--prompt", "abba").endswith("<tape> a b b a\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "palindrome", "--prompt", "text"), "--prompt text is for a universal network"),
        (("compile", "palindrome", "abba", *ON), "INPUT, --separator and --model are for --prompt"),
        (("compile", "palindrome", "abc", *ON, "--prompt"), "'c'"),
        (("run", "palindrome", *ON, "--prompt", "prose"), "no prompt 'prose'"),
        (
            ("run", "palindrome", *ON, "--form", "short"),
            "form is not an option of universal-tr",
        ),
        (
            ("run", "palindrome", *ON, "--score", "recency"),
            "score is not an option of universal-tr",
        ),
        (("run", "palindrome", "--prompt", "text"), "prompt is not an option of transformer"),
        (("run", "palindrome", *SMALL, "--attention", "dot-product"), "size=16 has attention=abs"),
        (("run", "palindrome", *ON, "--size", "20"), "no size '20'; there are 21, 16"),
        (("run", "palindrome", *TEXT, "--size", "16"), "size is not an option of universal-text"),
        (("precision", "palindrome", *ON), "no precision laboratory for universal-transformer"),
        (("export", "palindrome", *ON, "--to", "numpy", "-o", "x"), "has no code for numpy"),
        (
            ("export", "palindrome", "--on", "pointer-transformer", "--to", "hf", "-o", "x"),
            "pointer-transformer has no code for hf; it can be exported to numpy, onnx",
        ),
        (("run", "palindrome", *ON, "--engine", "torch"), "no engine for universal-transformer"),
    ],
)
def test_bad_input(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(arguments)) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_what_is_printed_fits_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ("compile", "palindrome", *ON),
        ("compile", "palindrome", *ON, "--explain"),
        ("compile", "palindrome", "--on", "pointer-transformer", "--explain"),
        ("certify", "palindrome", *ON),
        ("compile", "palindrome", *SMALL, "--explain"),
        ("certify", "palindrome", *SMALL),
        ("certify", "palindrome", "--on", "pointer-transformer"),
        ("verify", "palindrome", "abba", "--on", "pointer-transformer,universal-transformer"),
        ("compile", "--help"),
        ("run", "--help"),
    ):
        assert max(map(len, said(capsys, *command).splitlines())) <= 80


def test_campaigns_take_them(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    folder = f"{tmp_path}/found"
    on = "machine,pointer-transformer,universal-transformer"
    command = ["campaign", "all:2x2", "--on", on, "--do", "run,certify", "--max-steps", "50"]
    assert main([*command, "--workers", "1", "-o", folder]) == 0
    capsys.readouterr()
    assert main(["campaign", "show", folder, "--json"]) == 0


def test_a_certificate_of_the_universal_network_alone_is_for_all_machines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`certify --check` was a KeyError."""
    path = str(tmp_path / "universal.json")
    for prompt, kind, options in (
        ("rules", "universal-transformer", {}),
        ("rules", "universal-transformer", {"size": 16}),
        ("text", "universal-text", {}),
    ):
        nw.universal(prompt, **options).certify().save(path, force=True)
        assert main(["certify", "--check", path]) == 0
        out = capsys.readouterr().out
        assert f"certified: the {kind} simulates every machine on every" in out
        assert main(["certify", "--check", path, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["certified"], found["machine"]) == (True, None)
        assert main(["certify", "--check", path, "--machine", "palindrome"]) == 2
        message = capsys.readouterr().err
        assert "is for a universal network and all machines" in message
        assert message.count("\n") == 1
