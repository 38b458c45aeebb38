"""The checker: all classes through all blocks, and the leads of the right tokens.

A *lead* is a lower bound of the right token's logit less that of any other, after both are stored,
in units of the address rows of the unembedding. If all are positive, the right token is the argmax
in every reachable context (`classes`), so that the next context is reachable again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.attention import Head, sought_by
from netwright.certificates.language_model.boxes import (
    NONE,
    Box,
    Matrix,
    Rules,
    Stream,
    UnprovedError,
)
from netwright.certificates.language_model.classes import (
    ADDRESS,
    Argument,
    Class,
    Group,
    Tokens,
    sets_of,
)
from netwright.certificates.language_model.rounding import Floats, Format
from netwright.certificates.language_model.variables import Table, Variables

SORTS = ("step", "address", "end")
Tensors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Model:
    """A checkpoint: its tensors under the names of GPT-2, and the numbers of its tokens."""

    tensors: Tensors
    tokens: Mapping[str, int]
    blocks: int
    heads: int
    epsilon: float
    context: int

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.tensors["transformer.wte.weight"].shape[1])


@dataclass(frozen=True)
class Lead:
    """The least lead of a sort of tokens, and where it is."""

    least: float
    where: str


@dataclass
class Proof:
    """What was found for one format."""

    format: str
    leads: dict[str, Lead] = field(default_factory=dict)
    failure: str | None = None
    lookups: list[str] = field(default_factory=list)
    """Heads that should find a token and leak too much."""
    leak: float = 0.0
    """The greatest leak of a head that finds its token."""

    @property
    def holds(self) -> bool:
        """Whether the right token is proved to be the argmax everywhere."""
        return self.failure is None and all(each.least > 0 for each in self.leads.values())

    @property
    def tightest(self) -> str:
        """The case with the least lead, or what makes a proof impossible, in words."""
        if self.failure is not None:
            return self.failure
        sort, lead = min(self.leads.items(), key=lambda item: item[1].least)
        looked = f"; {self.lookups[0]}" if self.lookups and not self.holds else ""
        return f"{sort} {lead.least:.2f}: {lead.where}{looked}"


Watch = Callable[[str, Group, Stream], None]
"""A callback that gets the name of a norm, and what is known of the stream before it."""


def prove(
    model: Model, argument: Argument, format: Format, partial: int = 0, watch: Watch | None = None
) -> Proof:
    """Compute the least leads; `Proof.holds` says whether they are a proof."""
    proof = Proof(format.name)
    with np.errstate(all="ignore"):  # what overflows is not greater than 0
        try:
            for stages in argument.families:
                _Forward(model, argument, format, partial, proof, watch).run(stages)
        except UnprovedError as error:
            proof.failure = str(error)
    return proof


class _Token(NamedTuple):
    """Rows of wte: their box, least and greatest sums, whole coordinates, greatest sizes."""

    box: Box
    sums: tuple[float, float]
    whole: NDArray[np.bool_]
    greatest: Floats


class _Forward:
    """One pass through the model."""

    def __init__(
        self,
        model: Model,
        argument: Argument,
        format: Format,
        partial: int,
        proof: Proof,
        watch: Watch | None,
    ) -> None:
        self.model, self.argument, self.format, self.proof = model, argument, format, proof
        self.watch = watch
        self.rules = Rules(format, partial, model.epsilon)
        self.variables = Variables(model.context, argument.widths)
        self._tokens: dict[tuple[str | None, str], _Token] = {}
        self.tables = argument.tables(model.context)
        self.rounded = {
            name: format.rounded(tensor.astype(np.float64))
            for name, tensor in model.tensors.items()
        }
        if format.exact and any((each != np.rint(each)).any() for each in self.rounded.values()):
            raise UnprovedError("its weights are not whole numbers")
        wpe = self.tensor("transformer.wpe.weight")
        self.positions = self.variables.read(wpe, self.variables.of_positions)
        steady = np.where(self.positions.k == 0, np.abs(self.positions.c), 0)
        self.gain = float(np.sqrt((steady[steady > 64] ** 2).sum() / model.width)) or 1.0
        """What exact norms divide by: two coordinates ±C alone are more than the rest together."""

    def tensor(self, name: str) -> Floats:
        """A tensor in the format."""
        return self.rounded[name]

    def run(self, stages: Mapping[int, list[Group]]) -> None:
        """Carry all classes to the logits."""
        self.groups = stages[0]
        for group in self.groups:
            group.stream = self._embedded(group)
        for n in range(self.model.blocks):
            if n > 0 and n in stages:
                self._split(stages[n])
            self._block(n)
        self._leads()

    # -- the beginning ----------------------------------------------------------------------------

    def _embedded(self, group: Group) -> Stream:
        """wte + wpe."""
        wpe = self.tensor("transformer.wpe.weight")
        places = wpe[:1] if group.first else wpe[1:]
        placed = self.positions.box(first=group.first)
        of_place = places.sum(axis=1)
        tokens = [self._token(each) for each in group.classes]
        a = tokens[0].box
        c, k, r = (np.concatenate([getattr(t.box, n) for t in tokens]) for n in "ckr")
        a = Box(c, k, r, a.var)
        stronger = np.abs(a.k).max(axis=0) > np.abs(placed.k[0])
        var = np.where(stronger, a.var, placed.var)
        r = a.r + placed.r + np.where(stronger, np.abs(placed.k), np.abs(a.k))
        box = Box(a.c + placed.c, np.where(stronger, a.k, placed.k), r, var)
        box = self._as_bits(box, group)
        size = box.size
        # Whole numbers below 1/u are added and stored exactly.
        most = np.array([t.greatest for t in tokens]) + np.abs(places).max(axis=0)
        whole = np.array([t.whole for t in tokens]) & (places == np.rint(places)).all(axis=0)
        whole &= most <= 1 / max(self.format.unit, 2.0**-53)
        sums = np.array([[t.sums[0] + of_place.min(), t.sums[1] + of_place.max()] for t in tokens])
        lost = 2.0**-40 * np.where(whole, 0, size).sum(axis=1)
        off = np.where(whole, 0, 0.5)
        moved = self.rules.moved(box, off)
        total = np.abs(sums).max(axis=1) + moved.sum(axis=1)
        total = total + (0 if self.format.exact else lost)
        return Stream(self.rules.stored(box), total, np.minimum(off + moved, 0.5))

    def _token(self, of: Class) -> "_Token":
        """The rows of wte of a class."""
        place = of.text, of.table
        if place not in self._tokens:
            rows = [self.model.tokens[of.text]] if of.text else self._rows(self.tables[of.table])
            wte = self.tensor("transformer.wte.weight")[rows]
            box = Box(wte, 0 * wte, 0 * wte, np.full(wte.shape[1], NONE))
            if of.text is None:
                box = by_bits(self.variables, wte, self.tables[of.table]).box(first=False)
            sums, whole = wte.sum(axis=1), (wte == np.rint(wte)).all(axis=0)
            ends = float(sums.min()), float(sums.max())
            self._tokens[place] = _Token(box, ends, whole, np.abs(wte).max(axis=0))
        return self._tokens[place]

    def _rows(self, of: Tokens) -> list[int]:
        return [self.model.tokens[text] for text in of.texts]

    def _as_bits(self, box: Box, group: Group) -> Box:
        """Numbers that are known, as bits of variables whose value is known: x = (x·bit)·bit."""
        known = dict(group.classes[0].known)
        if not known:
            return box
        c, k, var = box.c.copy(), box.k.copy(), box.var.copy()
        for table in self.tables.values():
            name = "lm_head.weight" if table.right else "transformer.wte.weight"
            read = by_bits(self.variables, self.tensor(name)[self._rows(table)], table)
            for kind in table.numbers:
                called = table.right.get(kind, kind)
                for j in range(self.variables.width(kind) if called in known else 0):
                    number, _ = self.variables.known(called, j)
                    own = (read.var == self.variables.number(kind, j)) & (var == NONE)
                    k[:, own] = c[:, own] * (1 if known[called] >> j & 1 else -1)
                    c[:, own], var[own] = 0, number
        return Box(c, k, box.r, var)

    def _split(self, finer: list[Group]) -> None:
        """Go on with classes whose keys begin with those before."""
        before = {
            each.key: (group.stream, n)
            for group in self.groups
            for n, each in enumerate(group.classes)
        }
        self.groups = finer
        for group in self.groups:
            parents = [before.get(each.key) or before[each.key[:-1]] for each in group.classes]
            stream = parents[0][0]
            chosen = np.array([n for _, n in parents])
            group.stream = Stream(stream.box.rows(chosen), stream.total[chosen], stream.off[chosen])

    # -- blocks -----------------------------------------------------------------------------------

    def _matrix(self, name: str) -> Matrix:
        return Matrix(self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias"))

    def _norm(self, group: Group, stream: Stream, name: str) -> Box:
        if self.watch is not None:
            self.watch(name, group, stream)
        weight, bias = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")
        return self.rules.norm(stream, weight, bias, self.gain)

    def _block(self, n: int) -> None:
        place = f"transformer.h.{n}"
        attn, proj = self._matrix(f"{place}.attn.c_attn"), self._matrix(f"{place}.attn.c_proj")
        fc, out = self._matrix(f"{place}.mlp.c_fc"), self._matrix(f"{place}.mlp.c_proj")
        parts = [
            self.rules.affine(self._norm(group, group.stream, f"{place}.ln_1"), attn)
            for group in self.groups
        ]
        found = self._attention(n, parts)
        for group, box in zip(self.groups, found, strict=True):
            stream = self.rules.add(group.stream, box, proj)
            hidden = self.rules.relu(
                self.rules.affine(self._norm(group, stream, f"{place}.ln_2"), fc)
            )
            group.stream = self.rules.add(stream, hidden, out)

    def _attention(self, n: int, parts: Sequence[Box]) -> list[Box]:
        """What all heads find, for all groups."""
        D, heads = self.model.width, self.model.heads
        size, sets = D // heads, sets_of(self.groups, self.argument)
        sought = [sought_by(group, self.groups, self.variables) for group in self.groups]
        found: list[list[Box]] = [[] for _ in self.groups]
        for h in range(heads):
            q, k, v = (slice(t * D + h * size, t * D + (h + 1) * size) for t in range(3))
            thirds = [(box.columns(q), box.columns(k), box.columns(v)) for box in parts]
            try:
                head = Head(self.groups, sets, thirds, self.variables, self.rules)
            except UnprovedError as error:
                raise UnprovedError(f"block {n} head {h}: {error}") from None
            for g, group in enumerate(self.groups):
                result = head.attend(g, sought[g])
                found[g].append(result.box)
                if result.leak is not None:
                    self.proof.leak = max(self.proof.leak, result.leak)
                elif result.near is not None:
                    where = f"block {n} head {h}: {group.name}"
                    self.proof.lookups.append(f"{where}: leak {result.near:.3g}")
        return [Box.beside(boxes) for boxes in found]

    # -- the end ----------------------------------------------------------------------------------

    def _leads(self) -> None:
        """The least lead of every class with a right token, over all others."""
        U = self.tensor("lm_head.weight")
        tables = {name: each for name, each in self.tables.items() if each.right}
        reads = {
            name: by_bits(self.variables, U[self._rows(each)], each)
            for name, each in tables.items()
        }
        unit = float(np.abs(reads[ADDRESS].k).max()) or 1.0
        others = np.ones(len(U), bool)
        others[[row for each in tables.values() for row in self._rows(each)]] = False
        rest = np.flatnonzero(others)
        texts = {number: text for text, number in self.model.tokens.items()}
        for group in self.groups:
            wanted: dict[str, list[int]] = {}
            for n, each in enumerate(group.classes):
                if each.following is not None:
                    wanted.setdefault(each.following, []).append(n)
            if not wanted:
                continue
            y = self._norm(group, group.stream, "transformer.ln_f")
            for following, rows in wanted.items():
                box = y.rows(np.array(rows))
                over = {name: read for name, read in reads.items() if name != following}
                rivals = Rivals(U[rest], list(over.values()))
                names = [*(texts.get(int(t), f"token {t}") for t in rest), *map(_shown, over)]
                if following in reads:
                    read = reads[following]
                    row = RightRow.of(box, read, tables[following], self.variables)
                    leads = table_leads(box, read, row, rivals, self.rules)
                    names.append(f"another {_shown(following)}")
                else:
                    own = self.model.tokens[following]
                    leads = self._token_leads(box, U[own], rivals)
                    leads[:, np.flatnonzero(rest == own)] = np.inf
                leads = leads / unit
                leads = np.where(np.isnan(leads), -np.inf, leads)
                at, column = np.unravel_index(leads.argmin(), leads.shape)
                after = group.classes[rows[int(at)]]
                where = f"after {after}: {_right(following)} against {names[column]}"
                least = float(leads[at, column])
                sort = _sort(following)
                if sort not in self.proof.leads or least < self.proof.leads[sort].least:
                    self.proof.leads[sort] = Lead(least, where)

    def _kept(self, lead: Floats, sizes: Floats, greatest: Floats, D: int) -> Floats:
        return self.rules.kept(lead, sizes, greatest, D)

    def _token_leads(self, y: Box, own: Floats, rivals: "Rivals") -> Floats:
        """The leads of one token over others, and over all of each table."""
        lead, size = rivals.over(y, own)
        size = size + (y.size @ np.abs(own))[:, None]
        greatest = (np.abs(y.c @ own) + y.loose @ np.abs(own))[:, None]
        return self._kept(lead, size, greatest, len(own))


def by_bits(variables: Variables, rows: Floats, of: Tokens) -> Table:
    """The rows of a table's tokens, as bits of its numbers."""
    found = variables.read(rows, variables.of(of.numbers))
    r = np.maximum(found.r, np.abs(found.c_first - found.c))
    return Table(found.c, found.k, r, found.var, found.c)


