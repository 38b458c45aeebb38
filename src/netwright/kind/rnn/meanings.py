"""Meanings of the RNN of Theorem 2.3."""

from netwright.exact.meanings import Meanings

READOUTS = {
    "u": "1",
    "R": "the right stack",
    "L": "the left stack",
    "n": "one for each pair of a state and a symbol: 1 for the present one",
}
MEANINGS = Meanings(
    blocks={
        "u": "1: a bias",
        "Rpop": "the right stack before its top was read, if the last move went right",
        "Rpush": "the right stack, if the last move went left and pushed on it",
        "Lpop": "the left stack before its top was read, if the last move went left",
        "Lpush": "the left stack, if the last move went right and pushed on it",
        "Rstay": "the right stack, if the head stayed; in machines that stay",
        "Lstay": "the left stack, if the head stayed; in machines that stay",
        "S": "the state: one neuron for each, 1 for the present one",
        "P": "q D a: 1 if the state is q, the last move was D and the digit read is at least a",
        "sc": "while the input is read: B^-i at its i-th symbol",
        "e": "while the input is read: B^-i in the neuron of the i-th symbol's digit",
    },
    hidden={"U": READOUTS},
    weights={
        "W": "from an input symbol to the hidden vector (encoder)",
        "V": "from one hidden vector to the next while the input is read (encoder)",
        "U": "a step of the machine: read-outs of state, symbol and stacks, then the next ones",
    },
)
