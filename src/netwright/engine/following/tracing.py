"""Named vectors of a network's run at any moment: the implementation of traces.

Everything here comes from the network's own run. `t` is the network's time, counted from 1:

    Transformer   token t, whose output is y_t
    RNN           h_t for the n vectors of the input; g_{t−n} from t = n on, g_0 being h_n
    Neural GPU    the cells of S^t, and the gates that made them from S^{t−1}
    others        moment t of the definition, or token t of a text
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Generic

from netwright.definitions.neural_gpu import Grid, NeuralGPU
from netwright.definitions.rnn import RNN
from netwright.definitions.transformer import Transformer
from netwright.engine.attended import Attention
from netwright.engine.following.drive import OngoingRun
from netwright.engine.following.seek import S, Seeker
from netwright.engine.moments import ReplayEngine
from netwright.errors import InputError
from netwright.exact.vector import Vector

if TYPE_CHECKING:
    from netwright.engine.neural_gpu import FastNeuralGPU
    from netwright.engine.rnn import FastRNN
    from netwright.engine.transformer.tokens import Explained, TokenEngine
    from netwright.machine.configuration import Configuration
    from netwright.machine.simulate import Run


class EndedError(InputError, IndexError):
    """The run ends before the requested time."""


class Tracing(ABC, Generic[S]):
    """Random access to a network's run on a word, by the network's time."""

    attentions: tuple[str, ...] = ()
    """The names of the attentions of a moment."""
    lead = 0
    """How far the network's time is ahead of the engine's moments."""

    def __init__(self, ongoing: OngoingRun[S]) -> None:
        self.seeker = Seeker(ongoing)
        self.lock = RLock()
        """Held while the run moves and is read, as several threads may share a trace."""

    @abstractmethod
    def names(self, t: int) -> tuple[str, ...]:
        """The names of the vectors at time t."""

    @abstractmethod
    def vectors(self, t: int) -> Mapping[str, Vector]:
        """The vectors at time t, by name."""

    def attention(self, t: int) -> Mapping[str, Attention]:
        """The attentions at time t, by name."""
        return {}

    @property
    def encoder(self) -> Mapping[str, Sequence[Vector]]:
        """The encoder's vectors by name, one for each input symbol."""
        return {}

    def last(self) -> int:
        """The last time of the run, which is run to its end."""
        with self.lock:
            return self.seeker.go_to_the_end() + self.lead

    def run(self) -> "Run":
        """The run, to its end."""
        self.last()
        if self.seeker.result is None:
            assert self.seeker.lost is not None
            raise self.seeker.lost[1]
        return self.seeker.result

    def configuration(self, t: int) -> "Configuration | None":
        """The given machine's configuration at time t; None if it shows none."""
        with self.lock:
            self.go_to(t)
            if t <= self.lead:
                return None
            lost = self.seeker.lost
            if lost is not None and t - self.lead >= lost[0]:
                raise lost[1]
            return self.seeker.ongoing.configuration()

    def check(self, t: int) -> None:
        """Raise EndedError if the run ends before time t."""
        self.go_to(t)

    def go_to(self, t: int) -> None:
        """Move to time t; EndedError if the run ends before."""
        with self.lock:
            if t > self.lead and not self.seeker.reaches(t - self.lead):
                raise self._ended(t)

    def _ended(self, t: int) -> EndedError:
        end, result = self.seeker.end, self.seeker.result
        if end is not None and result is not None and result.decided:
            return EndedError(f"there is no time {t:,}; this run ends at time {end + self.lead:,}")
        limit = self.seeker.ongoing.follower.max_steps
        return EndedError(
            f"time {t:,} is beyond the limit of {limit:,} steps; trace with a higher max_steps"
        )


class ReplayTracing(Tracing[ReplayEngine]):
    """The vectors of a definition: time t is its moment t."""

    def names(self, t: int) -> tuple[str, ...]:
        """The names of the definition's vectors at time t."""
        return tuple(self.vectors(t))

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """All vectors of the definition at time t."""
        with self.lock:
            self.go_to(t)
            return self.seeker.ongoing.moments.newest


