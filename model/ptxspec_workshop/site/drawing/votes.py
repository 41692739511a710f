"""Drawings of votes: what each lane of a warp gives, and what all of them learn, run on the exact engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ptxspec import contracts
from ptxspec_workshop.site.drawing.asked import Asked, each
from ptxspec_workshop.site.drawing.bits import sentence
from ptxspec_workshop.site.drawing.canvas import INNER, LINE, MARGIN, ROW, Canvas, hue
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.warps import execute, fill, is_predicate, named_lanes, registers, scale

#: where a row begins, behind its name
LEFT = MARGIN + 18
#: lanes of which each may have a result of its own
MOST = 8


class Row(NamedTuple):
    """A register of a drawing with its value in each lane, and the lanes that take part."""

    name: str
    values: Sequence[int]
    members: Sequence[int]

    @property
    def common(self) -> set[int]:
        """The values that it has in the lanes that take part."""
        return {self.values[lane] for lane in self.members}

    @property
    def size(self) -> float:
        """How wide a lane is drawn."""
        return (INNER - 18) / len(self.values)


def drawn(wanted: Asked) -> list[Panel]:
    """What each lane gives, as a predicate or a digit, and for each instruction what the lanes take. Which of them take part its
    last operand says."""
    return each(wanted, lambda text: _vote(text, wanted))


def _vote(text: str, wanted: Asked) -> Panel:
    count = contracts.warps.LANES
    names = registers(text)
    given = {name: _per_lane(name, wanted.values[name], count) for name in names if name in wanted.values}
    mask = int(text.rstrip("; ").rsplit(",", 1)[1], 0)
    members = [lane for lane in range(count) if mask >> lane & 1]
    found = execute(_guarded(text, mask), given, [name for name in names if name not in given])
    canvas = Canvas()
    scale(canvas, LEFT, (INNER - 18) / count, count)
    said = [f"{named_lanes(members)} take part"]
    for name, values in given.items():
        said.append(_gives(canvas, Row(name, values, members)))
    for name, values in found.items():
        said.append(_takes(canvas, Row(name, values, members)))
    return Panel(text, canvas.svg(f"Lanes of {text}", sentence(said)))


def _guarded(text: str, mask: int) -> str:
    """The instruction, executed by its members alone."""
    return f".reg .pred %in;\nshr.u32 %t, {mask:#x}, %lane;\nand.b32 %t, %t, 1;\nsetp.ne.u32 %in, %t, 0;\n@%in {text}"


def _per_lane(name: str, values: Sequence[int], count: int) -> list[int]:
    """The page's values, one a lane: of a predicate the bits of one number, of others a row that is repeated."""
    if is_predicate(name):
        (bits,) = values
        return [bits >> lane & 1 for lane in range(count)]
    return [values[lane % len(values)] for lane in range(count)]


def _gives(canvas: Canvas, row: Row) -> str:
    """What the lanes give: cells where a predicate holds, or a digit in each."""
    if is_predicate(row.name):
        return _predicate(canvas, row, "cell h0")
    if not row.common <= set(range(10)):
        raise ValueError(f"{row.name} has values that are no digits, which cannot be drawn")
    top = _begin(canvas, row)
    said = []
    for value in sorted(row.common):
        lanes = [lane for lane in row.members if row.values[lane] == value]
        fill(canvas, LEFT, top, row.size, lanes, f"cell {hue(value)}")
        said.append(f"{row.name} is {value} in {named_lanes(lanes)}")
        for lane in lanes:
            canvas.words(LEFT + (lane + 0.5) * row.size, top + 14, str(value))
    _end(canvas, row, top)
    return "; ".join(said)


def _takes(canvas: Canvas, row: Row) -> str:
    """What the lanes take: a predicate, a number that is the same in all of them, or several numbers."""
    if is_predicate(row.name):
        return _predicate(canvas, row, "cell h1")
    if len(row.common) > 1:
        return _masks(canvas, row)
    (word,) = row.common
    top = _begin(canvas, row)
    fill(canvas, LEFT, top, row.size, _bits(word), "cell h1")
    _end(canvas, row, top)
    canvas.note(f"{row.name} = {word:#010x}, its lowest bit at the left")
    return f"{row.name} is {word:#010x} in each of them"


def _masks(canvas: Canvas, row: Row) -> str:
    """A row for each lane that takes part, with the bits of its number."""
    if len(row.members) > MOST:
        raise ValueError(f"{row.name} differs among more than {MOST} lanes, which cannot be drawn")
    for lane in row.members:
        top = canvas.y + 2
        canvas.words(MARGIN, top + 14, f"{row.name} {lane}", "", "start")
        fill(canvas, LEFT, top, row.size, _bits(row.values[lane]), "cell h1")
        canvas.cells(LEFT, top, len(row.values), row.size)
        canvas.y = top + ROW
    canvas.y += 2
    canvas.note(f"{row.name} of each lane, its lowest bit at the left")
    words = sorted(row.common)
    return "; ".join(
        f"{row.name} is {word:#010x} in {named_lanes([n for n in row.members if row.values[n] == word])}"
        for word in words
    )


def _predicate(canvas: Canvas, row: Row, kind: str) -> str:
    true = [lane for lane in row.members if row.values[lane]]
    top = _begin(canvas, row)
    fill(canvas, LEFT, top, row.size, true, kind)
    _end(canvas, row, top)
    return f"{row.name} is true in {named_lanes(true)}" if true else f"{row.name} is true in no lane"


def _begin(canvas: Canvas, row: Row) -> float:
    """Write the name of a row, and shade the lanes that take no part; where the row begins."""
    top = canvas.y + 4
    canvas.words(MARGIN, top + LINE, row.name, "name", "start")
    fill(canvas, LEFT, top, row.size, set(range(len(row.values))) - set(row.members), "fixed")
    return top


def _end(canvas: Canvas, row: Row, top: float) -> None:
    canvas.cells(LEFT, top, len(row.values), row.size)
    canvas.y = top + ROW + 2


def _bits(word: int) -> list[int]:
    """The places of a number's ones."""
    return [place for place in range(word.bit_length()) if word >> place & 1]
