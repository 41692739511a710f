"""Drawings on a number line: which number an instruction makes of each of some numbers in a row."""

from __future__ import annotations

import struct
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import ptxspec
from ptxspec.query.evaluate import readings
from ptxspec.query.fragments import read_fragment
from ptxspec.terms.types import Type
from ptxspec_workshop.site.drawing.canvas import INNER, LINE, MARGIN, Canvas, TextLabel
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request, each

#: most numbers that are drawn of one line
MOST = 33


class RoundedNumber(NamedTuple):
    """A number, what an instruction makes of it, and the bits of that in hex if it is in floating point."""

    number: Fraction
    result: Fraction
    pattern: str


def numbers(wanted: Request, name: str) -> list[Fraction]:
    """The numbers `first last step` that the page gives for an operand."""
    bounds = wanted.values.get(name, ())
    if len(bounds) != 3:
        raise ValueError(f"the drawing needs a line `{name} = first last step`")
    first, last, step = map(Fraction, bounds)
    count = int((last - first) / step) + 1 if step > 0 else 0
    if not 2 <= count <= MOST:
        raise ValueError(f"`{name} = first last step` makes {count} numbers, which is not from 2 to {MOST}")
    return [first + k * step for k in range(count)]


def steps(text: str, wanted: Request) -> list[RoundedNumber]:
    """What an instruction of one free operand makes of the page's numbers.

    Raises ValueError for a number that the operand's type does not have, and for a result that is no number.
    """
    fragment = read_fragment(text)
    (name,) = fragment.inputs
    taken = fragment.taken.get(name, fragment.registers[name])
    roundings = []
    for number in numbers(wanted, name):
        given = float(number) if taken.is_float else int(number)
        if Fraction(given) != number or (taken.is_float and value_of(_bits(given, taken), taken) != number):
            raise ValueError(f"{taken} has no number {number}")
        results = ptxspec.evaluate(text, {name: given})
        ((result, bits),) = results.items()
        type = results.types[result]
        pattern = f"{bits:#0{2 + type.width // 4}x}" if type.is_float else ""
        roundings.append(RoundedNumber(number, value_of(bits, type), pattern))
    return roundings


def _bits(value: float, type: Type) -> int:
    form = {16: "<e", 32: "<f", 64: "<d"}[type.width]
    return int.from_bytes(struct.pack(form, value), "little")


def value_of(bits: int, type: Type) -> Fraction:
    """The number that a pattern stands for. Raises ValueError for infinities and NaNs."""
    if not type.is_float:
        return Fraction(readings(bits, type)["signed" if type.signed else "unsigned"])
    float_of = readings(bits, type)["float"]
    return Fraction(float_of)


def drawn(wanted: Request) -> list[Panel]:
    """For each instruction a number line, with an arrow from each number to what becomes of it. Below stand all numbers that
    some instruction arrives at."""
    lines = dict(each(wanted, lambda text: (text, steps(text, wanted))))
    reached = sorted({s.result for steps_of in lines.values() for s in steps_of})
    return [_panel(text, steps_of, reached) for text, steps_of in lines.items()]


def _panel(text: str, roundings: list[RoundedNumber], reached: list[Fraction]) -> Panel:
    low = min(reached[0], *(s.number for s in roundings))
    high = max(reached[-1], *(s.number for s in roundings))
    pad = 20

    def place(number: Fraction) -> float:
        return MARGIN + pad + float((number - low) / (high - low)) * (INNER - 2 * pad)

    canvas = Canvas()
    ties = [(a + b) / 2 for a, b in pairwise(reached)]
    canvas.labels(TextLabel(place(s.number), "tie", "soft") for s in roundings if s.number in ties)
    canvas.y = max(canvas.y, 4 + LINE)
    top, bottom = canvas.y + 6, canvas.y + 64
    canvas.strokes([(MARGIN, y, MARGIN + INNER, y) for y in (top, bottom)])
    canvas.strokes([(place(value), bottom - 5, place(value), bottom + 5) for value in reached])
    for parity in (0, 1):
        mine = [s for s in roundings if reached.index(s.result) % 2 == parity]
        canvas.strokes([(place(s.number), top - 4, place(s.number), top + 4) for s in mine], f"h{parity}")
        canvas.arrows([(place(s.number), top + 4, place(s.result), bottom - 6) for s in mine], f"h{parity}")
    canvas.y = bottom + 6
    bits = {s.result: s for s in roundings}
    canvas.labels(TextLabel(place(value), shown(value)) for value in reached)
    if any(s.pattern for s in roundings):
        canvas.labels(TextLabel(place(value), bits[value].pattern, "soft") for value in reached if value in bits)
    description = "; ".join(f"{shown(s.number)} becomes {shown(s.result)}" for s in roundings)
    return Panel(text, canvas.svg(f"On the number line: {text}", f"{description}."))


def shown(number: Fraction) -> str:
    """A number in decimal, with a true minus sign."""
    return f"{float(number):.12g}".replace("-", "−")
