"""A hard-attention Transformer that is a Turing machine, as a plain PyTorch module."""

from functools import partial
from itertools import islice

import torch
from torch import nn

from netwright.export.written.torch_parts import ACTIVATIONS, Affine, HookPoint, TorchNetwork


class FeedForward(nn.Module):
    """Affine maps, called 1, 2, …, with an activation between each two."""

    def __init__(self, maps, activation):
        super().__init__()
        self.activation = activation
        for n, affine in enumerate(maps, start=1):
            self.add_module(str(n), affine)

    def forward(self, x):
        """The last map of f(… f(the first))."""
        first, *others = self.children()
        x = first(x)
        for affine in others:
            x = affine(ACTIVATIONS[self.activation](x))
        return x


class HookedAffine(Affine, HookPoint):
    """An affine map that is a hook point itself: its result can be seen and changed."""


class Attention(nn.Module):
    """Hard attention with the score −|⟨q, k⟩| or ⟨q, k⟩, and its hook points."""

    def __init__(self, score, *points):
        super().__init__()
        self.score = score
        for point in (*points, "scores", "pattern"):
            self.add_module(point, HookPoint())

    def forward(self, q, K, V, hidden=None):
        """Att(q, K, V), without the keys that are hidden from a query."""
        scores = q @ K.mT
        if self.score == "-|<q, k>|":
            scores = -scores.abs()
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        scores = self.scores(scores)
        hard = (scores == scores.amax(-1, keepdim=True)).to(V.dtype)
        count = hard.sum(-1, keepdim=True)
        pattern = self.pattern(hard / count)
        # Values are summed first and divided once: 1/r would be rounded before it is used. If a
        # hook has changed the pattern, its numbers are used.
        chosen = torch.where(pattern == hard / count, hard, pattern * count)
        return chosen @ V / count


class Layer(nn.Module):
    """A layer of the encoder or the decoder: its networks, and its hook points."""

    def __init__(self, place, network, score, points):
        super().__init__()
        for letter in "QKVO":
            self.add_module(letter, network(f"{place}.{letter}"))
        self.add_module("self", Attention(score, "q", "k", "v"))
        for point in points:
            self.add_module(point, HookPoint())

    def attend(self, x, keep=None, hidden=None):
        """Att(Q(x), K(X), V(X)); `keep` takes the keys and values of x, and returns those of X."""
        attention = self.self
        q, K, V = attention.q(self.Q(x)), attention.k(self.K(x)), attention.v(self.V(x))
        if keep is not None:
            K, V = keep(K, V)
        return attention(q, K, V, hidden)


class Kept:
    """The keys and values of the tokens so far, layer by layer."""

    def __init__(self):
        self.tokens, self.layers = 0, {}

    def __call__(self, layer, K, V):
        """Append those of new tokens to a layer's, and return all of them."""
        new = (K, V)
        if layer in self.layers:
            new = tuple(torch.cat(pair, dim=-2) for pair in zip(self.layers[layer], new))
        self.layers[layer] = new
        self.tokens = new[0].shape[-2]
        return new


