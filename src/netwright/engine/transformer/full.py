"""The paper's Transformer with every weight at every token; see `engine.full.run`."""

from collections.abc import Sequence
from math import gcd

import numpy as np

from netwright.definitions.transformer import Transformer
from netwright.engine.full.checked import HIGHEST, LOWEST
from netwright.engine.full.forms import WIDE
from netwright.engine.full.run import FullRun
from netwright.engine.moments import UnsuitableError, Watch
from netwright.engine.transformer import arrays
from netwright.engine.transformer.program import LastVisit, Mean, Program
from netwright.engine.transformer.tables.engine import TableTransformer
from netwright.exact.arrays import IntArray
from netwright.exact.vector import Vector


class FullTransformer(FullRun[TableTransformer]):
    """A decoder's run with the interface of `TableTransformer`."""

    def __init__(
        self,
        network: Transformer,
        X: Sequence[Vector],
        program: Program,
        seed: Vector,
        watches: Sequence[Watch] = (),
    ) -> None:
        tables = TableTransformer(network, program, seed, watches, shows_outputs=True)
        super().__init__(network, X, seed, watches, tables)

    @property
    def has_stream(self) -> bool:
        """Whether z is known: it is not where the tables are ahead of the check."""
        return self.tables.has_stream and self.checked.tokens == self.moments

    @property
    def y(self) -> Vector:
        """The newest output."""
        return self.tables.y

    @property
    def z(self) -> Vector:
        """The newest token's vector after the last layer."""
        return self.tables.z

    def synchronise(self) -> None:
        """Copy the state of the tables, with running sums and cells, to vector code."""
        super().synchronise()
        checked, program, state = self.checked, self.tables.program, self.tables.state
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
            total, scale = totals.get((n, k), (0, 1))  # a missing sum is always 0
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


def _rescaled(numbers: IntArray, over: int, scale: int) -> IntArray:
    """Numerators over `scale` as numerators over `over`; UnsuitableError if not integers."""
    divisor = gcd(over, scale)
    factor, scale = over // divisor, scale // divisor
    most = max(map(abs, (int(numbers.min()), int(numbers.max())))) if numbers.size else 0
    if most * factor >= WIDE or scale >= WIDE or (numbers % scale).any():
        raise UnsuitableError("what is kept is too large, or has another denominator")
    found: IntArray = numbers // scale * factor
    return found
