"""The lemma of linked visits: what is under the head next, from two pointers.

c(i) is the cell of the head at time i, v(i) the symbol it writes there. Let R_i be the last time
j < i with c(j) = c(i) + 1, and L_i the last one with c(j) = c(i) − 1; NULL if there is none. Then

| move at time i | symbol read at i + 1 | R_{i+1} | L_{i+1} |
|----------------|----------------------|---------|---------|
| right          | v(R_i)               | R_{R_i} | i       |
| left           | v(L_i)               | i       | L_{L_i} |
| stay           | v(i)                 | R_i     | L_i     |

Proof, for a move to the right. Let j = R_i, which is the last visit of the cell that the head goes
to, so v(j) is what it finds there. After j and up to i the head is never at c(i) + 1, and it is at
c(i) at time i; as it moves by one cell at most, it was left of c(i) + 1 all that time, and c(i) + 2
was not visited. So the last visit of c(i) + 2 before i + 1 is the last one before j, which is R_j.
If R_i is NULL, the head was never right of c(i), and c(i) + 2 is fresh too. The last visit of c(i)
before i + 1 is i. To the left it is the mirror image; a stay changes nothing of this. QED.

NULL is token 0, if token 0 writes a blank and both of its pointers are itself: a look-up there
gives (#, NULL, NULL), as it must for a fresh cell; and a true pointer to token 0 gives the same,
which is right, as nothing was visited before it.

A pointer to token j stands in a vector as 1/(j+1), which is position j + 1's own number.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from netwright.machine.configuration import Configuration
from netwright.machine.simulate import configurations
from netwright.machine.turing_machine import TuringMachine

NULL = 0


class LinkedVisits:
    """The values that the lemma speaks of, found by looking at the whole run: times 0 to `steps`.

    The head begins in cell `head`; at the halt, if it comes, the state is None from then on.

    >>> from netwright.machine.library import library_machine
    >>> visits = LinkedVisits(library_machine("busy-beaver-2"), "", 6)
    >>> visits.c, visits.R, visits.L
    ([0, 1, 0, -1, -2, -1, 0], [0, 0, 1, 2, 3, 2, 1], [0, 0, 0, 0, 0, 4, 5])
    """

    def __init__(
        self, machine: TuringMachine, word: Sequence[str], steps: int, head: int = 0
    ) -> None:
        self.q: list[str | None] = []
        self.s: list[str] = []
        self.v: list[str | None] = []
        """v(i): what is written at time i; None if no rule applies."""
        self.m: list[int] = []
        self.c: list[int] = []
        self.R: list[int] = []
        self.L: list[int] = []
        last: dict[int, int] = {}
        for i, now in enumerate(islice(self.times(machine, word, head), steps + 1)):
            action = machine.action(now.state, now.symbol)
            self.q.append(now.state)
            self.s.append(now.symbol)
            self.v.append(action.write if action else None)
            self.m.append(action.move.offset if action else 0)
            self.c.append(now.head)
            self.R.append(last.get(now.head + 1, NULL))
            self.L.append(last.get(now.head - 1, NULL))
            last[now.head] = i

    def times(
        self, machine: TuringMachine, word: Sequence[str], head: int
    ) -> Iterator[Configuration]:
        """The configurations at times 0, 1, 2, …."""
        return configurations(machine, word, head=head)

    @property
    def end(self) -> int:
        """The last time that there is."""
        return len(self.q) - 1

    def followed(self, i: int) -> int | None:
        """The token that token i looks up; None at a stay and where no rule applies."""
        return {1: self.R[i], -1: self.L[i], 0: None}[self.m[i]]
