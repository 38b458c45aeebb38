"""A decoder with every weight at every token: tables propose its run, vector code checks it.

See `engine.full`. A token that is not as the tables say would be a fault of theirs; one that vector
code does not follow, such as an output that is not made of blocks with one 1, is left to rationals.
"""

from collections.abc import Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from netwright.engine.full.checked import CHUNK, HIGHEST, LOWEST, Checked
from netwright.engine.full.forms import WIDE
from netwright.engine.full.program import Decoder, Part, one_hot, signed
from netwright.engine.moments import NEITHER, Coded, UnsuitableError, Watch
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.transformer import arrays
from netwright.runtime.transformer.program import OUTPUT, LastVisit, Mean, Program
from netwright.runtime.transformer.tables.engine import TableTransformer


class FullTransformer:
    """A decoder's run, as `TableTransformer` has it."""

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        program: Program,
        seed: Vector,
        watches: Sequence[Watch] = (),
    ) -> None:
        self.tables = TableTransformer(network, program, seed, watches, shows_outputs=True)
        self.watches, layout = watches, network.layout
        self.blocks = [
            (block, layout.places(block))
            for block, _ in layout.blocks
            if any(k in program.vectors[OUTPUT] for k in layout.places(block))
        ]
        decoder = Decoder(network, X, self._output(0))
        decoder.require(decoder.vectors["y"], decoder.vector(self._output(1)))
        for n, watch in enumerate(watches):
            decoder.require_watched(watch, f"watch {n}")
        self.checked = Checked(decoder)
        self._codes = np.zeros((0, len(self.blocks)), np.int64)
        self._known, self._given = 0, dict[str, tuple[int, NDArray[np.int64]]]()
        self._stand()

    def _output(self, shift: int) -> list[Part]:
        return [
            signed(block, places[0], shift) if len(places) == 1 else one_hot(block, places, shift)
            for block, places in self.blocks
        ]

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return self.tables.moments

    @property
    def has_stream(self) -> bool:
        """Whether z is known: not where the tables are further than what is checked."""
        return self.tables.has_stream and self.checked.tokens == self.moments

    @property
    def y(self) -> Vector:
        """The newest output."""
        return self.tables.y

    @property
    def z(self) -> Vector:
        """What the last layer made of the newest token."""
        return self.tables.z

    def advance(self, tokens: int) -> Coded:
        """The next tokens, a chunk at most; UnsuitableError if the next is not as proposed."""
        if self.checked.tokens != self.moments:
            raise UnsuitableError("vector code does not follow the next token")
        proposed = self.tables.advance(min(tokens, CHUNK))
        count, given = len(proposed), self.checked.given
        for name, (shift, codes) in self._columns(proposed.rows).items():
            np.take(codes, proposed.numbers, out=given[name][shift : shift + count], mode="clip")
        done = self.checked.advance(count)
        self.checked.shift(count)
        if not done:
            raise UnsuitableError("vector code does not follow the next token")
        return Coded(proposed.numbers[:done], proposed.rows[:, :-1])

    def _columns(self, rows: NDArray[np.int64]) -> dict[str, tuple[int, NDArray[np.int64]]]:
        """What is given, by the numbers of codes: how much later, and the code."""
        if len(rows) != self._known:
            blocks = np.ascontiguousarray(self._block_codes()[rows[:, -1]].T)
            found = {block: (1, codes) for (block, _), codes in zip(self.blocks, blocks)}  # noqa: B905
            for n in range(len(self.watches)):
                found[f"watch {n}"] = 0, np.ascontiguousarray(rows[:, n])
            self._known = len(rows)
            self._given = {k: each for k, each in found.items() if k in self.checked.given}
        return self._given

    def _block_codes(self) -> NDArray[np.int64]:
        """By the number of an output: a code for each block."""
        outputs, old = self.tables.outputs, len(self._codes)
        if len(outputs) > old:
            new = [[self._code(y, places) for _, places in self.blocks] for y in outputs[old:]]
            self._codes = np.concatenate([self._codes, np.array(new, np.int64)])
        return self._codes

    def _code(self, output: dict[int, int], places: range) -> int:
        scales = self.tables.program.vectors[OUTPUT]
        shown = [(n, output[k], scales[k].D) for n, k in enumerate(places) if output.get(k)]
        if not shown:
            return 0 if len(places) == 1 else -1
        (n, number, one), *others = shown
        if len(places) == 1:
            return number // one if abs(number) == one else NEITHER
        return n if number == one and not others else NEITHER

    # Snapshots are those of the tables.

    def snapshot(self) -> Snapshot:
        """The state, copied."""
        return self.tables.snapshot()

    def restore(self, state: Snapshot) -> None:
        """Go on from a state; FormatError if it is none."""
        self.tables.restore(state)
        self._stand()

    def _stand(self) -> None:
        """Let vector code stand where the tables stand."""
        checked, program, state = self.checked, self.tables.program, self.tables.state
        checked.tokens = self.moments
        codes = self._block_codes()[self.tables.clock[arrays.OWN]]
        if NEITHER in codes:
            raise UnsuitableError("an output is not made of blocks with one 1")
        for n, (block, _) in enumerate(self.blocks):
            checked.given[block][0] = codes[n]
        sums, visits = iter(state["total"].tolist()), 0
        totals: dict[tuple[int, int], tuple[int, int]] = {}
        looked: dict[int, tuple[int, LastVisit]] = {}
        for n, each in enumerate(program.attentions, start=1):
            if isinstance(each, Mean):
                scales = program.vectors[each.vector]
                totals |= {(n, t.source): (next(sums), scales[t.source].D) for t in each.terms}
            elif isinstance(each, LastVisit):
                looked[n], visits = (visits, each), visits + 1
        for operation, (n, k, over) in checked.decoder.sums.items():
            total, scale = totals.get((n, k), (0, 1))  # what is not there is always 0
            checked.clocks[operation][LOWEST] = _rescaled(np.array([total]), over, scale)[0]
        for operation, (n, values) in checked.decoder.kept.items():
            if n not in looked:
                raise UnsuitableError("the tables do not look up what vector code looks up")
            place, attention = looked[n]
            scales, places = program.vectors[attention.value], [t.source for t in attention.terms]
            kept = state["kept"][place]
            rows = np.zeros((1 + len(kept), 1 + len(values)), np.int64)
            rows[1:, 0] = kept[:, arrays.LATEST]
            for column, (k, over) in enumerate(values, start=1):
                if k in places:
                    found = kept[:, arrays.VALUE + places.index(k)]
                    rows[1:, column] = _rescaled(found, over, scales[k].D)
            checked.keep_cells(operation, int(self.tables.clock[arrays.FIRST_CELL]), rows)
            checked.clocks[operation][[LOWEST, HIGHEST]] = state["visits"][place]


def _rescaled(numbers: NDArray[np.int64], over: int, scale: int) -> NDArray[np.int64]:
    """Numbers over `scale`, over another one; UnsuitableError if they are not integers of it."""
    divisor = gcd(over, scale)
    factor, scale = over // divisor, scale // divisor
    most = max(map(abs, (int(numbers.min()), int(numbers.max())))) if numbers.size else 0
    if most * factor >= WIDE or scale >= WIDE or (numbers % scale).any():
        raise UnsuitableError("what is kept is too large, or has another denominator")
    found: NDArray[np.int64] = numbers // scale * factor
    return found
