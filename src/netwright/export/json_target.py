"""The exact network as one JSON file, every number as text: for programs in other languages.

`network.json` has the tree of the saved file (`network.tree`), with numbers as `"p/q"`, and what a
page needs to show it: the blocks of its vectors and the weights with their meanings, the view of a
moment, and the statements of its proof. The page's own engine runs it (`explorer/web/engine`).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from netwright.errors import FormatError
from netwright.exact.vector import Vector
from netwright.export.check import Checked, WrongOutput
from netwright.export.target import Arrays, Target, arrays_of, write_json
from netwright.kind.registry import exact_kinds
from netwright.network.network import Network
from netwright.network.saved import from_parts, parts_of
from netwright.network.tensors import RATIONAL, NamedTensors
from netwright.network.tree import maps

VERSION = "netwright JSON 1"
FILE = "network.json"


@dataclass
class NetworkData(NamedTensors):
    """A network's names, and all of it as plain data."""

    data: dict[str, Any] = field(default_factory=dict)


def network_data(network: Network) -> dict[str, Any]:
    """The whole network as data for JSON.

    >>> from netwright.machine.library import library_machine
    >>> from netwright.network.network import compile_network
    >>> data = network_data(compile_network(library_machine("palindrome")))
    >>> data["version"], data["kind"], data["written"]["network"]["score"]
    ('netwright JSON 1', 'transformer', 'score_phi')
    >>> data["written"]["network"]["decoder"][1]["V"]["maps"][0]["weights"]
    [[29, 31, '1'], [30, 32, '1']]
    """
    parts, look = parts_of(network), network.kind.look
    return {
        "version": VERSION,
        "kind": parts.pop("on"),
        "statement": network.kind.statement,
        "dimension": network.dimension,
        "blocks": [
            [block, list(labels), look.meanings.of_block(block)]
            for block, labels in network.layout.blocks
        ],
        "meanings": {name: look.meanings.of_weight(name) for name in network.weights()},
        "view": {
            **asdict(look.view),
            "groups": [[b for b in g if b in network.layout] for g in look.view.groups],
            "short": dict(look.view.short),
            "score": look.score(network.compiled),
        },
        "reader": look.reader,
        "maps": [[leaf.name, list(leaf.path)] for leaf in maps(network.compiled.network)],
        "parts": list(network.parts),
        **_statements(network),
        "proof": dict(network.kind.proof.formulae),
        **parts,
    }


def _statements(network: Network) -> dict[str, Any]:
    """The statements that `verify` compares in the first steps, and those of vectors by name.

    A change of the network does not alter them. `reading` has those of the times at which a prompt
    is read; it is empty if the machine starts at once.
    """
    machine, kind = network.machine, network.kind
    whole = kind.construction.construct(machine, network.options)
    word = () if machine.blank in machine.default_input else machine.default_input
    lead = kind.look.history(whole, word, 1).lead
    lemmas = dict[str, None]()
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for check in kind.proof.checks(whole, word, 1):
        lemmas[check.statement] = None
        if check.name == "y" or re.fullmatch("[apz][0-9]", check.name):
            name = check.name if check.name == "y" else f"decoder.{check.name[1]}.{check.name[0]}"
            found[check.time + 1 < lead].setdefault(name, check.statement)
    return {"lemmas": [*lemmas], "statements": found[False], "reading": found[True]}


class JsonTarget(Target):
    """A file network.json: exact rationals, for the exact kinds."""

    name, extra, needs, code = "json", "", (), FILE
    dtypes, is_exact = (RATIONAL,), True

    def takes(self, kind: str) -> bool:
        """Whether networks of the kind are exact rationals."""
        return kind in exact_kinds()

    def refusal(self, kind: str) -> str:
        """Say that the numbers of a language model are floats in the end."""
        return f"{kind} is not exact (its softmax and layer norms are floats), and {self.name} is"

    def checked_in(self) -> str:
        """Name what reads the file in the check."""
        return "netwright"

    def named(self, network: Network) -> NetworkData:
        """Return the names of all layouts and weights, and the data."""
        construction, meanings = network.kind.construction, network.kind.look.meanings
        compiled = network.compiled.network
        found = NamedTensors.of(construction, network.machine, compiled, meanings)
        return NetworkData(**vars(found), data=network_data(network))

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the file."""
        assert isinstance(named, NetworkData)
        write_json(folder / FILE, named.data, indent=None)

    def open(self, folder: Path) -> Any:
        """Read the file back as a network."""
        data = json.loads((folder / FILE).read_text(encoding="utf-8"))
        if data.get("version") != VERSION:
            raise FormatError(f"{FILE} is not of version {VERSION!r}")
        return from_parts({**data, "on": data["kind"]}, FILE)

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the tensors of the network that was read back."""
        return arrays_of(self.named(opened), RATIONAL)

    def check(
        self, network: Network, opened: Any, words: Sequence[tuple[str, ...]], count: int
    ) -> list[Checked]:
        """Compare the outputs of the network in the file with those of the network, exactly."""
        return [_checked(network, opened, word, count) for word in words]

    def explained(self, named: NamedTensors) -> list[str]:
        """Return a paragraph on the tree."""
        return [
            "`network.json` has version, kind, machine, options, changes; the blocks of the "
            "vectors and the weights with their meanings; the view of a moment; the statements of "
            "the proof, also by vector; the parts that can be left out; `maps`, the path of each "
            "map in the network by name; and `written`, the network: a map x·A + b is the numbers "
            'of its layouts `input` and `output`, `weights` as [row, column, "p/q"] and `bias` '
            'as [column, "p/q"], without zeros. The rows of `layouts` are blocks: a name, or a '
            "name and labels."
        ]

    def usage(self, named: NamedTensors) -> str:
        """Read the file with the standard library."""
        return f"""\
import json

network = json.load(open("{FILE}", encoding="utf-8"))  # in this folder
print(network["kind"], network["dimension"], network["written"]["network"].keys())"""


def _checked(network: Network, opened: Network, word: tuple[str, ...], count: int) -> Checked:
    outputs = [_outputs(each, word, count) for each in (network, opened)]
    done, wrong = 0, None
    for done, (right, found) in enumerate(zip(*outputs, strict=True), start=1):
        if right != found:
            wrong = WrongOutput(done, None, str(right), str(found))
            break
    return Checked(word, "read back", done, done < count, None, wrong, 0.0)


def _outputs(network: Network, word: tuple[str, ...], count: int) -> list[Vector]:
    moments = map(network.kind.reading.output, network.trace(word, max_steps=count))
    return [*islice((y for y in moments if y is not None), count)]
