"""Following moments in machine code: what `ShownFollower` and `PairFollower` do, quickly.

A moment is a number that stands for what it shows: of a token a state, the symbol written and a
move; of a hidden vector a pair of state and symbol. What such a number means is in arrays, so that
the code is one for all networks.
"""

from collections.abc import Callable
from functools import cache

from netwright.assembler import Assembler

GIVEN, FINAL, STOP = 1, 2, 4
"""What a code can be: a state of the given machine, a final one, one that shows no step."""
ALL, LIMIT, STOPPED, NO_ROOM, ENDED = range(5)
"""Why it stopped: no tokens left, the limit, a code that stops, no room on the tape, a final state.
"""
CARRIED = ("cell", "steps", "at_a_step", "code", "head", "lowest", "highest", "final")
PLACES = (*CARRIED, "status", "max_steps", "origin", "size")
"""What the clock has."""
ARRAYS = ("codes", "flags", "written", "moves", "tape", "clock", "count")


@cache
def compiled() -> Callable[..., int]:
    """The loop: follow `count` tokens, return how many were followed."""
    return _Writer().compiled(optimised=True)


class _Writer(Assembler):
    def __init__(self) -> None:
        carried = {name: ("clock", PLACES.index(name)) for name in CARRIED}
        super().__init__(ARRAYS, PLACES.index("status"), carried)
        limit, origin, size = (
            self.at_first("clock", PLACES.index(name)) for name in ("max_steps", "origin", "size")
        )
        now = self.carried
        self.go_on_if(self.compare("==", now["final"], 0), ENDED)
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), ALL)
        code = self.load_short("codes", self.done)
        flags = self.load("flags", code)
        self.go_on_if(self.compare("==", self.b.and_(flags, self.word(STOP)), 0), STOPPED)
        at_the_limit = self.b.and_(
            self.compare("!=", now["at_a_step"], 0), self.compare("==", now["steps"], limit)
        )
        self.go_on_if(self.b.not_(at_the_limit), LIMIT)
        place = self.b.sub(now["cell"], origin)
        self.go_on_if(self.b.icmp_unsigned("<", place, size), NO_ROOM)
        self.store(self.load("written", code), "tape", place)
        cell = self.sum(now["cell"], self.load("moves", code))
        given = self.b.and_(flags, self.word(GIVEN))
        is_given = self.compare("!=", given, 0)
        self.again(
            cell=cell,
            steps=self.sum(now["steps"], given),
            at_a_step=given,
            code=self.choose(is_given, code, now["code"]),
            head=self.choose(is_given, cell, now["head"]),
            lowest=self.least(now["lowest"], now["cell"]),
            highest=self.greatest(now["highest"], now["cell"]),
            final=self.b.and_(flags, self.word(FINAL)),
        )


WALKED = ("head", "move", "lowest", "highest")


@cache
def walk() -> Callable[..., int]:
    """The loop over pairs: follow `count` of them up to one with a flag, return how many."""
    return _Walk().compiled(optimised=True)


class _Walk(Assembler):
    """The head goes where the pair before says; the clock has its place, and then a status."""

    def __init__(self) -> None:
        carried = {name: ("clock", place) for place, name in enumerate(WALKED)}
        super().__init__(("codes", "flags", "moves", "clock", "count"), len(WALKED), carried)
        now = self.carried
        self.go_on_if(self.compare("<", self.done, self.arguments["count"]), ALL)
        code = self.load_short("codes", self.done)
        self.go_on_if(self.compare("==", self.load("flags", code), 0), STOPPED)
        head = self.sum(now["head"], now["move"])
        self.again(
            head=head,
            move=self.load("moves", code),
            lowest=self.least(now["lowest"], head),
            highest=self.greatest(now["highest"], head),
        )
