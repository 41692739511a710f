"""Scripts for mbarrier objects, and kernels that execute them: each thread has an object of its own, and sixteen steps.

A step is a cell of a thread's row: its operation in the lowest byte, its operand above. Scripts are drawn so that PTX says what
each step gives: a plain model of the object, in Python's numbers, keeps counts within their ranges.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from ptxspec_workshop.generate.cases import CELLS, blank_rows

SEED = "mbarriers"
#: what a step may do, by the number of its operation
INIT, INVAL, ARRIVE, DROP, ARRIVE_EXPECT, DROP_EXPECT, INCOMPLETE, DROP_INCOMPLETE = range(8)
EXPECT, COMPLETE, TEST, TEST_PARITY, COUNT, LOAD, NOTHING = range(8, 15)
#: the operations as instructions with the operand %x and the object at [%mine]: what they leave in %given
STEPS: tuple[str, ...] = (
    "mbarrier.init.shared.b64 [%mine], %x;",
    "mbarrier.inval.shared.b64 [%mine];",
    "mbarrier.arrive.shared.b64 %state, [%mine], %x;",
    "mbarrier.arrive_drop.shared.b64 %state, [%mine], %x;",
    "mbarrier.arrive.expect_tx.shared.b64 %state, [%mine], %x;",
    "mbarrier.arrive_drop.expect_tx.shared.b64 %state, [%mine], %x;",
    "mbarrier.arrive.noComplete.shared.b64 %state, [%mine], %x;",
    "mbarrier.arrive_drop.noComplete.shared.b64 %state, [%mine], %x;",
    "mbarrier.expect_tx.shared.b64 [%mine], %x;",
    "mbarrier.complete_tx.shared.b64 [%mine], %x;",
    "mbarrier.test_wait.shared.b64 %p, [%mine], %state;",
    "mbarrier.test_wait.parity.shared.b64 %p, [%mine], %x;",
    "mbarrier.pending_count.b64 %x, %state;",
    "ld.shared.b64 %given, [%mine];",
    "",
)
#: what they give, where that is not what %given held: the upper half of a state, a predicate, or a number
GIVES: dict[int, str] = {
    **dict.fromkeys(range(ARRIVE, EXPECT), "shr.u64 %given, %state, 32;"),
    **dict.fromkeys((TEST, TEST_PARITY), "selp.u64 %given, 1, 0, %p;"),
    COUNT: "cvt.u64.u32 %given, %x;",
}


def script_lines(instructions: Mapping[int, str], count: int = CELLS, more: Sequence[str] = ()) -> list[str]:
    """The lines of a kernel that executes the first steps of its row, and leaves in `out` what each gives; some operations are
    other instructions than usual, and there may be more."""
    steps = (*STEPS, *more)
    lines = [".reg .u64 %step, %state, %given;", ".reg .u32 %op, %x, %hint, %left;", "mov.u64 %state, 0;"]
    ways = ", ".join(f"S{i}" for i in range(len(steps)))
    lines += ["mov.u32 %hint, 1000;", f"mov.u32 %left, {count};", f"WAYS: .branchtargets {ways};"]
    lines += ["NEXT: ld.global.u64 %step, [%in];", "cvt.u32.u64 %op, %step;", "and.b32 %op, %op, 255;"]
    lines += ["shr.u64 %step, %step, 8;", "cvt.u32.u64 %x, %step;", "mov.u64 %given, 0;", "brx.idx %op, WAYS;"]
    for i, usual in enumerate(steps):
        lines += [f"S{i}: {instructions.get(i, usual)}", GIVES.get(i, ""), "bra DONE;"]
    lines += ["DONE: st.global.u64 [%out], %given;", "add.u64 %in, %in, 8;", "add.u64 %out, %out, 8;"]
    lines += ["sub.u32 %left, %left, 1;", "setp.ne.u32 %p, %left, 0;", "@%p bra NEXT;"]
    return [line for line in lines if line]


class PlainObject:
    """An mbarrier object in plain numbers."""

    def __init__(self, count: int):
        self.pending = self.expected = count
        self.bytes = self.phase = 0

    def settle(self) -> None:
        """Begin the next phase if this one is complete."""
        if self.pending == 0 and self.bytes == 0:
            self.pending, self.phase = self.expected, self.phase + 1

    def choices(self, source: random.Random, told: int | None) -> Iterator[tuple[int, int]]:
        """Steps that may be taken, with operands; `told` is the phase of the last state."""
        most = max(1, min(self.pending, 1 + source.getrandbits(2)))
        count = source.choice([1, most, self.pending or 1])
        amount = source.choice([16, 32, 48, 4096])
        if self.pending >= count:
            yield ARRIVE, count
            yield ARRIVE_EXPECT, amount
            if self.pending > count or self.bytes:
                yield INCOMPLETE, count
            if self.expected > count:
                yield DROP, count
                if self.pending > count or self.bytes:
                    yield DROP_INCOMPLETE, count
            if self.expected > 1:
                yield DROP_EXPECT, amount
        yield EXPECT, amount
        yield COMPLETE, abs(self.bytes) if self.bytes > 0 and source.random() < 0.6 else amount
        yield TEST_PARITY, source.getrandbits(1)
        if told is not None and self.phase - told <= 1:
            yield TEST, 0
        if told is not None:
            yield COUNT, 0

    def take(self, step: int, operand: int) -> None:
        """Take a step."""
        if step in (ARRIVE_EXPECT, DROP_EXPECT, EXPECT):
            self.bytes += operand
        if step == COMPLETE:
            self.bytes -= operand
        drops = {DROP: operand, DROP_INCOMPLETE: operand, DROP_EXPECT: 1}
        arrives = {ARRIVE: operand, INCOMPLETE: operand, ARRIVE_EXPECT: 1, **drops}
        self.expected -= drops.get(step, 0)
        self.pending -= arrives.get(step, 0)
        if step in arrives or step in (EXPECT, COMPLETE):
            self.settle()


def script(source: random.Random, wanted: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Sixteen steps, which begin and end objects; the `wanted` ones are drawn more often."""
    steps: list[tuple[int, int]] = []
    while len(steps) < CELLS - 3:
        count = source.choice([1, 2, 3, 5, 100, (1 << 20) - 1])
        steps.append((INIT, count))
        state, told = PlainObject(count), None
        for _ in range(source.randrange(4, 14)):
            if len(steps) >= CELLS - 2:
                break
            ways = list(state.choices(source, told))
            better = [way for way in ways if way[0] in wanted]
            step, operand = source.choice(better if better and source.random() < 0.4 else ways)
            if ARRIVE <= step <= DROP_INCOMPLETE:
                told = state.phase
            state.take(step, operand)
            steps.append((step, operand))
        steps += [(INVAL, 0), (LOAD, 0)]
    return steps[:CELLS] + [(NOTHING, 0)] * (CELLS - len(steps))


