"""The registry of targets, by name."""

from netwright.errors import InputError, unknown
from netwright.export.checkpoint import GPT2Target, OPTTarget
from netwright.export.gguf_target import GGUFTarget
from netwright.export.hugging_face import HuggingFaceTarget
from netwright.export.json_target import JsonTarget
from netwright.export.llama import LlamaTarget
from netwright.export.numpy_target import NumpyTarget
from netwright.export.onnx_target import OnnxTarget
from netwright.export.target import Target
from netwright.export.torch_target import TorchTarget
from netwright.export.transformers_js_target import TransformersJsTarget

_CLASSES: tuple[type[Target], ...] = (
    *(NumpyTarget, OnnxTarget, TorchTarget, HuggingFaceTarget),
    *(GPT2Target, OPTTarget, LlamaTarget, GGUFTarget, TransformersJsTarget, JsonTarget),
)
TARGETS: dict[str, Target] = {each.name: each() for each in _CLASSES}


def target_named(name: str) -> Target:
    """Look up a target; raise InputError for an unknown name."""
    if name not in TARGETS:
        raise InputError(unknown("target", str(name), list(TARGETS)))
    return TARGETS[name]