class Rivals:
    """Rows of the unembedding that must lose: single ones, and all of each table together."""

    def __init__(self, rest: Floats, tables: Sequence[Table]) -> None:
        self.rows = np.concatenate([rest, *(table.c[None] for table in tables)])
        self.wide = np.array([np.abs(table.k) + table.r for table in tables])

    def over(self, y: Box, own: Floats) -> tuple[Floats, Floats]:
        """How much more than they another row gives at least, and the sizes of their sums."""
        difference = own - self.rows
        lead = y.c @ difference.T - y.loose @ np.abs(difference).T
        size = y.size @ np.abs(self.rows).T
        if len(self.wide):
            spread = y.size @ self.wide.T
            lead[:, -len(self.wide) :] -= spread
            size[:, -len(self.wide) :] += spread
        return lead, size


class RightRow(NamedTuple):
    """The right row of a table, α + κ·bit ± ρ, times y.

    Where y has the same bit of the right token's number, it adds κk − |κ|(|c| + r) at least, the
    lead of α alone aside; another token of the table that differs there has twice that less.
    """

    own: Floats
    """What κ·bit adds at least, for each coordinate."""
    gaps: Floats
    """How much less another token has that differs in a bit alone."""
    slips: Floats

    @staticmethod
    def of(y: Box, read: Table, of: Tokens, variables: Variables) -> "RightRow":
        """What is known of it."""
        names = {
            number: (place, right)
            for place, (number, right) in enumerate(
                (variables.number(kind, j), variables.known(of.right[kind], j))
                for kind in of.numbers
                for j in range(variables.width(kind))
            )
        }
        gaps, own = np.zeros((len(y.c), len(names))), np.zeros_like(y.c)
        for d in np.flatnonzero(read.k):
            kappa = read.k[d]
            bit, (number, sign) = names[int(read.var[d])]
            if y.var[d] == number:
                own[:, d] = kappa * sign * y.k[:, d] - np.abs(kappa) * (
                    np.abs(y.c[:, d]) + y.r[:, d]
                )
            else:
                own[:, d] = -np.abs(kappa) * y.size[:, d]
            gaps[:, bit] += 2 * own[:, d]
        return RightRow(own, gaps, y.size @ read.r)

    @property
    def more(self) -> Floats:
        """What it adds to the lead of α."""
        found: Floats = self.own.sum(axis=1) - self.slips
        return found


