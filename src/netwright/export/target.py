"""The interface of a target: the files that it writes for a network, and how to open them."""

import importlib.util
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from netwright.errors import InputError, unknown
from netwright.export.sources import has_source, source_of
from netwright.kind.registry import is_kind, kind_named
from netwright.network.network import Network
from netwright.network.tensors import NamedTensors

MAIN = """

if __name__ == "__main__":
    main(load())
"""
AT_ONCE = 2000
"""Maximum number of outputs to check in ways that are slow or take much memory."""

Arrays = dict[str, NDArray[Any]]
Step = tuple[Any, Mapping[str, Any]]
"""An output, and the tokens that each attention chose, counted from 0."""
Ways = dict[str, Iterator[Step]]
"""The ways to run a network in a check, each with its outputs."""


class Opened(Protocol):
    """An export that is loaded in its own runtime."""

    def outputs(self, word: Iterable[str]) -> Iterator[Step]:
        """Yield each output with the tokens attended to."""

    def pair(self, y: Any) -> tuple[str, str] | None:
        """Return the state and symbol that an output shows."""


class Target(ABC):
    """A format of export folders for one runtime."""

    name: str
    extra: str
    """The extra of netwright that installs `needs`; "" if none is necessary."""
    needs: tuple[str, ...]
    """The packages that write and run it."""
    code: str
    """The name of the file with the code."""
    dtypes: tuple[str, ...] = ("float64", "float32")
    """The supported types of numbers, the default first."""
    language = "python"
    """Of `usage`."""
    file: str | None = None
    """The one file that is needed; it may be written alone."""
    on: str | None = None
    """The kind of network that it takes, if it is one alone."""
    is_exact = False
    """Whether its numbers are not rounded."""
    is_certified = False
    """Whether `certificates.language_model` reads its files."""

    @property
    def runtime(self) -> tuple[str, ...]:
        """The packages in which it is checked."""
        return self.needs

    def checked_in(self) -> str:
        """Name the runtime of the check, for reports."""
        return " and ".join(self.runtime)

    def read_dtype(self, name: str | None) -> str:
        """Validate a type of numbers; None means the default."""
        if name is not None and name not in self.dtypes:
            raise InputError(unknown(f"dtype for {self.name}", str(name), self.dtypes))
        return name or self.dtypes[0]

    def takes(self, kind: str) -> bool:
        """Whether there is code for a kind of network."""
        return has_source(self.source_name(kind))

    def source_name(self, kind: str) -> str:
        """The module of `written` with the code for a kind."""
        code = kind_named(kind).construction.code if is_kind(kind) else ""
        return f"{self.name}_{(code or kind).replace('-', '_')}"

    def refusal(self, kind: str) -> str:
        """Say why it does not take a kind."""
        return f"{kind} has no code for {self.name}"

    def named(self, network: Network) -> NamedTensors:
        """Return what `write` takes of a network; raise InputError if it has no such form."""
        found: NamedTensors = network.tensors()
        return found

    def check_installed(self) -> None:
        """Raise InputError with the command to install what is missing."""
        missing = [name for name in self.needs if importlib.util.find_spec(name) is None]
        if missing:
            raise InputError(
                f"{self.name} needs {' and '.join(missing)}: pip install 'netwright[{self.extra}]'"
            )

    @abstractmethod
    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the files."""

    def write_code(self, named: NamedTensors, folder: Path, load: str = "") -> None:
        """Write the file with the code; with a function `load` it can be run as a script."""
        code = source_of(self.source_name(named.kind))
        write_text(folder / self.code, code + load + (MAIN if load else ""))

    def open(self, folder: Path) -> Opened:
        """Load the network in a folder with the code in that folder."""
        opened: Opened = load_module(folder / self.code).load()
        return opened

    def compared_as(self, dtype: str) -> str | None:
        """The type of numpy in which the stored numbers are exact; None if they are not."""
        return dtype

    @abstractmethod
    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return all tensors in the files, by name."""

    def ways(self, opened: Opened, word: Sequence[str], exact: NDArray[Any]) -> Ways:
        """Run the network on a word in every way that the check compares with the exact outputs."""
        return {"step by step": opened.outputs(word)}

    def explained(self, named: NamedTensors) -> list[str]:
        """Return paragraphs of the README on how to read the files."""
        return ["A weight has a row for each input and a column for each output: x·A + b."]

    @abstractmethod
    def usage(self, named: NamedTensors) -> str:
        """Return a few lines of code that run the network, for the README."""


def load_module(path: Path) -> Any:
    """Import a file as a module without registering it or writing bytecode."""
    spec = importlib.util.spec_from_file_location("netwright_export", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, lone surrogates escaped."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Write JSON, as readable as UTF-8 allows; without white space if `indent` is None."""
    form: dict[str, Any] = {"indent": indent, "separators": (",", ":" if indent is None else ": ")}
    text = json.dumps(value, ensure_ascii=False, **form)
    try:
        text.encode()
    except UnicodeEncodeError:  # a name with half of a pair of surrogates
        text = json.dumps(value, **form)
    write_text(path, f"{text}\n")


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write a safetensors file for torch."""
    from safetensors.numpy import save

    path.write_bytes(save(arrays, {"format": "pt"}))


def arrays_of(named: NamedTensors, dtype: str) -> Arrays:
    """Round all tensors to arrays."""
    return {name: tensor.to_numpy(dtype) for name, tensor in named.tensors.items()}


def usage_lines(module: str, named: NamedTensors) -> str:
    """Return the lines of Python that run a network whose code is in a module of the folder."""
    word = word_text(named)
    return f"""\
from {module} import load  # in this folder

network = load()
for t, state, symbol in network.run({word}):
    print(t, state, symbol)
print(network.outcome({word}))
"""


def word_text(named: NamedTensors) -> str:
    """The machine's default input as a Python literal."""
    word = named.names["default_input"]
    return repr("".join(word) if all(len(symbol) == 1 for symbol in word) else word)
