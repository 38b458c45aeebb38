"""The Llama of a machine, and the one for all: every token is the machine's, in every type."""

import pickle
import random
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repetition import examples, repeated, some
from tests.strategies import machines, wild_names, words

import netwright as nw
from netwright.errors import InputError, NetworkError
from netwright.kind.language_model.evaluators import ROUNDED
from netwright.kind.language_model.llama.construction import CompiledLlama, compile_llama
from netwright.kind.language_model.llama.evaluators import FloatLlama
from netwright.kind.language_model.llama.phases import CHOICES, FREQUENCIES, Phases
from netwright.kind.language_model.llama.universal import universal_llama
from netwright.kind.language_model.llama.vocabulary import STOP, UNKNOWN
from netwright.kind.language_model.reading import run_language_model
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.universal import universal_text
from netwright.kind.language_model.vocabulary import ACCEPT, REJECT
from netwright.machine.library import library_machine, library_names
from netwright.machine.simulate import Engine, simulate
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, compile_network
from netwright.network.saved import from_bytes, to_bytes
from netwright.verify.draw import random_machine

BEAVER = library_machine("busy-beaver-5")
KAPPA = 16


def text_of(compiled: CompiledLlama, word: tuple[str, ...]) -> tuple[list[int], int]:
    """Prompt and run, as far as the context goes, from the machine; and the prompt's length."""
    start = Start(word)
    prompt = start.prompt(compiled.vocabulary)
    room = compiled.context - len(prompt)
    return [*prompt, *islice(machine_text(compiled.vocabulary, start), room)], len(prompt)


def leads(logits: Any, tokens: list[int], prompt: int) -> float:
    """The smallest lead of the right logit; negative where a token is wrong."""
    rows = np.array(logits[prompt - 1 : len(tokens) - 1], np.float64) / KAPPA
    right = rows[np.arange(len(rows)), tokens[prompt:]].copy()
    rows[np.arange(len(rows)), tokens[prompt:]] = -np.inf
    return float((right - rows.max(axis=1)).min())


def assert_right(compiled: CompiledLlama, word: tuple[str, ...]) -> int:
    """By the definition the lead is 2; in floats, 1.8 at least."""
    tokens, prompt = text_of(compiled, word)
    logits, _ = compiled.network.forward(tokens[:-1])
    assert leads(logits * KAPPA, tokens, prompt) > 1.9999
    tensors = compiled.weights().tensors
    for dtype in ROUNDED:
        found = replace(compiled, dtype=dtype).in_floats(tensors).all_logits(tokens[:-1])
        assert leads(found, tokens, prompt) > 1.8, dtype
    return len(tokens) - prompt


@pytest.mark.parametrize("name", some(library_names(), 5))
def test_the_library_in_all_types(name: str) -> None:
    machine = library_machine(name)
    assert assert_right(compile_llama(machine, 600), machine.default_input) >= 12


@examples(50)
@given(st.data(), machines(names=wild_names, symbol_names=wild_names))
def test_random_machines_in_all_types(data: st.DataObject, machine: TuringMachine) -> None:
    """Stays, blanks in the input, any names, machines that halt at once or accept at the start."""
    word = data.draw(words(machine.symbols))
    assert_right(compile_llama(machine, data.draw(st.integers(32, 200))), word)


def test_eight_thousand_tokens_of_the_busy_beaver() -> None:
    """A thousand in `make test`."""
    count = repeated(8192, 1024)
    assert assert_right(compile_llama(BEAVER, count), ()) == count - 2


@pytest.mark.parametrize(("context", "pairs", "first"), CHOICES)
def test_a_phase_finds_its_offset_and_no_other(context: int, pairs: int, first: float) -> None:
    """Every offset within a context, from the frequencies alone."""
    phases = Phases(min(context, 1 << 16))
    assert (phases.pairs, phases.weights[0]) == (pairs, first)
    assert phases.weights.sum() == pytest.approx(1)
    angles = np.outer(np.arange(phases.context + 4), FREQUENCIES[:pairs])
    scores = np.cos(angles) @ phases.weights
    assert scores[0] == pytest.approx(1)
    assert 1 - scores[1:].max() == pytest.approx(phases.gap, abs=1e-9)
    assert phases.context * np.exp(-phases.sharpness * phases.gap) < 1e-5
    two, five = (np.array(phases.of(d)).reshape(2, -1) for d in (2, 5))
    product = (two[0] + 1j * two[1]) * (five[0] + 1j * five[1])
    seven = np.array(phases.of(7)).reshape(2, -1)
    assert np.allclose(product, seven[0] + 1j * seven[1])


