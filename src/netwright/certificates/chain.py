"""Affine maps with σ between each two, for many vectors at once.

Many vectors are one vector of *forms* c + Σ c_x x, whose unknowns x lie between bounds. σ of a form
is 0, 1 or the form itself where the bounds imply it; elsewhere it becomes a new unknown in [0, 1].
So the image is right for every value of the unknowns. A coordinate that is not given is an unknown
without bounds, not 0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from netwright.certificates.reading import ONE, Matrix

ZERO = fmpq(0)
Form = dict[str, fmpq]
"""The factor of each unknown, by name; the constant has the empty name."""
Forms = dict[int, Form]
"""A vector by coordinate; images leave zeros out."""
Bound = tuple[fmpq | None, fmpq | None]
Bounds = dict[str, Bound]
"""Minimum and maximum of each unknown; None where it is unbounded."""


@dataclass(frozen=True)
class Chain:
    """A feed-forward network: affine maps with one activation between them."""

    maps: Sequence[Matrix]
    activation: str

    def is_zero(self) -> bool:
        """Whether its last map is 0, so that every image is 0."""
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
        """The image of a vector of forms; adds the unknowns that σ introduces to `bounds`."""
        return self.near(x, bounds)({})

    def near(self, x: Forms, bounds: Bounds) -> Callable[[Forms], Forms]:
        """A function from changed coordinates of x to the image of x with those changes.

        It evaluates x once and keeps the intermediate forms; each call then costs as much as the
        units that read the changed coordinates.
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
    """The coordinates of the image that change when x has other forms in some coordinates."""
    found: Forms = {}
    for j, form in changes.items():
        old = x.get(j, {})
        more = {name: form.get(name, ZERO) - old.get(name, ZERO) for name in {*form, *old}}
        for k, weight in matrix.rows.get(j, ()):
            if k not in found:
                found[k] = dict(image.get(k, {}))
            for name, factor in more.items():
                found[k][name] = found[k].get(name, ZERO) + weight * factor
    return {k: {name: x for name, x in form.items() if x} for k, form in found.items()}


def within(form: Form, bounds: Bounds) -> Bound:
    """Minimum and maximum of a form; None where it is unbounded."""
    least: fmpq | None = ZERO
    most: fmpq | None = ZERO
    for name, factor in form.items():
        low, high = bounds[name] if name else (ONE, ONE)
        first, last = (low, high) if factor > 0 else (high, low)
        least = None if least is None or first is None else least + factor * first
        most = None if most is None or last is None else most + factor * last
    return least, most


def is_unit(form: Form, bounds: Bounds) -> bool:
    """Whether a form is in [0, 1] for all values of its unknowns."""
    least, most = within(form, bounds)
    return least is not None and least >= 0 and most is not None and most <= 1


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
    """A form as text: its terms, or 0."""
    parts = [f"{factor} {name}".strip() for name, factor in sorted((form or {}).items())]
    return " + ".join(parts) or "0"
