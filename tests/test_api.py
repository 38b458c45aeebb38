"""The public API: one object people hold, strings wherever there is an enum, and nothing costs."""

import pickle
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.networks import KINDS

import netwright as nw
from netwright.errors import FormatError, InputError, NetwrightError, OutputError
from netwright.exact.meanings import INPUTS
from netwright.kind.neural_gpu.construction import compile_neural_gpu
from netwright.kind.rnn.construction import compile_rnn
from netwright.machine.library import library_machine
from netwright.network.network import Network, compile_network


def test_what_the_readme_promises(tmp_path: Path) -> None:
    net = nw.compile("palindrome", to="transformer", score="recency")
    run = net.run("abba")
    assert (run.accepted, run.outcome, run.steps, run.state, run.head) == (
        True,
        "accepted",
        15,
        "accept",
        3,
    )
    assert str(run.tape) == ""
    assert net.accepts("abba")
    assert repr(net.trace("abba")[26]["decoder.3.z"]).startswith("[q2[accept]=1, s2[_]=1")
    assert net.verify("abba").holds
    assert net.verify(random=20)
    certificate, network = tmp_path / "p.json", tmp_path / "p.safetensors"
    net.certify().save(certificate)
    assert nw.check_certificate(certificate, machine="palindrome").holds
    weight = net.weights()["decoder.3.V"]
    rows, columns = weight.labels
    assert weight.to_numpy()[rows.index("s2[a]"), columns.index("s4[a]")] == 1
    net.save(network)
    assert nw.load(network) == net
    machine = nw.load_machine("palindrome")
    assert machine.run("abba").accepted
    assert machine.accepts("abba")
    assert [c.state for c in machine.configurations("a")][-1] == "accept"
    assert list(nw.kinds()) == [
        *("transformer", "rnn", "neural-gpu"),
        *("pointer-transformer", "universal-transformer", "universal-text", "language-model"),
        *("gateless-neural-gpu", "positionless-transformer", "residual-free-transformer"),
    ]


TEXT = """
blank: ' '
start state: go
table:
  go:
    1: R
    ' ': {write: 1, R: done}
  done:
"""


def test_a_machine_is_a_name_a_path_a_text_or_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "go.yaml"
    file.write_text(TEXT, encoding="utf-8")
    machine = nw.load_machine(TEXT)
    sources: list[Any] = [TEXT, file, str(file), machine]
    for source in sources:
        assert str(nw.compile(source, to="rnn").run("11").tape) == "111"
    assert nw.compile("1RB1LB_1LA1RZ").run().steps == 6
    odd = tmp_path / "a\nb"
    odd.write_text(TEXT, encoding="utf-8")  # a path that looks like a text
    assert nw.load_machine(str(odd)) == machine


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nw.compile("palindrom"), "did you mean palindrome"),
        (lambda: nw.compile("a\nb"), "the text"),
        (lambda: nw.compile("palindrome", to="trnsformer"), "did you mean transformer"),
        (lambda: nw.compile("palindrome", base=4), "base is not an option of transformer"),
        (lambda: nw.compile("palindrome", score="best"), "there are paper, recency"),
        (lambda: nw.compile("palindrome", to="rnn", base="x"), "expected a number"),
        (lambda: nw.compile("palindrome").run("abc"), "input symbol 'c' at position 3"),
        (lambda: nw.compile("palindrome").run("ab", -1), "expected a whole number, 0 or more"),
        (lambda: nw.compile("palindrome").run("ab", engine="quick"), "no engine 'quick'"),
        (lambda: nw.compile("binary-counter").accepts("", 10), "undecided after 10 steps"),
        (lambda: nw.compile("palindrome").verify(random=-1), "random is -1; expected how many"),
        (lambda: nw.compile("palindrome").verify("x"), "input symbol 'x'"),
        (lambda: nw.compile("palindrome").trace("x"), "input symbol 'x'"),
        (lambda: nw.compile("palindrome").without("x"), "no part 'x'"),
        (lambda: nw.compile("palindrome").weights()["F.1"]["x1", "y"], "no coordinate of F.1 'y'"),
        (lambda: nw.compile("copy").weights()["F.1"]["x1"], "a row and a column"),  # type: ignore[index]
        (lambda: nw.load_machine("palindrome").accepts("x"), "input symbol 'x'"),
        (lambda: nw.load("palindrome"), "there is no such file"),
        (lambda: nw.check_certificate("nowhere.json"), "nowhere.json"),
    ],
)
def test_a_bad_value_says_what_there_is(call: Any, message: str) -> None:
    with pytest.raises(NetwrightError, match=message.replace("(", r"\(")):
        call()


