"""What the files of a Llama say: RoPE, the tokens of a tokenizer that merges pairs, shapes."""

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from netwright.certificates.language_model.classes import RUN, UNKNOWN
from netwright.certificates.language_model.llama.classes import BOS, STOP
from netwright.certificates.language_model.universal import TAPE
from netwright.certificates.schema import shown
from netwright.errors import FormatError

ROPE = ("rope_theta", "rope_parameters")
MARK = "▁"
SPECIAL = (UNKNOWN, BOS, STOP)


def rope_of(path: Path, config: Mapping[str, Any]) -> float:
    """RoPE's base; FormatError if it is scaled, or if heads share keys."""
    theta, parameters = (config.get(name) for name in ROPE)
    if type(theta) is not float or not 1 < theta < 1e30:
        raise FormatError(f"{path}: rope_theta is {shown(theta)}; expected a base such as 1e12")
    if parameters != {"rope_type": "default", "rope_theta": theta}:
        raise FormatError(
            f"{path}: rope_parameters is {shown(parameters)}; expected the type default and the "
            "same rope_theta"
        )
    if config["num_key_value_heads"] != config["num_attention_heads"]:
        raise FormatError(f"{path}: num_key_value_heads must be num_attention_heads")
    if config["head_dim"] % 2 or config["head_dim"] > 256:
        raise FormatError(f"{path}: head_dim is {config['head_dim']}; expected an even size")
    return theta


def llama_shapes(tokens: int, sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The tensors of a Llama."""
    _, D, blocks, heads, F, _, size = sizes
    wanted: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (tokens, D),
        "model.norm.weight": (D,),
        "lm_head.weight": (tokens, D),
    }
    for n in range(blocks):
        place = f"model.layers.{n}"
        for norm in ("input_layernorm", "post_attention_layernorm"):
            wanted[f"{place}.{norm}.weight"] = (D,)
        for name in "qkv":
            wanted[f"{place}.self_attn.{name}_proj.weight"] = (heads * size, D)
        wanted[f"{place}.self_attn.o_proj.weight"] = (D, heads * size)
        for name in ("gate", "up"):
            wanted[f"{place}.mlp.{name}_proj.weight"] = (F, D)
        wanted[f"{place}.mlp.down_proj.weight"] = (D, F)
    return wanted


def llama_tokens(path: Path, tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """The tokens of words that are apart by spaces, by their texts; other pieces by themselves.

    A piece begins with the mark of words, and every merge adds one character to a piece. So a word
    is read from its left, and becomes one piece if all its beginnings are pieces.
    """
    model = tokenizer.get("model")
    if not isinstance(model, dict) or model.get("type") != "BPE":
        raise FormatError(f"{path}: model.type must be BPE")
    for name, value in (
        ("unk_token", UNKNOWN), ("dropout", None), ("continuing_subword_prefix", None),
        ("end_of_word_suffix", None), ("fuse_unk", False), ("byte_fallback", True),
        ("ignore_merges", False),
    ):  # fmt: skip
        if model.get(name, value) != value:
            raise FormatError(f"{path}: model.{name} is {shown(model.get(name))}")
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or sorted(
        (n for n in vocabulary.values() if type(n) is int), key=int
    ) != [*range(len(vocabulary))]:
        raise FormatError(f"{path}: model.vocab must number its tokens from 0 on")
    _check_around(path, tokenizer, vocabulary)
    merges = {tuple(pair) for pair in _merges(path, model.get("merges"), vocabulary)}
    found = dict[str, int]()
    for piece, number in vocabulary.items():
        text = piece
        if piece.startswith(MARK) and len(piece) > 1:
            whole = all((left, right[-1]) in merges for left, right in pairwise(accumulate(piece)))
            if not whole:
                raise FormatError(f"{path}: {shown(piece)} cannot be merged from its left")
            text = piece[len(MARK) :]
        elif piece not in SPECIAL:
            text = f"{piece} as a piece"
        if text in found:
            raise FormatError(f"{path}: two tokens have the text {shown(text)}")
        found[text] = number
    return found


def _merges(path: Path, merges: Any, vocabulary: Mapping[str, int]) -> Iterator[list[str]]:
    """Pairs of a beginning and a character."""
    for pair in merges if isinstance(merges, list) else [merges]:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not all(isinstance(part, str) and part in vocabulary for part in pair)
            or not pair[0].startswith(MARK)
            or len(pair[1]) != 1
            or pair[1] == MARK
            or "".join(pair) not in vocabulary
        ):
            raise FormatError(f"{path}: model.merges has {shown(pair)}")
        yield pair


def _check_around(path: Path, tokenizer: Mapping[str, Any], vocabulary: Mapping[str, int]) -> None:
    """Raise FormatError unless texts are marked, and `<s>` and `<run>` added, as they should be."""
    marking = [
        {"type": "Prepend", "prepend": MARK},
        {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
    ]
    if tokenizer.get("normalizer") != {"type": "Sequence", "normalizers": marking}:
        raise FormatError(f"{path}: normalizer must mark the beginnings of words")
    for name in ("pre_tokenizer", "truncation", "padding"):
        if tokenizer.get(name) is not None:
            raise FormatError(f"{path}: {name} must be null")
    given = tokenizer.get("post_processor")
    post = given if isinstance(given, dict) else {}
    special = post.get("special_tokens")
    around = [BOS] if MARK + TAPE in vocabulary else [BOS, MARK + RUN]
    wanted = [[vocabulary.get(piece)] for piece in around]
    names = _specials(post.get("single"))
    if (
        len(names) != len(wanted)
        or post.get("type") != "TemplateProcessing"
        or not isinstance(special, dict)
        or any(not isinstance(special.get(str(name)), dict) for name in names)
        or [special[name].get("ids") for name in names] != wanted
    ):
        after = f" and {RUN} after it" if len(around) > 1 else " and nothing else"
        raise FormatError(f"{path}: post_processor must add {BOS} before the text{after}")
    added = tokenizer.get("added_tokens") or []
    for each in added if isinstance(added, list) else [added]:
        known = isinstance(each, dict) and each.get("content") in SPECIAL
        if not known or vocabulary.get(each["content"]) != each.get("id"):
            raise FormatError(f"{path}: added_tokens has {shown(each)}")
        if any(each.get(flag) for flag in ("single_word", "lstrip", "rstrip", "normalized")):
            raise FormatError(f"{path}: added_tokens has {shown(each)}")


def _specials(single: Any) -> list[Any]:
    """The names of what is added before and after a text; nothing if it is in another form."""
    if not isinstance(single, list) or len(single) not in (2, 3):
        return []
    if single[1] != {"Sequence": {"id": "A", "type_id": 0}}:
        return []
    ends = [each.get("SpecialToken") for each in single[::2] if isinstance(each, dict)]
    return [each.get("id") for each in ends if isinstance(each, dict)]
