"""The paper's Transformer with every weight at every token; see `engine.full.run`."""

from collections.abc import Sequence

import numpy as np

from netwright.engine.full.checked import HIGHEST, LOWEST
from netwright.engine.full.run import FullRun
from netwright.engine.moments import Watch
from netwright.exact.vector import Vector
from netwright.nets.transformer import Transformer
from netwright.runtime.transformer import arrays
from netwright.runtime.transformer.program import LastVisit, Mean, Program
from netwright.runtime.transformer.tables.engine import TableTransformer


class FullTransformer(FullRun[TableTransformer]):
    """A decoder's run, as `TableTransformer` has it."""

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
        """Whether z is known."""
        return self.tables.has_stream

    @property
    def y(self) -> Vector:
        """The newest output."""
        return self.tables.y

    @property
    def z(self) -> Vector:
        """What the last layer made of the newest token."""
        return self.tables.z

    def stand(self) -> None:
        """With the running sums and the cells of the tables."""
        super().stand()
        checked, program, state = self.checked, self.tables.program, self.tables.state
        sums = iter(state["total"].tolist())
        totals: dict[int, tuple[int, int]] = {}
        for each in program.attentions:
            if isinstance(each, Mean):
                scales = program.vectors[each.vector]
                totals |= {t.source: (next(sums), scales[t.source].D) for t in each.terms}
        for operation, (k, over) in checked.decoder.sums.items():
            total, scale = totals[k]
            checked.clocks[operation][LOWEST] = total * over // scale
        looked = [each for each in program.attentions if isinstance(each, LastVisit)]
        for visits, (operation, values) in enumerate(checked.decoder.kept.items()):
            scales, terms = program.vectors[looked[visits].value], looked[visits].terms
            kept, places = state["kept"][visits], [term.source for term in terms]
            rows = np.zeros((1 + len(kept), 1 + len(values)), np.int64)
            rows[1:, 0] = kept[:, arrays.LATEST]
            for n, (k, over) in enumerate(values, start=1):
                if k in places:
                    column = kept[:, arrays.VALUE + places.index(k)]
                    rows[1:, n] = column * over // scales[k].D
            checked.keep_cells(operation, int(self.tables.clock[arrays.FIRST_CELL]), rows)
            clock = checked.clocks[operation]
            clock[[LOWEST, HIGHEST]] = state["visits"][visits]
