"""From the text of a language model back to the run of a machine.

The text of a machine's own model says what every step writes; that of the universal model begins
with its rules. So both can be parsed without the machine, and the first contradiction is reported:
a token in the wrong place, a symbol that is not on the tape, an address that is not the last visit,
a rule that differs from an earlier one.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from netwright.errors import InputError
from netwright.html import table
from netwright.kind.language_model.llama.vocabulary import LlamaVocabulary
from netwright.kind.language_model.text import tape_of
from netwright.kind.language_model.vocabulary import SHORTEST
from netwright.machine.configuration import Tape
from netwright.machine.normal_form import remove_stays
from netwright.machine.simulate import Outcome
from netwright.machine.turing_machine import TuringMachine
from netwright.text import as_token, counted, from_token, shortened

STEP = re.compile(r"([RL]):([^:>]+):([^:>]+)(?:>([^:>]+))?")
KEY = re.compile(r"([^:>]+):([^:>]+)")
ACTION = re.compile(r"([^:>]+):([RL]):([^:>]+)")
LEFT = re.compile(r"left:([^:>]+)(?::goto:([^:>]+))?")
ENDS = {"<accept>": Outcome.ACCEPTED, "<reject>": Outcome.REJECTED, "<halt>": Outcome.HALTED}
FIRST, LAST = "<s>", "</s>"
"""What a Llama's text begins and ends with."""
PAD, BOS, TAPE, RUN, UNKNOWN = "<pad>", "<bos>", "<tape>", "<run>", "<unk>"
ACCEPTING = "acc"


class Rule(NamedTuple):
    """The symbol to write; move and next state once they are known."""

    write: str
    move: str | None
    state: str | None


Rules = Mapping[tuple[str, str], Rule]


@dataclass
class ParsedText:
    """The run that a text describes, and the first error in it."""

    outcome: Outcome = Outcome.UNDECIDED
    steps: int = 0
    state: str | None = None
    head: int = 0
    tape: Tape = field(default_factory=lambda: Tape(0, ()))
    tokens: int = 0
    problem: str | None = None
    """The first error in the text, and its token."""
    against: str = "itself"
    """What the text was compared with."""
    resumed: bool = False
    """Whether the run continues from a configuration in the prompt instead of the start."""
    begins: tuple[str | None, Tape] = (None, Tape(0, ()))
    """If it is resumed: the first state and tape, with the head in cell 0."""

    @property
    def holds(self) -> bool:
        """Whether there is no error."""
        return self.problem is None

    def __repr__(self) -> str:
        tape = shortened(self.tape, 40) or "blank"
        wrong = "" if self.holds else f"; {self.problem}"
        where = f"in {self.state}, head {self.head}, tape {tape}{wrong}"
        return f"<{self.outcome} after {counted(self.steps, 'step')}{self._further} {where}>"

    @property
    def _further(self) -> str:
        return f" from {self.begins[0]} on, resumed," if self.resumed else ""

    def _repr_html_(self) -> str:
        rows = [
            ("state", self.state),
            ("head", self.head),
            ("tape", self.tape),
            ("text", self.problem or f"{counted(self.tokens, 'token')}, right"),
        ]
        return table(f"{self.outcome} after {counted(self.steps, 'step')}{self._further}", [], rows)


@dataclass(frozen=True)
class Known:
    """What a text is compared with: the machine and the model that wrote it, as far as known."""

    name: str = "itself"
    machine: TuringMachine | None = None
    """For a text of its own model: the machine, with stays."""
    universal: bool = False
    """Whether it was the universal model."""
    rules: Rules | None = None
    """For a text of the universal model: the rules that it must have."""
    pauses: Collection[str] = ()
    """For such a text: states in the middle of a stay, which do not count as steps."""
    vocabulary: Collection[str] | None = None
    """All tokens of the model."""


