"""Llamas in transformers and in llama.cpp: wrong tokens, and the smallest lead, for each format.

    python -P benchmarks/llama.py [library|random|beaver|universal|control ...]

Needs transformers and llama-cpp-python; -P keeps the folder's own transformers.py out. Every token
of a text is compared with the machine's run, which is computed by the definition of last visits; up
to 500 of each are also generated. A lead is that of the right logit over the best other one, in
units of 16; 2 is ideal. The seeds below were written down before anything was run with them.
"""

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import netwright as nw
from netwright.errors import InputError
from netwright.export.target import Target
from netwright.export.targets import target_named
from netwright.export.universal import UniversalSubject
from netwright.kind.language_model.llama.construction import CompiledLlama
from netwright.kind.language_model.llama.universal import universal_llama
from netwright.kind.language_model.text import Start, machine_text
from netwright.kind.language_model.universal import universal_text
from netwright.machine.library import library_machine, library_names
from netwright.machine.turing_machine import TuringMachine
from netwright.network.tensors import NamedTensors
from netwright.verify.draw import random_machine

FLOATS = [("llama", kind) for kind in ("float32", "bfloat16", "float16")]
BLOCKS = [("gguf", kind) for kind in ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M")]
OWN_SEEDS, UNIVERSAL_SEEDS = range(1000, 1100), count(2000)
MACHINES = 100

Text = tuple[list[int], int]
"""The tokens, and how many of them are the prompt."""
Case = tuple[TuringMachine, tuple[str, ...]]


def drawn(seed: int) -> Case:
    """A random machine, with stays or without, and a word that may have blanks or be empty."""
    draw = random.Random(seed)
    machine = random_machine(draw, draw.randint(2, 8), draw.randint(2, 6))
    return machine, tuple(draw.choices(machine.symbols, k=draw.randint(0, 6)))


class Count:
    """The tokens of some texts in one format."""

    def __init__(self) -> None:
        self.ways: dict[str, tuple[int, int, int, float]] = {}
        self.seconds = 0.0

    def add(self, opened: Any, texts: Iterable[Text]) -> None:
        """Compare texts in every way of a runtime."""
        started = process_time()
        for tokens, prompt in texts:
            for way, choices, most in opened.ways(tokens, prompt, lambda _: None):
                found = list(islice(choices, most))
                right = tokens[prompt : prompt + most]
                wrong = sum(a != b for (a, _), b in zip(found, right, strict=False))
                wrong += len(right) - len(found)
                lead = min((lead for _, lead in found if lead is not None), default=9.0)
                runs, all_right, all_wrong, least = self.ways.get(way, (0, 0, 0, 9.0))
                self.ways[way] = runs + 1, all_right + most, all_wrong + wrong, min(least, lead)
        self.seconds += process_time() - started

    def show(self, name: str, kind: str) -> None:
        """A line for each way."""
        for way, (runs, tokens, wrong, lead) in self.ways.items():
            shown = f"lead {lead:.2f}" if lead < 9 else ""
            print(f"  {name:10} {kind:9} {way:12} {runs:4} runs {tokens:8,} tokens "
                  f"{wrong:6,} wrong  {shown}  ({self.seconds:.0f} s CPU)", flush=True)  # fmt: skip


def opened(target: Target, named: NamedTensors, kind: str, folder: str) -> Any:
    """A model, written and opened in its runtime."""
    target.write(named, Path(folder), kind)
    return target.open(Path(folder))


def own(case: Case, context: int) -> tuple[Callable[[Target], NamedTensors], list[Text]]:
    """The model of a machine and the text of its run."""
    machine, word = case
    network = nw.compile(machine, to="llama", context=context)
    compiled = network.compiled
    assert isinstance(compiled, CompiledLlama)
    start = Start(word)
    prompt = start.prompt(compiled.vocabulary)
    tokens = [*prompt, *islice(machine_text(compiled.vocabulary, start), context - len(prompt))]
    return lambda target: target.named(network), [(tokens, len(prompt))]


def compare_own(cases: Iterable[Case], context: int, formats: list[tuple[str, str]]) -> None:
    """One model for each machine, in each format."""
    known = [own(case, context) for case in cases]
    for to, kind in formats:
        found, target = Count(), target_named(to)
        for named, texts in known:
            with TemporaryDirectory() as folder:
                found.add(opened(target, named(target), kind, folder), texts)
        found.show(to, kind)


def fitting(cases: Iterable[Case], vocabulary: Any) -> Iterator[Text]:
    """The texts of machines that a universal model takes."""
    for machine, word in cases:
        try:
            prompt, run = universal_text(machine, word, vocabulary)
        except InputError:
            continue
        yield [*prompt, *islice(run, vocabulary.context - len(prompt))], len(prompt)


def library() -> list[Case]:
    """All machines of the library, on their own inputs."""
    machines = map(library_machine, library_names())
    return [(machine, machine.default_input) for machine in machines]


def compare_universal() -> None:
    """One model for 15 states and 8 symbols, in each format."""
    model = universal_llama(16, 8, 1024)
    known = {
        "library": list(fitting(library(), model.vocabulary)),
        "random": list(islice(fitting(map(drawn, UNIVERSAL_SEEDS), model.vocabulary), MACHINES)),
    }
    for to, kind in FLOATS + BLOCKS:
        target = target_named(to)
        named = UniversalSubject(model, 0, target).tensors  # type: ignore[arg-type]
        with TemporaryDirectory() as folder:
            running = opened(target, named, kind, folder)
            for name, texts in known.items():
                found = Count()
                found.add(running, texts)
                found.show(name, kind)


def control() -> None:
    """One unit of a rule turned off: the run must be wrong in every format."""
    case = library_machine("busy-beaver-5"), ()
    _, texts = own(case, 2048)
    network = nw.compile(case[0], to="llama", context=2048).with_weight(
        "block.0.units.D", "unit[rule 'C', '1']", "q2[E]", 0
    )
    for to, kind in FLOATS + BLOCKS:
        found, target = Count(), target_named(to)
        with TemporaryDirectory() as folder:
            found.add(opened(target, target.named(network), kind, folder), texts)
        found.show(to, kind)


PARTS: dict[str, tuple[str, Callable[[], None]]] = {
    "library": (
        "27 machines of the library, a model each, T = 600",
        lambda: compare_own(library(), 600, FLOATS + BLOCKS),
    ),
    "random": (
        "100 random machines, a model each, T = 512",
        lambda: compare_own(map(drawn, OWN_SEEDS), 512, FLOATS + BLOCKS),
    ),
    "beaver": (
        "busy-beaver-5, T = 8,192",
        lambda: compare_own([(library_machine("busy-beaver-5"), ())], 8192, FLOATS + BLOCKS),
    ),
    "universal": ("one universal model, T = 1,024", compare_universal),
    "control": ("busy-beaver-5, T = 2,048, one unit off", control),
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or PARTS:
        title, run = PARTS[chosen]
        print(title, flush=True)
        run()
