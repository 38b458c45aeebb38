"""The one table of machines and inputs, with oracles that know nothing of Turing machines.

Every level (simulator, normal form, definition, fast engine) runs over the same cases.
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple


class Case(NamedTuple):
    """A machine of the library, a word, and what must come out: a verdict, or the final tape."""

    machine: str
    word: str
    answer: bool | str


def words(alphabet: str, longest: int) -> Iterable[str]:
    """All words up to a length, the empty one first."""
    for length in range(longest + 1):
        yield from map("".join, product(alphabet, repeat=length))


def _balanced(word: str, pairs: dict[str, str]) -> bool:
    waiting: list[str] = []
    for bracket in word:
        if bracket in pairs:
            waiting.append(pairs[bracket])
        elif not waiting or waiting.pop() != bracket:
            return False
    return not waiting


def _prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, n))


def _anbncn(word: str) -> bool:
    n = len(word) // 3
    return word == "a" * n + "b" * n + "c" * n


def binary(n: int) -> str:
    """A number as the machines write it."""
    return f"{n:b}"


Oracle = tuple[list[str], Callable[[str], bool | str]]
ORACLES: dict[str, Oracle] = {
    "palindrome": ([*words("ab", 5)], lambda w: w == w[::-1]),
    "anbncn": ([*words("abc", 4), "aabbcc", "aabbc", "aaabbbccc", "aabcbc"], _anbncn),
    "balanced-parentheses": ([*words("()", 6)], lambda w: _balanced(w, {"(": ")"})),
    "matching-brackets": (
        [*words("()[]", 3), *words("([{}])", 3), "([]{()})", "([)]", "{[()()]}", "{[(])}"],
        lambda w: _balanced(w, {"(": ")", "[": "]", "{": "}"}),
    ),
    "ww": ([*words("ab", 6)], lambda w: w[: len(w) // 2] * 2 == w),
    "even-as": ([*words("ab", 5)], lambda w: w.count("a") % 2 == 0),
    "more-as": ([*words("ab", 6)], lambda w: w.count("a") > w.count("b")),
    "divisible-by-three": ([*map(binary, range(40)), ""], lambda w: int(w or "0", 2) % 3 == 0),
    "power-of-two": (["1" * n for n in range(34)], lambda w: f"{len(w):b}".count("1") == 1),
    "prime": (["1" * n for n in range(24)], lambda w: _prime(len(w))),
    "binary-increment": (
        [*words("01", 4)],
        lambda w: f"{int(w or '0', 2) + 1:0{len(w)}b}",
    ),
    "binary-decrement": (
        [*map(binary, range(33)), "000", "0100"],
        lambda w: f"{max(0, int(w, 2) - 1):0{len(w)}b}",
    ),
    "binary-addition": (
        [f"{x:b}+{y:b}" for x in range(9) for y in range(9)],
        lambda w: binary(sum(int(n, 2) for n in w.split("+"))),
    ),
    "binary-multiplication": (
        [f"{x:b}*{y:b}" for x in range(8) for y in range(1, 8)] + ["101*0", "1101*1011"],
        lambda w: f"{int(w.split('*')[0], 2) * int(w.split('*')[1], 2):b}",
    ),
    "unary-multiplication": (
        ["1" * x + "*" + "1" * y for x in range(4) for y in range(4)],
        lambda w: "1" * (w.index("*") * (len(w) - w.index("*") - 1)),
    ),
    "copy": ([*words("ab", 3)], lambda w: f"{w}#{w}"),
    "reverse": ([*words("ab", 5)], lambda w: w[::-1]),
    "sort-bits": ([*words("01", 6)], lambda w: "".join(sorted(w))),
    "collatz": ([*map(binary, range(1, 28))], lambda w: "1"),
}
TABLE = [
    Case(machine, word, oracle(word))
    for machine, (inputs, oracle) in ORACLES.items()
    for word in dict.fromkeys(inputs)
]


class Default(NamedTuple):
    """What a machine of the library that halts does on its default input."""

    outcome: str
    steps: int
    state: str
    non_blank: int


NEVER_HALTING = ("binary-counter", "sweeper")
DEFAULT_RUNS = {
    "anbncn": Default("accepted", 23, "accept", 6),
    "balanced-parentheses": Default("accepted", 28, "accept", 6),
    "binary-addition": Default("halted", 92, "done", 6),
    "binary-decrement": Default("halted", 8, "done", 4),
    "binary-increment": Default("halted", 8, "done", 4),
    "binary-multiplication": Default("halted", 189, "done", 5),
    "busy-beaver-2": Default("halted", 6, "Z", 4),
    "busy-beaver-3": Default("halted", 21, "Z", 5),
    "busy-beaver-4": Default("halted", 107, "Z", 13),
    "busy-beaver-5": Default("halted", 47_176_870, "Z", 4098),
    "busy-beaver-2-4": Default("halted", 3_932_964, "Z", 2050),
    "collatz": Default("halted", 93, "done", 1),
    "copy": Default("halted", 36, "done", 7),
    "divisible-by-three": Default("accepted", 5, "accept", 4),
    "even-as": Default("accepted", 5, "accept", 4),
    "matching-brackets": Default("accepted", 42, "accept", 8),
    "more-as": Default("accepted", 36, "accept", 5),
    "palindrome": Default("accepted", 15, "accept", 0),
    "power-of-two": Default("accepted", 57, "accept", 7),
    "prime": Default("accepted", 896, "accept", 15),
    "reverse": Default("halted", 30, "done", 5),
    "sort-bits": Default("halted", 24, "done", 7),
    "unary-multiplication": Default("halted", 111, "done", 6),
    # Rogozhin's machine needs 6880 steps for this tag system; seek walks 48 cells before.
    "universal-4-6": Default("halted", 6880 + 48, "q3", 115),
    "ww": Default("accepted", 55, "accept", 6),
}
