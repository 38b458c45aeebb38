"""Words in, states and symbols out: what all exported networks share."""

import argparse
from itertools import islice


class Readable:
    """A network that can be run on a word, and whose outputs can be read.

    `names` is what names.json has. `outputs(word)` yields (y, attended) for y_1, y_2, …, without
    end, tokens being counted from 0; `scores_of_pairs(y)` is y·A + b of the read-out, above 1/2 for
    the pair of state and symbol that y shows.
    """

    def tokens(self, word):
        """The numbers of a word's symbols, and of what is read after it.

        A word is a string, one symbol per character, or a list of symbols.
        """
        known = {symbol: n for n, symbol in enumerate(self.names["vocabulary"])}
        for place, symbol in enumerate(word):
            if symbol not in known:
                symbols = " ".join(known)
                raise ValueError(f"symbol {place + 1} is {symbol!r}; expected one of: {symbols}")
        return [known[symbol] for symbol in (*word, *self.names["behind"])]

    def pair(self, y):
        """The state and the symbol that an output shows; None if it shows none."""
        values = self.scores_of_pairs(y)
        best = int(values.argmax())
        return tuple(self.names["readout"]["pairs"][best]) if values[best] > 0.5 else None

    def run(self, word, limit=1000):
        """(t, state, symbol) for each y_t that shows a configuration, to the end of the run."""
        final, begun = set(self.names["readout"]["final"]), False
        for t, (y, _) in enumerate(islice(self.outputs(word), limit), start=1):
            pair = self.pair(y)
            if pair is not None:
                begun = True
                yield t, *pair
            if (pair is None and begun) or (pair is not None and pair[0] in final):
                return

    def outcome(self, word, limit=1000):
        """How the run ends: accepted, rejected, halted, or undecided within `limit` outputs."""
        return self.outcome_of([*self.run(word, limit)], limit)

    def outcome_of(self, run, limit):
        """How a run ends, from a list of what `run` yields."""
        t, state, _ = run[-1] if run else (0, None, None)
        if state in self.names["readout"]["final"]:
            return self.names["outcomes"]["final"]
        return "undecided" if t == limit else self.names["outcomes"]["dead"]


def main(network):
    """Print a run: state and symbol at each output, and how it ends."""
    parser = argparse.ArgumentParser(description=network.__doc__)
    parser.add_argument("word", nargs="?", help="the input, one symbol per character")
    parser.add_argument("--outputs", type=int, default=1000, help="maximum number of outputs")
    given = parser.parse_args()
    word = network.names["default_input"] if given.word is None else given.word
    seen = []
    try:
        for t, state, symbol in network.run(word, given.outputs):
            print(f"{t:>6}  {state}  {symbol}")
            seen.append((t, state, symbol))
        print(network.outcome_of(seen, given.outputs))
    except ValueError as error:
        parser.error(str(error))
