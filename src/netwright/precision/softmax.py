"""Softmax in place of hard attention: a temperature that is provably low enough, and snapping.

Let token i have n = i + 1 scores, and let the greatest be ahead of all others by gap(i) or more. At
temperature τ_i ≤ gap(i)/ln(4(i+1)²) every other token has a weight of at most 1/(4(i+1)²) of the
winner's. So the others' weights add up to less than 1/(4(i+1)), and

- a one-hot block of the attention is off by less than 1/4 in every coordinate;
- ℓ is off by less than i · i/(4(i+1)²) < 1/4, as indices differ by i at most.

The attention to the encoder has scores −|j − (i+1)|. As τ_i ≤ 1/(3 ln 4), e^(−1/τ) ≤ 1/64, and
Σ k e^(−k/τ) over both sides is less than 1/4: s3 and β are off by less than 1/4 too.
All three layers add the same, as query and τ are the same, and O₂ and O₃ halve what is in s3, x6.
Layer 2 has equal scores, of which softmax is the mean: nothing is off there.

F sees these numbers through its first map f₁, whose images are 0, 1/2, 1 or integers in the exact
run, and off by less than 1/4 now (for b₁ and b₂ one such number and one exact position enter). With
2 f₁(x) − 1/2 in place of f₁(x), σ gives what it gave before: numbers below 1/4 become 0, numbers
above 3/4 become 1, and the 1/2 of the dead vector stays, as the move does not come from an
attention. So y is *exact*, and the next token begins without error: snapped, the network with
softmax is right for ever. In floating point the same holds for as long as scores are computed with
an error well below the gap.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from math import log
from typing import Any

from flint import fmpq

from netwright.errors import InputError
from netwright.exact.feed_forward import Affine, FeedForward
from netwright.exact.vector import Vector
from netwright.kind.transformer.construction import CompiledTransformer
from netwright.kind.transformer.scores import Score, read_score


def schedule(score: Score) -> Callable[[int], float]:
    """τ_i = gap(i)/ln(4(i+1)²), with the score's own gap."""
    return lambda i: float(score.gap(i)) / log(4 * (i + 1) ** 2)


def constant(tau: float) -> Callable[[int], float]:
    """The same temperature for every token."""
    return lambda _: tau


def scaled(tau: float) -> Callable[[int], float]:
    """τ/(i+1)²: a constant temperature for queries that are multiplied by (i+1)²."""
    return lambda i: tau / (i + 1) ** 2


def attention_settings(
    softmax: str | None, snap: bool | None, search: bool, score: Any
) -> dict[str, Any]:
    """Settings of an experiment that only networks with attention have; others refuse them."""
    found: dict[str, Any] = {"search": True} if search else {}
    if softmax is not None:
        found["temperature"] = read_temperature(softmax, read_score(score))
    if snap is not None or softmax is not None:
        found["snapping"] = (True, False) if snap is None else (snap,)
    return found


def read_temperature(text: str, score: Score) -> Callable[[int], float]:
    """Parse a temperature: `schedule`, a constant such as 1e-6, or a falling one such as 1e-3/t2.

    >>> from netwright.kind.transformer.scores import PAPER
    >>> read_temperature("1e-3/t2", PAPER)(9)
    1e-05
    """
    if text.strip() == "schedule":
        return schedule(score)
    found = re.fullmatch(r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(/t2)?\s*", text)
    tau = float(found[1]) if found else 0.0
    if found is None or not 1e-300 <= tau <= 1e300:
        raise InputError(
            f"the temperature is {text!r}; expected a number from 1e-300 to 1e300 such as 1e-6, or "
            "one that falls such as 1e-3/t2, or schedule"
        )
    return scaled(tau) if found[2] else constant(tau)


def snapped(compiled: CompiledTransformer) -> CompiledTransformer:
    """Replace the first map f₁ of F by 2 f₁ − 1/2."""
    final = compiled.network.F
    assert isinstance(final, FeedForward)
    first, *others = final.maps
    layout = first.output
    half = Vector(layout, dict.fromkeys(range(layout.dimension), fmpq(-1, 2)))
    weights = {place: 2 * weight for place, weight in first.weights.items()}
    doubled = Affine(first.input, layout, weights, 2 * first.bias + half)
    network = replace(compiled.network, F=FeedForward((doubled, *others), final.activation))
    return replace(compiled, network=network)
