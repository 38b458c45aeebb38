"""JFLAP 6 and 7 files (.jff) with one tape.

An empty `read` or `write` is the blank. `~` reads any symbol, or writes back the symbol read; `!x`
reads any symbol but x and is tried last. JFLAP takes the first transition of the file that fits;
two that read the very same symbol make the file nondeterministic. States are `state` elements, or
in version 6 `block` elements; a block with a machine inside is not a state.
"""

from collections import Counter
from typing import Any, NamedTuple

from netwright.errors import FormatError
from netwright.machine.formats.draft import MOST_PAIRS, Draft, Source, several_tapes
from netwright.machine.turing_machine import Action, Move, TuringMachine

NAME = "jflap"
BLANK = "□"


class _Transition(NamedTuple):
    place: str
    state: str
    read: str
    write: str
    move: Move
    target: str

    @property
    def is_wild(self) -> bool:
        return self.read == "~" or len(self.read) == 2

    def fits(self, symbol: str) -> bool:
        if len(self.read) == 2:  # !x
            return symbol != self.read[1]
        return self.read in ("~", symbol)

    def action(self, symbol: str) -> Action:
        return Action(self.target, symbol if self.write == "~" else self.write, self.move)


def recognises(text: str) -> bool:
    """Whether the text is XML, as no other format is."""
    return text.lstrip().startswith("<")


def read(text: str, source: Source) -> TuringMachine:
    """Read the machine of a .jff file."""
    draft = Draft(source, "JFLAP")
    automaton = _find_automaton(_parse(text, source), draft)
    names = _state_names(automaton, draft)
    transitions = _read_transitions(automaton, names, draft)
    named = [text[-1] for each in transitions for text in (each.read, each.write) if text != "~"]
    also = source.also if any(each.is_wild for each in transitions) else ()
    symbols = list(dict.fromkeys([BLANK, *named, *also]))
    leaving: dict[str, list[_Transition]] = {}
    for transition in transitions:
        leaving.setdefault(transition.state, []).append(transition)
    pairs = len(symbols) * sum(any(t.is_wild for t in row) for row in leaving.values())
    if pairs > MOST_PAIRS:
        draft.fault("", f"~ and ! stand for {pairs:,} rules; at most {MOST_PAIRS:,} are read")
        draft.stop_at_faults()
    for candidates in leaving.values():
        _add_rules(draft, candidates, symbols)
    marked = {
        tag: [names[e.get("id")] for e in _states(automaton) if e.find(tag) is not None]
        for tag in ("initial", "final")
    }
    if len(marked["initial"]) != 1:
        draft.fault("", f"{len(marked['initial'])} states are marked as initial; expected one")
    draft.stop_at_faults()
    return draft.build(
        blank=BLANK,
        start=marked["initial"][0],
        states=names.values(),
        symbols=symbols,
        accepting=marked["final"],
    )


def _parse(text: str, source: Source) -> Any:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(text)
    except DefusedXmlException as error:
        reason = str(error).split(":")[0].split("(")[0]
        raise FormatError(
            f"{source.label}: the XML declares entities ({reason}); a JFLAP file has none, "
            "and netwright does not follow them"
        ) from None
    except (ParseError, ValueError) as error:
        raise FormatError(f"{source.label}: not XML: {error}") from None


def _find_automaton(root: Any, draft: Draft) -> Any:
    kind, tapes = _text(root, "type"), (root.findtext("tapes") or "1").strip()
    if root.tag != "structure":
        draft.fault("", f"XML of a {root.tag!r}; expected a 'structure', as JFLAP 6 and 7 save")
    elif root.get("type"):
        draft.fault("", "a file of JFLAP 8; netwright reads those of JFLAP 6 and 7")
    elif kind != "turing":
        draft.fault("", f"the automaton's type is {kind!r}; expected 'turing'")
    elif tapes != "1":
        draft.fault("", several_tapes(tapes))
    draft.stop_at_faults()
    automaton = root.find("automaton")
    return root if automaton is None else automaton


def _states(automaton: Any) -> list[Any]:
    return [element for element in automaton if element.tag in ("state", "block")]


