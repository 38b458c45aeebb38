"""All classes of a Llama through all blocks, and the leads of the right tokens."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netwright.certificates.language_model.boxes import NONE, Matrix, UnprovedError
from netwright.certificates.language_model.checker import (
    Lead,
    Proof,
    RightRow,
    Rivals,
    by_bits,
    table_leads,
)
from netwright.certificates.language_model.classes import ADDRESS, Tokens
from netwright.certificates.language_model.llama.classes import (
    STOP,
    Group,
    LlamaArgument,
    sets_of,
)
from netwright.certificates.language_model.llama.rotary import Frequencies, Head, sought_by
from netwright.certificates.language_model.llama.waves import (
    GIVEN,
    MOST_PAIRS,
    Complexes,
    Units,
    WaveRules,
    Waves,
    in_bits,
    in_waves,
    renamed,
    variable,
)
from netwright.certificates.language_model.rounding import Floats, Format
from netwright.certificates.language_model.variables import Table, Variables

REAL = Format("exact", 2.0**-200, 0.0, 1e300, np.float64)
"""The model in real numbers: nothing is rounded, but attention is soft, and norms are norms."""


@dataclass(frozen=True)
class LlamaModel:
    """A checkpoint: its tensors under the names of transformers, and the numbers of its tokens."""

    tensors: Mapping[str, NDArray[np.float32]]
    tokens: Mapping[str, int]
    blocks: int
    heads: int
    epsilon: float
    context: int
    theta: float

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.tensors["model.embed_tokens.weight"].shape[1])


Watch = Callable[[str, Group, Waves], None]
"""A callback that gets the name of a norm, and what is known of the stream before it."""


def prove_llama(
    model: LlamaModel,
    names: LlamaArgument,
    format: Format,
    partial: int = 0,
    watch: Watch | None = None,
) -> Proof:
    """Compute the least leads; `Proof.holds` says whether they are a proof."""
    format = REAL if format.exact else format
    proof = Proof(format.name)
    with np.errstate(all="ignore"):  # what overflows is not greater than 0
        try:
            forward = _Forward(model, names, format, partial, proof, watch)
            for stages in names.stages(len(forward.unknown)):
                forward.run(stages)
        except UnprovedError as error:
            proof.failure = str(error)
    return proof


class _Forward:
    """Passes through the model."""

    def __init__(
        self,
        model: LlamaModel,
        names: LlamaArgument,
        format: Format,
        partial: int,
        proof: Proof,
        watch: Watch | None,
    ) -> None:
        self.model, self.names, self.format, self.proof = model, names, format, proof
        self.watch = watch
        self.rules = WaveRules(format, partial, model.epsilon)
        self.rounded = {
            name: format.rounded(tensor.astype(np.float64))
            for name, tensor in model.tensors.items()
        }
        self.size = len(self.tensor("model.layers.0.self_attn.q_proj")) // model.heads
        self.frequencies = Frequencies(model.theta, self.size, model.context)
        self.addresses = [model.tokens[f"{ADDRESS}{k}"] for k in range(model.context)]
        wte = self.tensor("model.embed_tokens")
        self.address = self.frequencies.read(wte[self.addresses])
        self.unknown = self._unknown_rows(wte)
        self.variables = Variables(2, names.widths)
        tables = names.tables(0)
        self.tables = {name: each for name, each in tables.items() if name != ADDRESS}
        self.matrices: dict[str, Matrix] = {}
        self.units: dict[str, Units] = {}

    def tensor(self, name: str) -> Floats:
        """A tensor in the format."""
        return self.rounded[f"{name}.weight"]

    def _unknown_rows(self, wte: Floats) -> Floats:
        """The rows of all tokens that are not the machine's, but for those of its pieces."""
        tokens = self.model.tokens
        own = [*self.addresses, *(tokens[text] for text in self.names.texts)]
        rest = np.setdiff1d(np.arange(len(wte)), own)
        known = {wte[tokens[text]].tobytes() for text in self.names.pieces}
        rows = [row for row in np.unique(wte[rest], axis=0) if row.tobytes() not in known]
        return np.array(rows).reshape(-1, wte.shape[1])

    def run(self, stages: Mapping[int, list[Group]]) -> None:
        """Carry all classes to the logits."""
        self.groups = stages[0]
        for group in self.groups:
            group.stream = self._as_bits(self._embedded(group), group)
        for n in range(self.model.blocks):
            if n > 0 and n in stages:
                self._split(stages[n])
            self._block(n)
        self._leads()

    def _embedded(self, group: Group) -> Waves:
        """Rows of the embedding."""
        wte, tokens, rows = self.tensor("model.embed_tokens"), self.model.tokens, []
        if group.classes[0].text is None:
            if (table := group.classes[0].table) == ADDRESS:
                return self.address.rows(np.zeros(len(group.classes), np.int64))
            return in_waves(self._by_bits(wte, self.tables[table]))
        for each in group.classes:
            assert each.text is not None
            place = tokens.get(each.text)
            rows.append(self.unknown[int(each.key[1])] if place is None else wte[place])
        return Waves.constant(np.array(rows))

    def _by_bits(self, rows: Floats, of: Tokens) -> Table:
        return by_bits(self.variables, rows[[self.model.tokens[text] for text in of.texts]], of)

    def _as_bits(self, x: Waves, group: Group) -> Waves:
        """Numbers that are known, as bits of variables whose value is known: x = (x·bit)·bit."""
        known = dict(group.classes[0].known)
        c, k, var = x.c.copy(), x.k.copy(), x.var.copy()
        for table in self.tables.values():
            if not known or table.right:
                continue
            read = in_waves(self._by_bits(self.tensor("model.embed_tokens"), table))
            for kind in known:
                for j in range(self.names.widths[kind]):
                    own = (read.var == variable(kind, j)) & (var == NONE)
                    k[:, own] = c[:, own] * (1 if known[kind] >> j & 1 else -1)
                    c[:, own], var[own] = 0, variable(kind, j)
        return Waves(c, k, x.r, var)

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
            group.stream = parents[0][0].rows(np.array([n for _, n in parents]))

    # -- blocks -----------------------------------------------------------------------------------

    def _matrix(self, name: str) -> Matrix:
        if name not in self.matrices:
            self.matrices[name] = Matrix(self.tensor(name).T, None)
        return self.matrices[name]

    def _norm(self, group: Group, stream: Waves, name: str) -> Waves:
        if self.watch is not None:
            self.watch(name, group, stream)
        return self.rules.rms_norm(stream, self.tensor(name))

    def _block(self, n: int) -> None:
        place = f"model.layers.{n}"
        parts = []
        for group in self.groups:
            y = self._norm(group, group.stream, f"{place}.input_layernorm")
            parts.append(
                [self.rules.affine(y, self._matrix(f"{place}.self_attn.{p}_proj")) for p in "qkv"]
            )
        found = self._attention(n, parts)
        gate, up = (self._matrix(f"{place}.mlp.{part}_proj") for part in ("gate", "up"))
        out, units = self._matrix(f"{place}.self_attn.o_proj"), self._units(f"{place}.mlp")
        for group, box in zip(self.groups, found, strict=True):
            stream = self.rules.add(group.stream, self.rules.affine(box, out))
            y = self._norm(group, stream, f"{place}.post_attention_layernorm")
            group.stream = self.rules.add(stream, self.rules.gated(y, gate, up, units))

    def _units(self, place: str) -> Units:
        if place not in self.units:
            parts = [self.tensor(f"{place}.{part}_proj") for part in ("gate", "up", "down")]
            self.units[place] = Units(parts[0], parts[1], parts[2].T)
        return self.units[place]

    def _attention(self, n: int, parts: list[list[Waves]]) -> list[Waves]:
        """What all heads find, for all groups."""
        size, sets = self.size, sets_of(self.groups, self.names)
        sought = [sought_by(group) for group in self.groups]
        found: list[list[Waves]] = [[] for _ in self.groups]
        for h in range(self.model.heads):
            own = slice(h * size, (h + 1) * size)
            thirds = [(q.columns(own), k.columns(own), v.columns(own)) for q, k, v in parts]
            if not any(v.size.any() for _, _, v in thirds):
                for g in range(len(found)):
                    found[g].append(thirds[g][2])
                continue
            try:
                head = Head(
                    self.groups, sets, thirds, self.frequencies, self.rules, self.names.widths
                )
            except UnprovedError as error:
                raise UnprovedError(f"block {n} head {h}: {error}") from None
            for g, group in enumerate(self.groups):
                result = head.attend(g, sought[g])
                found[g].append(result.box)
                if result.leak is not None:
                    self.proof.leak = max(self.proof.leak, result.leak)
                elif result.near is not None and result.near < 1e3:
                    where = f"block {n} head {h}: {group.name}"
                    self.proof.lookups.append(f"{where}: leak {result.near:.3g}")
        return [Waves.beside(boxes) for boxes in found]

    # -- the end ----------------------------------------------------------------------------------

    def _leads(self) -> None:
        """The least lead of every class with a right token, over all others."""
        U, tokens = self.tensor("lm_head"), self.model.tokens
        given = next((g.stream.var for g in self.groups if g.name.startswith("step")), None)
        tables = {name: each for name, each in self.tables.items() if each.right}
        reads = {name: self._by_bits(U, each) for name, each in tables.items()}
        steps = [tokens[text] for each in tables.values() for text in each.texts]
        read = self.frequencies.read(U[self.addresses], given)
        unit = float(np.abs(U[tokens[STOP]]).max()) / 4 or 1.0
        others = np.ones(len(U), bool)
        others[self.addresses] = False
        rest = np.flatnonzero(others)
        texts = {number: text for text, number in tokens.items()}
        for group in self.groups:
            wanted: dict[str, list[int]] = {}
            for n, each in enumerate(group.classes):
                if each.following is not None:
                    wanted.setdefault(each.following, []).append(n)
            if not wanted:
                continue
            y = self._norm(group, group.stream, "model.norm")
            for following, rows in wanted.items():
                leads = _Leads(y.rows(np.array(rows)), read, self.rules, self.frequencies)
                more: list[str] = []
                if following == ADDRESS:
                    sort, right, numbers = "address", "the address", rest
                    pair = leads.of_address(U[rest])
                elif following in reads:
                    sort, right = "step", following
                    rivals = {name: each for name, each in reads.items() if name != following}
                    numbers = np.setdiff1d(rest, steps)
                    pair = leads.of_table(
                        reads[following],
                        tables[following],
                        self.variables,
                        Rivals(U[numbers], list(rivals.values())),
                    )
                    more = [*rivals, f"another {following}"]
                else:
                    own = tokens[following]
                    sort = "end" if following.startswith("<") else "step"
                    right, numbers = following, rest[rest != own]
                    pair = leads.of_token(U[own], U[numbers])
                found = np.concatenate([pair[0], pair[1][:, None]], axis=1) / unit
                found = np.where(np.isnan(found), -np.inf, found)
                row, column = np.unravel_index(found.argmin(), found.shape)
                over = [*(texts.get(int(t), f"token {t}") for t in numbers), *more, "@k"]
                where = f"after {group.classes[rows[int(row)]]}: {right} against {over[column]}"
                least = float(found[row, column])
                if sort not in self.proof.leads or least < self.proof.leads[sort].least:
                    self.proof.leads[sort] = Lead(least, where)


