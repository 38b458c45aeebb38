"""A picture of few shapes, written as SVG text or rasterised as PNG.

Shapes are drawn in the order in which they are added. The PNG is anti-aliased: the coverage of a
pixel by a line of half width h at distance d is h + ½ − d, between 0 and 1.
"""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netwright.drawing.strokes import strokes, width_of
from netwright.errors import InputError
from netwright.files import check_output, output_path, write_whole
from netwright.text import printable

FORMATS = (".svg", ".png")
Point = tuple[float, float]
Pixels = NDArray[np.uint8]
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}


class Line(NamedTuple):
    """A polyline, or a filled polygon."""

    points: Sequence[Point]
    colour: str
    width: float = 1.0
    filled: bool = False


class Circle(NamedTuple):
    """A disc with an edge."""

    centre: Point
    radius: float
    fill: str
    edge: str
    width: float = 1.5


class Text(NamedTuple):
    """A line of text; `place` is where its baseline begins, has its middle, or ends."""

    place: Point
    text: str
    size: float
    colour: str
    anchor: str = "start"


class Image(NamedTuple):
    """Pixels, a row after the other, stretched over a rectangle."""

    place: Point
    size: Point
    pixels: Pixels


@dataclass
class Picture:
    """Shapes on a white sheet."""

    width: float
    height: float
    title: str = ""
    shapes: list[Line | Circle | Text | Image] = field(default_factory=list)

    def line(self, points: Sequence[Point], colour: str, width: float = 1.0) -> None:
        """Add a polyline."""
        self.shapes.append(Line(points, colour, width))

    def polygon(self, points: Sequence[Point], colour: str) -> None:
        """Add a filled polygon, which must be convex."""
        self.shapes.append(Line(points, colour, 0.0, filled=True))

    def circle(self, centre: Point, radius: float, fill: str, edge: str, width: float) -> None:
        """Add a disc with an edge."""
        self.shapes.append(Circle(centre, radius, fill, edge, width))

    def text(
        self, place: Point, text: str, size: float, colour: str = "#222222", anchor: str = "start"
    ) -> None:
        """Add a line of text."""
        self.shapes.append(Text(place, printable(text).replace("\n", " "), size, colour, anchor))

    def image(self, place: Point, size: Point, pixels: Pixels) -> None:
        """Add pixels."""
        self.shapes.append(Image(place, size, pixels))

    def add(self, other: "Picture", place: Point, scale: float = 1.0) -> None:
        """Add the shapes of another picture, its corner at a place.

        >>> inner, outer = Picture(9, 9), Picture(99, 99)
        >>> inner.line([(0, 0), (4, 2)], "#000000")
        >>> outer.add(inner, (10, 20), 2)
        >>> outer.shapes
        [Line(points=[(10, 20), (18, 24)], colour='#000000', width=2.0, filled=False)]
        """

        def at(point: Point) -> Point:
            return place[0] + scale * point[0], place[1] + scale * point[1]

        for shape in other.shapes:
            if isinstance(shape, Line):
                points = [at(point) for point in shape.points]
                self.shapes.append(shape._replace(points=points, width=scale * shape.width))
            elif isinstance(shape, Circle):
                radius, width = scale * shape.radius, scale * shape.width
                placed = shape._replace(centre=at(shape.centre), radius=radius, width=width)
                self.shapes.append(placed)
            elif isinstance(shape, Text):
                self.shapes.append(shape._replace(place=at(shape.place), size=scale * shape.size))
            else:
                size = scale * shape.size[0], scale * shape.size[1]
                self.shapes.append(shape._replace(place=at(shape.place), size=size))

    def svg(self) -> str:
        """The picture as SVG text.

        >>> picture = Picture(10, 10, "a dot")
        >>> picture.circle((5, 5), 2, "#ffffff", "#000000", 1)
        >>> "<circle" in picture.svg(), "<title>a dot</title>" in picture.svg()
        (True, True)
        """
        size = f'width="{self.width:g}" height="{self.height:g}"'
        box = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" '
            'font-family="Helvetica, Arial, sans-serif">',
            f"<title>{escape(self.title)}</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *map(_as_svg, self.shapes),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def png(self, scale: float = 2.0) -> bytes:
        """The picture as a PNG file, `scale` pixels for each unit."""
        canvas = _Canvas(round(self.width * scale), round(self.height * scale), scale)
        for shape in self.shapes:
            canvas.draw(shape)
        return png_of(canvas.pixels.round().astype(np.uint8))

    def content(self, path: Path) -> bytes:
        """What a file of this name has in it: SVG or PNG by its ending."""
        if path.suffix.lower() not in FORMATS:
            raise InputError(f"{path}: expected a file that ends in {' or '.join(FORMATS)}")
        return self.svg().encode() if path.suffix.lower() == ".svg" else self.png()

    def save(self, path: PathLike[str] | str, *, force: bool = False) -> None:
        """Write it to a .svg or .png file; an existing one is overwritten only with `force`."""
        place = output_path(path)
        content = self.content(place)
        check_output(place, force=force)
        write_whole(place, content)

    def _repr_svg_(self) -> str:
        return self.svg()


