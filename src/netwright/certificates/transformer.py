"""The obligations of a Transformer: together they imply that it simulates its machine, always."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from flint import fmpq

from netwright.certificates.chain import Forms, known, shown
from netwright.certificates.decoder import NormalDecoder
from netwright.certificates.reading import (
    NOTHING,
    ONE,
    Cases,
    Checker,
    Nothing,
    Obligation,
    Sparse,
    oblige,
)
from netwright.certificates.schema import TRANSFORMER

MOVES = {"L": -1, "R": 1}
BLOCKS = ["q1", "s1", "x1", "q2", "s2", "x2", "x3", "x4", "x5", "s3", "x6", "s4", "x7"]
POSITIONS = {"paper": ["x8", "x9", "x10", "x11"], "recency": ["x8", "x9", "x10", "x11", "x12"]}
"""Positional blocks by the name of the third layer's score; `POWERS` are their powers of i."""
POWERS = (0, 1, -1, -2, -3)


class TransformerCheck(NormalDecoder):
    """A serialised Transformer, and its obligations."""

    def __init__(self, written: Mapping[str, Any]) -> None:
        super().__init__(written)
        self.hidden_of_f = self.all_layouts[written["network"]["F"]["maps"][0]["output"]]
        self.position_blocks = [*self.at.places][len(BLOCKS) :]
        self.score: str = written["score"]

    def obligations(self) -> Iterator[Obligation]:
        """Check all obligations, the shape first."""
        shape = oblige("shape: one encoder layer, three decoder layers, σ", self._shape())
        yield shape
        if shape.failure is not None:
            return  # the others would not know where to look
        yield self.normal_form()
        yield oblige("embedding, positions, seed and final set", self._ends())
        yield oblige("encoder: it leaves vectors as they are", self._encoder())
        yield oblige("Lemma B.1: K and V of the encoder", self._lemma_b1())
        yield oblige("Lemma B.2: O1 depends on q1, s1, x1 alone", self._o1_columns())
        yield oblige("Lemma B.2: O1 is the transition function", self._o1_values())
        yield oblige("Lemma B.3: Q, K, V and O of layer 2", self._lemma_b3())
        yield oblige(f"Lemma B.4: Q, K, V and O of layer 3, score {self.score}", self._lemma_b4())
        yield oblige("Lemma B.5: what F depends on, block by block", self._f_columns())
        yield oblige("Lemma B.5: F saturates in the positions", self._f_saturates())
        yield oblige("Lemma B.5: F gives state, move and symbol", self._f_values())

    def _shape(self) -> Cases:
        yield self.attention == ["score_phi", "hardmax"], "attention is not −|⟨q, k⟩| and hardmax"
        yield from self.has_layers(1, 3)
        yield len(self.networks["F"].maps) >= 2, "F has no hidden layer"
        yield from self.has_sigma()
        blocks = [*self.at.places][: len(BLOCKS)]
        yield self.score in POSITIONS, f"no score {self.score}"
        known = self.position_blocks == POSITIONS.get(self.score)
        yield blocks == BLOCKS and known, "the wrong blocks"
        for block, labels in self.at.places.items():
            kind = {"q": self.normal.states, "s": self.normal.symbols}.get(block[0], [""])
            yield list(labels) == list(kind), f"block {block} has the wrong labels"

    def _ends(self) -> Cases:
        at = self.at
        powers = dict(zip(self.position_blocks, POWERS, strict=False))
        yield self.positions == [*powers.items()], "the positions are wrong, or in the wrong place"
        start = {at.one("q1", self.names[0]): ONE, at.one("s1", self.normal.blank): ONE}
        yield from self.has_ends(start, "s3")

    def _encoder(self) -> Cases:
        # With V = 0 every attention is 0, and with O = 0 the residual connections give x again.
        yield self.networks["encoder.1.V"].is_zero(), "V of the encoder is not 0"
        yield self.networks["encoder.1.O"].is_zero(), "O of the encoder is not 0"

    def _lemma_b1(self) -> Cases:
        at = self.at
        x6, x8, x9 = (at.one(block) for block in ("x6", "x8", "x9"))
        keys = {(x9, x8): ONE, (x8, x9): -ONE}
        yield self.networks["encoder.K"].is_exactly(keys), "K is not (i, −1)"
        values = {(k, k): ONE for k in at.of("s3")} | {(x9, x6): ONE}
        yield self.networks["encoder.V"].is_exactly(values), "V is not ⟦s⟧ and i"

    def _o1_columns(self) -> Cases:
        yield self.networks["decoder.1.V"].is_zero(), "V of layer 1 is not 0"
        at, network = self.at, self.networks["decoder.1.O"]
        known = at.of("q1", "s1", "x1")
        for j, _ in network.maps[0].weights:
            yield j in known, f"O1 reads {at.names[j]}"
        parts = ((("q2", "s2", "x2"), at.of("q1", "s1")), (("x1", "x3"), at.of("x1")))
        for blocks, allowed in parts:
            sources = network.sources(at.of(*blocks))
            yield sources <= allowed, f"{' '.join(blocks)} depend on more"
        yield network.sources(at.of("q1")) <= at.of("q1"), "q1 depends on more"
        yield network.sources(at.of("s1")) <= at.of("s1"), "s1 depends on more"
        others = ["x4", "x5", "s3", "x6", "s4", "x7", *self.position_blocks]
        yield not network.reached() & at.of(*others), "O1 writes to other blocks"

    def _o1_values(self) -> Cases:
        network = self.networks["decoder.1.O"]
        states: list[str | Nothing] = [NOTHING, *self.normal.states]
        symbols: list[str | Nothing] = [NOTHING, *self.normal.symbols]
        # Outputs that depend on q1 and s1 do not depend on x1, and the other way round: m = 0
        # stands for every move in the first, and no state and symbol for all in the second.
        images = {s: network.near(self._vector(self._one_hot("s1", s)), {}) for s in symbols}
        for q, s in product(states, symbols):
            wanted = {k: known(-1) for k in (*self._one_hot("q1", q), *self._one_hot("s1", s))}
            rule = self.normal.delta.get((q, s)) if q is not NOTHING and s is not NOTHING else None
            if rule is not None:
                target, write, move = rule
                wanted |= self._one_hot("q2", target) | self._one_hot("s2", write)
                wanted[self.at.one("x2")] = known(MOVES[move])
            found = images[s](self._one_hot("q1", q))
            yield found == wanted, f"at q = {_shown(q)}, s = {_shown(s)}"
        for m in (-1, 1):
            found = images[NOTHING]({self.at.one("x1"): known(m)})
            wanted = {self.at.one("x1"): known(-m), self.at.one("x3"): known(m)}
            yield found == wanted, f"at m = {m}"

    def _one_hot(self, block: str, label: str | Nothing) -> Forms:
        return {} if label is NOTHING else {self.at.one(block, label): known(1)}

    def _vector(self, parts: Forms) -> Forms:
        """The whole vector: 0 where `parts` has no form."""
        return {k: parts.get(k, {}) for k in range(len(self.at.names))}

    def _cancels(self, layer: int) -> bool:
        half = {(k, k): fmpq(-1, 2) for k in self.at.of("s3", "x6")}
        return self.networks[f"decoder.{layer}.O"].is_exactly(half)

    def _lemma_b3(self) -> Cases:
        at, nets = self.at, self.networks
        x = {n: at.one(f"x{n}") for n in (2, 3, 4, 5)}
        yield nets["decoder.2.K"].is_zero() or nets["decoder.2.Q"].is_zero(), "scores differ"
        means = {(x[2], x[4]): ONE, (x[3], x[5]): ONE}
        yield nets["decoder.2.V"].is_exactly(means), "V of layer 2 is not m^(i), m^(i−1)"
        yield self._cancels(2), "O of layer 2 does not cancel the external attention"

    def _lemma_b4(self) -> Cases:
        at, nets = self.at, self.networks
        by_recency = self.score == "recency"
        x = {n: at.one(f"x{n}") for n in (4, 5, 7, 8, 9, 10, 11, *([12] if by_recency else []))}
        query = {(x[4], x[9]): ONE, (x[10], x[10]): ONE, (x[11], x[11]): fmpq(1, 3)}
        key = {(x[10], x[9]): ONE, (x[5], x[10]): -ONE}
        if by_recency:
            query[x[12], x[12]] = fmpq(-1, 3)
            key |= {(x[8], x[11]): ONE, (x[9], x[12]): ONE, (x[8], x[12]): -ONE}
        else:
            key[x[11], x[11]] = ONE
        yield nets["decoder.3.Q"].is_exactly(query), "Q of layer 3"
        yield nets["decoder.3.K"].is_exactly(key), "K of layer 3"
        copies = {(at.one("s2", s), at.one("s4", s)): ONE for s in self.normal.symbols}
        value = copies | {(x[9], x[7]): ONE, (x[8], x[7]): -ONE}
        yield nets["decoder.3.V"].is_exactly(value), "V of layer 3"
        yield self._cancels(3), "O of layer 3 does not cancel the external attention"

    def _f_columns(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        yield F.sources(at.of("q1")) <= at.of("q2"), "q1 depends on more than q2"
        yield F.sources(at.of("x1")) <= at.of("x2"), "x1 depends on more than x2"
        allowed = at.of("s3", "s4", "x6", "x7", "x9")
        yield F.sources(at.of("s1")) <= allowed, "s1 depends on other blocks"
        yield F.reached() <= at.of("q1", "s1", "x1"), "F writes to other blocks"

    def _f_saturates(self) -> Cases:
        """F depends on positions through A = x9 − x6 and D = x9 − x7 alone, and only so far.

        Each hidden coordinate of the first map is affine in A ∈ {0, 1, 2, …}, D ∈ {1, 2, …} and
        the blocks. One that depends on A or D may depend on one of the two, and on s3 and s4; then
        σ of it must be the same for all A ≥ 1, or for all D ≥ 2, whatever the blocks are.
        """
        at, first = self.at, self.networks["F"].maps[0]
        x6, x7, x9 = (at.one(block) for block in ("x6", "x7", "x9"))
        columns: dict[int, Sparse] = {}
        for (j, k), w in first.weights.items():
            columns.setdefault(k, {})[j] = w
        for k, column in columns.items():
            of_a, of_d = -column.get(x6, fmpq(0)), -column.get(x7, fmpq(0))
            name = self.hidden_of_f.names[k]
            yield column.get(x9, fmpq(0)) == of_a + of_d, f"{name} is not a function of A and D"
            if not of_a and not of_d:
                continue
            yield not (of_a and of_d), f"{name} depends on both A and D"
            rest = {j: w for j, w in column.items() if j not in (x6, x7, x9)}
            yield rest.keys() <= at.of("s3", "s4"), f"{name} depends on other blocks too"
            low = high = first.bias.get(k, fmpq(0))
            for w in rest.values():
                low, high = (low + w, high) if w < 0 else (low, high + w)
            factor, least = (of_a, 1) if of_a else (of_d, 2)
            # It moves away from [0, 1] as A or D grows, and is outside of (0, 1) at the least.
            up = factor > 0 and low + factor * least >= 1
            down = factor < 0 and high + factor * least <= 0
            yield up or down, f"{name} does not saturate"

    def _f_values(self) -> Cases:
        at, F = self.at, self.networks["F"]  # the paper's letter
        states: list[str | Nothing] = [NOTHING, *self.normal.states]
        symbols: list[str | Nothing] = [NOTHING, *self.normal.symbols]
        image, kept_in = F.near(self._vector({}), {}), at.of("q1")
        for q in states:
            found = image(self._one_hot("q2", q))
            kept = {k: form for k, form in found.items() if k in kept_in}
            yield kept == self._one_hot("q1", q), f"state {_shown(q)} becomes {self.show(kept)}"
        for m in (-1, 0, 1):
            move = image({at.one("x2"): known(m)}).get(at.one("x1"), {})
            yield move == known(m), f"move {m} becomes {shown(move)}"
        # x9 = r + 1, x6 = β, x7 = ℓ: A = r + 1 − β and D = r + 1 − ℓ, here with r + 1 = 3.
        images, kept_in = {}, at.of("s1")
        for a, d in product((0, 1), (1, 2)):
            x = {at.one("x9"): known(3), at.one("x6"): known(3 - a), at.one("x7"): known(3 - d)}
            images[a, d] = F.near(self._vector(x), {})
        for alpha, v, a, d in product(symbols, symbols, (0, 1), (1, 2)):
            found = images[a, d](self._one_hot("s3", alpha) | self._one_hot("s4", v))
            symbol = alpha if a == 0 else self.normal.blank if d == 1 else v
            kept = {k: form for k, form in found.items() if k in kept_in}
            yield (
                kept == self._one_hot("s1", symbol),
                f"α = {_shown(alpha)}, v = {_shown(v)}, A = {a}, D = {d}: {self.show(kept)}",
            )

    def show(self, x: Forms) -> str:
        """A vector of numbers as text."""
        return self.at.show({k: form[""] for k, form in x.items()})


def _shown(name: str | Nothing) -> str:
    return "none" if name is NOTHING else name


CHECKER = Checker(TRANSFORMER, lambda written: TransformerCheck(written).obligations())
