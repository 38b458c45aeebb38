"""What watches see in a state: codes that depend on no cell, or on none that matters."""

from collections.abc import Iterable, Sequence
from math import lcm

from netwright.engine.control import State
from netwright.engine.digits import Digits
from netwright.engine.forms import Form, bounds
from netwright.engine.moments import NEITHER, ZERO_BLOCK, UnsuitableError, Watch
from netwright.exact.layout import Layout


class Seen:
    """A watch of a one-hot block as integers: what each coordinate of a vector adds to it."""

    def __init__(self, watch: Watch, layout: Layout) -> None:
        if watch.sign or watch.numbers is not None:
            raise UnsuitableError("a number is watched")
        through = watch.through
        places = {
            k: n for n, k in enumerate((through.output if through else layout).places(watch.block))
        }
        rows = [(k, k, 1, 1) for k in places] if through is None else through.fractions
        biases = {} if through is None else through.bias.entries
        self.over = lcm(*{over for _, _, _, over in rows}, *(int(x.q) for x in biases.values()))
        self.rows: dict[int, list[tuple[int, int]]] = {}
        for j, k, top, over in rows:
            if k in places:
                self.rows.setdefault(j, []).append((places[k], top * (self.over // over)))
        self.bias = {places[k]: int((x * self.over).p) for k, x in biases.items() if k in places}

    def _image(self, coordinates: Iterable[int]) -> dict[int, int]:
        total: dict[int, int] = {}
        for j in coordinates:
            for n, w in self.rows.get(j, ()):
                total[n] = total.get(n, 0) + w
        return total

    def _forms(self, state: State) -> tuple[dict[int, int], dict[int, Form]]:
        """The numbers of the block without cells; and the forms of those that depend on one."""
        numbers = self._image(state.ones)
        for n, bias in self.bias.items():
            numbers[n] = numbers.get(n, 0) + bias
        masks = [self._image(places) for places in state.cells]
        forms: dict[int, Form] = {}
        for n in {n for mask in masks for n, w in mask.items() if w}:
            terms = tuple((cell, mask[n]) for cell, mask in enumerate(masks) if mask.get(n))
            forms[n] = (numbers.pop(n, 0), self.over, terms)
        return numbers, forms

    def form(self, state: State) -> Form:
        """The form of a block of one coordinate."""
        numbers, forms = self._forms(state)
        return forms.get(0, (numbers.get(0, 0), self.over, ()))

    def code(self, state: State, known: Digits) -> int:
        """The code of all vectors of a state; UnsuitableError where they have not the same."""
        numbers, forms = self._forms(state)
        for form in forms.values():
            low, high, one = bounds(form, known)
            if high < 0 or 0 < low <= high < one or one < low:
                return NEITHER
            raise UnsuitableError("what is watched depends on a number that is not 0 or 1")
        found = [(n, number) for n, number in numbers.items() if number]
        if not found:
            return ZERO_BLOCK
        return found[0][0] if len(found) == 1 and found[0][1] == self.over else NEITHER


class Watching:
    """All watches of a vector, and the codes of the last one with which the codes of a call end."""

    def __init__(
        self, watches: Sequence[Watch], layout: Layout, stops: Sequence[int], known: Digits
    ) -> None:
        self._seen = [Seen(watch, layout) for watch in watches]
        self._stops, self._known = frozenset(stops), known

    def __call__(self, state: State) -> tuple[tuple[int, ...], bool]:
        """The codes, and whether they end with this moment."""
        codes = tuple(seen.code(state, self._known) for seen in self._seen)
        return codes, bool(codes) and (codes[-1] < 0 or codes[-1] in self._stops)