@examples(25)
@given(st.data(), machines())
def test_runs_in_small_contexts_are_the_machines(
    data: st.DataObject, machine: TuringMachine
) -> None:
    """A context that is full is read off, and the run goes on in a new one."""
    compiled = compile_llama(machine, data.draw(st.integers(36, 64)))
    word, limit = data.draw(words(machine.symbols)), 60
    evaluator = compiled.in_floats(compiled.weights().tensors)
    found = run_language_model(compiled, word, limit, evaluator, Engine.FAST)
    if found.note is not None:  # as far as there was room
        assert "no longer fits into a context of" in found.note
        limit = found.steps
    expected = simulate(machine, word, limit)
    for name in ("outcome", "steps", "state", "head", "tape"):
        assert getattr(found, name) == getattr(expected, name)


def test_resuming_in_every_state() -> None:
    """From any configuration of a run the model goes on as the machine does."""
    machine = library_machine("binary-addition")
    compiled = compile_llama(machine, 160)
    for state in sorted(compiled.vocabulary.machine.states):
        for ahead, behind in (("_", "1"), ("1+0", "01"), ("_1", "__"), ("0", "")):
            start = Start(tuple(ahead), tuple(behind), state)
            prompt = start.prompt(compiled.vocabulary)
            run = list(islice(machine_text(compiled.vocabulary, start), 40))
            logits, _ = compiled.network.forward([*prompt, *run[:-1]])
            assert logits[len(prompt) - 1 :].argmax(axis=1).tolist() == run


def test_the_busy_beaver_goes_on_beyond_its_context() -> None:
    steps = repeated(20_000, 2000)
    run = nw.compile(BEAVER, to="llama", context=512).run(max_steps=steps)
    expected = simulate(BEAVER, (), steps)
    assert (run.steps, run.state, run.head, run.tape) == (
        steps,
        expected.state,
        expected.head,
        expected.tape,
    )


@examples(20)
@given(st.data(), machines())
def test_an_unknown_word_is_refused(data: st.DataObject, machine: TuringMachine) -> None:
    """`<reject>` and `</s>` follow a prompt with `<unk>` anywhere between its ends."""
    compiled = compile_llama(machine, data.draw(st.sampled_from([64, 1024])))
    prompt = Start(data.draw(words(machine.symbols))).prompt(compiled.vocabulary)
    for _ in range(data.draw(st.integers(1, 3))):
        prompt.insert(data.draw(st.integers(1, len(prompt) - 1)), UNKNOWN)
    text = [*prompt, REJECT, STOP]
    found: list[Any] = [compiled.network.forward(text)[0] * KAPPA]
    tensors = compiled.weights().tensors
    found += [replace(compiled, dtype=x).in_floats(tensors).all_logits(text) for x in ROUNDED]
    for logits in found:
        assert leads(logits, text, len(prompt)) > 0.8


def test_a_run_is_followed_by_the_stop() -> None:
    compiled = compile_llama(library_machine("palindrome"), 64)
    for word, end in (("aba", ACCEPT), ("ab", REJECT)):
        tokens, _ = text_of(compiled, tuple(word))
        assert tokens[-1] == end
        evaluator = compiled.in_floats(compiled.weights().tensors)
        assert evaluator.extend(tokens).argmax() == STOP