def test_a_certificate_is_of_one_machine_and_overwrites_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    certificate = nw.compile("copy", to="rnn").certify()
    certificate.save(file)
    with pytest.raises(InputError, match="is about another machine than palindrome: sha256"):
        nw.check_certificate(file, machine="palindrome")
    with pytest.raises(OutputError, match="exists"):
        certificate.save(file)
    certificate.save(str(file), force=True)
    assert nw.check_certificate(str(file), machine=nw.load_machine("copy")).machine.start == (
        nw.load_machine("copy").start
    )
    file.write_text("{}")
    with pytest.raises(FormatError, match="not a netwright certificate"):
        nw.check_certificate(file)


def test_reprs_are_short() -> None:
    net = nw.compile("palindrome", to="rnn")
    shown = {
        repr(net): "<rnn of palindrome, dimension 32>",
        repr(nw.compile("copy", blanks=True)): "<transformer of copy, dimension 59, blanks=True>",
        repr(net.machine): "<Turing machine palindrome: 8 states, 3 symbols>",
        repr(net.run("ab")): "<rejected after 4 steps in reject, head 2, tape b>",
        repr(net.trace("ab")): "<trace of <rnn of palindrome, dimension 32> on a b>",
        repr(net.trace("ab")[5]): "<moment 5: 1 vector>",
        repr(net.verify("ab")): "<1 run, 26 checks: no difference>",
        repr(net.kind): "<kind rnn: Theorem 2.3; options: base>",
        repr(net.weights()["W"]): "<W: 32 × 32, 9 nonzero>",
        repr(net.trace("ab").array("g")): "<g: 5 × 32 float64>",
    }
    for found, expected in shown.items():
        assert found == expected
    assert repr(net.certify()).startswith("<rnn, certified: ")
    long = nw.load_machine("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA").run(max_steps=20_000)
    assert len(repr(long)) < 120


def test_a_tape_is_a_text() -> None:
    assert str(nw.Tape(0, ("a", "b"))) == "ab"
    assert str(nw.Tape(3, ("on", "off"))) == "on,off"
    assert f"{nw.Tape(0, ())}" == ""


