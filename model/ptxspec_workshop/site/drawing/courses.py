"""Drawings of a kernel's course under the exact engine: which threads execute which lines, and who waits when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import ptxspec
from ptxspec import contracts
from ptxspec.machine.courses import Course, course
from ptxspec_workshop.site.drawing.asked import Asked
from ptxspec_workshop.site.drawing.bits import sentence
from ptxspec_workshop.site.drawing.canvas import LINE, MARGIN, ROW, WIDTH, Canvas, hue
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.warps import fill, is_predicate, kernel, named_lanes, registers

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


def run(wanted: Asked, threads: int, names: Sequence[str] = ()) -> tuple[Course, int, dict[str, list[int]]]:
    """Run the page's kernel: its course, the line of the module's text with which the page's lines begin, and what is left in
    each register named, thread by thread."""
    if not wanted.lines:
        raise ValueError("nothing says what is drawn: the content is a kernel's instructions")
    whole = kernel(wanted.text, [], names, MEMORY)
    module = ptxspec.load(whole.text)
    results = [np.zeros(threads, np.uint32) for _ in names]
    found = course(module, "k", whole.text, threads, results)
    return found, whole.line, {name: own.tolist() for name, own in zip(names, results, strict=True)}


def lines_of(wanted: Asked, threads: int) -> list[Line]:
    """Who executed each line of the page's kernel. Each line has one instruction at most; no register is written twice."""
    found, first, left = run(wanted, threads, registers(wanted.text))
    lines = [text for _, text in wanted.lines]
    ran: dict[int, list[int]] = {}
    for one in found.executed:
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
    groups: dict[tuple[int, ...], int] = {}
    for line in lines_of(wanted, threads):
        canvas.words(MARGIN, canvas.y + 14, line.text, "code", "start")
        if line.threads:
            groups.setdefault(tuple(line.threads), len(groups))
            fill(canvas, left, canvas.y, LANE, line.threads, f"cell {hue(groups[tuple(line.threads)])}")
            canvas.cells(left, canvas.y, threads, LANE)
            said.append(f"{named_lanes(line.threads)} execute {line.text.rstrip(';')}")
        values = sorted(set(line.values.values()))
        if len(values) == 1 and len(line.values) > 1:
            canvas.words(WIDTH - MARGIN, canvas.y + 14, f"{values[0]:#04x}", "code", "end")
            said[-1] += f", with the result {values[0]:#x}"
        canvas.y += ROW
    return [Panel("", canvas.svg("Which lanes execute which line", sentence(said)))]


class Stay(NamedTuple):
    """What a warp, or a thread, does from one step to another: it "runs" or "waits"."""

    what: str
    first: int
    end: int


class Arrival(NamedTuple):
    """A unit comes to an instruction at which threads meet: the steps of its first and its last thread, and the instruction."""

    first: int
    last: int
    text: str


def stays(found: Course, unit: int) -> dict[int, list[Stay]]:
    """For each unit of so many threads what it does when. Threads of a unit run one after the other. It waits from when the last
    of them has come to where they wait until all of them may go on, which is not yet their turn."""
    told: dict[int, list[Stay]] = {}
    waiting: set[int] = set()
    for one in found.executed:
        for number in [n for n in waiting if not any(thread // unit == n for thread in one.waiting)]:
            told[number].append(Stay("waits", told[number][-1].end, one.step))
            waiting.remove(number)
        number, end = one.thread // unit, one.step + one.end - one.start
        own = told.setdefault(number, [])
        if own and own[-1].what == "runs" and own[-1].end == one.step:
            own[-1] = own[-1]._replace(end=end)
        elif end > one.step:
            own.append(Stay("runs", one.step, end))
        if one.end > one.start and found.waits[one.end - 1]:
            waiting.add(number)
    return told


def arrivals(
    found: Course, lines: Sequence[str], first: int, unit: int, waits: Sequence[str]
) -> dict[int, list[Arrival]]:
    """For each unit when it comes to the instructions whose text begins with one of the words."""
    told: dict[int, list[Arrival]] = {}
    for one in found.executed:
        for index in range(one.start, one.end):
            number = found.lines[index] - first
            text = lines[number] if 0 <= number < len(lines) else ""
            if not any(word in text for word in waits):
                continue
            step = one.step + index - one.start
            own = told.setdefault(one.thread // unit, [])
            if own and own[-1].text == text:
                own[-1] = own[-1]._replace(last=step)
            else:
                own.append(Arrival(step, step, text))
    return told


def drawn_course(wanted: Asked) -> list[Panel]:
    """When the warps of a kernel run and wait; the page says how many `threads` there are. Time is counted in instructions of all
    threads."""
    threads, unit = int(wanted.one("threads")), contracts.warps.LANES
    found, first, _ = run(wanted, threads)
    lines = [text for _, text in wanted.lines]
    total = max(one.step + one.end - one.start for one in found.executed)
    met = arrivals(found, lines, first, unit, ("bar.", "barrier."))
    canvas, left = Canvas(), MARGIN + 50
    scale = (WIDTH - MARGIN - left) / total
    said = []
    for number, own in sorted(stays(found, unit).items()):
        canvas.words(MARGIN, canvas.y + 14 + LINE, f"warp {number}", "", "start")
        middle = canvas.y + LINE + ROW / 2
        for stay in own:
            x, width = left + stay.first * scale, (stay.end - stay.first) * scale
            if stay.what == "runs":
                canvas.box(x, middle - 7, width, 14, f"cell {hue(number)}")
            else:
                canvas.strokes([(x, middle, x + width, middle)], f"quiet {hue(number)}")
        for arrival in met.get(number, []):
            x = left + (arrival.last + 1) * scale
            canvas.strokes([(x, middle - 9, x, middle + 9)])
            canvas.labels_at(x, middle - 11, arrival.text.partition(":")[2].strip() or arrival.text)
        waits = [f"waits until step {s.end}" for s in own if s.what == "waits"]
        comes = [f"comes to {a.text.rstrip(';')} by step {a.last}" for a in met.get(number, [])]
        said.append(f"warp {number} {', '.join([*comes, *(waits or ['does not wait'])])}")
        canvas.y += LINE + ROW
    canvas.y += 4
    canvas.strokes([(left, canvas.y, WIDTH - MARGIN, canvas.y)])
    canvas.y += 2
    canvas.words(left, canvas.y + 11, "0", "soft", "start")
    canvas.words(WIDTH - MARGIN, canvas.y + 11, f"{total} instructions", "soft", "end")
    canvas.y += LINE
    return [Panel(wanted.text, canvas.svg("When warps run and wait", sentence(said)))]
