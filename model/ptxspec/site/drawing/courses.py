"""Drawings of a kernel's course under the exact engine: which threads execute which lines, and who waits when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import ptxspec
from ptxspec import contracts
from ptxspec.machine.courses import Course, course
from ptxspec.site.drawing.asked import Asked
from ptxspec.site.drawing.canvas import CODE_LETTER, INNER, LINE, MARGIN, ROW, WIDTH, Canvas, hue
from ptxspec.site.drawing.panel import Panel
from ptxspec.site.drawing.warps import is_predicate, kernel, registers, spans

#: what a kernel may use beside its registers
MEMORY = ".shared .align 16 .b8 buffer[1024];"
#: a lane is so wide
LANE = 11


class Line(NamedTuple):
    """A line of a kernel, the threads that executed it, and the values that their instruction gave to a register, by thread;
    none if it gave none."""

    text: str
    threads: list[int]
    values: dict[int, int]


def run(wanted: Asked, threads: int) -> tuple[Course, list[str], int, dict[str, list[int]]]:
    """Run the page's kernel: its course, its lines, the line of the module's text with which they begin, and what is left in each
    register, thread by thread."""
    lines = [text for _, text in wanted.lines]
    names = registers(wanted.text)
    whole = kernel(wanted.text, [], names, MEMORY)
    module = ptxspec.load(whole.text)
    results = [np.zeros(threads, np.uint32) for _ in names]
    found = course(module, "k", whole.text, threads, results)
    return found, lines, whole.line, {name: own.tolist() for name, own in zip(names, results, strict=True)}


def lines_of(wanted: Asked, threads: int) -> list[Line]:
    """Who executed each line of the page's kernel. Each line has one instruction at most; no register is written twice."""
    found, lines, first, left = run(wanted, threads)
    ran: dict[int, list[int]] = {}
    for one in found.ran:
        for index in range(one.start, one.end):
            ran.setdefault(found.lines[index] - first, []).append(one.thread)
    told = []
    for number, text in enumerate(lines):
        own = sorted(set(ran.get(number, [])))
        name = next(iter(registers(text.partition(":")[2] or text)), "")
        gives = ".b32" in text and name and not is_predicate(name)
        told.append(Line(text, own, {t: left[name][t] for t in own} if gives else {}))
    return told


def drawn_lines(wanted: Asked) -> list[Panel]:
    """For each line of a kernel the threads that execute it; the page says how many `threads` there are. Beside a line stands
    what its instruction gave them."""
    threads = int(wanted.one("threads"))
    canvas = Canvas()
    left = WIDTH - MARGIN - threads * LANE - 62
    for thread in range(threads):
        canvas.words(left + (thread + 0.5) * LANE, canvas.y + 11, str(thread), "soft")
    canvas.y += LINE + 2
    said = []
    for number, line in enumerate(lines_of(wanted, threads)):
        indent = 0 if line.text.partition(" ")[0].endswith(":") else 0
        canvas.words(MARGIN + indent, canvas.y + 14, line.text, "code", "start")
        if line.threads:
            for thread in line.threads:
                canvas.box(left + thread * LANE, canvas.y + 2, LANE, ROW - 4, f"cell {hue(len(line.threads) % 4)}")
            canvas.cells(left, canvas.y + 2, threads, LANE)
            said.append(f"{line.text} by {spans(line.threads)}")
        values = sorted(set(line.values.values()))
        if len(values) == 1 and len(line.values) > 1:
            canvas.words(WIDTH - MARGIN, canvas.y + 14, f"{values[0]:#04x}", "code", "end")
            said[-1] += f", with the result {values[0]:#x}"
        canvas.y += ROW
    return [Panel("", canvas.svg("Which lanes execute which line", f"{'; '.join(said)}."))]
