"""Drawings of carry chains: words that are added one after the other, and what the condition code hands on."""

from __future__ import annotations

from typing import NamedTuple

import ptxspec
from ptxspec.query.fragments import read_fragment
from ptxspec.terms.actions import CONDITION_CODE
from ptxspec_workshop.site.drawing.canvas import CODE_LETTER, INNER, LINE, MARGIN, ROW, WIDTH, Canvas
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request

#: between two words of a chain, where the carry goes
GAP = 14


class Link(NamedTuple):
    """An instruction of a chain: its text, what it reads and writes as (register, value), and the condition code before and
    after it; None where it does not read, or write, it."""

    text: str
    reads: tuple[tuple[str, int], ...]
    writes: tuple[tuple[str, int], ...]
    carry_in: bool | None
    carry_out: bool | None


def chain(wanted: Request) -> list[Link]:
    """The instructions of a fragment, executed one after the other by the exact interpretation."""
    results = ptxspec.evaluate(wanted.text, wanted.scalars)
    values = dict(results.inputs)
    links = []
    for step in results.steps:
        fragment = read_fragment(step.text)
        reads = tuple((name, int(values[name])) for name in fragment.inputs if name != CONDITION_CODE)
        before = bool(values[CONDITION_CODE]) if CONDITION_CODE in fragment.inputs else None
        values.update(step.writes)
        after = bool(values[CONDITION_CODE]) if CONDITION_CODE in step.writes else None
        writes = tuple((name, int(value)) for name, value in step.writes.items() if name != CONDITION_CODE)
        links.append(Link(step.text, reads, writes, before, after))
    return links


def drawn(wanted: Request) -> list[Panel]:
    """One drawing of the whole chain: a column an instruction, the first at the right, as digits stand in a number."""
    links = chain(wanted)
    canvas = Canvas()
    width = (INNER - GAP * (len(links) - 1)) / len(links)
    most = max(len(link.reads) for link in links)
    top = canvas.y + LINE + 4
    rows = [*range(most), most + 0.35]
    bottom = top + (rows[-1] + 1) * ROW + 6
    for number, link in enumerate(links):
        x = WIDTH - MARGIN - width - number * (width + GAP)
        canvas.words(x + width / 2, canvas.y + 11, link.text.split()[0].removesuffix(".u32"), "code")
        canvas.box(x, top, width, bottom - top)
        for row, (name, value) in zip(rows, link.reads, strict=False):
            _word(canvas, x, width, top + row * ROW, name, value)
        canvas.strokes([(x + 4, top + most * ROW + 6, x + width - 4, top + most * ROW + 6)])
        for name, value in link.writes:
            _word(canvas, x, width, top + rows[-1] * ROW + 3, name, value)
        if link.carry_out is not None:
            kind = "h1" if link.carry_out else "quiet"
            y = bottom + 12
            end = x - GAP - width / 2 if number + 1 < len(links) else x - 2
            canvas.line([(x + width / 2, bottom), (x + width / 2, y), (end, y)], kind)
            if number + 1 < len(links):
                canvas.arrows([(end, y, end, bottom + 1)], kind)
            canvas.words(x - GAP / 2, y + 14, f"CF = {int(link.carry_out)}", "soft")
    canvas.y = bottom + 32
    phrases = []
    for link in links:
        taken = " and ".join(f"{name} = {value:#x}" for name, value in link.reads)
        made = " and ".join(f"{name} = {value:#x}" for name, value in link.writes)
        before = "" if link.carry_in is None else f" and CC.CF = {int(link.carry_in)}"
        after = "" if link.carry_out is None else f" and CC.CF = {int(link.carry_out)}"
        phrases.append(f"{link.text.split()[0]} makes {made}{after} from {taken}{before}")
    return [Panel(wanted.text, canvas.svg("A carry chain", f"{'; '.join(phrases)}."))]


def _word(canvas: Canvas, x: float, width: float, y: float, name: str, value: int) -> None:
    """A register and its value, without the name where the column is too narrow for both."""
    text = f"{value:08x}"
    if (len(text) + len(name) + 1) * CODE_LETTER < width - 6:
        canvas.words(x + 4, y + 14, name, "name", "start")
    canvas.words(x + width - 4, y + 14, text, "code", "end")