def parse_text(text: str | Sequence[str], known: Known | None = None) -> ParsedText:
    """The run that a text of a language model describes.

    >>> parse_text("1 1 <run> R:r:1>1 @1 R:r:1>1 @2 R:r:_ <halt>")
    <halted after 2 steps in r, head 2, tape 11>
    """
    if isinstance(text, str):
        for mark in (FIRST, LAST):  # decoded without a space
            text = text.replace(mark, f" {mark} ")
        text = text.split()
    tokens = list(text)
    while tokens and tokens[-1] == PAD:
        tokens.pop()
    while tokens and tokens[0] in (PAD, LAST):  # a Llama is padded with </s>
        tokens.pop(0)
    while tokens[-1:] == [LAST] and tokens[-2] in (LAST, *ENDS):
        tokens.pop()
    if RUN not in tokens:
        tokens = _with_run(tokens)
    if RUN not in tokens:
        raise InputError("a text of a language model has <run> after its input; this one does not")
    known = known or Known()
    readers = (_OwnReader, _UniversalReader)
    if _is_llama(tokens, known):
        readers = (_OwnLlamaReader, _UniversalLlamaReader)
        tokens = tokens if tokens[0] == FIRST else [FIRST, *tokens]  # positions count it
    return readers[TAPE in tokens[: tokens.index(RUN)]](tokens, known).read()


def _is_llama(tokens: list[str], known: Known) -> bool:
    """Whether a text has relative addresses; `<s>` may have been left out.

    A GPT-2's first step is to the right, and its first address is not as near.
    """
    if known.vocabulary is not None:
        return FIRST in known.vocabulary
    if tokens[0] == FIRST:
        return True
    rest = tokens[tokens.index(RUN) + 1 :]
    at = next((n for n, token in enumerate(rest) if STEP.fullmatch(token)), len(rest))
    follows = [*rest[at + 1 : at + 2], ""][0]
    goes_back = at == 0 and "".join(rest[:1]).startswith("L:") and follows.startswith("@")
    return goes_back or follows == f"@{at + 3}"


def _with_run(tokens: list[str]) -> list[str]:
    """The tokens with `<run>` before the first step.

    A pipeline of transformers leaves it out, and what it adds to the input is glued to it.

    >>> _with_run(["1", "1R:r:1>1", "@1"])
    ['1', '1', '<run>', 'R:r:1>1', '@1']
    """
    for place, token in enumerate(tokens):
        if found := re.fullmatch(rf"([^:]*)({STEP.pattern})", token):
            letter = [found[1]] if found[1] else []
            return [*tokens[:place], *letter, RUN, found[2], *tokens[place + 1 :]]
    return tokens


def parse_texts(texts: Sequence[str | Sequence[str]], known: Known | None = None) -> ParsedText:
    """The run that a chain of texts describes, each of which continues the one before.

    >>> first = "1 1 <run> R:r:1>1 @1 R:r:1>1 @2"
    >>> parse_texts([first, "1 <run> left:1:goto:r @0 R:r:1>1 @1 R:r:_ <halt>"])
    <halted after 2 steps in r, head 2, tape 11>
    """
    whole, *others = (parse_text(text, known) for text in texts)
    for number, part in enumerate(others, start=2):
        if whole.problem is not None:
            break
        state, tape = part.begins
        head = whole.head
        there = _moved(tape, head)
        if not part.resumed:
            whole.problem = f"text {number} starts again instead of continuing the previous one"
        elif (state, there) != (whole.state, whole.tape):
            whole.problem = (
                f"text {number} continues in {state} with the tape {str(there) or 'blank'}, but "
                f"the previous one ends in {whole.state} with {str(whole.tape) or 'blank'}"
            )
        elif whole.outcome is not Outcome.UNDECIDED:
            whole.problem = f"text {number} continues after the end of the run"
        else:
            whole.outcome, whole.state, whole.head = part.outcome, part.state, head + part.head
            whole.tape = _moved(part.tape, head)
            whole.problem = part.problem and f"text {number}: {part.problem}"
        whole.steps, whole.tokens = whole.steps + part.steps, whole.tokens + part.tokens
    return whole


def _moved(tape: Tape, cells: int) -> Tape:
    """A tape moved some cells to the right; a blank tape begins at 0."""
    return tape._replace(start=tape.start + cells) if tape.cells else tape


class _WrongError(Exception):
    pass


