"""Meanings of the Transformer of Theorem 3.4; token t = i + 1 has position i + 1."""

from netwright.exact.meanings import Meanings

ZERO = "0: nothing is read or added here"
HALVED = "subtracts half of s3 and x6, which the external attention adds in every layer"

MEANINGS = Meanings(
    blocks={
        "q1": "the state before the step, q^(i), one coordinate per state; cleared by decoder.1.O",
        "s1": "the symbol under the head, s^(i); cleared by decoder.1.O",
        "x1": "the move that led here, m^(i-1): -1, 1, or 0 at first; cleared by decoder.1.O",
        "q2": "the state after the step, q^(i+1)",
        "s2": "the symbol that the step writes, v^(i)",
        "x2": "the move of the step, m^(i)",
        "x3": "the move before, m^(i-1)",
        "x4": "the cell to which the head goes, c^(i+1), divided by i+1",
        "x5": "the cell where the head is, c^(i), divided by i+1",
        "s3": "the input's symbol number i+1; past the end its last one",
        "x6": "i+1, or the length of the input beyond its end",
        "s4": "the symbol written at the last visit of cell c^(i+1)",
        "x7": "that visit's token, counted from 0: l(i+1); i if the cell was never visited",
        "x8": "position: 1",
        "x9": "position: i+1",
        "x10": "position: 1/(i+1)",
        "x11": "position: 1/(i+1)^2",
        "x12": "position: 1/(i+1)^3; only with --score recency",
    },
    hidden={
        "decoder.1.O": {
            "q": "the state, copied from q1",
            "s": "the symbol, copied from s1",
            "m": "the move before, as m/2 + 1/2",
            "qs": "one neuron for each pair of a state and a symbol: 1 for the present one",
        },
        "F": {
            "q": "the next state",
            "m": "the move as a pair: + and -",
            "alpha": "the input's symbol, from s3",
            "b1": "0 while the input is read, 1 beyond",
            "v": "the symbol written at the last visit, from s4",
            "blank": "the blank symbol",
            "b2": "1 if the next cell was never visited, else 0",
            "y": "the symbol if the condition is 0: v without b2, then alpha without b1",
            "z": "the symbol if the condition is 1: the blank with b2, then that choice with b1",
        },
    },
    weights={
        "encoder.1.Q": ZERO,
        "encoder.1.K": ZERO,
        "encoder.1.V": ZERO,
        "encoder.1.O": ZERO,
        "encoder.K": "the key of input symbol j: (j, -1), so that its score at i is -|i - j| (B.1)",
        "encoder.V": "the value of input symbol j: its one-hot in s3, and j in x6 (B.1)",
        "decoder.1.Q": ZERO,
        "decoder.1.K": ZERO,
        "decoder.1.V": ZERO,
        "decoder.1.O": "the transition function: next state, written symbol, move (B.2)",
        "decoder.2.Q": "0: every token is attended to equally",
        "decoder.2.K": "0: every token is attended to equally",
        "decoder.2.V": "the moves: their mean is the head's cell divided by i+1 (B.3)",
        "decoder.2.O": HALVED,
        "decoder.3.Q": "asks for the last visit of the cell to which the head goes (B.4)",
        "decoder.3.K": "answers for the cell where the head is (B.4)",
        "decoder.3.V": "the symbol written, to s4, and the token's number from 0, to x7 (B.4)",
        "decoder.3.O": HALVED,
        "F": "the next state, symbol and move, from two choices (B.5, B.6)",
    },
)
