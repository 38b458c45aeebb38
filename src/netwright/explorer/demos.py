"""Runs that are worth a look, each with one question to answer by looking."""

from typing import Any

DEMOS: list[dict[str, Any]] = [
    {
        "title": "A palindrome",
        "question": "Which token wrote the b that token 18 looks back to? Why not token 9?",
        "query": {"machine": "palindrome", "input": "abba", "t": "18"},
    },
    {
        "title": "Counting up in binary",
        "question": "Why does the carry stop where it does?",
        "query": {"machine": "binary-increment", "t": "1"},
    },
    {
        "title": "An even number of a's",
        "question": "This machine never goes back. Which cells does layer 3 ask for?",
        "query": {"machine": "even-as", "input": "abaab", "t": "14"},
    },
    {
        "title": "Busy beaver of 4 states",
        "question": "107 steps. How far back does attention reach at most?",
        "query": {"machine": "busy-beaver-4", "t": "60"},
    },
    {
        "title": "Busy beaver of 5 states, in the middle",
        "question": "How many steps ago is the token that token 23,456,789 attends to? "
        "How small is the margin?",
        "query": {"machine": "busy-beaver-5", "t": "23456789"},
    },
    {
        "title": "Busy beaver of 5 states, its last token",
        "question": "47,176,870 steps. What does the machine read when it halts?",
        "query": {"machine": "busy-beaver-5", "t": "47176873"},
    },
    {
        "title": "Where float32 goes wrong",
        "question": "In 24 bits token 145 selects another token. How close are the two scores? "
        "How many bits would do?",
        "query": {"machine": "busy-beaver-5", "t": "145", "bits": "24"},
    },
    {
        "title": "The same by recency",
        "question": "With a different query and key, how much larger is the margin at token 145?",
        "query": {"machine": "busy-beaver-5", "t": "145", "score": "recency"},
    },
    {
        "title": "A universal machine",
        "question": "4 states and 6 symbols. Where is the program on its tape?",
        "query": {"machine": "universal-4-6", "t": "200"},
    },
    {
        "title": "Binary multiplication",
        "question": "Follow the head in the diagram: "
        "how many passes over the first factor are there?",
        "query": {"machine": "binary-multiplication", "t": "1"},
    },
    {
        "title": "Stacks in an RNN",
        "question": "Where in the hidden vector is the tape to the left of the head?",
        "query": {"machine": "palindrome", "input": "abba", "kind": "rnn", "t": "10"},
    },
    {
        "title": "Without positions",
        "question": "Why does layer 1 fail first, and not layer 3?",
        "query": {
            "machine": "palindrome",
            "input": "abba",
            "t": "2",
            "break": '[["part","positions"]]',
        },
    },
    {
        "title": "The machine in a mirror",
        "question": "One sign of the universal network is flipped: the move of every rule. Where "
        "does its run go?",
        "query": {
            "machine": "busy-beaver-4",
            "kind": "universal-transformer",
            "t": "6",
            "break": '[["weight","encoder.V","m2","m2"]]',
        },
    },
    {
        "title": "A Neural GPU",
        "question": "One cell for each symbol of the input. In which of them is the machine?",
        "query": {"machine": "even-as", "input": "ab", "kind": "neural-gpu", "t": "4"},
    },
]
