"""Files with certificates: checked on their own, and nothing in them is taken on trust."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.networks import KINDS, compiled_network, written

from netwright.certificates.check import KIND, certificate, read_certificate
from netwright.cli import main
from netwright.errors import FormatError
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine
from netwright.network.certificate import check_written


def test_a_file_is_checked_on_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for on in [*KINDS]:
        file = tmp_path / f"{on}.json"
        assert main(["certify", "copy", "--on", on, "-o", str(file)]) == 0
        assert main(["certify", "--check", str(file), "--json"]) == 0
        found = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert found["certified"] is True
        assert found["on"] == on
        data = json.loads(file.read_text())
        assert data["holds"] is True
        assert sum(each["cases"] for each in data["obligations"]) > 100
        # Results in a file are not believed: the weights are looked at.
        text = file.read_text().replace('"1/2"', '"1/3"').replace('"1/7"', '"1/8"')
        file.write_text(text)
        assert main(["certify", "--check", str(file)]) == 1
        assert "not certified" in capsys.readouterr().out


def whole(**changes: object) -> bytes:
    """A file of the right form but for some changes."""
    row = {"obligation": "o", "cases": 12345, "failure": None}
    parts = {"kind": KIND, "on": "rnn", "holds": True, "obligations": [row], "network": {}}
    return json.dumps({**parts, **changes}).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a netwright certificate"),
        (b"[]", "is not a netwright certificate"),
        (b"{}", "is not a netwright certificate"),
        (b'{"kind": "x", "on": "rnn", "network": {}}', 'is of kind "x"; this netwright reads'),
        (b'{"kind": ["x"]}', 'is of kind ["x"]; this netwright reads'),
        (b'{"kind": "netwright certificate 2"}', 'this netwright reads "netwright certificate 3"'),
        (b'{"kind": "netwright certificate 3"}', "expected an object with kind, on, holds"),
        (
            whole(on="abacus"),
            "on: expected one of transformer, rnn, neural-gpu, pointer-tr",
        ),
        (whole(network=[]), "network: expected an object, got []"),
        (whole(network={}), "network: expected an object with given, layouts, neurons"),
        (whole(holds=1), "holds: expected true or false, got 1"),
        (whole(holds=float("nan")), "found the number NaN; expected an integer or text"),
        (whole(holds=1e6), "found the number 1000000.0; expected an integer or text"),
        (whole().replace(b"12345", b"1" * 5000), "found the number 1111111111"),
        (whole().replace(b'"on"', b'"kind"'), "an object: 'kind' occurs twice"),
        (b"[" * 100_000, "is not a netwright certificate: nested too deeply"),
    ],
)
def test_what_is_no_certificate_is_refused(
    content: bytes, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)
    assert main(["certify", "--check", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_a_check_says_which_machine_is_certified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "file.json")
    for name, shown in (("busy-beaver-2", "\n1RB1LB_1LA1RZ\n"), ("copy", " bring-a ")):
        for on in [*KINDS]:
            assert main(["certify", name, "--on", on, "-o", file, "--force"]) == 0
            capsys.readouterr()
            assert main(["certify", "--check", file]) == 0
            out = capsys.readouterr().out
            assert shown in out
            assert f"sha256 {library_machine(name).digest}" in out
            assert main(["certify", "--check", file, "--json"]) == 0
            found = json.loads(capsys.readouterr().out)["machine"]
            assert found["digest"] == library_machine(name).digest
            assert (found["text"] is None) == (name == "copy")
            assert main(["certify", "--check", file, "--machine", name]) == 0
            assert "certified: the" in capsys.readouterr().out


def test_a_certificate_of_another_machine_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "file.json")
    assert main(["certify", "copy", "--on", "rnn", "-o", file]) == 0
    capsys.readouterr()
    assert main(["certify", "--check", file, "--machine", "palindrome"]) == 1
    out = capsys.readouterr().out
    assert "\nnot certified: " in out
    assert "is about the machine above, not about palindrome\n" in out
    assert "\ncertified" not in out
    assert main(["certify", "--check", file, "--machine", "palindrome", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["certified"], found["holds"], found["is_the_machine"]) == (False, True, False)
    assert main(["certify", "copy", "--machine", "copy"]) == 2
    assert "--machine says which machine the file of --check" in capsys.readouterr().err
    assert main(["certify", "--check", file, "--machine", "no-such-machine"]) == 2
    assert "is not a file here" in capsys.readouterr().err


def test_bad_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, message in (
        ([], "name a MACHINE to certify"),
        (["copy", "--check", "x"], "and not both"),
        (["--check", "x", "--score", "paper"], "takes no options of a network"),
        (["copy", "--on", "machine"], "no network 'machine'; there are"),
        (["copy", "--on", "rnn", "--blanks"], "blanks is not an option of rnn"),
        (["copy", "--base", "9"], "base is not an option of transformer"),
        (["--check", str(tmp_path / "none")], "cannot be read"),
        (["copy", "-o", str(tmp_path)], "is not a regular file"),
    ):
        assert main(["certify", *arguments]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("depth", [*range(940, 1000, 3), 5000])
def test_what_is_nested_deeply_is_refused_whatever_its_depth(depth: int) -> None:
    data = certificate("rnn", written(compile_rnn(library_machine("copy"))), [])
    deep = b"[" * depth + b"]" * depth

    def check(data: bytes) -> None:
        list(check_written(*read_certificate(data, "file")))

    with pytest.raises(FormatError, match=r"deeply|expected a list of 3"):
        check(data.replace(b'"weights": [', b'"weights": [' + deep + b", ", 1))
    with pytest.raises(FormatError, match=r"deeply|is of kind"):
        check(data.replace(json.dumps(KIND).encode(), deep, 1))


def test_a_weight_outside_its_matrix_is_refused() -> None:
    data = json.loads(certificate("rnn", written(compile_rnn(library_machine("copy"))), []))
    data["network"]["network"]["W"]["terms"][0][0]["weights"].append([9999, 0, "1"])
    on, network = read_certificate(json.dumps(data).encode(), "file")
    with pytest.raises(FormatError, match="a weight at 9999, 0"):
        list(check_written(on, network))


def changed_certificate(on: str, change: Callable[[dict[str, Any]], None]) -> str | None:
    """What fails, or why it is refused, after a change of what is written down."""
    network = json.loads(json.dumps(written(compiled_network(library_machine("even-as"), on))))
    change(network)
    try:
        found = check_written(on, network)
        return next((each.name for each in found if each.failure is not None), None)
    except FormatError as error:
        return str(error)


def nonzero_decoder(network: dict[str, Any]) -> None:
    """Input cells with something in block D."""
    blocks = network["layouts"][network["network"]["layout"]]
    d = sum(1 if isinstance(block, str) else len(block[1]) for block in blocks) // 3
    for _, vector in network["embedding"]:
        vector.append([2 * d + 1, "1"])


def a_number_outside(network: dict[str, Any]) -> None:
    network["embedding"][0][1].append([9999, "1"])


def bias_in_a_matrix(network: dict[str, Any]) -> None:
    network["network"]["V"]["terms"][0][0]["bias"].append([3, "1000"])


def bias_in_a_kernel(network: dict[str, Any]) -> None:
    network["network"]["F"]["kernels"][0][0]["terms"][0][0]["bias"].append([3, "5"])


def another_layout(network: dict[str, Any]) -> None:
    blocks = network["layouts"][network["network"]["layout"]]
    turned = [each if isinstance(each, str) else [each[0], each[1][::-1]] for each in blocks]
    network["layouts"].append(turned)
    last = network["network"]["U"]["terms"][0][-1]
    last["output"] = len(network["layouts"]) - 1


def rule_twice(network: dict[str, Any]) -> None:
    network["given"]["delta"].insert(0, ["even", "a", "reject", "a", "R"])


def seed_twice(network: dict[str, Any]) -> None:
    network["seed"].insert(0, [network["seed"][0][0], "7"])


def weight_twice(network: dict[str, Any]) -> None:
    weights = network["network"]["W"]["terms"][0][0]["weights"]
    weights.append(weights[0])


def not_plain(network: dict[str, Any]) -> None:
    network["network"]["f2"] = None


def more_matrices(network: dict[str, Any]) -> None:
    network["network"]["R"] = network["network"]["U"]


def no_such_move(network: dict[str, Any]) -> None:
    network["given"]["delta"][0][4] = "X"


def half_a_place(network: dict[str, Any]) -> None:
    network["network"]["W"]["terms"][0][0]["weights"].append([0.5, 0, "1"])


@pytest.mark.parametrize(
    ("on", "change", "message"),
    [
        ("neural-gpu", nonzero_decoder, "embedding: [x, 0, 0, 1, 1, 0]"),
        ("neural-gpu", a_number_outside, "a coordinate outside a vector"),
        ("neural-gpu", bias_in_a_kernel, "a matrix has a bias"),
        ("rnn", bias_in_a_matrix, "a matrix has a bias"),
        ("rnn", another_layout, "maps do not fit"),
        ("rnn", rule_twice, "rules: ('even', 'a') occurs twice"),
        ("transformer", seed_twice, "a vector: "),
        ("rnn", weight_twice, "weights: "),
        ("rnn", not_plain, "f2: expected text that is not empty"),
        ("rnn", more_matrices, "neurons"),
        ("rnn", no_such_move, 'given.delta[0][4]: expected one of L, R, S, got "X"'),
        ("rnn", half_a_place, "weights[9][0]: expected an integer from 0 to"),
    ],
)
def test_nothing_in_a_file_is_taken_on_trust(
    on: str, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    found = changed_certificate(on, change)
    assert found is not None
    assert message in found
