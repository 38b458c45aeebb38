"""One Python file that needs only numpy and contains the rational weights."""

import pprint
from pathlib import Path
from typing import Any

from netwright.export.target import Arrays, Target, usage_lines, word_text
from netwright.network.tensors import NamedTensors

NOT_NEEDED = ("layouts", "weights", "activations", "statement")
"""Names that the code does not use; names.json has them."""


class NumpyTarget(Target):
    """A file network.py."""

    name, extra, needs, code = "numpy", "", ("numpy",), "network.py"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """Write the code, the names that it uses, and the numbers."""
        names = {key: value for key, value in named.names.items() if key not in NOT_NEEDED}
        shown = pprint.pformat(names, width=100, compact=True, sort_dicts=False)
        lines = [f"NAMES = {shown}", "", "# By name: the shape, and [index, …, number] if not 0."]
        lines.append("TENSORS = {")
        for name, tensor in named.tensors.items():
            entries = [[*place, str(number)] for place, number in sorted(tensor.entries.items())]
            lines.append(f"    {name!r}: ({tensor.shape}, {entries}),")
        numbers = "\n".join([*lines, "}"])
        self.write_code(named, folder, f"\n\n{numbers}\n{LOAD.format(dtype=dtype)}")

    def stored(self, opened: Any, folder: Path) -> Arrays:
        """Return the tensors of the loaded network."""
        return dict(opened.tensors)

    def usage(self, named: NamedTensors) -> str:
        """Use numpy alone."""
        first = f"y, attended = next(network.outputs({word_text(named)}))"
        return usage_lines("network", named) + first


LOAD = '''

def load(dtype="{dtype}"):
    """The network, with numbers of some type."""
    return NETWORK(NAMES, TENSORS, dtype)
'''
