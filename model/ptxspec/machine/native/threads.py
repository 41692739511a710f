"""The function that gives threads their turns: what instructions do, from where a thread stands to where its turn ends."""

from __future__ import annotations

import math
import re

from ptxspec.machine import hosts
from ptxspec.machine.driver.codes import BROKEN, COMPLETION, FAULT
from ptxspec.machine.events import NO_INSTRUCTION, EventKind
from ptxspec.machine.native.accesses import Accesses
from ptxspec.machine.native.arguments import ArgumentEmitter
from ptxspec.machine.native.blocks import BlockEmitter, ResultEmitter
from ptxspec.machine.native.calls import CallEmitter
from ptxspec.machine.native.context import field_at, field_text, llvm_type
from ptxspec.machine.native.edges import Edges
from ptxspec.machine.native.endings import Endings, WaitEmitter
from ptxspec.machine.native.head import Head
from ptxspec.machine.native.instructions import ComputationEmitter, EffectEmitter
from ptxspec.machine.native.layout import HOME, Layout
from ptxspec.machine.native.narrow import OVER, WIDE
from ptxspec.machine.native.operands import OperandEmitter
from ptxspec.machine.native.outlined import OutlinedFunctions
from ptxspec.machine.native.registers import IN_ROWS, Homes, Registers, Rows
from ptxspec.machine.native.stack import Stack
from ptxspec.machine.native.text import FAILED, WRONG, FunctionText

#: how the text names where a register lies
_HOME = re.compile(rf"{HOME}\d+")


class TurnFunction:
    """The function of one thread's turn, as far as it stays in some blocks of the kernel."""

    def __init__(
        self, layout: Layout, number: int, members: range, needs: set[str], outlined: OutlinedFunctions | None = None
    ):
        self.layout, self.piece = layout, number
        text = self.text = FunctionText(layout, needs)
        self.rows = Rows(text)
        self.homes = Homes(text, self.rows)
        registers = self.registers = Registers(text, self.homes)
        operands = OperandEmitter(text, registers)
        edges = self.edges = Edges(text, registers, self.rows, members)
        stack, arguments = Stack(text, registers, operands), ArgumentEmitter(text, registers, operands)
        calls = CallEmitter(text, registers, stack, arguments, edges)
        waiting = WaitEmitter(text, operands, edges)
        accesses = Accesses(text, text.check, None if text.flow.observed.counts else outlined)
        self.blocks = BlockEmitter(
            text,
            registers,
            ComputationEmitter(text, registers, operands, outlined),
            EffectEmitter(text, registers, operands, accesses, stack),
            ResultEmitter(text, registers, operands, calls),
            Endings(text, registers, self.homes, operands, edges, calls, waiting),
        )

    def function(self, most: float = math.inf) -> str | None:
        """The LLVM text of the function; None if its blocks have more lines than `most`."""
        text = self.text
        for number in self.edges.members:
            self.blocks.write(number)
            if len(text.lines) > most:
                return None
        self.edges.write()
        used = set(_HOME.findall("\n".join(text.lines)))
        self._doors(used)
        homes = [f"  {home} = alloca {llvm_type(self.layout.type_of(home))}" for home in sorted(used)]
        failing = [field_at(f"failed_{what}") for what in ("address", "op", "why", "thread")]
        head = Head(text, {"turn_length"} | ({"counts_bytes", "lists_bytes"} if self.layout.checked else set()))
        linkage = "" if self.layout.pieces > 1 else "internal "
        ending = " alwaysinline" if self.layout.pieces == 1 else ""
        return "\n".join(
            [
                f"define {linkage}i64 @piece{self.piece}(ptr noalias %context, i64 %thread, i64 %start, i64 %before, ptr %turn)"
                f"{ending} {{",
                "entry:",
                *homes,
                "  %goes = alloca i64\n  store i64 %start, ptr %goes",
                *head.fields(),
                *failing,
                *head.places(),
                "  br label %dispatch",
                *text.lines,
                *text.faults,
                f"fault:\n  store i64 %thread, ptr %failed_thread_at\n  ret i64 {FAILED}",
                "}",
            ]
        )

    def _doors(self, used: set[str]) -> None:
        """Where a thread comes in, stands for its next turn, and ends. Of the registers in rows it takes those whose homes are
        `said`: a piece has to do with few of those that live through it."""
        text, lines = self.text, self.text.lines
        text.leave_blocks()
        self.registers.forget()
        targets = [b for b in self.edges.members if b in self.layout.entered]
        for target in targets:
            lines.append(f"enter.{target}:")
            text.emitter.forget()
            for name in sorted(n for n in self.layout.live[target] - IN_ROWS if self.homes.at(n) in used):
                self.homes.store(name, self.rows.load(name))
            self.edges.go(f"block.{target}")
        ways = " ".join(f"i64 {t}, label %enter.{t}" for t in targets)
        lines += [
            "dispatch:", "  %to = load i64, ptr %goes", f"  switch i64 %to, label %elsewhere [{ways}]",
            "elsewhere:", *self._elsewhere(),
            "stand:", "  %at = load i64, ptr %goes",
        ]  # fmt: skip
        text.emitter.forget()
        text.enqueue("%at")
        lines += ["  br label %over", "ends:"]
        text.emitter.forget()
        text.event(EventKind.EXIT, index=NO_INSTRUCTION)
        text.enqueue(str(len(text.flow.blocks)))
        lines += ["  br label %over", "over:", f"  ret i64 {OVER}"]

    def _elsewhere(self) -> list[str]:
        """A block that is none of the piece's."""
        if self.layout.pieces > 1:
            return ["  ret i64 %to"]
        return [hosts.note("the block to return to", "%to", -1), f"  ret i64 {WRONG}"]


