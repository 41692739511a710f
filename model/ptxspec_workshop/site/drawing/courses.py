"""Drawings of a kernel's course under the exact engine: which threads execute which lines, and who waits when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import ptxspec
from ptxspec import contracts
from ptxspec.machine.driver.codes import NOT_WAITING
from ptxspec.machine.flow import Block
from ptxspec.machine.module import Module
from ptxspec.terms.effects import ClusterWait, Collective, Wait
from ptxspec_workshop.site.drawing.bits import sentence
from ptxspec_workshop.site.drawing.canvas import LINE, MARGIN, ROW, WIDTH, Canvas, hue
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request
from ptxspec_workshop.site.drawing.warps import fill, is_predicate, kernel, named_lanes, registers

#: what a kernel may use beside its registers
MEMORY = ".shared .align 16 .b8 buffer[1024];"
#: a lane is so wide
LANE = 11


class ExecutedBlock(NamedTuple):
    """A thread executed the instructions from `start` up to `end`, exclusive, after `step` others of all threads. `finishes` is
    an instruction whose result it took before, at which it had waited, or None. `waiting` are the threads that waited meanwhile,
    or had just come to where they would learn whether they must."""

    thread: int
    step: int
    start: int
    end: int
    finishes: int | None
    waiting: frozenset[int]


class Course(NamedTuple):
    """What a launch executed, in order. Of each instruction the line of the module's text, from 1 on, and whether a thread may
    have to wait there for others."""

    executed: list[ExecutedBlock]
    lines: list[int]
    waits: list[bool]


def course(module: Module, name: str, text: str, block: int, args: Sequence[Any]) -> Course:
    """Run one CTA of an entry of a module, whose text is given too. Raises what a launch raises."""
    executed: list[ExecutedBlock] = []

    def seen(m: Any, thread: int, block: Block, step: int) -> None:
        came = (m.blocks + 1) * m.capacity
        waiting = {i for i in range(m.resident_threads) if m.wait_state[i] != NOT_WAITING}
        waiting |= set(m.lists[came : came + m.counts[m.blocks + 1]])
        executed.append(ExecutedBlock(thread, step, block.start, block.end, block.finishes, frozenset(waiting)))

    with module._launches.seen_by(seen):
        module.launch(name, 1, block, args, engine="exact")
    code = module.checked.kernels[name].code
    lines = [text.count("\n", 0, op.position) + 1 for op in code]
    return Course(executed, lines, [isinstance(op.plan.meaning.effect, Wait | Collective | ClusterWait) for op in code])


class ExecutedLine(NamedTuple):
    """A line of a kernel, the threads that executed it, and the values that their instruction gave to a register, by thread;
    none if it gave none."""

    text: str
    threads: list[int]
    values: dict[int, int]


def run(wanted: Request, threads: int, names: Sequence[str] = ()) -> tuple[Course, int, dict[str, list[int]]]:
    """Run the page's kernel: its course, the line of the module's text with which the page's lines begin, and what is left in
    each register named, thread by thread."""
    if not wanted.lines:
        raise ValueError("nothing says what is drawn: the content is a kernel's instructions")
    whole = kernel(wanted.text, [], names, MEMORY)
    module = ptxspec.load(whole.text)
    results = [np.zeros(threads, np.uint32) for _ in names]
    taken = course(module, "k", whole.text, threads, results)
    return taken, whole.line, {name: values.tolist() for name, values in zip(names, results, strict=True)}


def lines_of(wanted: Request, threads: int) -> list[ExecutedLine]:
    """Who executed each line of the page's kernel. Each line has one instruction at most; no register is written twice."""
    steps, first, left = run(wanted, threads, registers(wanted.text))
    lines = [text for _, text in wanted.lines]
    lanes: dict[int, list[int]] = {}
    for stretch in steps.executed:
        for index in range(stretch.start, stretch.end):
            lanes.setdefault(steps.lines[index] - first, []).append(stretch.thread)
    drawn = []
    for number, text in enumerate(lines):
        members = sorted(set(lanes.get(number, [])))
        name = next(iter(registers(text.partition(":")[2] or text)), "")
        gives = ".b32" in text and name and not is_predicate(name)
        drawn.append(ExecutedLine(text, members, {t: left[name][t] for t in members} if gives else {}))
    return drawn


def drawn_lines(wanted: Request) -> list[Panel]:
    """For each line of a kernel the threads that execute it; the page says how many `threads` there are. Beside a line stands
    what its instruction gave them."""
    threads = int(wanted.single("threads"))
    canvas = Canvas()
    left = WIDTH - MARGIN - threads * LANE - 62
    for thread in range(threads):
        canvas.words(left + (thread + 0.5) * LANE, canvas.y + 11, str(thread), "soft")
    canvas.y += LINE + 2
    phrases = []
    groups: dict[tuple[int, ...], int] = {}
    for line in lines_of(wanted, threads):
        canvas.words(MARGIN, canvas.y + 14, line.text, "code", "start")
        if line.threads:
            groups.setdefault(tuple(line.threads), len(groups))
            fill(canvas, left, canvas.y, LANE, line.threads, f"cell {hue(groups[tuple(line.threads)])}")
            canvas.cells(left, canvas.y, threads, LANE)
            phrases.append(f"{named_lanes(line.threads)} execute {line.text.rstrip(';')}")
        values = sorted(set(line.values.values()))
        if len(values) == 1 and len(line.values) > 1:
            canvas.words(WIDTH - MARGIN, canvas.y + 14, f"{values[0]:#04x}", "code", "end")
            phrases[-1] += f", with the result {values[0]:#x}"
        canvas.y += ROW
    return [Panel("", canvas.svg("Which lanes execute which line", sentence(phrases)))]


