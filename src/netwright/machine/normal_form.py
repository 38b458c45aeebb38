"""The normal form of machines in the proof of Theorem 3.4: seven assumptions, and how to meet them.

The proof lets M begin in q_init on the cell to the left of the input, walk over the whole input in
q_read, and only then work. `normalize` wraps a given machine so: q_init steps onto the input,
q_read walks right to the first blank, q_rewind walks back to the blank left of the input and steps
right into the given machine's start state. That takes 2n + 3 steps for an input of n symbols. The
input begins in cell 0 and the head on cell −1; the paper counts that cell as 0.

Departures from the print:
- "never left of the initial cell" is not needed (Lemma B.4 holds for fresh cells on either side),
  so two-way tapes stay as they are.
- q_init and q_read must not accept, since y_0 is never tested and the reading is not an answer.
- The input must not contain #, or q_read would stop short. For an input with blanks in it, the
  network's # is a fresh symbol on which every rule acts as on the blank.
- A machine that declares no accepting states accepts in all its halting states.

`remove_stays` is the first assumption, that the head always moves: a stay becomes a step to the
right and one back. A rule δ(q, s) = (p, w, S) becomes (p′, w, R), and the
new state p′ of the target p goes back with whatever it reads: δ(p′, x) = (p, x, L). Each target of
a stay gets one new state; rules of accepting states never apply and are left out. The new machine
is in a state of the given machine exactly when it is in a configuration of the given machine, so
steps can be counted from its trace.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from netwright.errors import InputError
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import Action, Move, TuringMachine

MOST_WALK = 1_000


def remove_stays(machine: TuringMachine) -> tuple[TuringMachine, frozenset[str]]:
    """Return the machine without stays, and its new states.

    >>> machine = TuringMachine(["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "S")})
    >>> moving, new = remove_stays(machine)
    >>> moving.delta["a", "0"], sorted(new)
    (Action(state="b'", write='1', move=<Move.R: 'R'>), ["b'"])
    """
    names = set(machine.states)
    back: dict[str, str] = {}
    delta: dict[tuple[str, str], Action] = {}
    for key, action in machine.delta.items():
        if key[0] in machine.accepting:
            continue
        if action.move is Move.S:
            if action.state not in back:
                back[action.state] = fresh_name(f"{action.state}'", names)
                names.add(back[action.state])
            action = Action(back[action.state], action.write, Move.R)
        delta[key] = action
    for target, state in back.items():
        for symbol in machine.symbols:
            delta[state, symbol] = Action(target, symbol, Move.L)
    moving = replace(machine, states=(*machine.states, *back.values()), delta=delta)
    return moving, frozenset(back.values())


def walking_to(machine: TuringMachine, cell: int) -> TuringMachine:
    """The machine that first walks from cell 0 to another one, and begins there.

    It has |cell| states more, and the walk is |cell| steps of it.

    >>> machine = TuringMachine(["a", "b"], "01", "0", "a", {("a", "0"): ("b", "1", "S")})
    >>> run = walking_to(machine, -2).run()
    >>> run.steps, run.head, str(run.tape), run.tape.start
    (3, -2, '1', -2)
    """
    if abs(cell) > MOST_WALK:
        raise InputError(f"the head is to begin on cell {cell}; expected at most {MOST_WALK} away")
    names, walk = set(machine.states), list[str]()
    for n in range(abs(cell)):
        walk.append(fresh_name(f"{machine.start} after {abs(cell) - n}", names))
        names.add(walk[-1])
    move, delta = Move.R if cell > 0 else Move.L, dict(machine.delta)
    for state, target in pairwise([*walk, machine.start]):
        delta |= {(state, symbol): Action(target, symbol, move) for symbol in machine.symbols}
    states, start = (*machine.states, *walk), walk[0] if walk else machine.start
    return replace(machine, states=states, start=start, delta=delta)


def fresh_name(wanted: str, taken: set[str]) -> str:
    """Append primes to a name until it is not taken."""
    while wanted in taken:
        wanted += "'"
    return wanted


@dataclass(frozen=True)
class NormalMachine:
    """A machine in normal form, and the given machine that it simulates."""

    given: TuringMachine
    machine: TuringMachine
    q_init: str
    q_read: str
    q_rewind: str
    pauses: frozenset[str]
    """The states between the two steps that replace a stay of the given machine."""

    @property
    def takes_blanks(self) -> bool:
        """Whether # is a fresh symbol, so that inputs may contain the given machine's blank."""
        return self.machine.blank not in self.given.symbols

    @property
    def input_alphabet(self) -> tuple[str, ...]:
        """The symbols that an input may contain: all but #."""
        return tuple(symbol for symbol in self.machine.symbols if symbol != self.machine.blank)

    def check_word(self, word: Iterable[str]) -> tuple[str, ...]:
        """Return the word as a tuple; raise InputError if the normal machine cannot read it."""
        symbols = self.given.check_word(word)
        if self.machine.blank in symbols:
            place = symbols.index(self.machine.blank) + 1
            raise InputError(
                f"the input has the blank {self.machine.blank!r} at position {place}, and this "
                "network was compiled for inputs without blanks; compile it with them: blanks=True "
                "(--blanks)"
            )
        return symbols

    def is_given_state(self, state: str) -> bool:
        """Whether the normal machine in this state is at a step of the given machine."""
        return state not in (self.q_init, self.q_read, self.q_rewind) and state not in self.pauses

    def given_symbol(self, symbol: str) -> str:
        """Translate a symbol to the given machine's alphabet: # is its blank."""
        return self.given.blank if symbol == self.machine.blank else symbol


def normalize(
    given: TuringMachine, *, blanks_in_input: bool = False, keep_stays: bool = False
) -> NormalMachine:
    """Bring a machine into normal form; `blanks_in_input` makes # a fresh symbol.

    With `keep_stays` the first assumption is not met: the head may stay where it is.

    >>> from netwright.machine.library import library_machine
    >>> normal = normalize(library_machine("binary-increment"))
    >>> len(normal.machine.states), all(a.holds(normal) for a in ASSUMPTIONS if a.needed)
    (6, True)
    """
    moving, pauses = (given, frozenset()) if keep_stays else remove_stays(given)
    taken = set(moving.states)
    q_init, q_read, q_rewind = (
        fresh_name(name, taken) for name in ("q_init", "q_read", "q_rewind")
    )
    accepting = given.accepting or frozenset(given.halting_states)
    symbols, blank = moving.symbols, moving.blank
    delta = {key: action for key, action in moving.delta.items() if key[0] not in accepting}
    if blanks_in_input:
        blank = fresh_name("#", set(symbols))
        symbols = (*symbols, blank)
        for (state, symbol), action in list(delta.items()):
            if symbol == moving.blank:
                delta[state, blank] = action
    delta[q_init, blank] = Action(q_read, blank, Move.R)
    delta[q_read, blank] = Action(q_rewind, blank, Move.L)
    delta[q_rewind, blank] = Action(moving.start, blank, Move.R)
    for symbol in symbols:
        if symbol != blank:
            delta[q_read, symbol] = Action(q_read, symbol, Move.R)
            delta[q_rewind, symbol] = Action(q_rewind, symbol, Move.L)
    machine = TuringMachine(
        states=[q_init, q_read, q_rewind, *moving.states],
        symbols=symbols,
        blank=blank,
        start=q_init,
        delta=delta,
        accepting=accepting,
        name=given.name,
        description=given.description,
    )
    return NormalMachine(given, machine, q_init, q_read, q_rewind, pauses)


@dataclass(frozen=True)
class Assumption:
    """One of the seven assumptions, as a predicate."""

    statement: str
    check: Callable[[NormalMachine, Sequence[str], int], bool]
    needed: bool = True

    def holds(self, normal: NormalMachine, word: Sequence[str] = (), steps: int = 0) -> bool:
        """Whether a machine meets it; a statement about runs is checked on this word and steps."""
        return self.check(normal, word, steps)


def _never_stays(normal: NormalMachine, *_: object) -> bool:
    return all(action.move is not Move.S for action in normal.machine.delta.values())


def _begins_in_q_init(normal: NormalMachine, *_: object) -> bool:
    return normal.machine.start == normal.q_init


def _never_goes_left_of_start(normal: NormalMachine, word: Sequence[str], steps: int) -> bool:
    # Cell −1 is the paper's cell 0, where the head begins, when the input begins in cell 0.
    run = configurations(normal.machine, word, head=-1)
    return all(moment.head >= -1 for moment in islice(run, steps + 1))


def _has_q_read(normal: NormalMachine, *_: object) -> bool:
    accepting = normal.machine.accepting
    return normal.q_read in normal.machine.states and not {normal.q_init, normal.q_read} & accepting


def _enters_q_read_first(normal: NormalMachine, *_: object) -> bool:
    action = normal.machine.delta.get((normal.q_init, normal.machine.blank))
    return action is not None and (action.state, action.move) == (normal.q_read, Move.R)


def _reads_the_input(normal: NormalMachine, *_: object) -> bool:
    actions = (normal.machine.delta.get((normal.q_read, s)) for s in normal.input_alphabet)
    return all(a is not None and (a.state, a.move) == (normal.q_read, Move.R) for a in actions)


def _stops_when_accepting(normal: NormalMachine, *_: object) -> bool:
    return all(state not in normal.machine.accepting for state, _ in normal.machine.delta)


ASSUMPTIONS = (
    Assumption("M always moves its head to the left or to the right", _never_stays),
    Assumption("M begins in q_init, on the cell to the left of the input", _begins_in_q_init),
    Assumption("M never goes left of the initial cell", _never_goes_left_of_start, needed=False),
    Assumption("Q has a state q_read that reads the input", _has_q_read),
    Assumption("at time 0, M enters q_read and moves to the right", _enters_q_read_first),
    Assumption("in q_read, M moves to the right until it reads #", _reads_the_input),
    Assumption("no transition leaves an accepting state", _stops_when_accepting),
)