def table_leads(y: Box, read: Table, right: RightRow, rivals: Rivals, rules: Rules) -> Floats:
    """The leads of the right token of a table over others, and last over all of its own."""
    gaps, own, slips = right.gaps, right.own, right.slips
    between = np.where((gaps > 0).all(axis=1), gaps.min(axis=1), np.minimum(gaps, 0).sum(axis=1))
    between = between - 2 * slips
    wide = np.abs(read.k) + read.r
    D = len(read.c)
    size = y.size @ (np.abs(read.c) + wide)
    # Of the right logit: all bits together, and not each for itself.
    greatest = np.abs(y.c @ read.c) + y.loose @ np.abs(read.c) + slips
    signed = np.abs(own.sum(axis=1) + y.c @ read.c)
    spread = (y.size @ wide) - own.sum(axis=1)
    greatest = np.minimum(
        greatest + y.size @ np.abs(read.k), signed + spread + y.loose @ np.abs(read.c) + slips
    )
    lead, sizes = rivals.over(y, read.c)
    lead = lead + right.more[:, None]
    over = rules.kept(lead, size[:, None] + sizes, greatest[:, None], D)
    to_others = rules.kept(between[:, None], 2 * size[:, None], greatest[:, None], D)
    return np.concatenate([over, to_others], axis=1)


def _sort(following: str) -> str:
    """The sort of a right token."""
    return "address" if following == ADDRESS else "end" if following[0] == "<" else "step"


def _shown(table: str) -> str:
    """A table's tokens in words."""
    return "@p" if table == ADDRESS else table


def _right(following: str) -> str:
    return "the address" if following == ADDRESS else following
