"""A moment of a network as a picture, for `netwright draw --t`: what the page shows of it."""

from netwright.drawing.machines import BLUE, FAINT, INK, PAPER, add_diagram
from netwright.drawing.picture import Picture, Point
from netwright.drawing.strokes import width_of
from netwright.explorer.explored import Explored
from netwright.explorer.figures import Row, Said, Shown, chain, rows_of, stacks, stream_rows
from netwright.explorer.moments import MANY, moment_data
from netwright.network.view import View
from netwright.text import shortened

WIDTH, LEFT, SIZE = 960.0, 56.0, 12.0
CELL, SIDE = 42.0, 10
GOLD, EDGE, PURPLE, BROWN = "#ffb73b", "#9aa4b0", "#8a2c8d", "#a34c00"
LEVELS = 4  # of nested intervals
COLOURS = {-1: BROWN, 1: BLUE}
"""Of what is left and right of the head."""


def moment_picture(explored: Explored, t: int) -> Picture:
    """The tape, the space-time diagram with attention, and the figures of the kind's view.

    >>> import netwright as nw
    >>> explored = Explored(nw.compile("palindrome", to="rnn"), tuple("abba"))
    >>> moment_picture(explored, 10).title
    'rnn of palindrome, t = 10'
    """
    explored.explore(lambda done: True)
    moment = explored.moment(t)
    assert moment is not None
    shown, network = Shown(explored, moment, moment_data(explored, moment)), explored.network
    name = shortened(network.machine.name, 60) or "a machine"
    sheet = Sheet(shown, Picture(WIDTH, 0, f"{network.kind.name} of {name}, t = {t:,}"))
    sheet.draw(explored.view)
    return sheet.picture