def _name(text: str) -> str:
    try:
        return from_token(text)
    except UnicodeDecodeError:
        raise _WrongError("has an escape that is not text") from None


class _Reader(ABC):
    """A parser of texts; subclasses parse the prompt and know the rules and the ends."""

    def __init__(self, tokens: list[str], known: Known) -> None:
        self.tokens, self.known = tokens, known
        self.found = ParsedText(tokens=len(tokens), against=known.name)
        self.rules: dict[tuple[str, str], Rule] = {}
        self.pauses: Collection[str] = known.pauses
        self.blank: str | None = None
        self.start: str | None = None
        self.cells: dict[int, str] = {}
        self.visits: dict[int, int] = {}
        self.place, self.head = 0, -1
        self.nulls = 0, 0
        """The positions that stand for visits of fresh cells, to the left and to the right."""
        self.begins: tuple[str, dict[int, str]] | None = None
        """The first state and cells of a resumed text."""

    def read(self) -> ParsedText:
        """Parse the text up to its first error."""
        try:
            self.check_vocabulary()
            if UNKNOWN in self.tokens:
                self.place = self.tokens.index(UNKNOWN)
                raise _WrongError("replaces a word that is not in the model's vocabulary")
            self.place = 0
            self.prompt()
            self._steps()
        except _WrongError as wrong:
            token = self.tokens[self.place] if self.place < len(self.tokens) else "the end"
            self.found.problem = f"token {self.place + 1} ({token}) {wrong}"
        self.found.steps = max(0, self.found.steps)
        self.found.tape = self._tape(self.cells)
        if self.begins is not None:
            state, cells = self.begins
            self.found.resumed, self.found.begins = True, (state, self._tape(cells))
        return self.found

    def _tape(self, written: Mapping[int, str]) -> Tape:
        return tape_of(written, "_" if self.blank is None else self.blank)

    def check_vocabulary(self) -> None:
        """Raise _WrongError for a token that the model does not have."""
        if self.known.vocabulary is not None:
            there = set(self.known.vocabulary)
            for place, token in enumerate(self.tokens):
                if token not in there:
                    self.place = place
                    raise _WrongError("is not a token of the model")

    @abstractmethod
    def prompt(self) -> None:
        """Parse everything up to the first step."""

    def letters(self) -> None:
        """Parse the input, up to `<run>`."""
        run = self.tokens.index(RUN)
        for n in range(run - self.place):
            self.cells[n], self.visits[n] = _name(self.tokens[self.place]), self.place
            self.check_letter(self.cells[n])
            self.place += 1
        self.nulls, self.place = (run, run), run + 1

    @abstractmethod
    def check_letter(self, symbol: str) -> None:
        """Raise _WrongError if a letter is not a symbol."""

    @abstractmethod
    def learn(self, state: str, symbol: str, write: str | None) -> None:
        """Check, or remember, what a step says about its rule."""

    @abstractmethod
    def end_of(self, state: str, symbol: str) -> Collection[str] | None:
        """The tokens that may end the run before the address of a step; None if it continues."""

    def end_behind(self, state: str, symbol: str) -> str | None:
        """The token that ends the run after the address of a step; None if it continues."""
        return None

    def _steps(self) -> None:
        tokens, found, came = self.tokens, self.found, None
        while self.place < len(tokens):
            step = STEP.fullmatch(tokens[self.place])
            if step is None:
                raise _WrongError("occurs where a step such as R:q:a is expected")
            move, state, symbol = step[1], _name(step[2]), _name(step[3])
            self.check_move(came, move, state)
            if came is not None:
                self.cells[self.head] = self.rules[came].write
            self.head += 1 if move == "R" else -1
            self.check_symbol(symbol)
            symbol = self.plain(state, symbol)
            self.learn(state, symbol, _name(step[4]) if step[4] else None)
            found.steps += came is not None and state not in self.pauses
            found.state, found.head, came = state, self.head, (state, symbol)
            self.place += 1
            if (ends := self.end_of(state, symbol)) is not None:
                self._end(ends)
                return
            if self.place < len(tokens):
                self._check_address(move)
                self.visits[self.head] = self.place
                self.place += 1
            if (end := self.end_behind(state, symbol)) is not None:
                self._end([end])
                return

    def plain(self, state: str, symbol: str) -> str:
        """The machine's name of a symbol that a step reads."""
        return symbol

    def address(self, visit: int) -> str:
        """The token for a visit."""
        return f"@{visit}"

    def check_move(self, came: tuple[str, str] | None, move: str, state: str) -> None:
        """Raise _WrongError for a move and a state that do not follow from the step before."""
        if came is None:
            if move != "R" or (self.start is not None and state != self.start):
                raise _WrongError(f"does not begin with R:{self.start or 'a state'}")
            return
        write, right, after = self.rules[came]
        if right is None:
            self.rules[came] = Rule(write, move, state)
        elif (right, after) != (move, state):
            raise _WrongError(f"is not what {came[0]} does on {came[1]}: {right} into {after}")

    def check_symbol(self, symbol: str) -> None:
        """Raise _WrongError if a step does not read what is in its cell."""
        there = self.cells.get(self.head)
        if there is None and self.blank is None:
            self.blank = symbol  # the first cell that was never written
        there = self.blank if there is None else there
        if symbol != there:
            raise _WrongError(f"reads {symbol} in cell {self.head}, which has {there}")

    def _check_address(self, move: str) -> None:
        ahead = self.head + (1 if move == "R" else -1)
        right = self.address(self.visits.get(ahead, self.nulls[move == "R"]))
        if self.tokens[self.place] != right:
            raise _WrongError(f"is not the last visit of the cell ahead, which is {right}")

    def _end(self, ends: Collection[str]) -> None:
        if self.place == len(self.tokens):
            return
        end = self.tokens[self.place]
        if end not in ends:
            raise _WrongError(f"occurs where the run ends: {' or '.join(ends)}")
        self.found.outcome = ENDS[end]
        if self.place + 1 < len(self.tokens):
            self.place += 1
            raise _WrongError("comes after the end")


