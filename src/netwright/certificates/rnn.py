"""The obligations of an RNN: together they imply that it simulates its machine, always.

A configuration is written as a vector that is affine in the two stacks X_R, X_L ∈ [0, τ]. So are
the pre-activations, and interval arithmetic bounds them for every content of the stacks.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from flint import fmpq

from netwright.certificates.products import Long, Products
from netwright.certificates.reading import (
    NOTHING,
    ONE,
    Blocks,
    Cases,
    Checker,
    Machine,
    Nothing,
    Obligation,
    Sparse,
    number,
    oblige,
    read_vector,
)
from netwright.certificates.schema import RNN, unique

ZERO = fmpq(0)


class Affine(NamedTuple):
    """c + x·X + y·Y for two parameters."""

    c: fmpq = ZERO
    x: fmpq = ZERO
    y: fmpq = ZERO

    def plus(self, other: "Affine") -> "Affine":
        """The sum."""
        return Affine(self.c + other.c, self.x + other.x, self.y + other.y)

    def most(self, x: tuple[fmpq, fmpq], y: tuple[fmpq, fmpq]) -> fmpq:
        """The maximum for parameters in two intervals."""
        return self.c + max(self.x * end for end in x) + max(self.y * end for end in y)

    def least(self, x: tuple[fmpq, fmpq], y: tuple[fmpq, fmpq]) -> fmpq:
        """The minimum for parameters in two intervals."""
        return self.c + min(self.x * end for end in x) + min(self.y * end for end in y)


ALWAYS_0, ALWAYS_1, X, Y = Affine(), Affine(ONE), Affine(x=ONE), Affine(y=ONE)
STACKS = {"R": ("Rpop", "Lpush"), "L": ("Rpush", "Lpop"), "S": ("Rstay", "Lstay")}
"""The blocks of the right and of the left stack after each move."""
Symbolic = dict[int, Affine]


def parts_of(vector: Symbolic) -> list[Sparse]:
    """Three sparse vectors: the constants, the factors of X and those of Y."""
    return [{k: v[part] for k, v in vector.items() if v[part]} for part in range(3)]


def joined(parts: Sequence[Mapping[int, fmpq]]) -> Symbolic:
    """The inverse of `parts_of`."""
    places = {k for part in parts for k in part}
    return {k: Affine(*(part.get(k, ZERO) for part in parts)) for k in places}


class Image(NamedTuple):
    """An image as a sum of two vectors, the first shared with other images."""

    shared: Symbolic
    above: set[int]
    """The coordinates where `shared` can be above 0."""
    own: Symbolic

    def at(self, places: Iterable[int]) -> Symbolic:
        """The nonzero sums at some places."""
        sums = ((k, self.shared.get(k, ALWAYS_0).plus(self.own.get(k, ALWAYS_0))) for k in places)
        return {k: total for k, total in sums if total != ALWAYS_0}


PLAIN = {"R": None, "b1": None, "b2": None, "O": "identity", "f1": "sigma", "f2": "sigma"}
"""The fields that Theorem 2.3 fixes: everything but W, V and U."""


def read_embedding(written: Mapping[str, Any], size: int) -> dict[str, Sparse]:
    """The embedding: the vector of each symbol."""
    found = unique(written["embedding"], "the embedding")
    return {symbol: read_vector(vector, size) for symbol, vector in found.items()}


class RNNCheck:
    """A serialised RNN, and its obligations."""

    def __init__(
        self,
        written: Mapping[str, Any],
        at: Blocks,
        matrices: Mapping[str, Products],
        embedding: Mapping[str, Sparse],
        plain: bool,
    ) -> None:
        self.at, self.matrices = at, matrices
        self.machine = Machine(written["given"])
        neurons = written["neurons"]
        self.base = number(neurons["base"])
        self.digits: dict[str, int] = unique(neurons["digits"], "digits")
        self.k = len(self.machine.symbols)
        tops = (((q, move, a), label) for label, (q, move, a) in neurons["tops"])
        self.tops: dict[tuple[str, str, int], str] = unique(tops, "neurons P")
        self.embedding = embedding
        self.final = set(written["final_states"])
        self.plain = plain
        self.tau = fmpq(self.k - 1) / (self.base - 1) if self.base != 1 else fmpq(1)
        self.whole = (ZERO, self.tau)
        self.stacks = self.whole, self.whole

    @staticmethod
    def read(written: Mapping[str, Any]) -> "RNNCheck":
        """Read an RNN from a certificate."""
        layouts = [Blocks(blocks) for blocks in written["layouts"]]
        sizes = [len(layout.names) for layout in layouts]
        network = written["network"]
        layout = network["layout"]
        matrices = {letter: Products.read(network[letter], sizes, layout) for letter in "WVU"}
        functions = {name: network[name] for name in PLAIN}
        embedding = read_embedding(written, sizes[layout])
        return RNNCheck(written, layouts[layout], matrices, embedding, functions == PLAIN)

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations; those about stacks need a base above k."""
        yield oblige("neurons: one for each part of a configuration", self._neurons())
        if self.base > self.k:
            yield oblige("encoder: the first token", self._first_token())
            yield oblige("encoder: every other token", self._next_token())
            yield oblige("start: the decoder takes over what the encoder leaves", self._start())
            yield oblige("step: every state, symbol and last move, all stacks", self._steps())
            yield oblige("end: a halted machine stays halted", self._end())

    def _neurons(self) -> Cases:
        machine, at = self.machine, self.at
        yield set(self.embedding) == set(machine.symbols), "the embedding has the wrong symbols"
        yield self.plain, "there are biases, an R, a different O or a different activation"
        yield self.base > self.k, f"base {self.base} is not above {self.k}"
        values = sorted(self.digits.values())
        yield values == list(range(self.k)), "digits are not 0 to k − 1"
        yield set(self.digits) == set(machine.symbols), "the digits are of the wrong symbols"
        yield self.digits.get(machine.blank) == 0, "the blank's digit is not 0"
        yield list(at["S"]) == machine.states, "S has the wrong states"
        yield self.final == machine.final, "the final set is wrong"
        labels = list(self.tops.values())
        yield sorted(at["P"]) == sorted(labels), "P has the wrong neurons"
        for (q, move), a in product(self._pairs(), range(1, self.k)):
            yield (q, move, a) in self.tops, f"no neuron P for {q}, {move}, {a}"

    def _pairs(self) -> list[tuple[str, str]]:
        """States with the move that may have led to them."""
        rules = (self.machine.rule(q, s) for q, s in self.machine.delta)
        led = ((rule[0], rule[2]) for rule in rules if rule is not None)
        return list(dict.fromkeys([(self.machine.start, "R"), *led]))

    def _configuration(self, q: str, move: str, digit: int) -> Symbolic:
        """The vector of a configuration; X is the right stack and Y the left one."""
        inverse = 1 / self.base
        right = Affine(digit * inverse, inverse) if move == "R" else X
        left = Affine(digit * inverse, y=inverse) if move == "L" else Y
        return self._in_state(q, move, digit) | self._with_stacks(move, right, left)

    def _in_state(self, q: str, move: str, digit: int) -> Symbolic:
        """u, S and P of a configuration."""
        at = self.at
        tops = {at.one("P", self.tops[q, move, a]): ALWAYS_1 for a in range(1, digit + 1)}
        return {at.one("u"): ALWAYS_1, at.one("S", q): ALWAYS_1, **tops}

    def _with_stacks(self, move: str, right: Affine, left: Affine) -> Symbolic:
        """The blocks of the stacks after a move."""
        return dict(zip(map(self.at.one, STACKS[move]), (right, left), strict=True))

    def _through(self, letter: str, vector: Symbolic) -> Symbolic:
        """The image of a vector, which is linear in each of its three parts."""
        return joined([self.matrices[letter](part) for part in parts_of(vector)])

    def _images(self) -> Callable[[Symbolic], Image]:
        """The function x ↦ xU, with a cache of the summands that many images share."""
        U = self.matrices["U"]  # the paper's letter

        @lru_cache(maxsize=16)
        def shared(*long: Long) -> tuple[Symbolic, set[int]]:
            vector = joined([U.shared(each) for each in long])
            return vector, {k for k, v in vector.items() if v.most(*self.stacks) > 0}

        def image(vector: Symbolic) -> Image:
            split = [U.split(part) for part in parts_of(vector)]
            return Image(*shared(*(long for long, _ in split)), joined([own for _, own in split]))

        return image

    def _compare(
        self,
        found: Symbolic,
        wanted: Mapping[int, Affine],
        x: tuple[fmpq, fmpq],
        y: tuple[fmpq, fmpq],
        where: str,
    ) -> Cases:
        """Compare σ of `found` with `wanted`, for all parameters in two intervals.

        A coordinate must be 0, or 1, or a part of a stack: then the pre-activation is that itself.
        """
        for k in sorted({*found, *wanted}):
            have, want = found.get(k, ALWAYS_0), wanted.get(k, ALWAYS_0)
            name = f"{self.at.names[k]} after {where}"
            if want == ALWAYS_0:
                yield have.most(x, y) <= 0, f"{name} is not always 0"
            elif want == ALWAYS_1:
                yield have.least(x, y) >= 1, f"{name} is not always 1"
            else:
                yield have == want, f"{name} is {have}, expected {want}"
                yield want.least(x, y) >= 0 and want.most(x, y) <= 1, f"{name} leaves [0, 1]"

    def _compare_image(
        self, found: Image, wanted: Mapping[int, Affine], but: Collection[int], where: str
    ) -> Cases:
        """`_compare` for all stacks, without the places `but`; counts all cases, evaluates few.

        Where an image is its shared summand alone and that is never above 0, σ of it is 0, as
        wanted.
        """
        near = {*found.own, *found.above, *wanted, *but}
        cases = [*self._compare(found.at(near.difference(but)), wanted, *self.stacks, where)]
        if all(holds for holds, _ in cases):
            yield len(cases) + len(found.shared) - len(near & found.shared.keys()), where
        else:
            whole = {*found.shared, *found.own}.difference(but)
            yield from self._compare(found.at(whole), wanted, *self.stacks, where)

    def _steps(self) -> Cases:
        image = self._images()
        for (q, last), s in product(self._pairs(), self.machine.symbols):
            digit = self.digits[s]
            found = image(self._configuration(q, last, digit))
            where = f"({q}, {s}) that came by {last}"
            rule = self.machine.rule(q, s)
            if rule is None:
                yield from self._compare_image(found, self._halted(q), (), where)
                continue
            target, write, move = rule
            after = self._after(target, self.digits[write], move)
            # Neurons P of the new symbol depend on the top of the stack that is popped.
            popped = {"R": "x", "L": "y"}.get(move)
            tops = {self.at.one("P", self.tops[target, move, a]): a for a in range(1, self.k)}
            yield from self._compare_image(found, after, tops if popped else (), where)
            if popped is None:
                continue
            shown = dict.fromkeys(tops, ALWAYS_0) | found.at(tops)
            for t in range(self.k):
                part = (t / self.base, (t + self.tau) / self.base)
                x, y = (part, self.whole) if popped == "x" else (self.whole, part)
                new = {k: ALWAYS_1 for k, a in tops.items() if t >= a}
                yield from self._compare(shown, new, x, y, f"{where}, top {t}")

    def _after(self, target: str, written: int, move: str) -> Symbolic:
        """The configuration after a step, but for the neurons P of a symbol that was popped."""
        inverse = 1 / self.base
        right = Affine(written * inverse, inverse) if move == "L" else X
        left = Affine(written * inverse, y=inverse) if move == "R" else Y
        digit = written if move == "S" else 0
        return self._in_state(target, move, digit) | self._with_stacks(move, right, left)

    def _halted(self, q: str | Nothing) -> Symbolic:
        """u alone; and a start state that accepts stays, so that some y_r with r ≥ 1 shows it."""
        vector = {self.at.one("u"): ALWAYS_1}
        if q is not NOTHING and q == self.machine.start and q in self.final:
            vector[self.at.one("S", q)] = ALWAYS_1
        return vector

    def _end(self) -> Cases:
        for q in (NOTHING, self.machine.start):
            halted = self._halted(q)
            found = self._through("U", halted)
            yield from self._compare(found, halted, *self.stacks, "the end")

    def _read(self, first: int, last: int) -> Symbolic:
        """What the encoder has read: X is the scale B^(−i), Y the digits before the last.

        `first` is the digit of the first symbol, `last` that of the last one.
        """
        at = self.at
        vector = self._in_state(self.machine.start, "R", first)
        vector |= {at.one("sc"): X, at.one("Rpop"): Y}
        if last:
            vector[at.one("e", str(last))] = X
        return vector

    def _token(self, symbol: str) -> Symbolic:
        return {k: Affine(v) for k, v in self.embedding[symbol].items()}

    def _first_token(self) -> Cases:
        for symbol in self.machine.symbols:
            found, digit = self._through("W", self._token(symbol)), self.digits[symbol]
            read = self._read(digit, digit)
            wanted = {k: Affine(v.c + v.x / self.base) for k, v in read.items()}
            wanted = {k: v for k, v in wanted.items() if v.c}
            yield from self._compare(found, wanted, *self.stacks, f"first token {symbol}")

    def _next_token(self) -> Cases:
        scale = (ZERO, 1 / self.base)
        digits = range(self.k)
        state = {
            (first, last): self._through("V", self._read(first, last))
            for first, last in product(digits, digits)
        }
        for symbol in self.machine.symbols:
            added = self._through("W", self._token(symbol))
            for first, last in product(digits, digits):
                before = state[first, last]
                sums = {*before, *added}
                found = {k: before.get(k, ALWAYS_0).plus(added.get(k, ALWAYS_0)) for k in sums}
                wanted = self._read(first, self.digits[symbol])
                wanted = {k: Affine(v.c, v.x / self.base, v.y) for k, v in wanted.items()}
                # The last digit joins the others: Σ dig_j B^(−j) ≤ τ < 1, so σ leaves the sum.
                sum_of = Affine(x=fmpq(last), y=ONE)
                place = self.at.one("Rpop")
                wanted.pop(place)
                where = f"token {symbol}, first digit {first}, last {last}"
                yield found.pop(place, ALWAYS_0) == sum_of, f"Rpop after {where}"
                yield from self._compare(found, wanted, scale, self.whole, where)

    def _start(self) -> Cases:
        # After the input a blank is read, which leaves e at 0; the scale must not matter.
        rest = self.matrices["U"]({self.at.one("sc"): ONE})
        yield not rest, f"the scale reaches {self.at.show(rest)}"


CHECKER = Checker(RNN, lambda written: RNNCheck.read(written).obligations())
