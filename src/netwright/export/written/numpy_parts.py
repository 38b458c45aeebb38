"""Tensors of exact numbers as numpy arrays, and the functions of the paper."""

from fractions import Fraction

import numpy as np

from netwright.export.written.reading import Readable

ACTIVATIONS = {
    "sigma": lambda x: np.clip(x, 0, 1),
    "relu": lambda x: np.maximum(x, 0),
}


class NumpyNetwork(Readable):
    """The names and the tensors of a network, rounded to floats of some type."""

    def __init__(self, names, tensors, dtype=np.float64):
        self.names, self.dtype = names, np.dtype(dtype)
        self.tensors = {name: self._array(*tensor) for name, tensor in tensors.items()}

    def _array(self, shape, entries):
        """From rows of indices and a rational as text."""
        found = np.zeros(shape, dtype=self.dtype)
        for *place, number in entries:
            found[tuple(place)] = Fraction(number)
        return found

    def linear(self, name, x):
        """x·A."""
        return x @ self.tensors[f"{name}.weight"]

    def affine(self, name, x):
        """x·A + b."""
        return self.linear(name, x) + self.tensors[f"{name}.bias"]

    def scores_of_pairs(self, y):
        """y·A + b of the read-out."""
        return self.affine("readout", y)
