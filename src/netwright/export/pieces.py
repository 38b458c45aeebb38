"""Llama's tokenizer: a vocabulary for programs that only merge pairs of pieces.

Every word of a text begins with the mark `▁`. A token's piece is its text with the mark before it,
and every prefix of a piece is a piece too, so that there is exactly one way to merge a word, from
its left. Single characters without a mark are pieces, so that a word of letters may be written
without spaces: `abba` is `▁a b b a`, and those characters have the rows of the letters. Bytes are
there for characters that are not. All other pieces have the row of `<unk>`.

The same list makes tokenizer.json, tokenizer.model (SentencePiece's protocol buffer) and GGUF.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from netwright.errors import InputError
from netwright.export.target import write_json
from netwright.text import printable

MARK = "▁"
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
"""SentencePiece's numbers for kinds of pieces, which GGUF has too."""
SPECIAL = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
TEMPLATE = "{{{{ bos_token + (messages[-1]['content'] | trim{after}) | trim }}}}"
"""A chat is its last message, and nothing else: no space may follow `<s>`."""


class Piece(NamedTuple):
    """A piece, its kind, and the token whose row it has."""

    text: str
    kind: int
    row: int


def pieces_of(names: Mapping[str, Any]) -> list[Piece]:
    """The pieces of a model: those of its tokens, in order, then all that is added.

    InputError for a text that has the mark in it.
    """
    texts = names["vocabulary"]
    for text in texts:
        if MARK in text:
            raise InputError(
                f"{printable(text)!r} has the character {MARK}, with which Llama's tokenizer marks "
                "words; rename the state or symbol"
            )
    unknown = texts.index("<unk>")
    found = {}
    for n, text in enumerate(texts):
        piece = text if text in SPECIAL else MARK + text
        found[piece] = Piece(piece, SPECIAL.get(text, NORMAL), n)
    for byte in range(256):
        found[f"<0x{byte:02X}>"] = Piece(f"<0x{byte:02X}>", BYTE, unknown)
    for text in texts:
        if text not in SPECIAL:
            for prefix in accumulate(MARK + text):
                found.setdefault(prefix, Piece(prefix, NORMAL, unknown))
    letters = {text: texts.index(text) for text in names["letters"] if len(text) == 1}
    for character in dict.fromkeys("".join(text for text in texts if text not in SPECIAL)):
        row = letters.get(character, unknown)
        found.setdefault(character, Piece(character, NORMAL, row))
    return list(found.values())


def template(names: Mapping[str, Any]) -> str:
    """The chat template, whose prompt is the bare word."""
    return TEMPLATE.format(after="".join(f" + ' {text}'" for text in names["after"]))


def write_llama_tokenizer(folder: Path, names: Mapping[str, Any]) -> None:
    """Write tokenizer.json with its configuration, and tokenizer.model."""
    pieces = pieces_of(names)
    number = {piece.text: n for n, piece in enumerate(pieces)}
    special = [text for text in SPECIAL if text in number]
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    # What is added after a text has no name; converters to GGUF take one for the end token's.
    start = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    after = {"SpecialToken": {"id": "", "type_id": 0}}
    words = [MARK + text for text in names["after"]]
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    added = {"<s>": ["<s>"], **({"": words} if words else {})}

    write_json(
        folder / "tokenizer.json",
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {"id": number[text], "content": text, **plain, "special": True} for text in special
            ],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Prepend", "prepend": MARK},
                    {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
                ],
            },
            "pre_tokenizer": None,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [start, first, *([after] if words else [])],
                "pair": [start, first, second],
                "special_tokens": {
                    name: {"id": name, "ids": [number[text] for text in texts], "tokens": texts}
                    for name, texts in added.items()
                },
            },
            "decoder": {
                "type": "Sequence",
                "decoders": [
                    {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
                    {"type": "ByteFallback"},
                    {"type": "Fuse"},
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                ],
            },
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": "<unk>",
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": True,
                "ignore_merges": False,
                "vocab": number,
                "merges": list(_merges(pieces)),
            },
        },
    )
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "unk_token": "<unk>",
            "pad_token": "</s>",
            "padding_side": "left",
            "clean_up_tokenization_spaces": False,
            "model_max_length": names["context"],
            "chat_template": template(names),
        },
    )
    (folder / "tokenizer.model").write_bytes(_sentencepiece(pieces))


def _merges(pieces: Sequence[Piece]) -> Iterator[list[str]]:
    """The pairs that make longer pieces: a prefix and a character."""
    for piece in pieces:
        if piece.kind == NORMAL and len(piece.text) > 1:
            yield [piece.text[:-1], piece.text[-1]]


def score(number: int) -> float:
    """The score of a piece, which orders merges: any order will do."""
    return -float(number)


# SentencePiece's protocol buffer: sentencepiece_model.proto of github.com/google/sentencepiece.


def _field(number: int, value: bytes | str | int | float) -> bytes:
    """A field: its number and wire type, and its value."""
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _sentencepiece(pieces: Sequence[Piece]) -> bytes:
    """A ModelProto: its pieces, a trainer's and a normalizer's settings."""
    number = {piece.text: n for n, piece in enumerate(pieces)}
    parts = [
        _field(1, _field(1, piece.text) + _field(2, score(n)) + _field(3, piece.kind))
        for n, piece in enumerate(pieces)
    ]
    trainer: dict[int, str | int] = {
        3: 2,  # model_type: BPE
        4: len(pieces),
        35: 1,  # byte_fallback
        40: number["<unk>"],
        41: number["<s>"],
        42: number["</s>"],
        45: "<unk>",
        46: "<s>",
        47: "</s>",
    }
    normalizer: dict[int, str | int] = {1: "identity", 3: 1, 4: 0, 5: 1}
    for place, fields in ((2, trainer), (3, normalizer)):
        parts.append(_field(place, b"".join(_field(n, value) for n, value in fields.items())))
    return b"".join(parts)
