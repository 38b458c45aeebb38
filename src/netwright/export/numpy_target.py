"""One file of Python that runs with numpy alone, the rational weights in it."""

import pprint
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwright.export.sources import source_of
from netwright.export.target import NOTICE, Target, running, word_text, write_text
from netwright.network.tensors import NamedTensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOT_NEEDED = ("layouts", "weights", "activations", "statement")
"""The names without which the network runs; names.json has them."""


class NumpyTarget(Target):
    """A file network.py."""

    name, extra, needs, code = "numpy", "", ("numpy",), "network.py"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """The code, then the names that it needs, then the numbers."""
        names = {key: value for key, value in named.names.items() if key not in NOT_NEEDED}
        shown = pprint.pformat(names, width=100, compact=True, sort_dicts=False)
        lines = [f"NAMES = {shown}", "", "# By name: the shape, and [index, …, number] if not 0."]
        lines.append("TENSORS = {")
        for name, tensor in named.tensors.items():
            entries = [[*place, str(number)] for place, number in sorted(tensor.entries.items())]
            lines.append(f"    {name!r}: ({tensor.shape}, {entries}),")
        lines.append("}")
        code = source_of(self.part(named.kind), NOTICE)
        numbers = "\n".join(lines)
        write_text(folder / self.code, f"{code}\n\n{numbers}\n{LOAD.format(dtype=dtype)}")

    def stored(self, opened: Any, folder: Path) -> "dict[str, NDArray[Any]]":
        """As the file has them."""
        return dict(opened.tensors)

    def usage(self, named: NamedTensors) -> str:
        """With numpy alone."""
        first = f"y, attended = next(network.outputs({word_text(named)}))"
        return running("network", named) + first


LOAD = '''

def load(dtype="{dtype}"):
    """The network, with numbers of some type."""
    return NETWORK(NAMES, TENSORS, dtype)


if __name__ == "__main__":
    main(load())
'''
