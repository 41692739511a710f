"""The vocabulary of drawings: boxes, bands, lines, arrows and words, written as SVG.

A drawing is as wide as a phone shows without scaling, so that its words stay legible everywhere; wider screens set several
side by side. Colours are classes of `ptxspec.css`, which has a set for light pages and one for dark ones; what is neither filled
nor classed is drawn in the colour of the page's text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

#: width of every drawing, the margin at either side, and what is between them, in pixels
WIDTH, MARGIN = 344, 10
INNER = WIDTH - 2 * MARGIN
#: height of a line of words, and of a row of cells
LINE, ROW = 14, 20
#: what a letter is wide, on the safe side, in the fonts of words and of code
LETTER, CODE_LETTER = 6.3, 6.7
#: how many colours there are
HUES = 6


class TextLabel(NamedTuple):
    """Words, the x at which their middle stands, and their class."""

    x: float
    text: str
    kind: str = ""


def number(value: float) -> str:
    """A coordinate, with no more digits than are seen."""
    return f"{value:.1f}".removesuffix(".0")


class Canvas:
    """An SVG that grows downwards: `y` is where the next part goes."""

    def __init__(self) -> None:
        self.root = ElementTree.Element("svg")
        self.y = 4.0

    def _add(self, tag: str, kind: str, **attributes: str) -> ElementTree.Element:
        if kind:
            attributes["class"] = kind
        return ElementTree.SubElement(self.root, tag, attributes)

    def words(self, x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> None:
        """Words whose base line is at y. `anchor` says what of them is at x: "start", "middle" or "end"."""
        kinds = " ".join(filter(None, (kind, {"start": "", "middle": "m", "end": "e"}[anchor])))
        self._add("text", kinds, x=number(x), y=number(y)).text = text

    def box(self, x: float, y: float, width: float, height: float, kind: str = "") -> None:
        """A rectangle with an outline."""
        self._add("rect", kind, x=number(x), y=number(y), width=number(width), height=number(height))

    def line(self, points: Iterable[tuple[float, float]], kind: str = "") -> None:
        """A line through points."""
        where = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self._add("polyline", kind, points=where)

    def area(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        """A filled area between points."""
        self._add("polygon", kind, points=" ".join(f"{number(x)},{number(y)}" for x, y in points))

    def strokes(self, ends: Iterable[tuple[float, float, float, float]], kind: str = "") -> None:
        """Separate straight lines (x, y, x, y), as one element."""
        drawn = "".join(f"M{number(a)} {number(b)}L{number(c)} {number(d)}" for a, b, c, d in ends)
        if drawn:
            self._add("path", kind, d=drawn)

    def arrows(self, ends: Iterable[tuple[float, float, float, float]], kind: str = "") -> None:
        """Straight lines (x, y, x, y) with a head at the end, as two elements."""
        shafts, heads = [], ""
        for x, y, to_x, to_y in ends:
            length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5 or 1
            across, along = (to_x - x) / length, (to_y - y) / length
            back_x, back_y = to_x - 6 * across, to_y - 6 * along
            shafts.append((x, y, back_x, back_y))
            corners = [
                (to_x, to_y),
                (back_x - 3 * along, back_y + 3 * across),
                (back_x + 3 * along, back_y - 3 * across),
            ]
            heads += "M" + "L".join(f"{number(a)} {number(b)}" for a, b in corners) + "z"
        if shafts:
            self.strokes(shafts, kind)
            self._add("path", f"head {kind}".strip(), d=heads)

    def cells(self, x: float, y: float, count: int, size: float, every: int = 1) -> None:
        """The outline of a row of cells, with a line behind each `every`-th one, counted from the right."""
        ticks = [(x + (count - i) * size, y, x + (count - i) * size, y + ROW) for i in range(every, count, every)]
        self.strokes(ticks, "tick")
        self.box(x, y, count * size, ROW)

    def labels(self, labels: Iterable[TextLabel], upwards: bool = False) -> None:
        """Words below one another where they would overlap; from `y` on, which ends below them. With `upwards` the first of them
        stand lowest."""
        levels: list[float] = []
        placed: list[tuple[int, float, TextLabel]] = []
        for label in sorted(set(labels)):
            half = len(label.text) * LETTER / 2
            middle = min(max(label.x, half + 1), WIDTH - half - 1)
            level = next((i for i, end in enumerate(levels) if end + 4 <= middle - half), len(levels))
            levels[level : level + 1] = [middle + half]
            placed.append((level, middle, label))
        for level, middle, label in placed:
            above = len(levels) - 1 - level if upwards else level
            self.words(middle, self.y + above * LINE + 11, label.text, label.kind)
        self.y += len(levels) * LINE

    def labels_at(self, x: float, y: float, text: str) -> None:
        """Words above a point, moved as far as they must be to stay within the drawing."""
        half = len(text) * CODE_LETTER / 2
        self.words(min(max(x, half + 1), WIDTH - half - 1), y, text, "code")

    def note(self, text: str) -> None:
        """A line of words at the left, broken where it is too long."""
        lines = [""]
        for word in text.split():
            if (len(lines[-1]) + 1 + len(word)) * LETTER > INNER:
                lines.append("")
            lines[-1] = f"{lines[-1]} {word}".strip()
        for line in lines:
            self.words(MARGIN, self.y + 11, line, "soft", "start")
            self.y += LINE

    def svg(self, title: str, described: str) -> str:
        """The drawing as text. `title` names it, `described` says what is seen to those who do not see it.

        Raises ValueError if either is empty.
        """
        if not title.strip() or not described.strip():
            raise ValueError("a drawing has a title and a description")
        height = number(self.y + 4)
        name = hashlib.sha256(f"{title}\n{described}".encode()).hexdigest()[:8]
        attributes = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height}",
            "width": str(WIDTH),
            "role": "img",
            "aria-labelledby": f"t{name} d{name}",
        }
        for key, value in attributes.items():
            self.root.set(key, value)
        for place, (tag, text) in enumerate((("title", title), ("desc", described))):
            element = ElementTree.Element(tag, {"id": f"{tag[0]}{name}"})
            element.text = text
            self.root.insert(place, element)
        return ElementTree.tostring(self.root, "unicode", short_empty_elements=False)


def hue(index: int) -> str:
    """The class of a colour; colours repeat."""
    return f"h{index % HUES}"
