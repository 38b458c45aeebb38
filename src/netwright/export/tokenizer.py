"""What exports to Hugging Face share: tokenizer files, and loading without side effects."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from netwright.export.target import write_json


def write_tokenizer(
    folder: Path, vocabulary: Sequence[str], before: Sequence[str], after: Sequence[str]
) -> None:
    """Write tokenizer.json and its configuration; tokens are separated by white space.

    The tokens `before` and `after` surround every text. An unknown word becomes `<unk>`; it is an
    error where that is not in the vocabulary.
    """
    number = {text: n for n, text in enumerate(vocabulary)}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    named = [text for text in ("<pad>", "<unk>") if text in number]

    def pieces(kind: str, texts: Sequence[str]) -> list[dict[str, dict[str, object]]]:
        return [{kind: {"id": text, "type_id": 0}} for text in texts]

    start, end = pieces("SpecialToken", before), pieces("SpecialToken", after)

    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": number[text], "content": text, **special, "special": True} for text in named
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [*start, *pieces("Sequence", "A"), *end],
            "pair": [*start, *pieces("Sequence", "AB"), *end],
            "special_tokens": {
                text: {"id": text, "ids": [number[text]], "tokens": [text]}
                for text in (*before, *after)
            },
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": number, "unk_token": "<unk>"},
    }
    write_json(folder / "tokenizer.json", tokenizer)
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            **{f"{text[1:-1]}_token": text for text in named},
            "eos_token": "<pad>",  # some converters need a text; runs end by the model's config
            "padding_side": "left",
            "clean_up_tokenization_spaces": False,
        },
    )


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Context manager: load models without progress bars or copies in the user's module cache."""
    from transformers import dynamic_module_utils
    from transformers.utils import logging

    bars, paths = logging.is_progress_bar_enabled(), list(sys.path)
    cache = dynamic_module_utils.HF_MODULES_CACHE
    logging.disable_progress_bar()
    with TemporaryDirectory() as folder:
        dynamic_module_utils.HF_MODULES_CACHE = folder
        try:
            yield
        finally:
            dynamic_module_utils.HF_MODULES_CACHE = cache
            sys.path[:] = paths
            if bars:
                logging.enable_progress_bar()