def turns_text(layout: Layout, call: str) -> str:
    """LLVM text of `turns(context, block, count, limit)`: a turn for each of the threads of `scratch`, until the steps reach the
    limit. `call` gives %r for %thread, which stands at block %begin and whose turn began when %steps were done."""
    last = "back" if "across" in call else "alone"
    ready = "each" if layout.program.asynchronous is None else "landed"
    return f"""
define i64 @turns(ptr noalias %context, i64 %block, i64 %count, i64 %limit) {{
entry:
  %turn = alloca i64
{_fields()}
  %begun = load i64, ptr %steps_at
  %narrow = call i1 @is_narrow(i64 %block)
  br label %each
{_each(layout)}
{_SIDE_BY_SIDE}
alone:
  %begin = phi i64 [%block, %{ready}], [%goes_on, %take]
{call}
  br label %after
after:
  %outcome = phi i64 [{OVER}, %take], [%r, %{last}]
{_AFTER}
}}"""


def _fields() -> str:
    """What the function takes from the context, and where it says how far it is."""
    taken = (field_text(n) for n in ("scratch", "record", "scratch_bytes"))
    return "\n".join([*taken, *(field_at(n) for n in ("steps", "taken"))])


def _each(layout: Layout) -> str:
    """The next thread, whose turn begins."""
    cell = hosts.pointer(layout.checked, "scratch", "%scratch", "%k", 4, 4, "%scratch_bytes")
    lands, broken = "", ""
    if layout.program.asynchronous is not None:
        lands = (
            "  %broken = call i64 @turn_begins(ptr %context)\n  %lands = icmp eq i64 %broken, 0\n"
            "  br i1 %lands, label %landed, label %completes, !prof !0\nlanded:\n"
        )
        broken = f"\ncompletes:\n  store i64 %steps, ptr %steps_at\n  ret i64 {COMPLETION}"
    return f"""each:
  %k = phi i64 [0, %entry], [%k1, %on]
  %steps = phi i64 [%begun, %entry], [%steps1, %on]
  %thread_at = {cell}
  %thread32 = load i32, ptr %thread_at
  %thread = zext i32 %thread32 to i64
{lands}  store i64 0, ptr %turn
  br i1 %narrow, label %side_by_side, label %alone{broken}"""


#: threads that stand at a narrow loop: WIDE of them at a time go through it, then each one's outcome is taken
_SIDE_BY_SIDE = f"""side_by_side:
  %slot = and i64 %k, {WIDE - 1}
  %first = icmp eq i64 %slot, 0
  br i1 %first, label %gather, label %take
gather:
  %left = sub i64 %count, %k
  %few = icmp ult i64 %left, {WIDE}
  %n = select i1 %few, i64 %left, i64 {WIDE}
  call void @go_through(ptr %context, i64 %block, ptr %thread_at, i64 %n)
  br label %take
take:
  %goes_on = call i64 @take(ptr %context, i64 %block, i64 %thread, i64 %slot, ptr %turn)
  %is_over = icmp eq i64 %goes_on, {OVER}
  br i1 %is_over, label %after, label %alone"""

#: back to the driver, for a turn that did not end well
BAD = f"""bad:
  store i64 %steps1, ptr %steps_at
  %failed = icmp eq i64 %outcome, {FAILED}
  %code = select i1 %failed, i64 {FAULT}, i64 {BROKEN}
  ret i64 %code"""

#: the end of a turn: the next thread's, or back to the driver
_AFTER = f"""  %took = load i64, ptr %turn
  %steps1 = add i64 %steps, %took
  %k1 = add i64 %k, 1
  %good = icmp eq i64 %outcome, {OVER}
  br i1 %good, label %on, label %bad, !prof !0
on:
  %more = icmp ult i64 %k1, %count
  %room = icmp ult i64 %steps1, %limit
  %again = and i1 %more, %room
  br i1 %again, label %each, label %done
done:
  store i64 %steps1, ptr %steps_at
  store i64 %k1, ptr %taken_at
  ret i64 0
{BAD}"""

#: calls of the piece that has all blocks, and of that one of several which has the block %at
OF_ONE = "  %r = call i64 @piece0(ptr %context, i64 %thread, i64 %begin, i64 %steps, ptr %turn)"


def of_several(count: int) -> str:
    """`count` is that of all blocks."""
    return f"""  br label %across
across:
  %at = phi i64 [%begin, %alone], [%r, %inside]
  %piece_at = getelementptr [{count} x i64], ptr @pieces, i64 0, i64 %at
  %piece_is = load i64, ptr %piece_at
  %piece = inttoptr i64 %piece_is to ptr
  %r = call i64 %piece(ptr %context, i64 %thread, i64 %at, i64 %steps, ptr %turn)
  %inner = icmp ult i64 %r, {count}
  br i1 %inner, label %inside, label %back
inside:
  br label %across
back:"""