class _OwnReader(_Reader):
    """A text of the model of one machine."""

    def prompt(self) -> None:
        """Parse the input, and the cells of a resumed run."""
        self.machine = None
        if self.known.universal:
            raise _WrongError("is not a text of the universal model: it has no rules")
        if self.known.machine is not None:
            self.machine, self.pauses = remove_stays(self.known.machine)
            self.blank, self.start = self.machine.blank, self.machine.start
            for (q, a), action in self.machine.delta.items():
                self.rules[q, a] = Rule(action.write, str(action.move), action.state)
        self.letters()
        self._resumed()

    def check_letter(self, symbol: str) -> None:
        """Raise _WrongError if a known machine does not have the symbol."""
        if self.machine is not None and symbol not in self.machine.symbols:
            raise _WrongError("is not a symbol of the machine")

    def _resumed(self) -> None:
        """Parse `left:a @0 … left:b:goto:q @0`."""
        behind: list[tuple[str, int]] = []
        state: str | None = None
        while self.place < len(self.tokens) and (left := LEFT.fullmatch(self.tokens[self.place])):
            if state is not None:
                raise _WrongError("comes after the state to resume in")
            symbol, state = _name(left[1]), _name(left[2]) if left[2] else None
            self.check_letter(symbol)
            if self.machine is not None and state is not None and state not in self.machine.states:
                raise _WrongError("names no state of the machine")
            self.place += 1
            if self.place < len(self.tokens) and self.tokens[self.place] != "@0":
                raise _WrongError("comes after a cell to the left, where @0 is expected")
            behind.append((symbol, self.place))
            self.place += 1
        if behind and state is None:
            raise _WrongError("comes before a cell to the left that says where to resume")
        for n, (symbol, place) in enumerate(behind, start=-len(behind)):
            self.cells[n], self.visits[n] = symbol, place
        if state is not None:
            self.start, self.begins = state, (state, dict(self.cells))

    def learn(self, state: str, symbol: str, write: str | None) -> None:
        """Check that the rule exists and writes the same symbol each time."""
        known = self.rules.get((state, symbol))
        if self.machine is not None and state not in self.machine.states:
            raise _WrongError("names no state of the machine")
        if write is None:
            if known is not None:
                raise _WrongError(f"writes nothing, but {state} on {symbol} writes {known.write}")
        elif known is None:
            if self.machine is not None:
                raise _WrongError(f"has a rule that the machine does not have: {state} on {symbol}")
            self.rules[state, symbol] = Rule(write, None, None)
        elif known.write != write:
            raise _WrongError(f"writes {write}, but {state} on {symbol} writes {known.write}")

    def end_of(self, state: str, symbol: str) -> Collection[str] | None:
        """A run ends where there is no rule."""
        if (state, symbol) in self.rules:
            return None
        if self.machine is None:
            return ENDS
        if not self.machine.accepting:
            return ["<halt>"]
        return ["<accept>" if state in self.machine.accepting else "<reject>"]


