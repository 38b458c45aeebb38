"""A network saved and loaded again is equal and runs the same."""

import json
import pickle
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from safetensors import numpy as safetensors
from tests.fuzz.mutated import mutated_arrays, mutated_json
from tests.networks import KINDS, facts
from tests.repetition import examples, repeated
from tests.strategies import machines, wild_names

from netwright.cli import main
from netwright.definitions.transformer import dot_product
from netwright.errors import FormatError, InputError, NetworkError, NetwrightError, OutputError
from netwright.files import seal, unseal
from netwright.machine.library import library_machine
from netwright.machine.simulate import Engine, Outcome
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network, network_for_word
from netwright.network.saved import from_bytes, load, to_bytes

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("transformer", {}),
    ("transformer", {"score": "recency"}),
    ("transformer", {"blanks": True}),
    ("rnn", {}),
    ("rnn", {"base": "29/3"}),
    ("neural-gpu", {}),
    ("neural-gpu", {"base": 11}),
]


def compiled(name: str = "palindrome") -> Network:
    return compile_network(library_machine(name), "transformer")


@examples(30)
@given(machines(names=wild_names, symbol_names=wild_names), st.sampled_from([*KINDS]))
def test_a_saved_network_comes_back_equal(machine: TuringMachine, on: str) -> None:
    word = machine.default_input
    network = network_for_word(machine, on, word)
    again = from_bytes(to_bytes(network))
    assert again == network
    outputs = (list(islice(n.outputs(word), 12)) for n in (network, again))
    assert next(outputs) == next(outputs)


@pytest.mark.parametrize(("on", "options"), OPTIONS)
def test_every_kind_and_option_comes_back_from_a_file_and_a_pickle(
    on: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """Equal, certified, and run by the fast engine."""
    network = compile_network(library_machine("palindrome"), on, **options)
    network.save(tmp_path / "file")
    loaded = load(tmp_path / "file")
    for again in (loaded, pickle.loads(pickle.dumps(network))):
        assert again == network
        assert hash(again) == hash(network)
        assert again is not None
        assert again.options == network.options
        assert again.certify().holds
        done = again.run("abba", engine="fast")
        assert (done.outcome, done.engine, done.note) == (Outcome.ACCEPTED, Engine.FAST, None)
    with pytest.raises(OutputError, match="exists"):
        network.save(tmp_path / "file")


ELSEWHERE = """
import pickle, sys
networks = pickle.loads(sys.stdin.buffer.read())
for network in networks:
    run = network.run("abba", engine="fast")
    assert run.note is None and network.certify().holds
sys.stdout.buffer.write(pickle.dumps(networks))
"""


def test_another_process_has_the_same_networks() -> None:
    machine = library_machine("palindrome")
    networks = [compile_network(machine, on, **options) for on, options in OPTIONS]
    call = [sys.executable, "-c", ELSEWHERE]
    done = subprocess.run(call, input=pickle.dumps(networks), capture_output=True, check=True)
    assert pickle.loads(done.stdout) == networks


def test_networks_that_differ_are_not_equal() -> None:
    machine = library_machine("palindrome")
    networks = [compile_network(machine, on, **options) for on, options in OPTIONS]
    networks += [
        compile_network(library_machine("copy"), "rnn"),
        networks[0].broken("F.q1"),
        networks[0].without("positions"),
        networks[3].with_weight("W", "u", "u", 7),
    ]
    for one, other in product(networks, networks):
        assert (one == other) == (one is other)


def test_saving_is_deterministic_and_without_pickle() -> None:
    data = to_bytes(compiled())
    assert data == to_bytes(compiled())
    assert all(tensor.dtype == np.int64 for tensor in safetensors.load(data).values())


@pytest.mark.parametrize(("on", "place"), [("transformer", "F.q1"), ("rnn", "U.S")])
def test_the_loaded_network_is_what_the_tensors_say(on: str, place: str) -> None:
    """Nothing is compiled again: a damaged network comes back as damaged as it was."""
    network = compile_network(library_machine("even-as"), on)
    damaged = network.broken(place, word="ab")
    again = from_bytes(to_bytes(damaged))
    assert again == damaged != network
    assert again.compare("ab").difference == damaged.compare("ab").difference is not None


def test_every_changed_bit_is_noticed() -> None:
    data = to_bytes(compiled("even-as"))
    draw = random.Random(1)
    for _ in range(60):
        place = draw.randrange(len(data))
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        try:
            again = from_bytes(bytes(changed))
        except FormatError:
            continue
        assert again == compiled("even-as")  # padding of the header: nothing is lost


def test_a_network_of_another_kind_is_not_saved() -> None:
    network = compiled("even-as")
    changed = replace(network.compiled.network, score=lambda q, k: dot_product(k, q))
    other = replace(network, compiled=replace(network.compiled, network=changed))
    with pytest.raises(
        OutputError, match=r"it cannot be saved: network.score is 'another <lambda>', not"
    ):
        to_bytes(other)
    for part in ("positions", "residual:decoder.2.self"):
        ablated = network.without(part)
        again = from_bytes(to_bytes(ablated))
        assert again == ablated
        assert list(islice(again.outputs("ab"), 5)) == list(islice(ablated.outputs("ab"), 5))


@pytest.mark.parametrize("cut", [10, 100, 2000, -1])
def test_a_file_cut_short_is_explained(cut: int) -> None:
    with pytest.raises(FormatError, match="net is not an intact netwright network"):
        from_bytes(to_bytes(compiled())[:cut], "net")


def with_metadata(changes: dict[str, Any]) -> bytes:
    """A valid file, with its digest, and other contents."""
    data = to_bytes(compiled())
    length = int.from_bytes(data[:8], "little")
    about = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["netwright"])
    tensors = safetensors.load(data)
    del about["digest"]
    put(about, changes)
    return seal(about, tensors)


