"""Random scripts for mbarriers and the operations that complete on them, right or wrong, under both engines:
`python tests/fuzz/object_scripts.py FIRST LAST [SECONDS]`.

Threads share objects and memory. Both engines must give the same bits, or say the same: the rule, the note, and the places. They
are told how pieces land; who has his turn when is the same for both.
"""

from __future__ import annotations

import random
import sys
import time
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import ptxspec
from ptxspec_workshop.generate import object_scripts as scripts
from ptxspec_workshop.generate.cases import CELLS, FILL, STRIDE, blank_rows, entry, plain_module

#: more operations: on a room of 1024 bytes, at a multiple of 16 that the operand says
MORE = (
    "and.b32 %x, %x, 1008; add.u32 %x, %x, %room; ld.shared.u32 %op, [%x]; cvt.u64.u32 %given, %op;",
    "and.b32 %x, %x, 1008; add.u32 %x, %x, %room; st.shared.u32 [%x], %op;",
    "and.b32 %x, %x, 1008; add.u32 %x, %x, %room; cp.async.ca.shared.global [%x], [%from], 16;",
    "cp.async.mbarrier.arrive.shared.b64 [%mine];",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [%mine];",
    "cp.async.wait_all;",
    "and.b32 %op, %x, 240; and.b32 %x, %x, 1008; add.u32 %x, %x, %room; cvt.u64.u32 %given, %op; add.u64 %far, %from, %given;"
    " cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%x], [%far], 64, [%mine];",
    "and.b32 %op, %x, 48; and.b32 %x, %x, 960; add.u32 %x, %x, %room;"
    " cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%x], [%from], %op, [%mine];",
    "and.b32 %x, %x, 960; add.u32 %x, %x, %room; cp.async.bulk.global.shared::cta.bulk_group [%into], [%x], 64;",
    "and.b32 %x, %x, 960; add.u32 %x, %x, %room; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%into], [%x], 64;",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group 0;",
    "cp.async.bulk.wait_group.read 0;",
    "bar.warp.sync -1;",
    "setp.ne.u32 %p, %x, 0; mbarrier.try_wait.parity.shared.b64 %p, [%mine], 0; selp.u64 %given, 1, 0, %p;",
    "and.b32 %x, %x, 1; mbarrier.try_wait.parity.shared.b64 %p, [%mine], %x; selp.u64 %given, 1, 0, %p;",
)  # fmt: skip
COUNT = len(scripts.STEPS) + len(MORE)
WAYS = ("early", "late", "each", "random:1", "random:2")


@cache
def module(shared: int) -> ptxspec.Module:
    """A module whose kernel executes the scripts of its threads, of which so many share an object."""
    lines = [
        ".reg .u64 %in, %out, %from, %into, %far; .reg .u32 %t, %mine, %room; .reg .pred %p;", ".shared .align 8 .b64 bars[32];",
        ".shared .align 16 .b8 room[1024];", "ld.param.u64 %in, [in];", "ld.param.u64 %out, [out];", "mov.u32 %t, %tid.x;",
        f"mad.wide.u32 %in, %t, {STRIDE}, %in;", f"mad.wide.u32 %out, %t, {STRIDE}, %out;", "mov.u32 %room, room;",
        "mov.u64 %from, source; mov.u64 %into, target;", f"div.u32 %mine, %t, {shared}; shl.b32 %mine, %mine, 3;",
        ".reg .u32 %bars; mov.u32 %bars, bars; add.u32 %mine, %mine, %bars;", *scripts.script_lines({}, CELLS, MORE), "ret;",
    ]  # fmt: skip
    held = [".global .align 16 .u32 source[256];", ".global .align 16 .u32 target[256];"]
    return ptxspec.load(plain_module([entry("k", lines)], held))


class Trial(NamedTuple):
    """A launch: its rows, how many threads share an object, and how pieces land."""

    rows: np.ndarray
    shared: int
    copies: str


def trial(seed: int) -> Trial:
    """Scripts of 1 to 8 threads: right ones with some steps exchanged, or steps at random."""
    source = random.Random(seed)
    threads = source.choice([1, 1, 2, 3, 8])
    rows, rate = blank_rows(threads), source.choice([0, 0.02, 0.05, 0.35])
    for row in rows:
        steps = [list(step) for step in scripts.script(source)]
        for step in steps:
            if source.random() < rate:
                step[0] = source.randrange(COUNT)
            if source.random() < rate / 2:
                step[1] = source.choice([0, 1, 2, 3, 16, 64, 512, 1 << 20, source.getrandbits(12)])
        row[:] = [step | operand << 8 for step, operand in steps]
    return Trial(rows, source.choice([1, 1, 1, 2, 8]), source.choice(WAYS))


def outcome(question: Trial, engine: str) -> Any:
    """What a launch leaves, or what is said of it."""
    out = np.full(question.rows.shape, FILL, np.uint64)
    loaded = module(question.shared)
    args = [question.rows.copy(), out, bytes(64)]
    try:
        loaded.launch("k", grid=1, block=len(out), args=args, engine=engine, copies=question.copies)
    except ptxspec.LaunchError as error:
        return str(error)
    return out.tolist(), loaded.read("target").tolist()


def disagreement(seed: int) -> str:
    """What the engines say differently of a trial; nothing if they agree."""
    question = trial(seed)
    exact, native = (outcome(question, engine) for engine in ("exact", "native"))
    return "" if exact == native else f"seed {seed}: {str(exact)[:600]} | {str(native)[:600]}"


def main(first: str, last: str, seconds: str = "inf") -> int:
    began, count, faults, broken = time.monotonic(), 0, 0, 0
    for seed in range(int(first), int(last)):
        if time.monotonic() - began > float(seconds):
            break
        count += 1
        if told := disagreement(seed):
            broken += 1
            print(told, flush=True)
        faults += isinstance(outcome(trial(seed), "native"), str)
    print(f"{count} launches, {faults} of which break a rule; {broken} disagreements", flush=True)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
