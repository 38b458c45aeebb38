"""Proposition 4.2 (prop:ngpu-not-tc): with circular convolution, Neural GPUs are not complete.

A uniform Neural GPU with circular convolution gives the same outputs on u^k and on u^m: each cell
sees the same neighbours in both, for ever. So it cannot tell words of even length from others: it
treats uu and uuu alike. One symbol u is enough; in print |u| is odd. (There "S_l = S_{h−l}" must
be S_{l−h}, and L(A) must be exactly the words of even length.)

Also the remark before it, that kernels of shape (1, 1) do not suffice: in a uniform network a
cell then depends on itself alone, and the output cell holds the last symbol; so acceptance
depends on the last symbol only.
"""

from netwright.definitions.neural_gpu import NeuralGPU
from netwright.definitions.recognizer import Recognizer
from netwright.errors import InputError
from netwright.statements.indistinguishable import IndistinguishablePair, indistinguishable_pair


def length_pair(recognizer: Recognizer, limit: int) -> IndistinguishablePair:
    """The pair uu and uuu for a recognizer with circular convolution, with its answers."""
    network = recognizer.network
    if not isinstance(network, NeuralGPU) or not network.circular:
        raise InputError("Proposition 4.2 is about Neural GPUs with circular convolution")
    if not is_uniform(network):
        raise InputError("Proposition 4.2 is about uniform Neural GPUs; a bias depends on the row")
    if not recognizer.alphabet:
        raise InputError("the recognizer's alphabet is empty; there is no word to repeat")
    u = recognizer.alphabet[0]
    return indistinguishable_pair(recognizer, (u, u), (u, u, u), limit, statement="Proposition 4.2")


def sees_last_symbol_only(network: NeuralGPU) -> bool:
    """Whether a network is uniform with kernels of shape (1, 1): the remark is about these."""
    parts = (network.U, network.R, network.F)
    return is_uniform(network) and all(part.shape == (1, 1) for part in parts)


def is_uniform(network: NeuralGPU) -> bool:
    """Whether no bias depends on the row."""
    return not any(callable(part.bias) for part in (network.U, network.R, network.F))
