"""All targets."""

from netwright.errors import InputError, unknown
from netwright.export.checkpoint import GPT2Target, OPTTarget
from netwright.export.hugging_face import HuggingFaceTarget
from netwright.export.numpy_target import NumpyTarget
from netwright.export.onnx_target import OnnxTarget
from netwright.export.target import Target
from netwright.export.torch_target import TorchTarget

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *(NumpyTarget(), OnnxTarget(), TorchTarget(), HuggingFaceTarget()),
        *(GPT2Target(), OPTTarget()),
    )
}


def target_named(name: str) -> Target:
    """A target by its name."""
    if name not in TARGETS:
        raise InputError(unknown("target", str(name), list(TARGETS)))
    return TARGETS[name]
