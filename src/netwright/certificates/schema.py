"""The schema of certificates: one type and one spelling for every value in the file.

The checks compare names by `==`, put them into sets and use them as keys. That is sound for text
alone: JSON's `null` would be taken for "no state", a NaN is unequal to itself, `true` equals 1. So
the whole file is validated before any check: names are text that is not empty, numbers are integers
or rationals in lowest terms as text, no key is missing, unknown or given twice.
"""

import json
import re
from collections.abc import Callable, Iterable
from itertools import count, repeat
from typing import Any

from flint import fmpq

from netwright.errors import FormatError

Shape = Callable[[object], None]
"""A validator: raises `Misfit` for a value of another form."""
LARGEST_INDEX = 1 << 31
LONGEST_NUMBER = 4_000
"""In digits; Python refuses to parse an integer of more than 4,300."""


def parse(data: bytes, label: str) -> Any:
    """Parse JSON; raise FormatError for constants, floats, and keys that occur twice."""

    def refuse(found: str) -> Any:
        raise FormatError(f"{label}: found the number {found[:40]}; expected an integer or text")

    def integer(found: str) -> int:
        return int(found) if len(found) <= LONGEST_NUMBER else refuse(found)

    def entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return unique(pairs, f"{label}: an object")

    try:
        return json.loads(
            data,
            object_pairs_hook=entries,
            parse_constant=refuse,
            parse_float=refuse,
            parse_int=integer,
        )
    except RecursionError:
        raise FormatError(f"{label} is not a netwright certificate: nested too deeply") from None
    except ValueError as error:
        reason = str(error).split(" in position")[0]
        raise FormatError(f"{label} is not a netwright certificate: not JSON: {reason}") from None


def unique(pairs: Iterable[tuple[Any, Any]], what: str) -> dict[Any, Any]:
    """A dictionary from pairs; raise FormatError for a key that occurs twice."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise FormatError(f"{what}: {key!r} occurs twice")
        found[key] = value
    return found


class Misfit(Exception):  # noqa: N818  # it never leaves this module
    """A value of the wrong form; each container around it appends its place to `path`."""

    def __init__(self, expected: str, value: object) -> None:
        self.path: list[str] = []
        super().__init__(f"expected {expected}, got {shown(value)}")


def shown(value: object) -> str:
    """A value as JSON, cut to 60 characters."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = repr(value)
    except RecursionError:
        text = "something nested deeply"
    return text if len(text) <= 60 else f"{text[:57]}…"


def require(shape: Shape, value: object, label: str) -> None:
    """Validate a value; raise FormatError that names the place of the first misfit."""
    try:
        shape(value)
    except Misfit as misfit:
        place = "".join(reversed(misfit.path)).removeprefix(".")
        raise FormatError(
            f"{label}: {place}: {misfit}" if place else f"{label}: {misfit}"
        ) from None


def text(value: object) -> None:
    """A name: text that is not empty and can be encoded as UTF-8."""
    if type(value) is not str or not value or any("\ud800" <= c <= "\udfff" for c in value):
        raise Misfit("text that is not empty and has no lone surrogates", value)


def index(value: object) -> None:
    """An integer that is not negative; no boolean."""
    if type(value) is not int or not 0 <= value < LARGEST_INDEX:
        raise Misfit(f"an integer from 0 to {LARGEST_INDEX - 1}", value)


def power(value: object) -> None:
    """A small integer, possibly negative; no boolean."""
    if type(value) is not int or not -64 <= value <= 64:
        raise Misfit("an integer from -64 to 64", value)


def flag(value: object) -> None:
    """A boolean."""
    if type(value) is not bool:
        raise Misfit("true or false", value)


def rational(value: object) -> None:
    """A rational in lowest terms, such as "-1/2" or "3"."""
    written = type(value) is str and len(value) <= LONGEST_NUMBER
    match = re.fullmatch(r"(-?[0-9]+)(?:/([1-9][0-9]*))?", str(value)) if written else None
    if match is None or str(fmpq(int(match[1]), int(match[2] or 1))) != value:
        raise Misfit('a rational in lowest terms, such as "-1/2" or "3"', value)