class TransformerTracing(Tracing["TokenEngine"]):
    """The tokens of a Transformer's decoder."""

    def __init__(
        self, ongoing: "OngoingRun[TokenEngine]", network: Transformer, X: Sequence[Vector]
    ) -> None:
        super().__init__(ongoing)
        self.network, self.X = network, X
        layers = range(1, len(network.decoder) + 1)
        self.attentions = tuple(f"decoder.{n}.{to}" for n in layers for to in ("self", "external"))
        self._names = transformer_names(network)
        self.explained = lru_cache(maxsize=256)(self._explain)

    def names(self, t: int) -> tuple[str, ...]:
        """The same at every time."""
        return self._names

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """Input, q, k, v, p, a and z of every layer, and y."""
        token = self.explained(t).vectors
        found: dict[str, Callable[[], Vector]] = {"y": lambda: token.y}
        for n, layer in enumerate(self.network.decoder):
            side = f"decoder.{n + 1}"
            found[f"{side}.input"] = partial(token.into, n)
            for letter, part in (("q", layer.Q), ("k", layer.K), ("v", layer.V)):
                found[f"{side}.self.{letter}"] = partial(part, token.into(n))
            found[f"{side}.external.q"] = partial(getattr, token.layers[n], "p")
            for letter in "paz":
                found[f"{side}.{letter}"] = partial(getattr, token.layers[n], letter)
        return LazyMapping({name: found[name] for name in self._names})

    def attention(self, t: int) -> Mapping[str, Attention]:
        """The attentions to earlier tokens and to the encoder, in every layer."""
        return self.explained(t).attentions

    def check(self, t: int) -> None:
        """Explain token t, as `go_to` would move past it and have to move back."""
        self.explained(t)

    def stand_before(self, t: int) -> None:
        """Move the engine to just before token t."""
        with self.lock:
            at_the_end = self.seeker.end is not None and t > self.seeker.end
            if at_the_end or not self.seeker.reaches(t - 1):
                raise self._ended(t)

    def _explain(self, t: int) -> "Explained":
        with self.lock:
            self.stand_before(t)
            found = self.seeker.advance_by(partial(self.seeker.ongoing.moments.explain, self))
            if self.seeker.end is not None and t > self.seeker.end:
                raise self._ended(t)
            return found

    @cached_property
    def encoder(self) -> Mapping[str, Sequence[Vector]]:
        """Equations 6 to 8."""
        network, found = self.network, {}
        X = [network.positioned(x, i) for i, x in enumerate(self.X, start=1)]
        for n, layer in enumerate(network.encoder, start=1):
            Q, K, V = ([part(x) for x in X] for part in (layer.Q, layer.K, layer.V))
            pairs = network.encode_tokens(layer, X)
            parts = {"input": X, "self.q": Q, "self.k": K, "self.v": V}
            A, X = [a for a, _ in pairs], [z for _, z in pairs]
            for name, vectors in (parts | {"a": A, "z": X}).items():
                found[f"encoder.{n}.{name}"] = vectors
        return {**found, "encoder.K": [*map(network.K, X)], "encoder.V": [*map(network.V, X)]}


def transformer_names(network: Transformer) -> tuple[str, ...]:
    """The names of a token's vectors, in the order in which they are computed."""
    parts = ("input", "self.q", "self.k", "self.v", "p", "external.q", "a", "z")
    layers = range(1, len(network.decoder) + 1)
    return (*(f"decoder.{n}.{part}" for n in layers for part in parts), "y")


class RNNTracing(Tracing["FastRNN"]):
    """The hidden vectors of an RNN."""

    def __init__(self, ongoing: "OngoingRun[FastRNN]", network: RNN, X: Sequence[Vector]) -> None:
        super().__init__(ongoing)
        self.network, self.X = network, X
        self.lead = len(X) - 1

    def names(self, t: int) -> tuple[str, ...]:
        """h while the input is read; g from the last of these times on."""
        return (*(["h"] if t <= len(self.X) else []), *(["g"] if t >= len(self.X) else []))

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """h_t, g_{t−n}, or both, which are one vector."""
        if t < len(self.X):
            return {"h": next(islice(self.network.encoder_states(self.X), t, None))}
        with self.lock:
            self.go_to(t)
            g = self.seeker.ongoing.moments.vector("0")
        return dict.fromkeys(self.names(t), g)


class NeuralGPUTracing(Tracing["FastNeuralGPU"]):
    """The cells and gates of a Neural GPU; `cell`, `u`, `r` with no number are the last cell's."""

    lead = -1

    def __init__(
        self, ongoing: "OngoingRun[FastNeuralGPU]", network: NeuralGPU, cells: int
    ) -> None:
        super().__init__(ongoing)
        self.network, self.cells = network, cells

    def names(self, t: int) -> tuple[str, ...]:
        """The names of the output cell, then of all cells in order."""
        letters = ("cell", "u", "r")
        numbers = range(1, self.cells + 1)
        return (*letters, *(f"{letter}.{n}" for letter in letters for n in numbers))

    def vectors(self, t: int) -> Mapping[str, Vector]:
        """S^t, U^t and R^t."""
        self.go_to(t)
        columns: dict[str, Callable[[], Sequence[Vector]]] = {
            "cell": cache(lambda: self._at(t)),
            "u": cache(lambda: self._gate("U", t)),
            "r": cache(lambda: self._gate("R", t)),
        }

        def vector(name: str) -> Vector:
            letter, _, number = name.partition(".")
            return columns[letter]()[int(number or self.cells) - 1]

        return LazyMapping({name: partial(vector, name) for name in self.names(t)})

    def _at(self, t: int) -> list[Vector]:
        with self.lock:
            self.go_to(t)
            return [*self.seeker.ongoing.moments.all_vectors().values()]

    def _gate(self, letter: str, t: int) -> list[Vector]:
        network = self.network
        before: Grid = [[cell] for cell in self._at(t - 1)]
        gate: Grid = getattr(network, letter)(before, network.layout, network.circular)
        return [row[0] for row in gate]


class LazyMapping(Mapping[str, Vector]):
    """A mapping that computes a vector whenever it is looked up."""

    def __init__(self, items: Mapping[str, Callable[[], Vector]]) -> None:
        self._items = items

    def __getitem__(self, name: str) -> Vector:
        return self._items[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