class _Leads:
    """Leads over tokens, and over `@k`, whose row of U is α + Re(κ·P(k)) ± ρ."""

    def __init__(self, y: Waves, read: Waves, rules: WaveRules, waves: Frequencies) -> None:
        self.y, self.read, self.rules, self.waves = y, read, rules, waves
        self.c, self.r = read.c[0], read.r[0] + waves.slack * np.abs(read.k[0])
        self.wide = np.abs(read.k[0]) + self.r

    def _kept(self, lead: Floats, sizes: Floats, greatest: Floats) -> Floats:
        return self.rules.kept(lead, sizes, greatest, len(self.c))

    def _parts(self, variable: str | None) -> tuple[Floats, Complexes, Floats]:
        """Σ_d y_d·Re(κ_d·P_j(k)) for each pair j, in three parts.

        ½Re(g·P(k)P̄(v)) for the variable v of y, if it is the one named; what has P(k) times a
        number of size a; and what has any other phases, of size b.
        """
        y, n = self.y, len(self.y.c)
        g = np.zeros((n, self.waves.pairs), complex)
        a, b = np.abs(g), np.abs(g)
        for number, columns in self.read.kinds:
            j = number % MOST_PAIRS
            k, c, r = self.read.k[0, columns], y.c[:, columns], y.r[:, columns]
            a[:, j] += np.abs((c * k).sum(axis=1))
            norm = np.sqrt((np.sum(np.abs(k) ** 2) + np.abs(np.sum(k**2))) / 2)
            a[:, j] += norm * np.sqrt((r**2).sum(axis=1))
            var = y.var[columns]
            for each in np.unique(var[var != NONE]):
                own = np.where(var == each, y.k[:, columns], 0)
                forward, back = (own.conj() * k).sum(axis=1), (own * k).sum(axis=1)
                if variable is not None and renamed(np.array([each]), variable, variable)[0] == (
                    each
                ) and each % MOST_PAIRS == j:  # fmt: skip
                    g[:, j] += forward
                    b[:, j] += np.abs(back) / 2
                else:
                    b[:, j] += (np.abs(forward) + np.abs(back)) / 2
        return g, a, b

    def of_token(self, own: Floats, rest: Floats) -> tuple[Floats, Floats]:
        """The leads of one token over all others but addresses, and over addresses."""
        y = self.y
        lead = (y.c @ own)[:, None] - y.c @ rest.T
        lead = lead - _loose(y, own, rest)
        size = (y.size @ np.abs(own))[:, None] + y.size @ np.abs(rest).T
        greatest = (np.abs(y.c @ own) + y.loose @ np.abs(own))[:, None]
        return self._kept(lead, size, greatest), self._over_addresses(own, greatest)

    def of_table(
        self, read: Table, of: Tokens, variables: Variables, rivals: Rivals
    ) -> tuple[Floats, Floats]:
        """The leads of the right token of a table over all others, and over addresses."""
        y = in_bits(self.y)
        right, wide = RightRow.of(y, read, of, variables), np.abs(read.k) + read.r
        greatest = np.abs(y.c @ read.c) + y.loose @ np.abs(read.c) + y.size @ wide
        over = self._over_addresses(read.c, greatest[:, None], right.more, wide)
        return table_leads(y, read, right, rivals, self.rules), over

    def _over_addresses(
        self, own: Floats, greatest: Floats, more: Floats | float = 0.0, wide: Floats | float = 0.0
    ) -> Floats:
        """The leads of a row over addresses, and `more`; what it may have besides is `wide`."""
        y, (_, a, b) = self.y, self._parts(None)
        difference = own - self.c
        lead = y.c @ difference - y.loose @ np.abs(difference) - y.size @ self.r
        lead = lead - (a + b).sum(axis=1) + more
        size = y.size @ (np.abs(own) + wide + np.abs(self.c) + self.wide)
        return self._kept(lead[:, None], size[:, None], greatest)[:, 0]

    def of_address(self, rest: Floats) -> tuple[Floats, Floats]:
        """The leads of the given address over all tokens, and over all other addresses."""
        y = self.y
        g, a, b = self._parts(GIVEN)
        slips = y.size @ self.r
        own = (g.real / 2 - a - b).sum(axis=1)
        middle = y.c @ self.c + g.real.sum(axis=1) / 2
        spread = (a + b).sum(axis=1) + slips + y.loose @ np.abs(self.c)
        greatest = (np.abs(middle) + spread)[:, None]
        lead = (y.c @ self.c)[:, None] - y.c @ rest.T - _loose(y, self.c, rest)
        lead = lead + (own - slips)[:, None]
        size = y.size @ (np.abs(self.c) + self.wide)
        over = self._kept(lead, size[:, None] + y.size @ np.abs(rest).T, greatest)
        # The address d greater has the phase P(given)·e^(−i·w·d).
        lacking = self.waves.lacking
        far, between = np.abs(lacking), np.full(len(y.c), np.inf)
        for n in range(len(y.c)):
            found = (g[n] @ lacking.conj()).real / 2 - (a[n] + b[n]) @ far
            between[n] = found.min()
        between = between - 2 * slips
        return over, self._kept(between[:, None], 2 * size[:, None], greatest)[:, 0]


def _loose(y: Waves, own: Floats, rest: Floats) -> Floats:
    """Σ_d |y_d − c_d|·|own_d − rest_d| for all rows."""
    found: Floats = y.loose @ np.abs(own - rest).T
    return found