def one_of(*choices: str) -> Shape:
    """One of some words."""

    def check(value: object) -> None:
        if type(value) is not str or value not in choices:
            raise Misfit(f"one of {', '.join(choices)}", value)

    return check


def nothing(value: object) -> None:
    """null."""
    if value is not None:
        raise Misfit("null", value)


def optional(shape: Shape) -> Shape:
    """null, or a value of a form."""

    def check(value: object) -> None:
        if value is not None:
            shape(value)

    return check


def writable(value: object) -> None:
    """JSON that any file can hold: no floats, and no lone surrogates in texts."""
    if isinstance(value, dict):
        for key, item in value.items():
            writable(key)
            writable(item)
    elif isinstance(value, list):
        for item in value:
            writable(item)
    elif isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise Misfit("text that has no lone surrogates", value)
    elif value is not None and not isinstance(value, int):
        raise Misfit("text or an integer", value)


def _check_each(
    places: Iterable[object], shapes: Iterable[Shape], values: Iterable[object], written: str
) -> None:
    """Validate the values in a container; a misfit gets its place, `written` as `[{}]` or `.{}`."""
    place: object = ""
    try:
        for place, shape, value in zip(places, shapes, values, strict=False):  # noqa: B007
            shape(value)
    except Misfit as misfit:
        misfit.path.append(written.format(place))
        raise


def sequence(shape: Shape) -> Shape:
    """A list whose items have one form."""

    def check(value: object) -> None:
        if not isinstance(value, list | tuple):
            raise Misfit("a list", value)
        _check_each(count(), repeat(shape), value, "[{}]")

    return check


def row(*shapes: Shape) -> Shape:
    """A list of fixed length, each item with a form of its own."""

    def check(value: object) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(shapes):
            raise Misfit(f"a list of {len(shapes)}", value)
        n = 0
        try:  # not by `_check_each`: rows are most of a certificate
            for n, shape in enumerate(shapes):
                shape(value[n])
        except Misfit as misfit:
            misfit.path.append(f"[{n}]")
            raise

    return check


def by_name(value: object) -> None:
    """An object whose keys are names, with any values."""
    if not isinstance(value, dict):
        raise Misfit("an object", value)
    _check_each(value, repeat(text), value, ".{}")


def record(**shapes: Shape) -> Shape:
    """An object with these keys, all of them and no others."""
    keys = ", ".join(shapes)

    def check(value: object) -> None:
        if not isinstance(value, dict) or value.keys() != shapes.keys():
            found = list(value) if isinstance(value, dict) else value
            raise Misfit(f"an object with {keys}", found)
        _check_each(shapes, shapes.values(), map(value.__getitem__, shapes), ".{}")

    return check


_LABELLED = row(text, sequence(text))


def _block(value: object) -> None:
    """A block of a layout: its name if it is one coordinate, else its name and its labels."""
    (text if isinstance(value, str) else _LABELLED)(value)


MACHINE = record(
    states=sequence(text),
    symbols=sequence(text),
    blank=text,
    start=text,
    accepting=sequence(text),
    delta=sequence(row(text, text, text, text, one_of("L", "R", "S"))),
)
_VECTOR = sequence(row(index, rational))
_EMBEDDING = sequence(row(text, _VECTOR))
_LAYOUTS = sequence(sequence(_block))
_MAP = record(
    input=index, output=index, weights=sequence(row(index, index, rational)), bias=_VECTOR
)
_PRODUCTS = record(input=index, output=index, terms=sequence(sequence(_MAP)))


def _matrix(value: object) -> None:
    """A matrix as a sum of products, or as one map."""
    (_PRODUCTS if isinstance(value, dict) and "terms" in value else _MAP)(value)


_GIVEN = one_of("given")
"""What a network has in place of a second copy of the given machine."""


def _machine_or_given(value: object) -> None:
    (_GIVEN if isinstance(value, str) else MACHINE)(value)


