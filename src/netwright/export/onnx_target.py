"""ONNX graphs, and a file that runs them with onnxruntime."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netwright.export import onnx_graphs
from netwright.export.sources import source_of
from netwright.export.target import NOTICE, Target, running, write_text
from netwright.network.tensors import NamedTensors

if TYPE_CHECKING:
    from numpy.typing import NDArray


class OnnxTarget(Target):
    """Files encoder.onnx, step.onnx, readout.onnx (start.onnx for a Transformer) and run.py."""

    name, extra, needs, code = "onnx", "onnx", ("onnx", "onnxruntime"), "run.py"

    def write(self, named: NamedTensors, folder: Path, dtype: str) -> None:
        """The graphs and the code."""
        write: Callable[[NamedTensors, str], dict[str, bytes]]
        write = getattr(onnx_graphs, self.part(named.kind).removeprefix(f"{self.name}_"))
        found = write(named, dtype)
        for name, content in {**found, "readout": onnx_graphs.readout(named, dtype)}.items():
            (folder / f"{name}.onnx").write_bytes(content)
        write_text(folder / self.code, source_of(self.part(named.kind), NOTICE) + LOAD)

    def stored(self, opened: Any, folder: Path) -> "dict[str, NDArray[Any]]":
        """The initializers of all graphs; the seed is the y with which it starts."""
        import onnx

        found = {}
        for path in sorted(folder.glob("*.onnx")):
            for each in onnx.load(path).graph.initializer:
                name = "seed" if each.name == "y at first" else each.name
                found[name] = onnx.numpy_helper.to_array(each)
        return found

    def usage(self, named: NamedTensors) -> str:
        """With onnxruntime and numpy."""
        return (
            running("run", named)
            + """\
for each in network.graphs["step"].get_outputs():
    print(each.name, each.shape)"""
        )


LOAD = '''

def load(folder=Path(__file__).parent):
    """The network in a folder: this one."""
    return NETWORK(folder)


if __name__ == "__main__":
    main(load())
'''