class _UniversalReader(_Reader):
    """A text of the universal model, with its rules."""

    def prompt(self) -> None:
        """Parse the rules, `<tape>`, and the input."""
        if self.known.machine is not None:
            raise _WrongError("and the next token are a rule: this text is of the universal model")
        self.blank, self.start = "#", "q0"
        if self.known.name == "itself":
            self.found.against = "its own rules"
        if self.tokens[0] not in (BOS, FIRST):  # positions count it
            self.tokens = [BOS, *self.tokens]
        self.place = 1
        tape = self.tokens.index(TAPE)
        while self.place < tape:
            self._rule(tape)
        if self.known.rules is not None and self.rules != dict(self.known.rules):
            raise _WrongError(f"comes after rules that are not those of {self.known.name}")
        self.place = tape + 1
        self.letters()

    def _rule(self, tape: int) -> None:
        key = KEY.fullmatch(self.tokens[self.place])
        action = ACTION.fullmatch(self.tokens[self.place + 1]) if self.place + 1 < tape else None
        if key is None or action is None:
            raise _WrongError("and the next token are not a rule such as q0:a #:R:q1")
        if (key[1], key[2]) in self.rules:
            raise _WrongError("has a rule already")
        if key[1] == ACCEPTING:
            raise _WrongError("has a rule for acc, which ends a run")
        self.rules[key[1], key[2]] = Rule(action[1], action[2], action[3])
        self.place += 2

    def check_letter(self, symbol: str) -> None:
        """Raise _WrongError for a step or a rule."""
        if ":" in symbol:
            raise _WrongError("occurs where a symbol of the input is expected")

    def learn(self, state: str, symbol: str, write: str | None) -> None:
        """Raise _WrongError if a step says what it writes."""
        if write is not None:
            raise _WrongError("says what it writes, as in the text of another model")

    def end_of(self, state: str, symbol: str) -> Collection[str] | None:
        """A run ends in `acc`."""
        return ["<accept>"] if state == ACCEPTING else None

    def end_behind(self, state: str, symbol: str) -> str | None:
        """A run halts where no rule fits."""
        return None if (state, symbol) in self.rules else "<halt>"


