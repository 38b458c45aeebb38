"""Compare a network with its machine in vector code: every weight and claim at every token.

The machine's run is the proposal: its outputs, and all values that the proof uses, as arrays. If
every claim holds for the proposed tokens, and the next output is the next proposed one, then by
induction it is the network's run, and the claims are true of it. The first token that violates a
claim is evaluated in exact numbers, to name the claim.
"""

import numpy as np
from numpy.typing import NDArray

from netwright.engine.following.shown import ShownFollower
from netwright.engine.full.checked import CHUNK, Checked
from netwright.engine.full.forms import Number
from netwright.engine.full.forms import Vector as Forms
from netwright.engine.full.program import Decoder
from netwright.engine.moments import Codes, IndexedCodes, UnsuitableError
from netwright.exact.rational import ZERO
from netwright.machine.recorded import Recorded
from netwright.machine.simulate import Engine, Progress, simulate
from netwright.verify.comparison import Check, Comparison, difference_of
from netwright.verify.proposal import Proposal
from netwright.verify.shown import configuration_pairs

MOST_CODES = 1 << 16
REPORT_EVERY = CHUNK << 6  # tokens between two calls of `progress`
FROM_INPUT = ("alpha", "beta", "asked")
"""The arrays of the input: the symbol, the number min(i + 1, n), and that as a code."""


def compare_at_scale(
    on: str, proposal: Proposal, max_steps: int, progress: Progress | None = None
) -> Comparison:
    """Check all tokens to the end or the limit; UnsuitableError if vector code cannot follow."""
    steps, checks, failed = _Comparison(proposal, max_steps).run(progress)
    difference = None if failed is None else difference_of(failed)
    return Comparison(on, tuple(proposal.word), steps, checks, difference)


Found = tuple[int, int, Check | None]
"""Steps, the number of checks, and the check that failed."""