@pytest.mark.parametrize("penalty", [1.3, 3.0])
def test_a_penalty_for_repeated_tokens_changes_no_token(penalty: float) -> None:
    compiled = compile_llama(library_machine("palindrome"), 128)
    tokens, prompt = text_of(compiled, tuple("abba"))
    logits = compiled.in_floats(compiled.weights().tensors).all_logits(tokens[:-1])
    for place in range(prompt, len(tokens)):
        row, seen = logits[place - 1], tokens[:place]
        row[seen] = np.where(row[seen] > 0, row[seen] / penalty, row[seen] * penalty)
        assert row.argmax() == tokens[place]


def wrong(logits: Any, tokens: list[int], prompt: int) -> int:
    """The number of wrong tokens."""
    return int((logits[prompt - 1 :].argmax(axis=1) != tokens[prompt:]).sum())


def test_another_base_of_rope_is_wrong() -> None:
    """The one that transformers 4 takes where it finds none; also in a short text."""
    for name, word in (("palindrome", "a"), ("busy-beaver-4", "")):
        compiled = compile_llama(library_machine(name), 512)
        tokens, prompt = text_of(compiled, tuple(word))
        evaluator = FloatLlama(compiled.weights().tensors, 512, "float32", theta=10_000.0)
        assert wrong(evaluator.all_logits(tokens[:-1]), tokens, prompt) > 0


def test_one_unit_off_is_wrong_in_every_type() -> None:
    network = nw.compile(BEAVER, to="llama", context=512)
    changed = network.with_weight("block.0.units.D", "unit[rule 'A', '0']", "q2[B]", 0)
    tokens, prompt = text_of(network.compiled, ())
    tensors = changed.compiled.weights().tensors
    for dtype in ROUNDED:
        evaluator = replace(changed.compiled, dtype=dtype).in_floats(tensors)
        assert wrong(evaluator.all_logits(tokens[:-1]), tokens, prompt) > 0


def llama(**options: Any) -> Network:
    return compile_network(library_machine("palindrome"), "llama", **{"context": 96, **options})


def test_it_is_an_architecture_of_the_language_model() -> None:
    net = llama()
    assert net.kind.name == "language-model"
    assert repr(net) == (
        "<language-model of palindrome, dimension 152, architecture=llama, context=96>"
    )
    machine = library_machine("palindrome")
    assert net == compile_network(machine, "language-model", architecture="llama", context=96)
    for name in ("gpt2", "opt"):
        assert nw.compile(machine, to="language-model", architecture=name) == nw.compile(
            machine, to="gpt2"
        )
    with pytest.raises(InputError, match="no architecture 'mamba'"):
        llama(architecture="mamba")
    assert net.facts["dimension"] == 12 * 8 + 3 * 9 + 4 * 4 + 13


def test_runs_traces_checks_and_files() -> None:
    net = llama()
    for engine in ("auto", "fast", "reference"):
        run = net.run("abba", engine=engine)
        assert (str(run.outcome), run.steps, run.head) == ("accepted", 15, 3)
    trace = net.trace("abba")
    shown = [moment.configuration for moment in trace if moment.configuration is not None]
    wanted = library_machine("palindrome").configurations("abba")
    assert [(c.state, c.head, c.tape) for c in shown] == [(c.state, c.head, c.tape) for c in wanted]
    address = trace[18]  # of the first step
    assert address["block.0.middle"].label("Q1") == "start"
    assert address["block.1.input"].label("q2") == "have-a"
    assert address.attention["block.2.head.0"].winner == 12  # the address at which b was read
    assert net.verify("abba").holds
    assert from_bytes(to_bytes(net)) == net == pickle.loads(pickle.dumps(net))
    reading = net.with_weight("block.2.head.0.V", "w[b]", "Ys[b]", 0)
    assert not reading.verify("abba").holds
    with pytest.raises(NetworkError, match=r"token \d+, "):
        reading.run("abba")
    with pytest.raises(InputError, match="have no bias"):
        net.with_weight("U", "bias", "token[<accept>]", 1)
    with pytest.raises(InputError, match="numbers that float64 has"):
        net.with_weight("U", "acc", "token[<accept>]", "1/3")