_NETWORK = record(maps=sequence(_MAP), activation=text)
_LAYERS = sequence(record(Q=_NETWORK, K=_NETWORK, V=_NETWORK, O=_NETWORK))
_ATTENDING = {"layout": index, "F": _NETWORK, "score": text, "rho": text}
_TRANSFORMER = {"encoder": _LAYERS, "K": _NETWORK, "V": _NETWORK, "decoder": _LAYERS, **_ATTENDING}
_POSITIONS = record(layout=index, powers=sequence(row(text, power)))
_DECODER = {
    "layouts": _LAYOUTS,
    "network": record(**_TRANSFORMER, pos=_POSITIONS),
    "seed": _VECTOR,
}
_NORMAL = {
    "given": MACHINE,
    "normal": record(
        given=_GIVEN,
        machine=_machine_or_given,
        q_init=text,
        q_read=text,
        q_rewind=text,
        pauses=sequence(text),
    ),
}
_ENDS = {"embedding": _EMBEDDING, "final_states": sequence(text)}
TRANSFORMER = record(**_DECODER, **_NORMAL, **_ENDS, score=text)
_ATTENTION = one_of("absolute", "dot-product")
POINTER_TRANSFORMER = record(**_DECODER, **_NORMAL, **_ENDS, attention=_ATTENTION)
_NO_POSITIONS = {**_DECODER, "network": record(**_TRANSFORMER, pos=nothing, masked=flag)}
POSITIONLESS_TRANSFORMER = record(**_NO_POSITIONS, **_NORMAL, **_ENDS)
_HEADS = record(heads=sequence(record(Q=_NETWORK, K=_NETWORK, V=_NETWORK)), O=_NETWORK)
_WITH_HEADS = record(**_ATTENDING, decoder=sequence(_HEADS), pos=optional(_POSITIONS))
RESIDUAL_FREE_TRANSFORMER = record(
    **{**_DECODER, "network": _WITH_HEADS},
    **_ENDS,
    given=MACHINE,
    prompted=record(
        given=_GIVEN, machine=_machine_or_given, load=text, run=text, pauses=sequence(text)
    ),
)
RULES_ALONE = record(**_DECODER)
_RULES = {
    **_DECODER,
    **_NORMAL,
    "attention": _ATTENTION,
    "symbols": _EMBEDDING,
    "rules": sequence(row(text, text, _VECTOR)),
}
UNIVERSAL_RULES = record(**_RULES)
UNIVERSAL_SMALL = record(**_RULES, dead=text, accepted=_VECTOR)
TEXT_ALONE = record(**_DECODER, embedding=_EMBEDDING)
UNIVERSAL_TEXT = record(
    **_DECODER,
    given=MACHINE,
    prompt=record(
        given=_GIVEN,
        long=flag,
        machine=_machine_or_given,
        pauses=sequence(text),
        states=sequence(row(text, index)),
        symbols=sequence(row(text, index)),
    ),
    embedding=_EMBEDDING,
    rules=text,
)
_STACKS = {
    "given": MACHINE,
    "layouts": _LAYOUTS,
    "neurons": record(
        machine=_GIVEN,
        base=rational,
        digits=sequence(row(text, index)),
        tops=sequence(row(text, row(text, one_of("L", "R", "S"), index))),
    ),
    "embedding": _EMBEDDING,
    "final_states": sequence(text),
}
RNN = record(
    **_STACKS,
    network=record(
        layout=index,
        W=_matrix,
        V=_matrix,
        U=_matrix,
        R=optional(_matrix),
        b1=optional(_VECTOR),
        b2=optional(_VECTOR),
        O=text,
        f1=text,
        f2=text,
    ),
)
_BANK = record(kernels=sequence(sequence(_matrix)), bias=optional(sequence(_VECTOR)), f=text)
NEURAL_GPU = record(
    **_STACKS, network=record(layout=index, U=_BANK, R=_BANK, F=_BANK, width=index, circular=flag)
)
CERTIFICATE = record(
    kind=text,
    on=text,
    holds=flag,
    obligations=sequence(record(obligation=text, cases=index, failure=optional(text))),
    network=by_name,
)
"""A whole file; its network is validated by the shape of its kind."""