def put(about: dict[str, Any], changes: dict[str, Any]) -> None:
    """Replace values at existing places of a file's JSON."""
    for name, value in changes.items():
        *path, last = name.split(".")
        at: Any = about if name in about else about["written"]
        for key in path:
            at = at[int(key)] if isinstance(at, list) else at[key]
        assert last in at
        at[last] = value


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "netwright network 99"}, "is a 'netwright network 99'; this netwright"),
        ({"on": "abacus"}, "no network 'abacus'"),
        ({"options": {"score": "last"}}, "no score 'last'"),
        ({"machine": "abc"}, "is not an intact netwright network"),
        ({"layouts": []}, "is not an intact netwright network"),
        ({"normal.machine": {"states": [], "delta": []}}, "normal.machine is "),
        ({"normal.q_init": "a"}, "normal.q_init is 'a', not 'q_init', as the machine and its opt"),
        ({"network.pos.powers": [["x8", 0]]}, "network.pos.powers is not a list of 4 parts"),
        ({"network": {}}, "is not an intact netwright network"),
        ({"layouts": [["x"]] * 9}, "layouts is "),
        ({"given": {}}, "given is "),
        ({"seed": [[10**6, "1"]]}, "seed has a number outside its vector"),
    ],
)
def test_a_file_with_other_contents_is_explained(changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_bytes(with_metadata(changes))


def test_another_programs_file_is_explained() -> None:
    with pytest.raises(FormatError, match="is not an intact netwright network"):
        from_bytes(safetensors.save({"x": np.zeros(3)}))


@pytest.mark.parametrize(
    ("on", "change"),
    [
        ("neural-gpu", {"final_states": ["reject"]}),
        ("neural-gpu", {"network.width": 0}),
        ("neural-gpu", {"network.width": 10**6}),
        ("neural-gpu", {"network.circular": True}),
        ("neural-gpu", {"embedding": []}),
        ("neural-gpu", {"network.F.f": "relu"}),
        ("rnn", {"neurons.digits": [["_", 0], ["a", 2], ["b", 1]]}),
        ("rnn", {"embedding": []}),
        ("rnn", {"neurons.tops": []}),
        ("rnn", {"neurons.base": "1000"}),
        ("rnn", {"network.O": "sigma"}),
        ("rnn", {"options": {"base": "1000"}}),
        ("neural-gpu", {"options": {"base": "1000"}}),
        ("transformer", {"options": {"score": "recency"}}),
        ("transformer", {"options": {"blanks": True}}),
        ("transformer", {"score": "recency"}),
        ("transformer", {"network.pos.powers": [["x8", 0], ["x9", 1], ["x10", -1], ["x11", -3]]}),
        ("transformer", {"network.decoder": []}),
        ("transformer", {"network.decoder.0.Q.activation": "relu"}),
        ("transformer", {"changes": ["without everything"]}),
        ("transformer", {"changes": ["without positions"]}),
        ("transformer", {"embedding": []}),
        ("transformer", {"changes": "text"}),
    ],
)
def test_a_file_whose_parts_contradict_each_other_is_refused(
    on: str, change: dict[str, Any]
) -> None:
    """With the right digest: all that is in the file must fit together, and the machine."""
    data = to_bytes(compile_network(library_machine("palindrome"), on))
    about, tensors = unseal(data, "file", "network")
    put(about, change)
    with pytest.raises(FormatError, match="is not an intact netwright network"):
        from_bytes(seal(about, tensors))


@pytest.mark.parametrize("on", KINDS)
def test_odd_names_come_back(on: str) -> None:
    only = TuringMachine(
        ["A", "B"], ["tensor"], "tensor", "A", {("A", "tensor"): ("B", "tensor", "R")}
    )
    network = compile_network(only, on)
    assert from_bytes(to_bytes(network)) == network
    lone = TuringMachine(["\ud800"], ["_"], "_", "\ud800", {})
    with pytest.raises(OutputError, match=r"it cannot be saved: .* no lone surrogates"):
        to_bytes(compile_network(lone, on))


def test_bases_are_the_same_number_however_they_are_given() -> None:
    machine = library_machine("palindrome")
    given: list[Any] = ["7/2", Fraction(7, 2), fmpq(7, 2)]
    networks = [compile_network(machine, "rnn", base=base) for base in given]
    assert networks[0] == networks[1] == networks[2] == from_bytes(to_bytes(networks[2]))
    wrong: list[Any] = [4.5, [4], float("nan"), True]
    for base in wrong:
        with pytest.raises(InputError, match="expected a number such as 4 or 7/2"):
            compile_network(machine, "rnn", base=base)
    with pytest.raises(InputError, match="expected True or False, got 'no'"):
        compile_network(machine, "transformer", blanks="no")


@pytest.mark.parametrize(("on", "options"), OPTIONS)
def test_a_damaged_network_answers_alike_on_all_engines_or_is_no_network(
    on: str, options: dict[str, Any]
) -> None:
    """A run that does not begin was a KeyError by the definition, and an answer otherwise."""
    network = compile_network(library_machine("even-as"), on, **options)
    about, arrays = unseal(to_bytes(network), "file", "network")
    loaded = 0
    for seed in range(repeated(300, 40)):
        draw = random.Random(seed)
        try:
            if draw.random() < 0.5:
                changed = from_bytes(seal(about, mutated_arrays(arrays, draw)))
            else:
                text = mutated_json(json.dumps(about).encode(), draw)
                changed = from_bytes(seal(json.loads(text), arrays))
        except NetwrightError:
            continue
        loaded += 1
        for word in ("", "ab"):
            answers = {str(answer(changed, word, engine)) for engine in ("fast", "reference")}
            assert len(answers) == 1, (seed, word, answers)
    assert loaded


def answer(network: Network, word: str, engine: str) -> object:
    try:
        return facts(network.run(word, 20, engine=engine))
    except NetworkError:
        return NetworkError


def test_two_coordinates_of_one_name_are_no_layout() -> None:
    """Engines that know coordinates by number, and by name, answered differently."""
    network = compile_network(library_machine("even-as"))
    about, arrays = unseal(to_bytes(network), "file", "network")
    about["written"]["layouts"][0][4][1][2] = "_"
    with pytest.raises(FormatError, match="layouts is "):
        from_bytes(seal(about, arrays))


@pytest.mark.parametrize("on", [*KINDS, "language-model"])
def test_what_looks_like_a_number_or_a_text_is_none(on: str) -> None:
    """Indices are whole numbers, names are texts, and every tensor is used."""
    network = compile_network(library_machine("even-as"), on)
    about, tensors = unseal(to_bytes(network), "file", "network")
    name = next(name for name, tensor in tensors.items() if tensor.shape[1] == 4)
    rows = [[int(j), int(k), "1"] for j, k, *_ in tensors[name].tolist()]

    def with_rows(rows: list[list[Any]]) -> bytes:
        others = {key: tensor for key, tensor in tensors.items() if key != name}
        place = json.dumps({"tensor": name})
        text = json.dumps(about["written"]).replace(place, json.dumps(rows))
        return seal({**about, "written": json.loads(text)}, others)

    assert from_bytes(with_rows(rows)) is not None
    for odd in (0.0, 0.5, True, "0", None):
        with pytest.raises(
            FormatError, match=r"outside its matrix|is not an intact netwright network"
        ):
            from_bytes(with_rows([[odd, *rows[0][1:]], *rows[1:]]))
    for change in ({"name": 5}, {"description": None}, {"name": ["x"]}):
        with pytest.raises(FormatError, match="not a Turing machine"):
            from_bytes(seal({**about, "machine": {**about["machine"], **change}}, tensors))
    with pytest.raises(FormatError, match="an unused tensor: more"):
        from_bytes(seal(about, {**tensors, "more": tensors[name]}))
    with pytest.raises(FormatError, match="no lone surrogates"):
        from_bytes(seal({**about, "changes": ["\ud800"]}, tensors))


def test_a_network_knows_whether_it_is_certified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = compiled()
    assert str(network.standing) == "compiled"
    assert str(network.broken("F.q1").standing) == "changed"
    path = tmp_path / "palindrome.safetensors"
    network.save(path)
    assert str(load(path).standing) == "certified"
    assert main(["run", str(path), "abba", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trust"] == "certified"
    assert load(path) == network
    # A forged one: it says that it is palindrome's, and that nothing was changed.
    forged = network.with_weight("decoder.3.V", "s2[a]", "s4[a]", 0)
    forged = forged.with_weight("decoder.3.V", "s2[a]", "s4[b]", 1)
    replace(forged, changes=()).save(path, force=True)
    standing = load(path).standing
    assert standing.is_doubtful
    assert str(standing).startswith("not certified: Lemma B.4")
    main(["run", str(path), "ab"])
    assert "  trust  not certified: Lemma B.4" in capsys.readouterr().out
    assert main(["explore", str(path), "ab", "-o", str(tmp_path / "page.html")]) == 0
    assert ": not certified: Lemma B.4" in capsys.readouterr().err
    model = tmp_path / "model.safetensors"
    compile_network(library_machine("palindrome"), "language-model").save(model)
    assert str(load(model).standing) == "no certificate for this kind"
