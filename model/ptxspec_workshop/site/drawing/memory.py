"""Drawings of loads: which bytes of memory each register takes, run on the exact engine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import ptxspec
from ptxspec_workshop.site.drawing.bits import BitFlow, Register, description, in_a_row, rows
from ptxspec_workshop.site.drawing.canvas import INNER, MARGIN, Canvas
from ptxspec_workshop.site.drawing.panel import Panel
from ptxspec_workshop.site.drawing.request import Request, each
from ptxspec_workshop.site.drawing.sources import Bit, BitRun, runs, sources
from ptxspec_workshop.site.drawing.warps import registers

#: what memory is called in words
MEMORY = "memory"


def loaded(text: str, size: int) -> dict[str, list[BitRun]]:
    """Which bits of so many bytes at `[m]` each register of a load holds afterwards. Registers have 32 bits, and bit k of memory
    is bit k % 8 of byte k // 8."""
    names = [name for name in registers(text) if name != "m"]
    moved = "\n".join(
        f"ld.param.u64 %o, [a1]; mad.wide.u32 %o, {k}, 4, %o; st.global.u32 [%o], {name};"
        for k, name in enumerate(names)
    )
    module = ptxspec.load(
        ".version 8.0 .target sm_90 .address_size 64\n.visible .entry k(.param .u64 a0, .param .u64 a1) {\n"
        f".reg .b64 m, %o; .reg .b32 {', '.join(names)};\nld.param.u64 m, [a0];\n{text}\n{moved}\nret;\n}}\n"
    )

    def function(values: dict[str, int]) -> Mapping[str, int]:
        bytes_there = np.frombuffer(values[MEMORY].to_bytes(size, "little"), np.uint8).copy()
        results = np.zeros(len(names), np.uint32)
        module.launch("k", 1, 1, [bytes_there, results], engine="exact")
        return dict(zip(names, results.tolist(), strict=True))

    bits_of = sources(function, {MEMORY: 8 * size}, dict.fromkeys(names, 32))
    return {name: runs(bits) for name, bits in bits_of.items()}


def drawn(wanted: Request) -> list[Panel]:
    """For each load the bytes at its address, from the lowest one on, and the registers that take them, each with its lowest bit
    at the right; the page says how many `bytes` there are."""
    size = int(wanted.single("bytes"))
    return each(wanted, lambda text: _panel(text, size))


def _panel(text: str, size: int) -> Panel:
    known = loaded(text, size)
    canvas = Canvas()
    memory = {MEMORY: Register(MEMORY, 8 * size, float(MARGIN), INNER / (8 * size), rising=True)}
    targets = in_a_row(dict.fromkeys(known, 32), reverse=False)
    flows: list[BitFlow] = []
    constants = []
    for number, (name, runs_of) in enumerate(known.items()):
        for run in runs_of:
            if isinstance(run.first, Bit):
                flows += _by_bytes(name, run, number)
            else:
                constants.append((name, run.low, run.high, run.first))
    rows(canvas, memory, targets, flows, constants, 8, bytes_of=MEMORY)
    return Panel(text, canvas.svg(f"Bytes of {text}", description(known, MEMORY)))


def _by_bytes(name: str, run: BitRun, hue: int) -> list[BitFlow]:
    """A run of whole bytes, byte by byte: in memory they rise to the right, in a register to the left."""
    assert isinstance(run.first, Bit)
    if run.length % 8 or run.first.place % 8 or run.step != 1:
        return [BitFlow(name, run.low, run.high, MEMORY, run.taken, hue + 1 if run.step < 1 else hue, run.step < 0)]
    return [
        BitFlow(name, run.low + k, run.low + k + 7, MEMORY, (run.first.place + k, run.first.place + k + 7), hue)
        for k in range(0, run.length, 8)
    ]
