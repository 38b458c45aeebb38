"""A hard-attention Transformer that is a Turing machine, in numpy."""

import numpy as np

from netwright.export.written.numpy_parts import ACTIVATIONS, NumpyNetwork


class Transformer(NumpyNetwork):
    """A Transformer with hard attention and the score −|⟨q, k⟩|, or ⟨q, k⟩."""

    def network(self, place, x):
        """A feed-forward network: affine maps with an activation between each two."""
        maps = [place, *(f"{place}.{n}" for n in range(1, 9))]
        first, *others = [name for name in maps if f"{name}.weight" in self.tensors]
        x = self.affine(first, x)
        for name in others:
            x = self.affine(name, ACTIVATIONS[self.names["networks"][place]](x))
        return x

    def positioned(self, x, i):
        """x + pos(i), pos(i) = (1, i, 1/i, 1/i², …) in some coordinates."""
        if not self.names["positions"]:
            return x
        numbers = [1, i, *(1 / i**power for power in range(1, len(self.names["positions"]) - 1))]
        x = x.copy()
        x[self.names["positions"]] += np.array(numbers, dtype=self.dtype)
        return x

    def around(self, name, image, x):
        """image + x; or what remains of it where `without` names a residual or an attention."""
        without = self.names.get("without", ())
        if f"attention:{name}" in without:
            image = image * 0
        return image if f"residual:{name}" in without else image + x

    def attend(self, q, K, V):
        """The tokens of the greatest score, and Att(q, K, V): their values summed, divided once."""
        scores = K @ q
        if self.names["score"] == "-|<q, k>|":
            scores = -np.abs(scores)
        hard = scores == scores.max()
        return np.flatnonzero(hard), hard.astype(self.dtype) @ V / self.dtype.type(hard.sum())

    def encode(self, word):
        """The keys and values of the external attention (Equations 6 to 8)."""
        X = [self.tensors["embedding"][token] for token in self.tokens(word)]
        if not X:  # attention over no keys is 0, as over one key whose value is 0
            zeros = np.zeros((1, *self.tensors["seed"].shape), dtype=self.dtype)
            return zeros, zeros
        X = np.stack([self.positioned(x, i) for i, x in enumerate(X, start=1)])
        for n in range(1, self.names["layers"]["encoder"] + 1):
            Q, K, V = (self.network(f"encoder.{n}.{letter}", X) for letter in "QKV")
            found = np.stack([self.attend(q, K, V)[1] for q in Q])
            A = self.around(f"encoder.{n}.self", found, X)
            X = self.around(f"encoder.{n}.O", self.network(f"encoder.{n}.O", A), A)
        return self.network("encoder.K", X), self.network("encoder.V", X)

    def outputs(self, word):
        """y_1, y_2, … with the tokens that each attention of each layer chose (Equation 13)."""
        external = self.encode(word)
        layers = [f"decoder.{n}" for n in range(1, self.names["layers"]["decoder"] + 1)]
        keys = dict.fromkeys(layers, np.zeros((0, *self.tensors["seed"].shape), self.dtype))
        values = dict(keys)
        y, i = self.tensors["seed"], 0
        while True:
            i += 1
            z, attended = self.positioned(y, i), {}
            for layer in layers:
                keys[layer] = np.vstack([keys[layer], self.network(f"{layer}.K", z)])
                values[layer] = np.vstack([values[layer], self.network(f"{layer}.V", z)])
                q = self.network(f"{layer}.Q", z)
                attended[f"{layer}.self"], found = self.attend(q, keys[layer], values[layer])
                p = self.around(f"{layer}.self", found, z)
                attended[f"{layer}.external"], found = self.attend(p, *external)
                a = self.around(f"{layer}.external", found, p)
                z = self.around(f"{layer}.O", self.network(f"{layer}.O", a), a)
            y = self.network("F", z)
            yield y, attended


NETWORK = Transformer
