"""How the cost of an instruction depends on how many threads there are, and on whether they part.

python tests/benchmarks/scaling.py [--json PATH]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ptxspec

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 n) {
  .reg .u32 %r<16>; .reg .u64 %rd<4>; .reg .pred %p<4>; .shared .u32 part[256];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r0, %r1, %r2, %r0;
  ld.param.u32 %r3, [n]; ld.param.u64 %rd0, [out]; mad.wide.u32 %rd1, %r0, 4, %rd0; mov.u32 %r4, %r0;
"""
TAIL = "\n  st.global.u32 [%rd1], %r4;\n}\n"
#: steps of a generator of numbers, which each of the bodies takes
MIX = "mad.lo.u32 %r4, %r4, 1664525, 1013904223; shf.l.wrap.b32 %r5, %r4, %r4, 13; xor.b32 %r4, %r4, %r5;"
#: the same work for every thread, and work over which the threads of a warp part
BODIES = {
    "alike": f"mov.u32 %r6, 0; L: {MIX} ld.global.u32 %r8, [%rd1]; add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, 64; @%p0 bra L;",
    "binary search": (
        "mov.u32 %r6, 0; mov.u32 %r7, 1048576; L: add.u32 %r8, %r6, %r7; shr.u32 %r8, %r8, 1; mul.lo.u32 %r9, %r8, 7;"
        "mad.wide.u32 %rd2, %r0, 4, %rd0; ld.global.u32 %r10, [%rd2]; mul.lo.u32 %r5, %r0, 2654435761; and.b32 %r5, %r5, 8388607;"
        "setp.lt.u32 %p0, %r9, %r5; @%p0 bra UP; mov.u32 %r7, %r8; bra ON; UP: add.u32 %r6, %r8, 1; ON: setp.lt.u32 %p1, %r6, %r7;"
        "@%p1 bra L; mov.u32 %r4, %r6;"
    ),
    "early exits": (
        f"and.b32 %r9, %r0, 63; mov.u32 %r6, 0; L: {MIX} ld.global.u32 %r8, [%rd1]; add.u32 %r6, %r6, 1; setp.ge.u32 %p1, %r6, %r9;"
        "@%p1 bra OUT; setp.lt.u32 %p0, %r6, 64; @%p0 bra L; OUT:"
    ),
    "nested loops": (
        f"and.b32 %r9, %r0, 15; mov.u32 %r6, 0; A: mov.u32 %r7, 0; B: {MIX} ld.global.u32 %r8, [%rd1]; add.u32 %r7, %r7, 1;"
        "setp.le.u32 %p0, %r7, %r9; @%p0 bra B; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 8; @%p1 bra A;"
    ),
    "branches": (
        f"mov.u32 %r6, 0; L: {MIX} and.b32 %r7, %r4, 1; setp.eq.u32 %p0, %r7, 0; @%p0 bra X; {MIX} st.global.u32 [%rd1], %r4; bra Y;"
        " X: ld.global.u32 %r8, [%rd1]; add.u32 %r4, %r4, 1; Y: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 32; @%p1 bra L;"
    ),
    "votes while apart": (
        f"and.b32 %r9, %r0, 1; setp.eq.u32 %p2, %r9, 0; mov.u32 %r6, 0; L: {MIX} {MIX} {MIX} {MIX} @%p2 bra X;"
        "vote.sync.ballot.b32 %r7, %p2, 0xaaaaaaaa; bra Y; X: vote.sync.ballot.b32 %r7, %p2, 0x55555555; Y: add.u32 %r4, %r4, %r7;"
        "add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 16; @%p1 bra L;"
    ),
}
#: the instructions of votes are compared with votes of threads that stay together
TOGETHER = {
    "votes while apart": (
        f"setp.eq.u32 %p2, %r0, 0; mov.u32 %r6, 0; L: {MIX} {MIX} {MIX} {MIX}"
        "vote.sync.ballot.b32 %r7, %p2, 0xffffffff; add.u32 %r4, %r4, %r7; add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 16; @%p1 bra L;"
    )
}
THREADS = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 10_000_000]


def rate(body: str, threads: int) -> tuple[float, float]:
    """(thread-instructions a second, the launch's seconds), best of several."""
    module = ptxspec.load(HEAD + body + TAIL)
    block = 256
    grid = -(-threads // block)
    out = np.zeros(grid * block, np.uint32)
    module.launch("k", 1, block, [out, np.uint32(0)])
    times: list[float] = []
    steps = 0
    for _ in range(5 if threads < 1 << 20 else 2):
        began = time.perf_counter()
        steps = module.launch("k", grid, block, [out, np.uint32(threads)]).steps
        times.append(time.perf_counter() - began)
    return steps / min(times), min(times)


def main(arguments: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    show: Callable[[Any], None] = Console(width=110).print
    body = BODIES["alike"]
    table = Table(title="cost of a thread-instruction by the number of threads, one core")
    for column in ("threads", "ns", "launch, s"):
        table.add_column(column, justify="right")
    by_threads = []
    for threads in THREADS:
        found, seconds = rate(body, threads)
        by_threads.append({"threads": threads, "ns": 1e9 / found, "seconds": seconds})
        table.add_row(f"{threads:,}", f"{1e9 / found:.3f}", f"{seconds:.4f}")
    show(table)
    alike, _ = rate(BODIES["alike"], 1 << 18)
    table = Table(title="threads that part, one core")
    for column in ("kernel", "M instr./s", "of the rate of threads alike"):
        table.add_column(column, justify="left" if column == "kernel" else "right")
    parting = []
    for name, text in BODIES.items():
        found, _ = rate(text, 1 << 18)
        beside = rate(TOGETHER[name], 1 << 18)[0] if name in TOGETHER else alike
        parting.append({"kernel": name, "rate": found, "share": found / beside})
        table.add_row(name, f"{found / 1e6:,.0f}", f"{found / beside:.0%}")
    show(table)
    both = {"threads": by_threads, "parting": parting}
    if given.json:
        given.json.write_text(json.dumps(both, indent=1))
    return both


if __name__ == "__main__":
    main(sys.argv[1:])