#: what a thread of another CTA may do, how many arrivals it finds an object with, and how many steps it takes
FROM_ELSEWHERE = (ARRIVE, DROP, ARRIVE_EXPECT, DROP_EXPECT, EXPECT, COMPLETE)
FOUND, STEPS_ELSEWHERE = 5, CELLS - 2


def script_elsewhere(source: random.Random, wanted: Sequence[int]) -> list[tuple[int, int]]:
    """Steps of a thread on an object in another CTA."""
    state, steps = PlainObject(FOUND), []
    for _ in range(source.randrange(2, STEPS_ELSEWHERE + 1)):
        ways = [way for way in state.choices(source, None) if way[0] in FROM_ELSEWHERE]
        better = [way for way in ways if way[0] in wanted]
        steps.append(source.choice(better if better and source.random() < 0.4 else ways))
        state.take(*steps[-1])
    return steps + [(NOTHING, 0)] * (CELLS - len(steps))


@cache
def scripts(count: int, wanted: tuple[int, ...] = (), elsewhere: bool = False, seed: str = SEED) -> np.ndarray:
    """Rows of `in`, each with a script: of a thread on its own object, or on one in another CTA."""
    source, data = random.Random(f"{seed} {wanted} {elsewhere}"), blank_rows(count)
    draw = script_elsewhere if elsewhere else script
    for row in data:
        row[:] = [step | operand << 8 for step, operand in draw(source, wanted)]
    return data