class Sheet:
    """A picture that grows downwards; `y` is where it ends."""

    def __init__(self, shown: Shown, picture: Picture) -> None:
        self.shown, self.picture, self.y = shown, picture, 0.0

    def draw(self, view: View) -> None:
        """Draw everything."""
        self.heading(f"{self.picture.title}: {self.sentence()}")
        self.tape(view)
        self.space_time()
        for figure in view.figures:
            self.heading(figure.get("title", "What the vectors say"))
            if figure["draw"] == "stacks":
                self.intervals()
            for row in rows_of(self.shown, figure):
                self.row(row)
        if view.columns:
            self.heading("What each part adds")
        for row in stream_rows(self.shown, view):
            self.row(row)
        if text := self.shown.data.get("text"):
            self.heading(
                "The end of the text: what is looked up, and the token that is written now"
            )
            first = text["all"] - len(text["before"])
            lit = {n for _, at, tokens in text["pointed"] for n in range(at, at + len(tokens))}
            before = [Said(each, first + n in lit) for n, each in enumerate(text["before"])]
            self.row(Row("", before + [Said(each, True) for each in text["after"]]))
        self.picture.height = self.y + 14

    def heading(self, text: str) -> None:
        """A line of larger text."""
        self.picture.text((LEFT, self.y + 24), text, 13)
        self.y += 32

    def sentence(self) -> str:
        """What the machine does by the network's vectors."""
        rule, name = self.shown.data["rule"], self.shown.name
        if rule is None:
            return "no configuration of the machine"
        now = f"in {rule['state']} reading {name(rule['symbol'])}"
        if rule["next"] is None:
            return f"{now}: no rule applies"
        return f"{now}: write {name(rule['write'])}, move {rule['move']}, go to {rule['next']}"

    def tape(self, view: View) -> None:
        """The cells around the head; below them digits of stacks, or the last visits."""
        data, picture = self.shown.data, self.picture
        tape, head = data["tape"], data["head"]
        links = next((each for each in view.figures if each["draw"] == "links"), None)
        digits = dict[int, tuple[int, int]]()
        for figure in view.figures:
            for _, offset, step, _, found in (
                stacks(self.shown, figure) if "stacks" in figure else ()
            ):
                start = head if data["step"] is not None else 0
                digits |= {start + offset + n * step: (d, step) for n, d in enumerate(found)}
        top, ago = self.y + (26 if links else 4), data["t"] >= MANY
        if not digits:
            picture.text((8, top + 40), "ago" if ago else "visited", 9, FAINT)
        for cell in range(head - SIDE, head + SIDE + 1):
            x, place = self.x(cell), cell - tape["first"]
            fill = GOLD if cell == head else PAPER
            self.box((x - CELL / 2, top), (CELL, 26), fill, EDGE)
            symbol = shortened(self.shown.name(tape["cells"][place]), 4)
            picture.text((x, top + 18), symbol, 14, INK, "middle")
            visit = tape["visits"][place]
            if cell in digits:
                digit, step = digits[cell]
                picture.text((x, top + 42), str(digit), 13, COLOURS[step], "middle")
            elif visit is not None and not digits:
                when = visit - data["t"] if ago else visit
                picture.text((x, top + 40), f"{when:,}", 9, FAINT, "middle")
        for side, step in (("L", -1), ("R", 1)) if links else ():
            for n, (cell, _) in enumerate(chain(self.shown, links or {}, side)):
                if abs(cell - head) <= SIDE:
                    ends = (self.x(cell - step), top - 1), (self.x(cell), top - 1)
                    picture.line(
                        arc(*ends, 20), COLOURS[step] if n < 2 else FAINT, 2.4 if n == 0 else 1.2
                    )
        self.y = top + 50

    def x(self, cell: int) -> float:
        """The middle of a cell of the tape."""
        head: int = self.shown.data["head"]
        return LEFT + (cell - head + SIDE + 0.5) * CELL

    def box(self, place: Point, size: Point, fill: str, edge: str) -> None:
        """A filled rectangle with an edge."""
        (x, y), (w, h) = place, size
        corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h)]
        self.picture.polygon(corners, fill)
        self.picture.line([*corners, corners[0]], edge)

    def space_time(self) -> None:
        """The diagram around t, and the attention that the view draws."""
        explored, data = self.shown.explored, self.shown.data
        t, found = max(data["t"], explored.lead), data.get("attention") or {}
        back = found.get("winner") or t - 30
        size = max(40, int((t - back) * 1.4))
        last = explored.last[0] + 1
        start = max(explored.lead, min(back - size // 6, last - size))
        path = explored.diagram(start, start + size, 860, 0, 0, 1)[1]
        low, high = int(path.lowest.min()) - 2, int(path.highest.max()) + 2
        (start, stop, columns, low, _, _), part = explored.diagram(
            start, start + size, 860, low, high, 120
        )
        left, top, wide, tall = LEFT, self.y + 12, WIDTH - LEFT - 24, 150.0
        add_diagram(
            self.picture,
            part,
            (left, top, wide, tall),
            (start, stop),
            (low, high),
            columns == stop - start,
            "t",
        )

        def at(time: int, cell: int) -> Point:
            return (
                left + (time - start + 0.5) * wide / (stop - start),
                top + (cell - low + 0.5) * tall / (high + 1 - low),
            )

        x = at(t, 0)[0]
        self.picture.line([(x, top - 4), (x, top + tall)], INK, 1.2)
        if found.get("winner") and found["cell"] is not None and found["winner"] >= start:
            place = at(found["winner"], found["cell"])
            self.picture.line([place, at(min(t + 1, stop - 1), found["cell"])], PURPLE, 3)
            self.picture.circle(place, 4, PURPLE, PAPER, 1.5)
        self.y = top + tall + 34

    def row(self, row: Row) -> None:
        """Words in boxes after what they are about, in as many lines as they take."""
        x = LEFT
        if row.about:
            self.picture.text((x, self.y + 14), row.about, SIZE, FAINT)
            x = max(LEFT + 96, x + width_of(row.about, SIZE) + 12)
        begin = x
        for text, lit in row.words:
            if not text:
                continue
            word = shortened(text, 60)
            wide = width_of(word, SIZE) + 12
            if x + wide > WIDTH - 20 and x > begin:
                x, self.y = begin, self.y + 23
            self.box((x, self.y), (wide, 19), GOLD if lit else PAPER, INK if lit else EDGE)
            self.picture.text((x + 6, self.y + 14), word, SIZE)
            x += wide + 4
        self.y += 24

    def intervals(self) -> None:
        """The number of each stack in nested intervals: a row for each of its first digits."""
        figure = next(each for each in self.shown.explored.view.figures if "stacks" in each)
        found, most = stacks(self.shown, figure), len(self.shown.symbols) - 1
        base = self.shown.explored.network.options.get("base") or most + 2
        size, whole = float(base), 380.0
        wide, apart = whole / size, whole * (size - 1) / most / size
        for _, _, step, _, digits in found:
            left = LEFT if step < 0 else LEFT + whole + 60
            for level, chosen in enumerate(digits[:LEVELS]):
                y = self.y + 26 * level
                for digit in range(most + 1):
                    lit = digit == chosen
                    fill, x = COLOURS[step] if lit else PAPER, left + digit * apart
                    self.box((x, y), (wide, 16), fill, EDGE)
                    if wide > 12:
                        ink = PAPER if lit else FAINT
                        self.picture.text((x + wide / 2, y + 12), str(digit), 10, ink, "middle")
                    if lit and level < min(len(digits), LEVELS) - 1:
                        self.picture.line([(x, y + 16), (left, y + 26)], EDGE)
                        self.picture.line([(x + wide, y + 16), (left + whole, y + 26)], EDGE)
        rows = max((min(LEVELS, len(digits)) for *_, digits in found), default=0)
        self.y += 26 * rows + (4 if rows else 0)


def arc(start: Point, end: Point, height: float) -> list[Point]:
    """A parabola above two points of the same height."""
    (x, y), wide = start, end[0] - start[0]
    return [(x + wide * n / 16, y - 4 * height * n / 16 * (1 - n / 16)) for n in range(17)]