class Transformer(TorchNetwork):
    """A Transformer; `model.decoder["3"].self.pattern` is a hook point, `.V.weight` a weight."""

    def __init__(self, names):
        super().__init__(names)
        self.register_buffer("seed", torch.zeros(self.size))
        layers, score = names["layers"], names["score"]
        self.encoder, self.decoder = nn.ModuleDict(), nn.ModuleDict()
        for n in range(1, layers["encoder"] + 1):
            points = ("input", "a", "z")
            self.encoder[str(n)] = Layer(f"encoder.{n}", self.network, score, points)
        for letter in "KV":
            self.encoder[letter] = HookedAffine(*self.shape(f"encoder.{letter}"))
        for n in range(1, layers["decoder"] + 1):
            points = ("input", "p", "a", "z")
            self.decoder[str(n)] = Layer(f"decoder.{n}", self.network, score, points)
            self.decoder[str(n)].external = Attention(score, "q")
        self.F = self.network("F")
        self.y = HookPoint()
        self.setup()

    def network(self, place):
        """The feed-forward network at a place: one map, or several."""
        if place in self.names["weights"]:
            return Affine(*self.shape(place))
        several = [f"{place}.{n}" for n in range(1, 9) if f"{place}.{n}" in self.names["weights"]]
        maps = [Affine(*self.shape(name)) for name in several]
        return FeedForward(maps, self.names["networks"][place])

    def positioned(self, x, i):
        """x + pos(i) for tokens with the numbers i: (1, i, 1/i, 1/i², …), rounded once."""
        device = "cpu" if x.device.type == "mps" else x.device  # which has no float64
        i, places = i.to(device=device, dtype=torch.float64), self.names["positions"]
        if not places:
            return x
        numbers = [i**0, i, *(1 / i**power for power in range(1, len(places) - 1))]
        pos = i.new_zeros(*i.shape, self.size)
        pos[..., places] = torch.stack(numbers, dim=-1)
        return x + pos.to(x)

    def around(self, name, image, x):
        """image + x; or what remains of it where `without` names a residual or an attention."""
        without = self.names.get("without", ())
        if f"attention:{name}" in without:
            image = image * 0
        return image if f"residual:{name}" in without else image + x

    def encode(self, word, mask=None):
        """The keys and values of the external attention, and which of them are hidden.

        `mask` is 0 for symbols that only pad a row of a batch, in front of its word. Attention over
        no keys is 0, and so is attention over keys whose values are 0.
        """
        x = self.embedding[word]
        if not x.shape[-2]:
            zeros = x.new_zeros(*x.shape[:-2], 1, self.size)
            return zeros, zeros, None
        shown = torch.ones_like(word) if mask is None else mask.to(word)
        hidden = ((shown == 0) & shown.any(-1, keepdim=True))[..., None, :]
        x = self.positioned(x, shown.cumsum(-1).clamp(min=1))
        for n in range(1, self.names["layers"]["encoder"] + 1):
            layer = self.encoder[str(n)]
            x = layer.input(x)
            a = layer.a(self.around(f"encoder.{n}.self", layer.attend(x, hidden=hidden), x))
            x = layer.z(self.around(f"encoder.{n}.O", layer.O(a), a))
        whole = shown[..., None].to(x)
        return self.encoder["K"](x) * whole, self.encoder["V"](x) * whole, hidden

    def decode(self, external, y, kept=None):
        """The outputs after tokens y, which follow those whose keys and values are kept."""
        *external, unseen = external
        kept = Kept() if kept is None else kept
        past, new = kept.tokens, y.shape[-2]
        i = torch.arange(past + 1, past + new + 1)
        # Token i cannot see later tokens.
        later = torch.ones(new, past + new, dtype=torch.bool, device=y.device).triu(past + 1)
        z = self.positioned(y, i)
        for name, layer in self.decoder.items():
            z = layer.input(z)
            place = f"decoder.{name}"
            found = layer.attend(z, partial(kept, name), later)
            p = layer.p(self.around(f"{place}.self", found, z))
            found = layer.external(layer.external.q(p.clone()), *external, unseen)
            a = layer.a(self.around(f"{place}.external", found, p))
            z = layer.z(self.around(f"{place}.O", layer.O(a), a))
        return self.y(self.F(z))

    def forward(self, word, y):
        """y_1, …, y_t for the tokens y_0, …, y_{t−1} of a run on a word: a tensor of numbers."""
        return self.decode(self.encode(word), y)

    def steps(self, word):
        """y_0, y_1, y_2, …, one after the other, over kept keys and values."""
        external, kept, y = self.encode(self.word(word)), Kept(), self.seed[None]
        while True:
            yield y[0]
            y = self.decode(external, y, kept)

    @torch.no_grad()
    def outputs(self, word):
        """y_1, y_2, … with the tokens that each attention of the decoder chose."""
        with self.watched(".pattern") as patterns:
            for y in islice(self.steps(word), 1, None):
                yield y, attended(patterns, 0)

    @torch.no_grad()
    def forced(self, word, y):
        """The same for given y_0, y_1, …, in one pass: the output after each of them."""
        with self.watched(".pattern") as patterns:
            following = self(self.word(word), y)
        for t, row in enumerate(following):
            yield row, attended(patterns, t)


def attended(patterns, row):
    """The tokens that each attention of the decoder chose, in a row of its patterns."""
    return {
        name.removesuffix(".pattern"): pattern[row].nonzero()[:, 0]
        for name, pattern in patterns.items()
        if name.startswith("decoder")
    }


NETWORK = Transformer