def test_words_that_do_not_fit() -> None:
    """The walk back takes two tokens for each symbol."""
    vocabulary = compile_llama(library_machine("palindrome"), 32).vocabulary
    assert len(vocabulary.prompt("ab" * 4 + "a")) == 11
    with pytest.raises(InputError, match="a word of 10 symbols does not fit into a context of 32"):
        vocabulary.prompt("ab" * 5)
    note = nw.compile("binary-counter", to="llama", context=10).run("", 10**4).note
    assert "no longer fits into a context of 10 tokens" in str(note)


def some_machine(seed: int) -> tuple[TuringMachine, tuple[str, ...]]:
    draw = random.Random(seed)
    machine = random_machine(draw, draw.randint(2, 7), draw.randint(2, 6))
    return machine, tuple(draw.choices(machine.symbols, k=draw.randint(0, 6)))


def test_texts_can_be_parsed_and_contradictions_are_found() -> None:
    """Random machines: with the machine and without, with spaces and without, from any token."""
    for seed in range(repeated(60, 15)):
        machine, word = some_machine(seed)
        compiled = compile_llama(machine, 128)
        tokens, prompt = text_of(compiled, word)
        bare = "".join(word) + compiled.text(*tokens[prompt - 1 :])
        for text in (compiled.text(*tokens), bare.replace("<run>", " <run>", 1)):
            for known in (machine, None):
                found = nw.parse(text, known)
                assert found.problem is None
            wanted = simulate(machine, word, nw.parse(text, machine).steps)
            if found.state in machine.states:
                assert (found.state, found.head) == (wanted.state, wanted.head)
        draw = random.Random(seed)
        for _ in range(10):
            place = draw.randrange(prompt, len(tokens))
            wrong = [*tokens[:place], draw.choice(range(len(compiled.vocabulary.texts)))]
            found = nw.parse(compiled.text(*wrong), machine)
            # A step right after `<run>` would resume a run, and the text says so.
            said = found.problem or found.resumed
            assert (not said) == (wrong[-1] == tokens[place]), compiled.text(*wrong)


def test_parsing_says_where_a_text_is_wrong() -> None:
    start = "<s> abba <run> L:rewind:a>a @4"
    assert nw.parse(start, "palindrome").problem is None
    for text, said in (
        (f"{start} L:rewind:b>b @6", r"token 10 \(@6\) is not the last visit .* which is @7"),
        ("<s> abca <run>", r"token 4 \(c\) is not a symbol of the machine"),
        ("<s> ab <run> L:have-a:b>b @4", "does not begin with L:rewind"),
        ("<s> b <run> a R:start:b>_ @3", r"\(@3\) is not the last visit .* which is @4"),
    ):
        assert nw.parse(text, "palindrome").problem is not None
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(nw.parse(text, "palindrome").problem)
    resumed = nw.parse("<s> b <run> a R:start:b>_ @4", "palindrome")
    assert (resumed.resumed, resumed.problem, str(resumed.tape)) == (True, None, "abb")


def test_one_model_for_all_machines_in_all_types() -> None:
    """Machines of the library and random ones, with seeds; by the definition and in floats."""
    model = universal_llama(16, 8, 320)
    cases = [(library_machine(name), None) for name in library_names()[:: repeated(1, 6)]]
    drawn = [some_machine(seed) for seed in range(100, repeated(200, 108))]
    tensors, seen = model.weights().tensors, 0
    for machine, word in [*cases, *drawn]:
        letters = machine.default_input if word is None else word
        try:
            prompt, run = universal_text(machine, letters, model.vocabulary)
        except InputError:
            continue
        tokens = [*prompt, *islice(run, model.context - len(prompt))]
        logits, _ = model.network.forward(tokens[:-1])
        assert leads(logits * KAPPA, tokens, len(prompt)) > 1.9999
        for dtype in ROUNDED:
            found = FloatLlama(tensors, model.context, dtype).all_logits(tokens[:-1])
            assert leads(found, tokens, len(prompt)) > 1.8
        text = " ".join(model.vocabulary.texts[token] for token in tokens)
        assert nw.parse(text).problem is None
        seen += len(tokens) - len(prompt)
    assert seen > 500