class _OwnLlamaReader(_OwnReader):
    """A text of the Llama of one machine."""

    rewind: str | None = None
    edge: str | None = None

    def prompt(self) -> None:
        """Parse a word; or the cells of a resumed run, and its first step."""
        self.machine = None
        if self.known.universal:
            raise _WrongError("is not a text of the universal model: it has no rules")
        if self.known.machine is not None:
            vocabulary = LlamaVocabulary.of(self.known.machine, SHORTEST)
            self.machine, self.pauses = vocabulary.machine, vocabulary.pauses
            self.rewind, self.edge = vocabulary.rewind, vocabulary.edge
            self.blank, self.start = self.machine.blank, self.machine.start
            for (q, a), action in self.machine.delta.items():
                self.rules[q, a] = Rule(action.write, str(action.move), action.state)
        run = self.tokens.index(RUN)
        step = self.tokens[run + 1] if run + 1 < len(self.tokens) else "L:"
        if not step.startswith("L:"):
            _resume(self, 0)
            return
        self.place, n = 1, run - 1
        self.letters()
        self.visits = {cell: cell + 1 for cell in range(n + 1)}
        self.nulls, self.head, self.found.steps = (0, n + 1), n, -1
        if match := STEP.fullmatch(step):
            self.rewind = self.rewind or _name(match[2])
            self.pauses = {*self.pauses, self.rewind}

    def check_vocabulary(self) -> None:
        """Split words without spaces, then as for GPT-2."""
        run = self.tokens.index(RUN)
        self.tokens[1:run] = self._letters(self.tokens[1:run], run)
        super().check_vocabulary()

    def _letters(self, words: list[str], run: int) -> list[str]:
        """The letters of the input, whose symbols may be written without spaces.

        Without the machine, they are those that the walk back reads.
        """
        if (machine := self.known.machine) is not None:
            symbols = set(map(as_token, machine.symbols))
            return [x for word in words for x in ([word] if word in symbols else word)]
        read: list[str] = []
        for step in map(STEP.fullmatch, self.tokens[run + 1 :: 2]):
            if step is None or step[1] == "R":
                break
            read.append(step[3])
        letters, word = read[-2::-1], "".join(words)  # the last is the edge
        return letters if "".join(letters) == word else [*word]

    def check_letter(self, symbol: str) -> None:
        """Raise _WrongError if a known machine does not have the symbol."""
        super().check_letter(symbol)
        if symbol == self.edge:
            raise _WrongError("is not a symbol of the machine")

    def check_move(self, came: tuple[str, str] | None, move: str, state: str) -> None:
        """A text on a word begins with a step back."""
        if came is None and self.begins is None:
            if move != "L" or state != self.rewind:
                raise _WrongError(f"does not begin with L:{self.rewind or 'a state'}")
            return
        super().check_move(came, move, state)

    def check_symbol(self, symbol: str) -> None:
        """In fresh cells on the side of `<s>`, the blank is called edge."""
        on_the_right = self.head >= 0
        if self.head not in self.cells and on_the_right == (self.begins is not None):
            self.edge = self.edge or symbol
            if symbol != self.edge:
                raise _WrongError(f"reads {symbol} in cell {self.head}, which has {self.edge}")
            return
        super().check_symbol(symbol)

    def learn(self, state: str, symbol: str, write: str | None) -> None:
        """The step back over the edge writes the blank."""
        if self.blank is None and state == self.rewind and symbol == self.edge:
            self.blank = write
        super().learn(state, symbol, write)

    def plain(self, state: str, symbol: str) -> str:
        """Edge is the blank, but for the walk back."""
        is_blank = symbol == self.edge and state != self.rewind and self.blank is not None
        return str(self.blank) if is_blank else symbol

    def address(self, visit: int) -> str:
        """The token for a visit, seen from where it is."""
        return f"@{self.place - visit}"


class _UniversalLlamaReader(_UniversalReader):
    """A text of the universal Llama, with its rules."""

    def letters(self) -> None:
        """Parse the cells on both sides of the head."""
        _resume(self, self.place - 1)
        assert self.begins is not None
        if min(self.cells) == 0:  # the head begins on the first cell
            self.begins = None
        else:
            self.start = self.begins[0]

    def address(self, visit: int) -> str:
        """The token for a visit, seen from where it is."""
        return f"@{self.place - visit}"


def _resume(reader: _Reader, null: int) -> None:
    """Parse the cells right of the head, `<run>`, those left of it; and look at the first step."""
    tokens, run = reader.tokens, reader.tokens.index(RUN)
    step = next((n for n in range(run + 1, len(tokens)) if STEP.fullmatch(tokens[n])), None)
    if step is None:
        reader.place = run
        raise _WrongError("comes before no step such as R:q:a")
    places = {
        **{run - n: n for n in range(1, run - null)},
        **{n: n - step for n in range(run + 1, step)},
    }
    for reader.place, cell in places.items():
        reader.cells[cell], reader.visits[cell] = _name(tokens[reader.place]), reader.place
        reader.check_letter(reader.cells[cell])
    first = STEP.fullmatch(tokens[step])
    assert first is not None
    reader.cells[0], reader.start = _name(first[3]), _name(first[2])
    reader.begins = reader.start, dict(reader.cells)
    reader.nulls, reader.place = (run, null), step
