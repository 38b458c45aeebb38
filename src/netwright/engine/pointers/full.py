"""A network that follows pointers with every weight at every token; see `engine.full.run`."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from netwright.definitions.transformer import Transformer
from netwright.engine.full.run import FullRun
from netwright.engine.moments import Watch
from netwright.engine.pointers.engine import Tables
from netwright.exact.rational import Rational
from netwright.exact.vector import Vector


class RecordedTables(Tables):
    """Tables that propose a run: where its pointers are to, and slots as cells."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        super().__init__(network, X, seed, watches, recording=True)
        coordinates = network.layout.coordinates
        self.names = [f"to {coordinates[k].block}" for k in self.pointers]

    @property
    def pointers(self) -> tuple[int, ...]:
        """The coordinates of outputs that may have pointers."""
        return self.evaluation.pointers

    @property
    def standing(self) -> int:
        """The number of the newest output."""
        return self._shown[self.output]

    def known(self, number: int) -> tuple[Mapping[int, Rational], Sequence[int]]:
        """What is known of an output, and which coordinates have pointers."""
        output = self.shown[number]
        return output.finite, output.pointers

    def propose(self, given: Mapping[str, NDArray[np.int64]], count: int) -> None:
        """Slots, and the numbers of tokens from 1 on; those of the token that comes next, too."""
        for n, name in enumerate(("cell", "look", *self.names)):
            if name in given:
                given[name][:count] = self.recorded[:count, n]
                if n >= 2:
                    given[name][:count] += 1
                    given[name][count] = 1 + self.pointed[n - 2][1]


class FullPointers(FullRun[RecordedTables]):
    """A decoder's run, as `Tables` has it."""

    def __init__(
        self, network: Transformer, X: Sequence[Vector], seed: Vector, watches: Sequence[Watch]
    ) -> None:
        super().__init__(network, X, seed, watches, RecordedTables(network, X, seed, watches))
