"""What the engine for pointers asks of a network's maps, and what positions are."""

from collections.abc import Mapping

from netwright.engine.moments import UnsuitableError
from netwright.exact.feed_forward import FeedForward
from netwright.exact.rational import ONE, ZERO, Rational
from netwright.nets.transformer import Map
from netwright.runtime.pointers.forms import Form, Forms, image

TWO = ONE + ONE
NAMES = {0: "", 1: "n", -1: "e", -2: "e2"}
"""Powers of a position, as unknowns."""


def positions(powers: Mapping[int, int]) -> Forms:
    """pos(i + 1), with the position as an unknown; `powers` are those of its coordinates."""
    return {
        place: Form(ONE) if power == 0 else Form(ZERO, ((NAMES[power], ONE),))
        for place, power in powers.items()
    }


def power(value: Rational) -> int:
    """The power of 2 that a number is, as a position's."""
    powers = {ONE: 0, TWO: 1, ONE / 2: -1, ONE / 4: -2}
    if value not in powers:
        raise UnsuitableError("its positions are not 1, i, 1/i, 1/i²")
    return powers[value]


def feed_forward(map_: Map) -> FeedForward:
    """A map as the network that it is; UnsuitableError if it is none."""
    if not isinstance(map_, FeedForward):
        raise UnsuitableError("a map is no feed-forward network")
    return map_


def affine_image(map_: Map, x: Forms) -> Forms:
    """The image of a vector under a query, a key or a value."""
    if not is_affine(map_):
        raise UnsuitableError("queries, keys or values are not affine")
    return image(feed_forward(map_).maps[0], x)


def plain(forms: Forms) -> tuple[tuple[int, Rational], ...]:
    """A vector whose numbers are all known, in order."""
    return tuple(sorted((place, form.constant) for place, form in forms.items()))


def is_affine(map_: Map) -> bool:
    """Whether a map has no hidden layer."""
    return len(feed_forward(map_).maps) == 1


def is_zero(map_: Map) -> bool:
    """Whether a map gives 0 for everything."""
    affine = feed_forward(map_).maps[-1]
    return is_affine(map_) and not affine.weights and not affine.bias.entries
