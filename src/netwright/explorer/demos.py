"""Runs that are worth a look, each with one question to answer by looking."""

from typing import NamedTuple


class Demo(NamedTuple):
    """A place to begin."""

    title: str
    question: str
    query: dict[str, str]


DEMOS = [
    demo._asdict()
    for demo in (
        Demo(
            "A palindrome",
            "Which token wrote the b that token 18 looks back to? Why not token 9?",
            {"machine": "palindrome", "input": "abba", "t": "18"},
        ),
        Demo(
            "Counting up in binary",
            "Why does the carry stop where it does?",
            {"machine": "binary-increment", "t": "1"},
        ),
        Demo(
            "An even number of a's",
            "This machine never goes back. Which cells does layer 3 ask for?",
            {"machine": "even-as", "input": "abaab", "t": "14"},
        ),
        Demo(
            "Busy beaver of 4 states",
            "107 steps. How far back does attention reach at most?",
            {"machine": "busy-beaver-4", "t": "60"},
        ),
        Demo(
            "Busy beaver of 5 states, in the middle",
            "Token 23,456,789 attends to a token how many steps ago? How small is the margin?",
            {"machine": "busy-beaver-5", "t": "23456789"},
        ),
        Demo(
            "Busy beaver of 5 states, its last token",
            "47,176,870 steps. What does the machine read when it halts?",
            {"machine": "busy-beaver-5", "t": "47176873"},
        ),
        Demo(
            "Where float32 goes wrong",
            "At token 145 the second-best score is how close to the best? Count the bits.",
            {"machine": "busy-beaver-5", "t": "145"},
        ),
        Demo(
            "The same by recency",
            "With another query and key, the margin at token 145 is how much larger?",
            {"machine": "busy-beaver-5", "t": "145", "score": "recency"},
        ),
        Demo(
            "A universal machine",
            "4 states and 6 symbols. Where is the program on its tape?",
            {"machine": "universal-4-6", "t": "200"},
        ),
        Demo(
            "Binary multiplication",
            "Follow the head in the diagram: how many passes over the first factor are there?",
            {"machine": "binary-multiplication", "t": "1"},
        ),
        Demo(
            "Stacks in an RNN",
            "Where in the hidden vector is the tape to the left of the head?",
            {"machine": "palindrome", "input": "abba", "kind": "rnn", "t": "10"},
        ),
        Demo(
            "A Neural GPU",
            "One cell for each symbol of the input. In which of them is the machine?",
            {"machine": "even-as", "input": "ab", "kind": "neural-gpu", "t": "4"},
        ),
    )
]