def png_of(pixels: Pixels) -> bytes:
    """A PNG file of grey (rows, columns) or coloured (rows, columns, 3) pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows, columns = pixels.shape[:2]
    coloured = pixels.ndim == 3
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2 if coloured else 0, 0, 0, 0)
    lines = pixels.reshape(rows, -1)
    raw = np.hstack([np.zeros((rows, 1), np.uint8), lines]).tobytes()  # no filter
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(raw, 9)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _as_svg(shape: Line | Circle | Text | Image) -> str:
    if isinstance(shape, Line):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
        if shape.filled:
            return f'<polygon points="{points}" fill="{shape.colour}"/>'
        stroke = f'stroke="{shape.colour}" stroke-width="{shape.width:g}"'
        return f'<polyline points="{points}" fill="none" {stroke} stroke-linejoin="round"/>'
    if isinstance(shape, Circle):
        x, y = shape.centre
        edge = f'stroke="{shape.edge}" stroke-width="{shape.width:g}"'
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{shape.radius:g}" fill="{shape.fill}" {edge}/>'
        )
    x, y = shape.place
    if isinstance(shape, Text):
        how = f'font-size="{shape.size:g}" fill="{shape.colour}" text-anchor="{shape.anchor}"'
        return f'<text x="{x:.1f}" y="{y:.1f}" {how}>{escape(shape.text)}</text>'
    width, height = shape.size
    data = base64.b64encode(png_of(shape.pixels)).decode()
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/>'
    )


class _Canvas:
    """Pixels in floats, white at first."""

    def __init__(self, width: int, height: int, scale: float) -> None:
        self.pixels: NDArray[np.float64] = np.full((height, width, 3), 255.0)
        self.scale = scale

    def draw(self, shape: Line | Circle | Text | Image) -> None:
        """Draw one shape."""
        if isinstance(shape, Image):
            self._image(shape)
        elif isinstance(shape, Circle):
            self._disc(shape.centre, shape.radius + shape.width / 2, shape.edge)
            self._disc(shape.centre, shape.radius - shape.width / 2, shape.fill)
        elif isinstance(shape, Text):
            x, y = shape.place
            start = x - ANCHORS[shape.anchor] * width_of(shape.text, shape.size)
            for points in strokes(shape.text, start, y, shape.size):
                self._polyline(points, shape.colour, max(0.55, shape.size / 11))
        elif shape.filled:
            self._polygon(shape.points, shape.colour)
        else:
            self._polyline(shape.points, shape.colour, shape.width)

    def _blend(self, area: tuple[slice, slice], coverage: NDArray[Any], colour: str) -> None:
        ink = np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)], float)
        part = self.pixels[area]
        part += np.clip(coverage, 0, 1)[..., None] * (ink - part)

    def _area(self, points: NDArray[Any], margin: float) -> tuple[tuple[slice, slice], Any, Any]:
        """The pixels around some points, and the coordinates of their centres."""
        rows, columns = self.pixels.shape[:2]
        (x0, y0), (x1, y1) = points.min(0) - margin, points.max(0) + margin
        x = slice(*np.clip([int(x0), int(x1) + 2], 0, columns).tolist())
        y = slice(*np.clip([int(y0), int(y1) + 2], 0, rows).tolist())
        xs, ys = np.arange(x.start, x.stop) + 0.5, np.arange(y.start, y.stop) + 0.5
        return (y, x), xs[None, :], ys[:, None]

    def _polyline(self, points: Sequence[Point], colour: str, width: float) -> None:
        """Cover each pixel once, by its distance to the nearest segment."""
        scaled = np.array(points, float) * self.scale
        half = width * self.scale / 2
        whole, _, _ = self._area(scaled, half + 1)
        top, left = whole[0].start, whole[1].start
        nearest = np.full((whole[0].stop - top, whole[1].stop - left), np.inf)
        ends = scaled[1:] if len(scaled) > 1 else scaled
        for a, b in zip(scaled, ends, strict=False):
            (rows, columns), x, y = self._area(np.array([a, b]), half + 1)
            (ax, ay), (dx, dy) = a, b - a
            along = ((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-9)
            t = np.clip(along, 0, 1)
            part = nearest[rows.start - top : rows.stop - top, columns.start - left :][
                :, : columns.stop - columns.start
            ]
            np.minimum(part, np.hypot(x - ax - t * dx, y - ay - t * dy), out=part)
        self._blend(whole, half + 0.5 - nearest, colour)

    def _polygon(self, points: Sequence[Point], colour: str) -> None:
        """Cover a convex polygon: the least distance inside any of its edges."""
        scaled = np.array(points, float) * self.scale
        area, x, y = self._area(scaled, 1)
        inside = np.full((y.size, x.size), np.inf)
        centre = scaled.mean(0)
        for (ax, ay), (bx, by) in zip(scaled, np.roll(scaled, -1, 0), strict=True):
            normal = np.array([ay - by, bx - ax]) / max(np.hypot(bx - ax, by - ay), 1e-9)
            normal *= np.sign(normal @ (centre - (ax, ay))) or 1.0
            inside = np.minimum(inside, (x - ax) * normal[0] + (y - ay) * normal[1])
        self._blend(area, inside + 0.5, colour)

    def _disc(self, centre: Point, radius: float, colour: str) -> None:
        middle = np.array([centre], float) * self.scale
        area, x, y = self._area(middle, radius * self.scale + 1)
        distance = np.hypot(x - middle[0, 0], y - middle[0, 1])
        self._blend(area, radius * self.scale + 0.5 - distance, colour)

    def _image(self, shape: Image) -> None:
        (x, y), (width, height) = shape.place, shape.size
        corners = np.array([[x, y], [x + width, y + height]]) * self.scale
        (left, top), (right, bottom) = corners.round().astype(int)
        rows, columns = shape.pixels.shape[:2]
        row = np.arange(bottom - top) * rows // max(1, bottom - top)
        column = np.arange(right - left) * columns // max(1, right - left)
        pixels = shape.pixels[row][:, column]
        self.pixels[top:bottom, left:right] = pixels if pixels.ndim == 3 else pixels[..., None]
