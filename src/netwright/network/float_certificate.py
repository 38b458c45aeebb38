"""Certificates of language models in floats: for a folder, or for a network; saved, and checked."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from netwright.certificates.language_model.checker import Model, Proof, prove
from netwright.certificates.language_model.classes import Names
from netwright.certificates.language_model.file import (
    certificate,
    lead_text,
    read_certificate,
    written,
)
from netwright.certificates.language_model.llama.classes import LlamaNames
from netwright.certificates.language_model.llama.forward import LlamaModel, prove_llama
from netwright.certificates.language_model.llama.universal import LlamaUniversal
from netwright.certificates.language_model.reading import (
    Files,
    check_tokens,
    read_folder,
    universal_in,
)
from netwright.certificates.language_model.rounding import EXACT, FORMATS, Format, promises
from netwright.certificates.language_model.universal import Universal
from netwright.certificates.reading import Machine
from netwright.errors import FormatError, InputError
from netwright.files import check_output, output_path, read_file, write_whole
from netwright.html import table
from netwright.kind.language_model.construction import (
    CompiledLanguageModel,
    compile_language_model,
)
from netwright.kind.language_model.llama.checkpoint import EPSILON
from netwright.kind.language_model.llama.construction import compile_llama
from netwright.kind.language_model.llama.phases import THETA
from netwright.kind.language_model.llama.universal import universal_llama
from netwright.kind.language_model.universal import UniversalModel, universal_model
from netwright.kind.language_model.vocabulary import LONGEST, SHORTEST
from netwright.machine.turing_machine import TuringMachine
from netwright.machine.written import behaviour, machine_of
from netwright.network.certificate import LARGEST
from netwright.network.network import Network
from netwright.text import Notify

COMPILERS: Mapping[str, Callable[[TuringMachine, int], CompiledLanguageModel]] = {
    "gpt2": compile_language_model,
    "llama": compile_llama,
}
UNIVERSAL: Mapping[str, Callable[[int, int, int], UniversalModel]] = {
    "gpt2": universal_model,
    "llama": universal_llama,
}
MOST_PARTS = 64
"""Maximum for `partial_sums`."""


@dataclass(frozen=True)
class FloatCertificate:
    """For each format whether the right token is proved to be the argmax in every context."""

    about: TuringMachine | Universal
    """The machine, or the states and symbols of all machines."""
    model: Mapping[str, Any]
    """Its architecture, context, number of parameters, and the digest of tensors and tokens."""
    partial_sums: int
    proofs: tuple[Proof, ...]
    """That of the model without rounding first."""

    @property
    def holds(self) -> bool:
        """Whether all of them are proofs, but for the first: rounded weights are not whole."""
        return all(proof.holds for proof in self.proofs[1:])

    @property
    def machine(self) -> TuringMachine | None:
        """The machine; None if it is for all of them."""
        return None if isinstance(self.about, Universal) else self.about

    def to_bytes(self) -> bytes:
        """The content of a file for `check_float_certificate`."""
        if isinstance(self.about, Universal):
            about: dict[str, Any] = {"universal": self.about.sizes}
        else:
            about = {"machine": behaviour(self.about)}
        return certificate(about, self.model, self.partial_sums, self.proofs)

    def save(self, path: PathLike[str] | str, *, force: bool = False) -> None:
        """Write it to a file; an existing one is overwritten only with `force`."""
        place = output_path(path)
        check_output(place, force=force)
        write_whole(place, self.to_bytes())

    @property
    def facts(self) -> dict[str, Any]:
        """The result as JSON."""
        if isinstance(self.about, Universal):
            about: dict[str, Any] = {"universal": self.about.sizes}
        else:
            about = {"machine": {"digest": self.about.digest, **behaviour(self.about)}}
        return {
            **about,
            "model": dict(self.model),
            "partial_sums": self.partial_sums,
            "certified": self.holds,
            "proofs": [written(proof) for proof in self.proofs],
        }

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        found = [f"{p.format} {'certified' if p.holds else 'not certified'}" for p in self.proofs]
        return (
            f"<{self.model['architecture']}, context {self.model['context']:,}: {', '.join(found)}>"
        )

    def _repr_html_(self) -> str:
        rows = [(p.format, "certified" if p.holds else "not certified", p.tightest)
                for p in self.proofs]  # fmt: skip
        return table(repr(self)[1:-1], ["format", "", "tightest"], rows)


def certify_files(
    files: Files,
    machine: TuringMachine | None,
    dtypes: Sequence[str] | None = None,
    partial_sums: int = 0,
    notify: Notify = lambda _: None,
    label: str = "the checkpoint",
) -> FloatCertificate:
    """Prove a checkpoint in some formats; FormatError if its tokens are of another machine.

    A universal one takes no machine.
    """
    if not 0 <= partial_sums <= MOST_PARTS:
        raise InputError(f"partial sums are {partial_sums}; expected 0 to {MOST_PARTS}")
    about, proofs = machine or universal_in(files, label), []
    argument = _argument(about, files.architecture)
    if isinstance(argument, Names | LlamaNames):
        check_tokens(files, argument, label)
    for each in (EXACT, *(FORMATS[name] for name in dtypes or files.formats)):
        notify(f"{each.name}, context {files.model.context:,}")
        proofs.append(_proved(files.model, argument, each, partial_sums))
    parameters = sum(int(tensor.size) for tensor in files.model.tensors.values())
    model = {
        "architecture": files.architecture,
        "context": files.model.context,
        "parameters": parameters,
        "digest": files.digest,
    }
    return FloatCertificate(about, model, partial_sums, tuple(proofs))


def _proved(
    model: Model | LlamaModel,
    argument: Universal | Names | LlamaNames,
    format: Format,
    partial: int,
) -> Proof:
    if isinstance(model, LlamaModel):
        assert isinstance(argument, LlamaNames | LlamaUniversal)
        return prove_llama(model, argument, format, partial)
    assert isinstance(argument, Names | Universal)
    return prove(model, argument, format, partial)


def certify_folder(
    folder: PathLike[str] | str,
    machine: TuringMachine | None,
    dtypes: Sequence[str] | None = None,
    partial_sums: int = 0,
    notify: Notify = lambda _: None,
) -> FloatCertificate:
    """Prove that a folder of config.json, tokenizer.json and model.safetensors runs a machine.

    No machine means all of them, for a universal checkpoint, which has their rules in its prompt.
    Raise FormatError for files that are damaged or unknown, InputError for other architectures.
    """
    files = read_folder(Path(folder))
    return certify_files(files, machine, dtypes, partial_sums, notify, fspath(folder))


def files_of(network: Network) -> Files:
    """The checkpoint that a network is exported as; InputError if nothing here proves it."""
    if not network.kind.proof.in_floats:
        raise InputError("certificates in floats are for --on language-model")
    return _files(network.compiled)


def _files(compiled: CompiledLanguageModel | UniversalModel) -> Files:
    weights = compiled.weights()
    tokens = {text: n for n, text in enumerate(compiled.network.vocabulary)}
    sizes = weights.tensors, tokens, weights.blocks, weights.heads
    if weights.architecture == "llama":
        model = LlamaModel(*sizes, EPSILON, compiled.context, THETA)
        return Files(model, weights.architecture, tokens)
    if weights.architecture != "gpt2":
        raise InputError(f"no certificate for {weights.architecture} yet")
    return Files(Model(*sizes, 1e-5, compiled.context), "gpt2", tokens)


def _argument(
    about: TuringMachine | Universal, architecture: str
) -> Universal | Names | LlamaNames:
    """What is said of the texts of a machine, or of all of them."""
    if isinstance(about, Universal):
        return about
    names = LlamaNames if architecture.startswith("llama") else Names  # a GGUF says its types, too
    return names.of(Machine(behaviour(about)))


def _made(about: TuringMachine | Universal, context: int, architecture: str) -> Files:
    """The checkpoint that is exported for a machine, or for all of them."""
    if isinstance(about, Universal):
        make = UNIVERSAL[architecture]
        return _files(make(len(about.states), len(about.symbols), context))
    return _files(COMPILERS[architecture](about, context))


def certify_language_model(
    network: Network,
    dtypes: Sequence[str] | None = None,
    partial_sums: int = 0,
    notify: Notify = lambda _: None,
) -> FloatCertificate:
    """Prove the checkpoint that a network is exported as."""
    return certify_files(files_of(network), network.machine, dtypes, partial_sums, notify)


def certify_universal(
    states: int,
    symbols: int,
    context: int,
    dtypes: Sequence[str] | None = None,
    partial_sums: int = 0,
    notify: Notify = lambda _: None,
    architecture: str = "gpt2",
) -> FloatCertificate:
    """Prove the checkpoint for all machines that `export --universal` writes."""
    files = _files(UNIVERSAL[architecture](states, symbols, context))
    return certify_files(files, None, dtypes, partial_sums, notify)


def universal_of(folder: PathLike[str] | str) -> tuple[Universal, int]:
    """The states and symbols of a universal checkpoint, and its context."""
    files = read_folder(Path(folder))
    return universal_in(files, fspath(folder)), files.model.context


def greatest_contexts(
    about: TuringMachine | Universal,
    partial_sums: int = 0,
    notify: Notify = lambda _: None,
    architecture: str = "gpt2",
) -> dict[str, int | None]:
    """The greatest power of two, for each format, to which exported models are certified.

    Powers are tried downwards, so that all formats that have one are found in one go where 65,536
    is good for all; None if not even the shortest context is.
    """
    found: dict[str, int | None] = {}
    argument, context = _argument(about, architecture), LONGEST
    while context >= SHORTEST and len(found) < len(FORMATS):
        notify(f"context {context:,}")
        model = _made(about, context, architecture).model
        for name, each in FORMATS.items():
            if name not in found and _proved(model, argument, each, partial_sums).holds:
                found[name] = context
        context //= 2
    return {name: found.get(name) for name in FORMATS}


def check_float_certificate(
    path: PathLike[str] | str,
    folder: PathLike[str] | str | None = None,
    machine: TuringMachine | None = None,
    notify: Notify = lambda _: None,
) -> tuple[FloatCertificate, list[str]]:
    """Prove again what a certificate is about; return the proofs, and what in it is not so.

    Without a folder the model is compiled again from the machine, or the numbers of states and
    symbols, and the context.
    """
    label = fspath(path)
    whole = read_certificate(read_file(Path(path), LARGEST, "certificate"), label)
    said, is_universal = whole["model"], "universal" in whole
    given = None if is_universal else machine_of(whole["machine"])
    if is_universal and machine is not None:
        raise InputError(f"{label} is for all machines, so it takes no --machine")
    if folder is not None:
        files = read_folder(Path(folder))
    elif said["architecture"] not in COMPILERS:
        raise InputError(f"{label} is about {said['architecture']}; name its folder: --model")
    elif given is not None:
        files = _made(given, said["context"], said["architecture"])
    else:
        sizes = whole["universal"]["states"], whole["universal"]["symbols"], said["context"]
        files = _files(UNIVERSAL[said["architecture"]](*sizes))
    named = [each["format"] for each in whole["proofs"]]
    formats = [name for name in named if name in FORMATS]
    if not formats or len({*named}) != len(named):
        raise FormatError(f"{label}: proofs: expected one or more formats, each of them once")
    parts = whole["partial_sums"]
    found = certify_files(files, given, formats, parts, notify, fspath(folder or label))
    return found, list(_differences(whole, found, machine))


def _differences(
    whole: Mapping[str, Any], found: FloatCertificate, machine: TuringMachine | None
) -> Iterator[str]:
    """What a certificate says that is not so."""
    if isinstance(found.about, Universal):
        if whole["universal"] != found.about.sizes:
            yield f"the model has {_sizes(found.about.sizes)}, not {_sizes(whole['universal'])}"
    elif machine is not None and machine.digest != found.about.digest:
        yield (
            f"it is about another machine: sha256 {found.about.digest}, expected {machine.digest}"
        )
    for name, value in found.model.items():
        if whole["model"][name] != value:
            yield f"the model's {name} is {value}, not {whole['model'][name]}"
    if whole["model"] != found.model:
        return  # its leads are those of another one
    if whole["promises"] != [*promises(found.model["architecture"])]:
        yield "its promises are not those of the proof"
    claimed = {each["format"]: each for each in whole["proofs"]}
    for proof in found.proofs:
        claim = claimed.get(proof.format, {"certified": False, "leads": {}})
        if claim["certified"] and not proof.holds:
            yield f"{proof.format} is not certified: {proof.tightest}"
        for sort, text in claim["leads"].items():
            lead = proof.leads.get(sort)
            own = None if lead is None else lead_text(lead.least)
            if text is not None and text != own:
                yield f"{proof.format}: the lead of {sort} is {own or 'none'}, not {text[:20]}"


def _sizes(sizes: Mapping[str, int]) -> str:
    return f"{sizes['states']:,} states and {sizes['symbols']:,} symbols"
