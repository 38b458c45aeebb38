"""What exports to Hugging Face share: tokenizers, written as files, and a quiet library.

A tokenizer takes words between white space.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from netwright.export.target import write_json


def write_tokenizer(
    folder: Path, vocabulary: Sequence[str], before: Sequence[str], behind: Sequence[str]
) -> None:
    """tokenizer.json and its configuration; some tokens are put before and behind every text.

    A word that is no token is an error: the token for unknown ones is not in the vocabulary.
    """
    number = {text: n for n, text in enumerate(vocabulary)}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    around = [*before, *behind]

    def template(*texts: str) -> list[dict[str, dict[str, object]]]:
        return [
            *({"SpecialToken": {"id": text, "type_id": 0}} for text in before),
            *({"Sequence": {"id": text, "type_id": 0}} for text in texts),
            *({"SpecialToken": {"id": text, "type_id": 0}} for text in behind),
        ]

    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number["<pad>"], "content": "<pad>", **special, "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template("A"),
            "pair": template("A", "B"),
            "special_tokens": {
                text: {"id": text, "ids": [number[text]], "tokens": [text]} for text in around
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
            "pad_token": "<pad>",
            "padding_side": "left",
            "clean_up_tokenization_spaces": False,
        },
    )


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Load models without bars, and without leaving a copy of their code in the user's cache."""
    from transformers import dynamic_module_utils
    from transformers.utils import logging

    bars, cache, paths = (
        logging.is_progress_bar_enabled(),
        dynamic_module_utils.HF_MODULES_CACHE,
        list(sys.path),
    )
    logging.disable_progress_bar()  # ours is enough
    with TemporaryDirectory() as folder:
        dynamic_module_utils.HF_MODULES_CACHE = folder
        try:
            yield
        finally:
            dynamic_module_utils.HF_MODULES_CACHE = cache
            sys.path[:] = paths
            if bars:
                logging.enable_progress_bar()
