"""automata-lib's DTM as JSON: the arguments of its constructor as one object.

    {"states": […], "input_symbols": […], "tape_symbols": […], "blank_symbol": ".",
     "initial_state": "q0", "final_states": ["q4"],
     "transitions": {"q0": {"0": ["q1", "x", "R"]}}}

A file may also hold several machines by name: FILE:NAME.
"""

import json
from typing import Any

from netwright.errors import FormatError
from netwright.machine.formats.draft import Draft, Source, several_tapes
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "automata-lib"
_MOVES = {"L": Move.L, "R": Move.R, "N": Move.S}
KEYS = ("states", "tape_symbols", "blank_symbol", "initial_state", "final_states", "transitions")


def recognises(text: str) -> bool:
    """Whether the text looks like a JSON object with transitions."""
    return text.lstrip().startswith("{") and '"transitions"' in text


def read(text: str, source: Source) -> TuringMachine:
    """Read the machine of a file, or the one that the part of the source names."""
    try:
        return from_data(json.loads(text, object_pairs_hook=_without_duplicates), source)
    except ValueError as error:
        raise FormatError(f"{source.label}: not JSON: {error}") from None
    except RecursionError:
        raise FormatError(f"{source.label}: nested too deeply to be a machine") from None


def from_data(data: Any, source: Source) -> TuringMachine:
    """The machine of the arguments of a constructor, or one of several by name."""
    draft = Draft(source, "automata-lib")
    if isinstance(data, dict) and "transitions" not in data:
        data = _pick(data, source)
    elif source.part:
        raise FormatError(f"{source.label} holds one machine; leave out ':{source.part}'")
    if not isinstance(data, dict):
        draft.fault("", f"expected an object, got a {type(data).__name__}")
        draft.stop_at_faults()
    if data.get("n_tapes", 1) != 1 or data.get("cls") == "MNTM":
        draft.fault("", several_tapes(data.get("n_tapes", "several")))
    elif data.get("cls") == "NTM":
        draft.fault("", "a nondeterministic machine (NTM); netwright reads deterministic machines")
    draft.stop_at_faults()
    for key in KEYS:
        if key not in data:
            draft.fault("", f"no {key!r}; a DTM has {', '.join(KEYS)}")
    draft.stop_at_faults()
    _read_transitions(data["transitions"], draft)
    lists = ("states", "tape_symbols", "final_states")
    states, symbols, accepting = (_names(data[key], key, draft) for key in lists)
    (blank,) = _names([data["blank_symbol"]], "blank_symbol", draft)
    (start,) = _names([data["initial_state"]], "initial_state", draft)
    return draft.build(
        blank=blank,
        start=start,
        states=states,
        symbols=symbols,
        accepting=accepting,
        input_symbols=_input_symbols(data, symbols, draft),
        name=source.part,
    )


def _input_symbols(data: dict[str, Any], symbols: list[str], draft: Draft) -> list[str]:
    """The declared input alphabet; warn of names that are not tape symbols and drop them."""
    if "input_symbols" not in data:
        return []
    names = _names(data["input_symbols"], "input_symbols", draft)
    if strange := [name for name in names if name not in symbols]:
        draft.doubt("input_symbols", f"{', '.join(strange[:8])}: not tape symbols, left out")
    return [name for name in names if name in symbols]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} occurs twice in one object")
        found[key] = value
    return found


def _names(values: Any, what: str, draft: Draft) -> list[str]:
    """States or symbols as strings; a number becomes its digits, as in the keys of JSON."""
    if not isinstance(values, list):
        draft.fault(what, f"expected a list, got {json.dumps(values)[:60]}")
        return []
    for value in values:
        if not _is_name(value):
            draft.fault(what, f"expected strings, got {json.dumps(value)[:60]}")
    names = [str(value) for value in values]
    if len(set(names)) < len(names):
        draft.fault(what, "a name occurs twice")
    return names


def _pick(data: dict[str, Any], source: Source) -> Any:
    if source.part in data:
        return data[source.part]
    names = [name for name, value in data.items() if isinstance(value, dict)]
    if not names:
        raise FormatError(f"{source.label}: JSON, but not a DTM of automata-lib: no 'transitions'")
    asked = f"no machine {source.part!r}" if source.part else f"{len(names)} machines"
    choices = ", ".join(f"{source.label}:{name}" for name in names[:8])
    raise FormatError(f"{source.label} holds {asked}; name one of: {choices}")


def _is_name(*values: Any) -> bool:
    """Whether all values are strings or integers; `true` is neither."""
    return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)


def _read_transitions(transitions: Any, draft: Draft) -> None:
    if not isinstance(transitions, dict):
        draft.fault("transitions", "expected an object of states")
        return
    for state, row in transitions.items():
        if not isinstance(row, dict):
            draft.fault(f"transitions of {state}", "expected an object of symbols")
            continue
        for symbol, value in row.items():
            place = f"transition ({state}, {symbol})"
            match value:
                case [[*_], *_]:
                    draft.fault(
                        place,
                        "a list of alternatives: the machine is nondeterministic; netwright reads "
                        "deterministic machines",
                    )
                case [target, write, "L" | "N" | "R" as move] if _is_name(target, write):
                    action = Action(str(target), str(write), _MOVES[move])
                    draft.rule(place, state, symbol, action)
                case _:
                    got = json.dumps(value)[:60]
                    draft.fault(place, f"expected [state, symbol, L, N or R], got {got}")
