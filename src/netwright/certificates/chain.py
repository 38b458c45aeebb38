"""Affine maps with σ between each two, for many vectors at once.

Many vectors are one vector of *forms* c + Σ c_x x, whose unknowns x lie between bounds. σ of a form
is 0, 1 or the form itself where the bounds say so; where they do not, it is one unknown more, which
lies in [0, 1]. So what comes out is right for every value of the unknowns. A coordinate that is not
given is not 0: it is an unknown without bounds. Zeros are said.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from netwright.certificates.reading import ONE, Matrix

ZERO = fmpq(0)
Form = dict[str, fmpq]
"""The factor of each unknown; the constant under the empty name."""
Forms = dict[int, Form]
"""A vector by its coordinates; of what comes out, those that are not 0."""
Bound = tuple[fmpq | None, fmpq | None]
Bounds = dict[str, Bound]
"""The least and the greatest value of an unknown, if there are such."""


@dataclass(frozen=True)
class Chain:
    """A feed-forward network as it is written down."""

    maps: Sequence[Matrix]
    activation: str

    def is_zero(self) -> bool:
        """Whether it gives 0 whatever it is given."""
        return not self.maps[-1].weights and not any(self.maps[-1].bias.values())

    def is_exactly(self, weights: Mapping[tuple[int, int], fmpq]) -> bool:
        """Whether it is one linear map with these weights."""
        single = len(self.maps) == 1 and not any(self.maps[0].bias.values())
        return single and self.maps[0].weights == dict(weights)

    def sources(self, targets: set[int]) -> set[int]:
        """The input coordinates on which some output coordinates depend."""
        for matrix in reversed(self.maps):
            targets = {j for j, k in matrix.weights if k in targets}
        return targets

    def reached(self) -> set[int]:
        """The output coordinates that are not always 0."""
        last = self.maps[-1]
        return {k for _, k in last.weights} | {k for k, b in last.bias.items() if b}

    def of_forms(self, x: Forms, bounds: Bounds) -> Forms:
        """The image of a vector of forms; unknowns that σ makes are added to the bounds."""
        return self.near(x, bounds)({})

    def near(self, x: Forms, bounds: Bounds) -> Callable[[Forms], Forms]:
        """The images of a vector with other forms in some coordinates: a function of those.

        The vector goes through the chain once. After that an image costs as much as the units
        that read the other forms, however many units there are.
        """
        read = {j: f"not given {j}" for j, _ in self.maps[0].weights}
        bounds |= dict.fromkeys(read.values(), (None, None))
        given = [{j: x.get(j, unknown(name)) for j, name in read.items()}]
        images: list[Forms] = []
        for n, matrix in enumerate(self.maps):
            if n:
                given.append(_all_clipped(images[-1], bounds, n))
            bias = {k: known(b) for k, b in matrix.bias.items()}
            not_zero = {j: form for j in matrix.rows if (form := given[n].get(j))}
            images.append(bias | _replaced(matrix, not_zero, {}, bias))

        def image(changes: Forms) -> Forms:
            for n, matrix in enumerate(self.maps):
                if n:
                    clipped = _all_clipped(changes, bounds, n).items()
                    changes = {k: form for k, form in clipped if form != given[n].get(k, {})}
                changes = _replaced(matrix, changes, given[n], images[n])
            return {k: form for k, form in (images[-1] | changes).items() if form}

        return image


def _replaced(matrix: Matrix, changes: Forms, x: Forms, image: Forms) -> Forms:
    """What is another form in the image of x if x has other forms in some coordinates."""
    found: Forms = {}
    for j, form in changes.items():
        old = x.get(j, {})
        more = {name: form.get(name, ZERO) - old.get(name, ZERO) for name in {*form, *old}}
        for k, weight in matrix.rows.get(j, ()):
            if k not in found:
                found[k] = dict(image.get(k, {}))
            for name, factor in more.items():
                found[k][name] = found[k].get(name, ZERO) + weight * factor
    return {k: _tidy(form) for k, form in found.items()}


def _tidy(form: Form) -> Form:
    return {name: factor for name, factor in form.items() if factor}


def within(form: Form, bounds: Bounds) -> tuple[fmpq | None, fmpq | None]:
    """The least and the greatest value of a form; None where there is none."""
    least: fmpq | None = ZERO
    most: fmpq | None = ZERO
    for name, factor in form.items():
        low, high = bounds[name] if name else (ONE, ONE)
        first, last = (low, high) if factor > 0 else (high, low)
        least = None if least is None or first is None else least + factor * first
        most = None if most is None or last is None else most + factor * last
    return least, most


def _clipped(form: Form, bounds: Bounds, name: str) -> Form:
    """σ of a form."""
    least, most = within(form, bounds)
    if most is not None and most <= 0:
        return {}
    if least is not None and least >= 1:
        return {"": ONE}
    if least is not None and most is not None and least >= 0 and most <= 1:
        return form
    bounds[name] = (ZERO, ONE)
    return {name: ONE}


def _all_clipped(image: Forms, bounds: Bounds, number_of: int) -> Forms:
    return {k: _clipped(form, bounds, f"σ {number_of - 1} {k}") for k, form in image.items()}


def unknown(name: str) -> Form:
    """An unknown as a form."""
    return {name: ONE}


def known(number: fmpq | int) -> Form:
    """A number as a form."""
    return {"": fmpq(number)} if number else {}


def shown(form: Form | None) -> str:
    """A form in short."""
    parts = [f"{factor} {name}".strip() for name, factor in sorted((form or {}).items())]
    return " + ".join(parts) or "0"