class _Comparison:
    def __init__(self, proposal: Proposal, max_steps: int) -> None:
        self.proposal, self.max_steps = proposal, max_steps
        self.decoder = decoder = Decoder(proposal.network, proposal.X, proposal.y)
        self.pairs = []
        for claim in proposal.claims:
            found, wanted = self._found(claim.found), decoder.vector(claim.parts)
            where: Number = 1
            if claim.where is not None:
                has_it = decoder.is_code(*claim.where[:3])
                where = has_it if claim.where.has_it else decoder.forms.total([(-1, has_it)], 1)
            decoder.require(found, wanted, where)
            self.pairs.append((claim, found, wanted, where))
        self.checked = Checked(decoder)
        given = self.checked.given
        names = [name for name in given if name not in FROM_INPUT]
        shown = [name for name in ("q", "v", "m") if name not in names]
        self.more = {name: np.zeros(CHUNK + 1, np.int64) for name in shown}
        self.arrays = {**{name: given[name] for name in names}, **self.more}
        self.recorded = Recorded(proposal.machine, proposal.word, -1, self.arrays)
        self.follower = ShownFollower(proposal.shown, max_steps)
        self.rows = self._rows()

    def _found(self, name: str) -> Forms:
        """The forms of a vector, of some of its blocks, or of the winner of an attention."""
        decoder, (vector, _, blocks) = self.decoder, name.partition(":")
        if vector in decoder.winners:
            return decoder.winner(vector)
        if vector not in decoder.vectors:
            raise UnsuitableError(f"{vector} is not one token")
        places = decoder.network.layout.places
        chosen = {k for block in blocks.split() for k in places(block)}
        found = decoder.vectors[vector].items()
        return {k: form for k, form in found if not blocks or k in chosen}

    def run(self, progress: Progress | None = None) -> Found:
        checked, follower = self.checked, self.follower
        self.recorded.advance(0, 1)
        if checked.exact(self.decoder.vector(self.proposal.y), 0, 0) != self.proposal.seed:
            raise UnsuitableError("the seed is not as proposed")
        tokens = checks = 0
        while True:
            self.recorded.advance(1, CHUNK)
            self._input(tokens)
            before, steps = follower.moments, follower.steps
            follower.take(self._codes())
            count = follower.moments - before
            last = self.proposal.states[int(self.arrays["q"][count])]
            is_final = count > 0 and last >= 0 and bool(follower.is_final[last])
            if follower.outcome is not None and count < CHUNK and not is_final:
                count += 1  # the token that shows the end is not one of the run's moments
            done = checked.advance(count)
            if done < count:
                shown = np.array(self.proposal.states)[self.arrays["q"][1 : done + 1]]
                steps += int(follower.is_given[shown[shown >= 0]].sum())
                checks += self._claims(done)
                return self._difference(done, tokens, steps, checks)
            tokens, checks = tokens + count, checks + self._claims(count)
            if follower.outcome is not None:
                break
            if progress is not None and tokens % REPORT_EVERY == 0:
                progress(max(0, follower.steps), follower.cells)
            checked.shift(CHUNK)
            for array in self.more.values():
                array[0] = array[CHUNK]
        checks += 3 * (follower.steps + 1 - follower.before_end) + 1
        return follower.steps, checks, self._end(tokens)

    def _claims(self, count: int) -> int:
        """How many claims were checked at the first `count` tokens of the chunk."""
        total = 0
        for claim, *_ in self.pairs:
            if claim.where is None:
                total += count
            else:
                hint, code, shift, has_it = claim.where
                codes = self.checked.given[hint][shift : shift + count]
                there = int(np.count_nonzero(codes == code))
                total += there if has_it else count - there
        return total

    def _input(self, tokens: int) -> None:
        """Fill the arrays of the input for the next chunk."""
        given, word = self.checked.given, self.proposal.word
        wanted = [name for name in FROM_INPUT if name in given]
        if not wanted or tokens > len(self.proposal.X) + CHUNK:
            return
        i = np.arange(tokens + 1, tokens + CHUNK + 2)
        if "asked" in wanted:
            given["asked"][: len(i)] = np.minimum(i, len(self.proposal.X))
        places = np.minimum(i, len(word))
        if "beta" in wanted:
            given["beta"][: len(i)] = places
        if "alpha" in wanted:
            symbols = {symbol: n for n, symbol in enumerate(self.proposal.machine.symbols)}
            codes = np.array([symbols[symbol] for symbol in word] or [-1], np.int64)
            given["alpha"][: len(i)] = codes[places - 1]

    def _codes(self) -> Codes:
        """The codes of the proposal: the next state, the symbol written, and the move."""
        q, v, m = (self.arrays[name] for name in ("q", "v", "m"))
        before, q, v, m = q[:CHUNK], q[1 : CHUNK + 1], v[:CHUNK], m[:CHUNK]
        if self.rows is None or q[-1] < 0:
            states, symbols = map(np.array, (self.proposal.states, self.proposal.symbols))
            codes = np.stack([states[q], symbols[v], m], axis=1)
            ends, names = (q < 0) & (before >= 0), self.proposal.machine.states
            if ends.any() and names[before[ends][0]] in self.proposal.accepting:
                codes[ends, 0] = self.proposal.shown.accepted
            return codes
        numbers = (3 * len(self.proposal.symbols)) * q + 3 * v + m
        return IndexedCodes(numbers.astype(np.uint16), self.rows)

    def _rows(self) -> NDArray[np.int64] | None:
        """A lookup table of codes for each state, symbol and move; None if it is too large."""
        states, symbols = self.proposal.states, self.proposal.symbols
        if 3 * len(states) * len(symbols) > MOST_CODES:
            return None
        # The last state and symbol have the number −1; a negative number wraps around at 2^16.
        rows = np.zeros((MOST_CODES, 3), np.int64)
        for n, state in enumerate(states):
            for k, symbol in enumerate(symbols):
                for move in (-1, 0, 1):
                    q, v = n - len(states) * (n == len(states) - 1), k
                    v -= len(symbols) * (k == len(symbols) - 1)
                    rows[(3 * len(symbols) * q + 3 * v + move) % MOST_CODES] = state, symbol, move
        return rows

    def _difference(self, k: int, tokens: int, steps: int, checks: int) -> Found:
        """Find the claim that fails at a token; raise UnsuitableError if none does exactly."""
        checks += 3 * (steps + 1)
        for claim, found, wanted, where in self.pairs:
            there = self.checked.exact({0: {(0, 0): (where, 1)}}, k, tokens)
            if there is not None and not there.entries:
                continue
            checks += 1
            have = self.checked.exact(found, k, tokens, claim.found.partition(":")[0])
            want = self.checked.exact(wanted, k, tokens)
            if have is None or want is None:
                break
            if have != want:
                shown: list[object] = [have, want]
                if claim.found in self.decoder.winners:
                    # Tokens are numbered from 0, those of the input from 1.
                    first = not claim.found.endswith("external")
                    if not have.entries:
                        break  # it is not one token
                    shown = [[int(x.entries.get(0, ZERO).p) - first] for x in (have, want)]
                steps = max(0, steps)
                check = Check(tokens + k, claim.statement, claim.name, shown[0], shown[1], steps)
                return steps, checks, check
        raise UnsuitableError(f"token {tokens + k + 1:,} is not for vector code")

    def _end(self, tokens: int) -> Check | None:
        """Compare the end of the run, as read off the network, with the machine's."""
        follower, shown = self.follower, self.proposal.shown
        last = simulate(shown.given, self.proposal.word, self.max_steps, engine=Engine.FAST)
        ends: list[tuple[str, object, object]] = [("the outcome", follower.outcome, last.outcome)]
        if not follower.before_end:
            ends += configuration_pairs(follower, shown, last)
        for name, have, want in ends:
            if have != want:
                return Check(tokens - 1, self.proposal.statement, name, have, want, follower.steps)
        return None
