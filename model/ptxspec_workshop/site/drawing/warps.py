"""Drawings of a warp: what each of its lanes gives and takes in one instruction, run on the exact engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

import ptxspec
from ptxspec import contracts
from ptxspec_workshop.site.drawing.asked import Asked, each
from ptxspec_workshop.site.drawing.bits import sentence
from ptxspec_workshop.site.drawing.canvas import INNER, MARGIN, ROW, Canvas, Label
from ptxspec_workshop.site.drawing.panel import Panel

_NAME = re.compile(r"(?<![\w.%$])([a-z]\d*)(?![\w.])")


def is_predicate(name: str) -> bool:
    """Whether a register of a drawing is a predicate: those whose names begin with p or q are. The others have 32 bits."""
    return name[0] in "pq"


def registers(text: str) -> list[str]:
    """The registers of instructions, a letter and perhaps digits each, in the order in which they stand in them."""
    return list(dict.fromkeys(_NAME.findall(text)))


class Kernel(NamedTuple):
    """The text of an entry `k` that loads registers, executes instructions and stores registers, a word a thread in each array;
    `line` is the line in which the instructions begin, from 1 on."""

    text: str
    line: int


def kernel(text: str, given: Sequence[str], taken: Sequence[str], more: str = "") -> Kernel:
    """The entry for some instructions; `more` are further declarations."""
    names = dict.fromkeys([*given, *taken, *registers(text)])
    declared = [f".reg .{'pred' if is_predicate(name) else 'b32'} {name};" for name in names]
    before = [line for number, name in enumerate(given) for line in _moved("ld", number, "%t", name)]
    after = [line for number, name in enumerate(taken, len(given)) for line in _moved("st", number, "%t", name)]
    parameters = ", ".join(f".param .u64 a{i}" for i in range(len(given) + len(taken)))
    head = [
        ".version 8.0 .target sm_90 .address_size 64",
        f".visible .entry k({parameters}) {{",
        ".reg .b64 %a; .reg .b32 %t, %lane;",
        *declared,
        *([more] if more else []),
        "mov.u32 %lane, %tid.x;",
        *before,
    ]
    return Kernel("\n".join([*head, text, *after, "ret;", "}", ""]), "\n".join(head).count("\n") + 2)


def execute(text: str, given: Mapping[str, Sequence[int]], taken: Sequence[str]) -> dict[str, list[int]]:
    """Have a warp execute instructions. `given` are registers with a value a lane, `taken` those whose values are wanted,
    likewise; predicates are 0 or 1."""
    count = contracts.warps.LANES
    module = ptxspec.load(kernel(text, list(given), taken).text)
    arrays = [np.array([int(v) & 0xFFFFFFFF for v in values], np.uint32) for values in given.values()]
    results = [np.zeros(count, np.uint32) for _ in taken]
    module.launch("k", 1, count, [*arrays, *results], engine="exact")
    return {name: own.tolist() for name, own in zip(taken, results, strict=True)}


def _moved(way: str, parameter: int, word: str, name: str) -> list[str]:
    """A register loaded from a lane's place in a parameter's array, or stored there."""
    where = [f"ld.param.u64 %a, [a{parameter}];", "mad.wide.u32 %a, %lane, 4, %a;"]
    if way == "ld":
        to_register = f"setp.ne.u32 {name}, {word}, 0;" if is_predicate(name) else f"mov.b32 {name}, {word};"
        return [*where, f"ld.global.u32 {word}, [%a];", to_register]
    to_word = f"selp.u32 {word}, 1, 0, {name};" if is_predicate(name) else f"mov.b32 {word}, {name};"
    return [*where, to_word, f"st.global.u32 [%a], {word};"]


class Moves(NamedTuple):
    """What a shuffle does: for each lane the lane whose value it takes, and whether that lies within the bound."""

    source: list[int]
    within: list[int]


def moves(text: str) -> Moves:
    """The moves of an instruction such as `shfl.sync.up.b32 d|p, a, 1, 0, -1;`: of its registers the first takes, the second is
    the predicate, and the third is given.

    Raises ValueError if a lane takes no lane's value.
    """
    names = registers(text)
    if len(names) != 3:
        raise ValueError(f"{text}: a shuffle is drawn of the form `d|p, a, …`, with constants behind")
    taken, within, value = names
    lanes = range(contracts.warps.LANES)
    tags = [0x9E3779B1 * (lane + 1) & 0xFFFFFFFF for lane in lanes]
    found = execute(text, {value: tags}, [taken, within])
    strange = [lane for lane, tag in enumerate(found[taken]) if tag not in tags]
    if strange:
        raise ValueError(f"{text}: lane {strange[0]} takes no lane's value")
    return Moves([tags.index(tag) for tag in found[taken]], found[within])


def stretches(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as stretches of neighbours: the first and the last of each."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def fill(canvas: Canvas, left: float, y: float, size: float, cells: Iterable[int], kind: str) -> None:
    """The colour of some cells of a row."""
    for first, last in stretches(cells):
        canvas.box(left + first * size, y, (last - first + 1) * size, ROW, kind)


def spans(numbers: Sequence[int]) -> str:
    """Numbers in a sentence: "0 to 3, 7"."""
    return ", ".join(str(a) if a == b else f"{a}, {b}" if a + 1 == b else f"{a} to {b}" for a, b in stretches(numbers))


def named_lanes(numbers: Sequence[int]) -> str:
    """Lanes in a sentence: "lane 7", "lanes 0 to 3"."""
    return f"lane{'s' if len(numbers) > 1 else ''} {spans(numbers)}"


def scale(canvas: Canvas, left: float, size: float, count: int) -> None:
    """The numbers of lanes, one in four of them."""
    canvas.labels(Label(left + (i + 0.5) * size, str(i), "soft") for i in [*range(0, count - 2, 4), count - 1])


def drawn_moves(wanted: Asked) -> list[Panel]:
    """For each shuffle an arrow from each lane to those that take its value."""
    return each(wanted, _moves)


def _moves(text: str) -> Panel:
    source, within = moves(text)
    canvas, count = Canvas(), len(source)
    size = INNER / count
    middle = [MARGIN + (lane + 0.5) * size for lane in range(count)]
    scale(canvas, MARGIN, size, count)
    top, bottom = canvas.y + 1, canvas.y + 1 + ROW + 62
    inside = [lane for lane in range(count) if within[lane]]
    fill(canvas, MARGIN, bottom, size, inside, "cell h0")
    fill(canvas, MARGIN, top, size, (source[lane] for lane in inside), "cell h0")
    canvas.cells(MARGIN, top, count, size)
    canvas.cells(MARGIN, bottom, count, size)
    kept = [lane for lane in range(count) if not within[lane]]
    for kind, own in (("quiet", kept), ("h0", inside)):
        canvas.arrows([(middle[source[lane]], top + ROW, middle[lane], bottom - 1) for lane in own], kind)
    canvas.y = bottom + ROW + 2
    scale(canvas, MARGIN, size, count)
    if kept:
        canvas.note(f"p is false in {named_lanes(kept)}")
    return Panel(text, canvas.svg(f"Lanes of {text}", described_moves(Moves(source, within))))


def described_moves(found: Moves) -> str:
    """The moves in words."""
    kept = [lane for lane, inside in enumerate(found.within) if not inside]
    groups: dict[int, list[int]] = {}
    for lane, (other, inside) in enumerate(zip(found.source, found.within, strict=True)):
        if inside:
            groups.setdefault(other - lane, []).append(lane)
    said = []
    from_one = {other for other, inside in zip(found.source, found.within, strict=True) if inside}
    if len(from_one) < len(groups):
        for other in sorted(from_one):
            lanes = [lane for lane, source in enumerate(found.source) if source == other and found.within[lane]]
            said.append(f"{named_lanes(lanes)} take the value of lane {other}")
    else:
        for distance, lanes in sorted(groups.items(), key=lambda g: g[1]):
            where = f"{abs(distance)} {'above' if distance > 0 else 'below'}"
            what = f"the value of the lane {where}" if distance else "their own value"
            said.append(f"{named_lanes(lanes)} take {what}")
    if kept:
        said.append(f"{named_lanes(kept)} keep their own value, and their predicate is false")
    return sentence(said)