class _Tables(HTMLParser):
    """Counts tables and cells, and complains of tags that are not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def cells(shown: Any) -> list[str]:
    parser = _Tables()
    parser.feed(shown._repr_html_())
    parser.close()
    assert not parser.open
    return parser.cells


@pytest.mark.parametrize("on", KINDS)
def test_notebooks_show_tables_with_the_names_of_coordinates(on: str) -> None:
    net = nw.compile("palindrome", to=on)
    trace = net.trace("abba")
    name = {"rnn": "g", "neural-gpu": "cell"}.get(on, "y")
    weight = {"rnn": "U.2", "neural-gpu": "U.1"}.get(on, "decoder.3.V")
    assert any(text.startswith(f"{on} of palindrome") for text in cells(net))
    assert "accept" in cells(net.run("abba"))
    assert "accept" in cells(trace)
    assert name in cells(trace[len(trace)])
    assert len(cells(net.weights()[weight])) >= 15
    assert "holds" in cells(net.certify())
    assert "agrees" in cells(net.verify("ab"))
    assert "start" in cells(net.machine)
    assert len(cells(trace.array(name))) > 90


def test_names_are_text_in_a_notebook_whatever_they_look_like() -> None:
    bad = "<img src=x onerror=alert(1)>"
    machine = nw.TuringMachine(
        states=[bad, "end"],
        symbols=["_", "<b>"],
        blank="_",
        start=bad,
        delta={(bad, "_"): ("end", "<b>", "R")},
        name=bad,
    )
    net = nw.compile(machine)
    for shown in (machine, net, net.run(""), net.trace(""), net.trace("")[4], net.weights()["F.1"]):
        text = shown._repr_html_()
        assert "<img" not in text
        assert "<b>" not in text


@pytest.mark.parametrize("options", [{}, {"score": "recency"}, {"to": "rnn"}, {"to": "neural-gpu"}])
@pytest.mark.parametrize("name", ["palindrome", "stays"])
def test_every_block_and_weight_has_its_meaning(name: str, options: dict[str, str]) -> None:
    stays = nw.TuringMachine(
        ["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "S"), ("b", "1"): ("a", "0", "R")}
    )
    net = nw.compile(stays if name == "stays" else name, **options)
    meanings = net.kind.look.meanings
    for block, _ in net.layout.blocks:
        assert meanings.of_block(block)
    for each, weight in net.weights().items():
        assert meanings.of_weight(each)
        if each in INPUTS:
            continue
        hidden = [words for place, words in meanings.hidden.items() if each.startswith(place)]
        known = {block for words in hidden for block in words}
        for layout in (weight.affine.input, weight.affine.output):
            for block, _ in layout.blocks:
                assert block in known or meanings.of_block(block), (each, block)


def test_networks_are_values() -> None:
    net = nw.compile("palindrome", to="rnn", base=Fraction(9, 2))
    assert pickle.loads(pickle.dumps(net)) == net != nw.compile("palindrome", to="rnn")
    compiled = compile_neural_gpu(compile_rnn(library_machine("palindrome")))
    assert compile_network(library_machine("palindrome"), "neural-gpu").compiled == compiled
    assert isinstance(net, Network)


HEAVY = ("numpy", "llvmlite", "flint", "rich")


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import netwright; dir(netwright)", HEAVY),
        ("from netwright.cli import main; main(['--help'])", HEAVY),
        ("from netwright.cli import main; main(['run', 'palindrome', 'abba'])", HEAVY[1:2]),
        ("import netwright as nw; nw.compile('copy', to='rnn').trace('ab')[3]", HEAVY[1:2]),
    ],
)
def test_what_is_not_used_is_not_imported(code: str, heavy: tuple[str, ...]) -> None:
    check = f"import sys; print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_a_configuration_with_a_long_tape_is_a_value() -> None:
    trace = nw.compile("sweeper").trace()
    moment = trace[30_000]
    found = moment.configuration
    assert found is not None
    assert found == trace[30_000].configuration
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != found._replace(state="elsewhere")
    assert len(repr(found)) < 100
    deep = nw.TuringMachine(["a"], "01", "0", "a", {("a", "0"): ("a", "1", "R")})
    longest = [*zip(range(20_001), deep.configurations(), strict=False)][-1][1]
    again = [*zip(range(20_001), deep.configurations(), strict=False)][-1][1]
    assert longest == again
    assert longest != longest._replace(left=("0", longest.left))
    assert pickle.loads(pickle.dumps(longest)) == longest
    assert repr(longest) == f"<a, head 20000, tape {'1' * 19}…{'1' * 19}>"


def test_a_vector_is_a_value() -> None:
    vector = nw.compile("palindrome").trace("abba")[26]["y"]
    assert len(vector) == 45
    assert vector.number("q1[accept]") == vector.number("q1", "accept") == 1
    assert (vector - vector).entries == {}
    assert vector * 2 == 2 * vector == vector + vector
    assert np.asarray(vector).sum() == 3
    for name in ("zz", "q1[accept]"):
        with pytest.raises(InputError, match=r"no block .* there are q1, s1, x1"):
            vector[name]
    with pytest.raises(InputError, match=r"no coordinate 'q1\[x\]'"):
        vector.number("q1[x]")
    with pytest.raises(InputError, match="no block '0'"):
        list(vector)  # type: ignore[call-overload]
    assert "q1[accept]" in cells(vector)


def test_weights_have_names_that_can_be_read_and_changed() -> None:
    net = nw.compile("palindrome")
    weights = net.weights()
    with pytest.raises(InputError, match=r"F has several weights: F\.1, F\.2, F\.3, F\.4"):
        weights["F"]
    with pytest.raises(InputError, match=r"no weight 'decoder.3.v'; did you mean decoder.3.V\?"):
        weights["decoder.3.v"]
    assert weights["F.1"]["bias", "b2"] == 2
    changed = net.with_weight("F.1", "bias", "b2", "1/3")
    assert str(changed.weights()["F.1"]["bias", "b2"]) == "1/3"
    assert changed != net
    assert np.asarray(weights["F.1"]).shape == (45, 24)
    assert weights["F.1"].bias.to_numpy().sum() == 4
    assert [*nw.compile("palindrome", to="neural-gpu").weights()][3:7] == [
        *("F.1.1.1", "F.1.1.2", "F.1.1.3", "F.1.2"),
    ]
    with pytest.raises(InputError, match=r"a weight is an exact number, such as 2"):
        net.with_weight("F.1", "bias", "b2", "a third")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda api: api.compile("copy").run(5), "a word is a string or a list of symbols; got 5"),
        (lambda api: api.compile("copy").run([[]]), r"input symbol \[\] at position 1"),
        (lambda api: api.compile(5), "expected a name, a path or a text of a machine; got 5"),
        (lambda api: api.compile(api.compile("copy")), "is compiled already"),
        (lambda api: api.compile("copy", on="rnn"), "given as to=…"),
        (lambda api: api.compile("copy", to=None), "no network 'None'"),
        (lambda api: api.compile("copy").run("ab", max_steps="x"), "expected a whole number"),
        (lambda api: api.compile("copy").trace("ab", max_steps=2.5), "expected a whole number"),
        (lambda api: api.compile("copy").run("ab", engine=5), "no engine '5'"),
        (lambda api: api.compile("copy").verify(seed="x"), "seed is 'x'; expected a whole number"),
        (lambda api: api.compile("copy").trace("ab")[3][[]], r"no vector '\[\]'"),
        (lambda api: api.compile("copy").trace("ab")["a":], "a time is a whole number; got 'a'"),
        (lambda api: api.compile("copy").trace("ab")[:True], "a time is a whole number; got True"),
        (lambda api: api.compile("copy").save("\0"), "expected a path to write to"),
        (lambda api: api.compile("copy").save(None), "expected a path to write to; got None"),
        (lambda api: api.compile("copy").certify().save(b"a"), "expected a path to write to"),
        (lambda api: api.compile("copy").with_weight("W", "u", "u", 1), "no weight 'W'"),
        (
            lambda api: api.compile("copy", to="rnn").with_weight("W", "u", "u", 10**5000),
            "a weight has at most 1000 bits",
        ),
        (lambda api: api.load(5), "expected the path of a saved network; got 5"),
        (lambda api: api.check_certificate(5), "expected the path of a certificate; got 5"),
    ],
)
def test_values_of_other_types_are_refused(call: Any, message: str) -> None:
    with pytest.raises(NetwrightError, match=message):
        call(nw)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    net = nw.compile("palindrome")
    assert net.trace("abba")[np.int64(26)].t == 26  # type: ignore[call-overload]
    assert len(net.verify(random=np.int64(2), seed=np.int64(1))) == 2  # type: ignore[arg-type]
    assert net.run("abba", max_steps=np.int64(3)).steps == 3  # type: ignore[arg-type]
    assert net.trace("abba")[3].get("nope") is None
    assert net.weights().get("nope") is None