def _state_names(automaton: Any, draft: Draft) -> dict[str, str]:
    """The names of the states by id; ids are appended to equal names."""
    elements = _states(automaton)
    given = [element.get("name") or f"q{element.get('id')}" for element in elements]
    counts = Counter(given)
    inner_machines = {element.tag: element for element in automaton}
    names: dict[str, str] = {}
    for element, name in zip(elements, given, strict=True):
        key = element.get("id")
        inner = inner_machines.get(_text(element, "tag"))
        if key is None or key in names:
            draft.fault(f"state {name}", f"its id is {key!r}; expected an id of its own")
        elif element.tag == "block" and inner is not None and len(_states(inner)):
            draft.fault(f"block {name}", "has a machine inside; netwright reads plain states")
        else:
            unique = name if counts[name] == 1 else f"{name}#{key}"
            while unique != name and counts[unique]:
                unique += "'"
            counts[unique] += unique != name
            names[key] = unique
    draft.stop_at_faults()
    return names


def _read_transitions(automaton: Any, names: dict[str, str], draft: Draft) -> list[_Transition]:
    found = [
        _read_transition(element, f"transition {number}", names, draft)
        for number, element in enumerate(automaton.findall("transition"), start=1)
    ]
    draft.stop_at_faults()
    return [transition for transition in found if transition]


def _read_transition(
    element: Any, place: str, names: dict[str, str], draft: Draft
) -> _Transition | None:
    """Return a transition, or None after a fault."""
    if any(field.get("tape") not in (None, "1") for field in element):
        draft.fault(place, "moves a second tape; netwright reads machines with one tape")
        draft.stop_at_faults()
    if element.get("block") == "true":
        draft.fault(place, "leaves a building block; netwright reads plain states")
        return None
    ends = _text(element, "from"), _text(element, "to")
    for end in ends:
        if end not in names:
            draft.fault(place, f"joins state {end!r}, and no state has that id")
    symbol, write = _text(element, "read", BLANK), _text(element, "write", BLANK)
    letter = _text(element, "move", "R")
    if len(symbol) > 1 and not (symbol.startswith("!") and len(symbol) == 2):
        draft.fault(place, f"reads {symbol!r}; expected a character, ~ or ! and a character")
    if len(write) > 1:
        draft.fault(place, f"writes {write!r}; expected a character or ~")
    if letter not in set(Move):
        draft.fault(place, f"moves {letter!r}; expected L, R or S")
    elif all(end in names for end in ends):
        state, target = (names[end] for end in ends)
        return _Transition(place, state, symbol, write, Move(letter), target)
    return None


def _text(element: Any, tag: str, default: str = "") -> str:
    return (element.findtext(tag) or "").strip() or default


def _add_rules(draft: Draft, candidates: list[_Transition], symbols: list[str]) -> None:
    """Add the rules of a state: for each symbol the first transition that fits, `!x` tried last."""
    by_read = _by_read(draft, candidates, symbols)
    places = {read: place for place, read in enumerate(by_read)}
    exceptions = [each for each in by_read.values() if len(each.read) == 2]
    wild = bool(exceptions) or "~" in by_read
    for symbol in symbols if wild else by_read:
        exact = [by_read[read] for read in ("~", symbol) if read in by_read]
        fitting = sorted(exact, key=lambda t: places[t.read])
        # At most one of them excludes this symbol, so one of the first two fits.
        fitting += [each for each in exceptions[:2] if each.fits(symbol)][:1]
        if not fitting:
            continue
        first = fitting[0]
        draft.rule(first.place, first.state, symbol, first.action(symbol))
        for later in fitting[1:]:
            if later.action(symbol) != first.action(symbol):
                draft.doubt(
                    later.place,
                    f"{first.place} applies before it to {symbol!r}, as in JFLAP: the first wins",
                )


def _by_read(
    draft: Draft, candidates: list[_Transition], symbols: list[str]
) -> dict[str, _Transition]:
    """The first transition for each `read`; a later one with another effect is a fault."""
    by_read: dict[str, _Transition] = {}
    for each in candidates:
        first = by_read.setdefault(each.read, each)
        # At least one of two symbols is not the one written, so it tells ~ from a fixed symbol.
        read = [s for s in symbols[:3] if each.fits(s)] if each.is_wild else [each.read]
        if any(first.action(symbol) != each.action(symbol) for symbol in read):
            draft.fault(
                each.place,
                f"a second transition from {each.state} that reads {each.read}, after "
                f"{first.place}: the file is nondeterministic; netwright reads deterministic "
                "machines",
            )
    return by_read
