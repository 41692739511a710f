"""Drawings of bits: where each bit of a result comes from, and which parts of a packed operand go where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import ptxspec
from ptxspec.query.fragments import read_fragment
from ptxspec.terms.types import Type
from ptxspec_workshop.site.drawing.canvas import INNER, MARGIN, ROW, Canvas, TextLabel, hue
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request, each
from ptxspec_workshop.site.drawing.sources import Bit, BitRun, Function, RegisterElement, Widths, parts, runs, sources

#: between two operands, and between the row of operands and that of results
GAP, DROP = 12, 52


class Register(NamedTuple):
    """A register in a row: its name, its width, and where its highest bit begins."""

    name: str
    width: int
    x: float
    cell: float
    rising: bool = False
    """whether the lowest bit is at the left, as with bytes in memory"""

    def span(self, low: int, high: int) -> tuple[float, float]:
        """The left and the right end of bits."""
        if self.rising:
            return self.x + low * self.cell, self.x + (high + 1) * self.cell
        return self.x + (self.width - 1 - high) * self.cell, self.x + (self.width - low) * self.cell


def in_a_row(widths: Widths, reverse: bool = True) -> dict[str, Register]:
    """Registers side by side, the last one at the left, so that it is the more significant as in a pair {b, a}."""
    names = list(widths)[::-1] if reverse else list(widths)
    cell = (INNER - GAP * (len(names) - 1)) / sum(widths.values())
    registers, x = {}, float(MARGIN)
    for name in names:
        registers[name] = Register(name, widths[name], x, cell)
        x += widths[name] * cell + GAP
    return registers


class BitFlow(NamedTuple):
    """Bits of a result, and bits of an operand that go there; `hue` is the colour. Of a crossed flow the order is reversed."""

    result: str
    low: int
    high: int
    operand: str
    taken: tuple[int, int]
    hue: int
    crossed: bool = False


def span_text(low: int, high: int) -> str:
    """Bits as they are called: 7, or 7…4."""
    return str(low) if low == high else f"{high}…{low}"


def in_words(low: int, high: int, name: str, word: str = "bit") -> str:
    """Bits in a sentence."""
    return f"{word} {low} of {name}" if low == high else f"{word}s {low} to {high} of {name}"


def rows(
    canvas: Canvas,
    operands: Mapping[str, Register],
    results: Mapping[str, Register],
    flows: Sequence[BitFlow],
    constants: Sequence[tuple[str, int, int, int]] = (),
    ticks: int = 1,
    bytes_of: str = "",
) -> None:
    """A row of operands, a row of results, and bands between them. `constants` are (result, lowest bit, highest bit, value);
    `bytes_of` is an operand whose bytes are numbered, and not its bits."""
    names = [TextLabel(r.x + len(r.name) * 3.5, r.name, "name") for r in operands.values()]
    if bytes_of:
        canvas.labels(names)
        names = []
    taken = {(f.operand, *_whole(f.taken, 8 if bytes_of else 1)) for f in flows}
    canvas.labels([*names, *_marks(operands, taken, bytes_of)], upwards=True)
    top = canvas.y + 1
    bottom = top + ROW + DROP
    for name, low, high, kind in dict.fromkeys((f.operand, *f.taken, f.hue) for f in flows):
        _fill(canvas, operands[name].span(low, high), top, hue(kind))
    for name, low, high, kind in dict.fromkeys((f.result, f.low, f.high, f.hue) for f in flows):
        _fill(canvas, results[name].span(low, high), bottom, hue(kind))
    for flow in flows:
        _band(canvas, operands[flow.operand], results[flow.result], flow, top + ROW, bottom)
    for name, low, high, _ in constants:
        left, right = results[name].span(low, high)
        canvas.box(left, bottom, right - left, ROW, "fixed")
    for register in operands.values():
        canvas.cells(register.x, top, register.width, register.cell, ticks)
    for register in results.values():
        canvas.cells(register.x, bottom, register.width, register.cell, ticks)
    for name, low, high, value in constants:
        left, right = results[name].span(low, high)
        canvas.words((left + right) / 2, bottom + 14, str(value))
    canvas.y = bottom + ROW + 1
    names = [TextLabel(r.x + 4, r.name, "name") for r in results.values()]
    made = {(f.result, f.low, f.high) for f in flows if not bytes_of} | {c[:3] for c in constants if not bytes_of}
    canvas.labels([*names, *_marks(results, made)])


def _whole(taken: tuple[int, int], unit: int) -> tuple[int, int]:
    """The units of so many bits that hold the bits taken."""
    low, high = taken
    return low // unit * unit, high // unit * unit + unit - 1


def _marks(
    registers: Mapping[str, Register], spans: Iterable[tuple[str, int, int]], bytes_of: str = ""
) -> list[TextLabel]:
    """Which bits spans of registers are, or which bytes."""
    labels = []
    for name, low, high in spans:
        left, right = registers[name].span(low, high)
        text = span_text(low // 8, high // 8) if name == bytes_of else span_text(low, high)
        labels.append(TextLabel((left + right) / 2, text))
    return labels


def _fill(canvas: Canvas, span: tuple[float, float], y: float, kind: str) -> None:
    """The colour of cells."""
    canvas.box(span[0], y, span[1] - span[0], ROW, f"cell {kind}")


def _band(canvas: Canvas, source: Register, target: Register, flow: BitFlow, top: float, bottom: float) -> None:
    """What joins the cells of a flow in both rows."""
    left, right = source.span(*flow.taken)
    to_left, to_right = target.span(flow.low, flow.high)
    ends = [(to_right, bottom), (to_left, bottom)]
    if flow.crossed:
        ends.reverse()
    canvas.area([(left, top), (right, top), *ends], f"band {hue(flow.hue)}")


def drawn_bits(wanted: Request) -> list[Panel]:
    """For each instruction, which bits of its operands the bits of its results are."""
    return each(wanted, lambda text: _copied(text, wanted))


def _copied(text: str, wanted: Request) -> Panel:
    operands, results, function = ports(text, wanted)
    known = {name: runs(bits) for name, bits in sources(function, operands, results).items()}
    flows: list[BitFlow] = []
    constants = []
    for name, runs_of in known.items():
        for run in runs_of:
            if isinstance(run.first, Bit):
                crossed = run.step < 0
                flows.append(BitFlow(name, run.low, run.high, run.first.name, run.taken, len(flows), crossed))
            else:
                constants.append((name, run.low, run.high, run.first))
    canvas = Canvas()
    rows(canvas, in_a_row(operands), in_a_row(results), flows, constants, ticks_of(operands))
    return Panel(
        text, canvas.svg(f"Bits of {text}", description(known) + given(text, wanted)), given(text, wanted).strip()
    )


def description(known: Mapping[str, list[BitRun]], bytes_of: str = "") -> str:
    """In words, what the bits of the results are. `bytes_of` is an operand of which whole bytes are named as such."""
    phrases = []
    for name, runs_of in known.items():
        for run in runs_of:
            target = f"{in_words(run.low, run.high, name)} {'is' if run.length == 1 else 'are'}"
            if not isinstance(run.first, Bit):
                phrases.append(f"{target} {run.first}")
                continue
            low, high = run.taken
            taken = in_words(low, high, run.first.name)
            if run.first.name == bytes_of and low % 8 == 0 and high % 8 == 7:
                taken = in_words(low // 8, high // 8, run.first.name, "byte")
            if run.step == 0 and run.length > 1:
                taken = f"copies of {taken}"
            phrases.append(f"{target} {taken}{' in reverse order' if run.step < 0 else ''}")
    return sentence(phrases)


def sentence(parts_of_it: Sequence[str]) -> str:
    """Parts of a sentence as one."""
    text = "; ".join(parts_of_it)
    return f"{text[:1].upper()}{text[1:]}."


def given(text: str, wanted: Request) -> str:
    """Which values the page gave to registers of an instruction, as the end of a sentence; "" if none."""
    values = [f"{n} = {v:#x}" if isinstance(v, int) and v > 255 else f"{n} = {v}" for n, v in _of(text, wanted).items()]
    return f" Here {', '.join(values)}." if values else ""


def _of(text: str, wanted: Request) -> dict[str, Any]:
    """Of the values that the page gives those that an instruction reads."""
    return {name: value for name, value in wanted.scalars.items() if name in read_fragment(text).inputs}


def ports(text: str, wanted: Request) -> tuple[dict[str, int], dict[str, int], Function]:
    """The operands of an instruction that the page leaves free, and its results, with their widths; and what it computes, by
    the exact interpretation."""
    fixed = _of(text, wanted)
    fragment = read_fragment(text)
    free = {n: fragment.registers[n].width for n in fragment.inputs if n not in fixed and n in fragment.registers}
    tried = ptxspec.evaluate(text, {**fixed, **dict.fromkeys(free, 0)})
    results = {name: tried.types[name].width for name in tried}

    def function(values: dict[str, int]) -> Mapping[str, int]:
        return ptxspec.evaluate(text, {**fixed, **values})

    return free, results, function


def drawn_elements(wanted: Request) -> list[Panel]:
    """For each packed instruction, from which elements of its operands each element of its results is computed."""
    return each(wanted, lambda text: _packed(text, wanted))


def _packed(text: str, wanted: Request) -> Panel:
    operands, results, function = ports(text, wanted)
    fragment = read_fragment(text)
    taken = elements(operands, fragment.taken)
    made = elements(results, fragment.left)
    flows, phrases = [], []
    for number, (to, sources_of) in enumerate(parts(function, operands, taken, made).items()):
        flows += [BitFlow(to.name, to.low, to.high, s.name, (s.low, s.high), number) for s in sources_of]
        sources_of_it = " and ".join(in_words(s.low, s.high, s.name) for s in sources_of)
        phrases.append(f"{in_words(to.low, to.high, to.name)} depend on {sources_of_it}")
    canvas = Canvas()
    rows(canvas, in_a_row(operands), in_a_row(results), flows, ticks=ticks_of(operands))
    noted = given(text, wanted)
    return Panel(text, canvas.svg(f"Elements of {text}", sentence(phrases) + noted), noted.strip())


def elements(widths: Widths, types: Mapping[str, Type]) -> list[RegisterElement]:
    """The elements of registers, by their types."""
    result = []
    for name in widths:
        type = types[name]
        result += [
            RegisterElement(name, k * type.element_step, k * type.element_step + type.element.width - 1)
            for k in range(type.elements)
        ]
    return result


def ticks_of(operands: Widths) -> int:
    """Where rows have lines: at every bit, or at every byte."""
    return 1 if sum(operands.values()) <= 32 else 8
