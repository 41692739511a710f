"""Drawings of truth tables: what a logical function gives for each combination of its operands' bits."""

from __future__ import annotations

import ptxspec
from ptxspec.query.fragments import read_fragment
from ptxspec_workshop.site.drawing.canvas import INNER, LINE, MARGIN, ROW, Canvas
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request, each

#: more operands would make a table wider than its words
MOST = 3


def table(text: str) -> tuple[list[str], str, list[int]]:
    """The operands of an instruction from the first on, the name of its result, and the result's bit for each combination of
    their bits; the first operand's bit is worth most in the combination's number.

    The bit is the same in every place of the result: raises ValueError if it is not.
    """
    fragment = read_fragment(text)
    names = list(fragment.inputs)
    if not 1 <= len(names) <= MOST:
        raise ValueError(f"{text} reads {len(names)} registers; a truth table is drawn of one to {MOST}")
    column = []
    name = ""
    for number in range(1 << len(names)):
        bits = {n: number >> (len(names) - 1 - k) & 1 for k, n in enumerate(names)}
        results = ptxspec.evaluate(
            text, {n: (1 << fragment.registers[n].width) - 1 if bit else 0 for n, bit in bits.items()}
        )
        ((name, value),) = results.items()
        if value not in (0, (1 << results.types[name].width) - 1):
            raise ValueError(f"{text} is no function of single bits: {bits} gives {value:#x}")
        column.append(int(value != 0))
    return names, name, column


def drawn(wanted: Request) -> list[Panel]:
    """For each instruction its truth table, the highest combination at the left, as the bits of a number."""
    return each(wanted, _panel)


def _panel(text: str) -> Panel:
    names, result, bits = table(text)
    count = len(bits)
    canvas, left = Canvas(), MARGIN + 24
    size = (INNER - 24) / max(count, 4)
    rows = [(name, [number >> (len(names) - 1 - k) & 1 for number in range(count)]) for k, name in enumerate(names)]
    for number in range(count):
        canvas.words(left + (count - 1 - number + 0.5) * size, canvas.y + 11, str(number), "soft")
    canvas.y += LINE + 2
    for name, values in [*rows, (result, bits)]:
        if name == result:
            canvas.y += 8
        canvas.words(MARGIN, canvas.y + 14, name, "name", "start")
        for number, bit in enumerate(values):
            x = left + (count - 1 - number) * size
            if bit:
                canvas.box(x, canvas.y, size, ROW, "cell h1" if name == result else "cell h0")
            canvas.words(x + size / 2, canvas.y + 14, str(bit))
        canvas.cells(left, canvas.y, count, size)
        canvas.y += ROW
    value = sum(bit << number for number, bit in enumerate(bits))
    canvas.y += 4
    canvas.note(f"{result}, read as a number: {value:#04x}")
    ones = [f"{number:0{len(names)}b}" for number, bit in enumerate(bits) if bit]
    description = (
        f"{result} is 1 where the bits of {', '.join(names)} are {' or '.join(ones)}." if ones else f"{result} is 0."
    )
    return Panel(
        text, canvas.svg(f"Truth table of {text}", f"{description} The column read as a number is {value:#04x}.")
    )