class Stay(NamedTuple):
    """What a warp, or a thread, does from one step to another: it "runs" or "waits"."""

    what: str
    first: int
    end: int


class UnitArrival(NamedTuple):
    """A unit comes to an instruction at which threads meet: the steps of its first and its last thread, and the instruction."""

    first: int
    last: int
    text: str


def stays(steps: Course, unit: int) -> dict[int, list[Stay]]:
    """For each unit of so many threads what it does when. Threads of a unit run one after the other. It waits from when the last
    of them has come to where they wait until all of them may go on, which is not yet their turn."""
    by_unit: dict[int, list[Stay]] = {}
    waiting: set[int] = set()
    for stretch in steps.executed:
        for number in [n for n in waiting if not any(thread // unit == n for thread in stretch.waiting)]:
            by_unit[number].append(Stay("waits", by_unit[number][-1].end, stretch.step))
            waiting.remove(number)
        number, end = stretch.thread // unit, stretch.step + stretch.end - stretch.start
        stays_of = by_unit.setdefault(number, [])
        if stays_of and stays_of[-1].what == "runs" and stays_of[-1].end == stretch.step:
            stays_of[-1] = stays_of[-1]._replace(end=end)
        elif end > stretch.step:
            stays_of.append(Stay("runs", stretch.step, end))
        if stretch.end > stretch.start and steps.waits[stretch.end - 1]:
            waiting.add(number)
    return by_unit


def arrivals(
    steps: Course, lines: Sequence[str], first: int, unit: int, waits: Sequence[str]
) -> dict[int, list[UnitArrival]]:
    """For each unit when it comes to the instructions whose text begins with one of the words."""
    by_unit: dict[int, list[UnitArrival]] = {}
    for stretch in steps.executed:
        for index in range(stretch.start, stretch.end):
            number = steps.lines[index] - first
            text = lines[number] if 0 <= number < len(lines) else ""
            if not any(word in text for word in waits):
                continue
            step = stretch.step + index - stretch.start
            arrivals_of = by_unit.setdefault(stretch.thread // unit, [])
            if arrivals_of and arrivals_of[-1].text == text:
                arrivals_of[-1] = arrivals_of[-1]._replace(last=step)
            else:
                arrivals_of.append(UnitArrival(step, step, text))
    return by_unit


def drawn_course(wanted: Request) -> list[Panel]:
    """When the warps of a kernel run and wait; the page says how many `threads` there are. Time is counted in instructions of all
    threads."""
    threads, unit = int(wanted.single("threads")), contracts.warps.LANES
    steps, first, _ = run(wanted, threads)
    lines = [text for _, text in wanted.lines]
    total = max(stretch.step + stretch.end - stretch.start for stretch in steps.executed)
    met = arrivals(steps, lines, first, unit, ("bar.", "barrier."))
    canvas, left = Canvas(), MARGIN + 50
    scale = (WIDTH - MARGIN - left) / total
    phrases = []
    for number, stays_of in sorted(stays(steps, unit).items()):
        canvas.words(MARGIN, canvas.y + 14 + LINE, f"warp {number}", "", "start")
        middle = canvas.y + LINE + ROW / 2
        for stay in stays_of:
            x, width = left + stay.first * scale, (stay.end - stay.first) * scale
            if stay.what == "runs":
                canvas.box(x, middle - 7, width, 14, f"cell {hue(number)}")
            else:
                canvas.strokes([(x, middle, x + width, middle)], f"quiet {hue(number)}")
        for arrival in met.get(number, []):
            x = left + (arrival.last + 1) * scale
            canvas.strokes([(x, middle - 9, x, middle + 9)])
            canvas.labels_at(x, middle - 11, arrival.text.partition(":")[2].strip() or arrival.text)
        waits = [f"waits until step {s.end}" for s in stays_of if s.what == "waits"]
        comes = [f"comes to {a.text.rstrip(';')} by step {a.last}" for a in met.get(number, [])]
        phrases.append(f"warp {number} {', '.join([*comes, *(waits or ['does not wait'])])}")
        canvas.y += LINE + ROW
    canvas.y += 4
    canvas.strokes([(left, canvas.y, WIDTH - MARGIN, canvas.y)])
    canvas.y += 2
    canvas.words(left, canvas.y + 11, "0", "soft", "start")
    canvas.words(WIDTH - MARGIN, canvas.y + 11, f"{total} instructions", "soft", "end")
    canvas.y += LINE
    return [Panel(wanted.text, canvas.svg("When warps run and wait", sentence(phrases)))]
