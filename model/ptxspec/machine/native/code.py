"""The machine code of a kernel: its blocks, and the scheduler that runs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ptxspec import contracts
from ptxspec.machine import hosts
from ptxspec.machine.native.blocks import BlockText
from ptxspec.machine.native.context import BROKEN, FIELD, RAN_OUT, field_text
from ptxspec.machine.native.outlined import Outlined
from ptxspec.terms.core import variable
from ptxspec.terms.lowering import Lowering
from ptxspec.terms.native import Emitter, Library

if TYPE_CHECKING:
    from ptxspec.machine.native.engine import Compiled

#: from so many blocks on, code that is made soon is worth more than code that is fast. A block takes LLVM about 8 ms with all
#: passes, 4 ms with the quick ones (the code is up to a tenth slower), and less than 1 ms at level 0 (half as fast)
SOME_BLOCKS, MANY_BLOCKS = 32, 500
#: a kernel whose text has more lines is compiled with the quick passes, and in pieces of about PIECE lines: LLVM takes more than
#: twice the time for a text that is twice as long, and between two pieces a launch may be ended
LARGE, PIECE = 8_000, 4_000

_WEIGHTS = '!0 = !{!"branch_weights", i32 2000, i32 1}'
_OUTLINED = re.compile(r"@outlined_(\d+)\b")


class Code:
    """`run` is the address of a function of the context and a budget. `watch` is called between the pieces."""

    def __init__(self, compiled: Compiled, watch: Callable[[], None]):
        self.compiled, self.watch = compiled, watch
        self.count = len(compiled.program.flow.blocks)
        live = compiled.program.flow.live_in()
        self.libraries: list[Library] = []
        whole = self._whole(live)
        if whole is None:
            self.run = self._pieces(live)
        else:
            library = self._library(*whole)
            self.run = library.address("run")

    def _library(self, text: str, needs: set[str], *, quick: bool | None = None) -> Library:
        level = 2 if self.count < MANY_BLOCKS else 0
        quick = self.count >= SOME_BLOCKS if quick is None else quick
        needs = needs | hosts.NEEDS
        self.libraries.append(Library(f"{text}\n{_WEIGHTS}", needs, level=level, quick=quick, entered=("run",)))
        return self.libraries[-1]

    def _whole(self, live: list[set[str]]) -> tuple[str, set[str]] | None:
        """The text of a small kernel, and what it needs; None for a large one."""
        needs: set[str] = set()
        texts: list[str] = []
        lines = 0
        for number, block in enumerate(self.compiled.program.flow.blocks):
            texts.append(BlockText(self.compiled, number, block, live, needs).text())
            lines += texts[-1].count("\n")
            if lines > LARGE:
                return None
        return "\n".join([*texts, self._run(_called_by_name(self.count))]), needs

    def _pieces(self, live: list[set[str]]) -> int:
        """Compile a large kernel piece by piece; the address of `run`."""
        outlined = Outlined(self.compiled)
        shared: dict[str, int] = {}
        blocks: list[int] = []

        def place(found: re.Match[str]) -> str:
            return f"inttoptr (i64 {shared[found[0]]} to ptr)"

        for texts, needs in self._texts(live, outlined):
            for name, text, needed in outlined.take():
                self.watch()
                shared[name] = self._library(text, needed, quick=False).address(name[1:])
            self.watch()
            library = self._library(_OUTLINED.sub(place, "\n".join(texts)), needs, quick=True)
            blocks += [library.address(f"block{len(blocks) + i}") for i in range(len(texts))]
        self.watch()
        table = ", ".join(f"i64 {address}" for address in blocks)
        text = f"@blocks = private constant [{self.count} x i64] [{table}]\n{self._run(_called_by_address(self.count))}"
        return self._library(text, set(), quick=True).address("run")

    def _texts(self, live: list[set[str]], outlined: Outlined) -> Iterator[tuple[list[str], set[str]]]:
        """The texts of blocks that become one piece, and what they need."""
        texts: list[str] = []
        needs: set[str] = set()
        lines = 0
        for number, block in enumerate(self.compiled.program.flow.blocks):
            self.watch()
            writing = BlockText(self.compiled, number, block, live, needs)
            writing.outlined = outlined
            texts.append(writing.text())
            lines += texts[-1].count("\n")
            if lines > PIECE:
                yield texts, needs
                texts, needs, lines = [], set(), 0
        if texts:
            yield texts, needs

    def _run(self, dispatch: str) -> str:
        """LLVM text of `run(context, budget)`: 0 when nothing can run, else why it stopped. `dispatch` runs block %b for %n
        threads and goes on at %done, where %r is 0 unless it failed."""
        page = contracts.divergence()
        flow, count, size = self.compiled.program.flow, self.count, self.compiled.capacity
        lengths = ", ".join(f"i64 {b.end - b.start}" for b in flow.blocks)
        fair: list[str] = []
        for_all = page.for_all(variable("%turns", 64))
        rotate = Lowering(Emitter(fair, set()), {"%turns": "%turns"}).truth(for_all)
        earliest = ", ".join(f"i64 {first}" for first in flow.earliest)
        checked = self.compiled.checked
        count_at = hosts.pointer(checked, "counts", "%counts", "%b", 8, 8, "%counts_bytes")
        list_of = hosts.pointer(checked, "lists", "%lists", "%b", size * 4, "%bytes", "%lists_bytes")
        copied = hosts.pointer(checked, "scratch", "%scratch", "0", 1, "%bytes", "%scratch_bytes")
        span = hosts.span("%bytes") if checked else "add i64 %bytes, 0"
        return f"""
@lengths = private constant [{count} x i64] [{lengths}]
@earliest = private constant [{count} x i64] [{earliest}]
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i64 @run(ptr %context, i64 %budget) {{
entry:
{field_text("lists")}
{field_text("counts")}
{field_text("scratch")}
{field_text("record")}
{chr(10).join(field_text(f"{name}_bytes", "i64") for name in ("lists", "counts", "scratch"))}
  %steps_at = getelementptr i64, ptr %context, i64 {FIELD["steps"]}
  %turns_at = getelementptr i64, ptr %context, i64 {FIELD["turns"]}
  %last_at = getelementptr i64, ptr %context, i64 {FIELD["last"]}
  %begun = load i64, ptr %steps_at
  %limit = add i64 %begun, %budget
  br label %turn
turn:
  %low = phi i64 [0, %entry], [%lower, %count]
  %steps = load i64, ptr %steps_at
  %spent = icmp uge i64 %steps, %limit
  br i1 %spent, label %out, label %choose
choose:
  %turns = load i64, ptr %turns_at
{chr(10).join(fair)}
  %rotate = and i1 {rotate}, true
  %last = load i64, ptr %last_at
  %after = add i64 %last, 1
  %begins = select i1 %rotate, i64 %after, i64 %low
  %first = urem i64 %begins, {count}
  br label %look
look:
  %b = phi i64 [%first, %choose], [%following, %empty]
  %looked = phi i64 [0, %choose], [%more, %empty]
  %count_at = {count_at}
  %n = load i64, ptr %count_at
  %none = icmp eq i64 %n, 0
  br i1 %none, label %empty, label %take
empty:
  %more = add i64 %looked, 1
  %b1 = add i64 %b, 1
  %following = urem i64 %b1, {count}
  %all = icmp uge i64 %more, {count}
  br i1 %all, label %idle, label %look
take:
  %too_many = icmp ugt i64 %n, {size}
  br i1 %too_many, label %broken, label %begin
broken:
{hosts.note("the lanes at a block", "%n", -1)}
  ret i64 {BROKEN}
begin:
  store i64 0, ptr %count_at
  store i64 %b, ptr %last_at
  %turns1 = add i64 %turns, 1
  store i64 %turns1, ptr %turns_at
  %bytes = mul i64 %n, 4
  %list = {list_of}
  %copied = {copied}
  %span = {span}
  call void @llvm.memcpy.p0.p0.i64(ptr %copied, ptr %list, i64 %span, i1 false)
{dispatch}
  %bad = icmp ne i64 %r, 0
  br i1 %bad, label %fault, label %count
count:
  ; no thread stands before %low: those that ran now went to %goes at the earliest
  %length_at = getelementptr [{count} x i64], ptr @lengths, i64 0, i64 %b
  %length = load i64, ptr %length_at
  %goes_at = getelementptr [{count} x i64], ptr @earliest, i64 0, i64 %b
  %goes = load i64, ptr %goes_at
  %beyond = add i64 %b, 1
  %bound = select i1 %rotate, i64 %low, i64 %beyond
  %sooner = icmp ult i64 %goes, %bound
  %lower = select i1 %sooner, i64 %goes, i64 %bound
  %did = mul i64 %length, %n
  %steps1 = add i64 %steps, %did
  store i64 %steps1, ptr %steps_at
  br label %turn
idle:
  ret i64 0
fault:
  ret i64 %r
out:
  ret i64 {RAN_OUT}
}}"""


def _called_by_name(count: int) -> str:
    """Text that runs a block of the same text."""
    cases = "\n    ".join(f"i64 {i}, label %do{i}" for i in range(count))
    bodies = "\n".join(
        f"do{i}:\n  %r{i} = call i64 @block{i}(ptr %context, ptr %scratch, i64 %n)\n  br label %done"
        for i in range(count)
    )
    results = ", ".join(f"[%r{i}, %do{i}]" for i in range(count))
    return f"  switch i64 %b, label %idle [\n    {cases}\n  ]\n{bodies}\ndone:\n  %r = phi i64 {results}"


def _called_by_address(count: int) -> str:
    """Text that runs a block that lies elsewhere, by a table."""
    return f"""\
  %block_at = getelementptr [{count} x i64], ptr @blocks, i64 0, i64 %b
  %block_is = load i64, ptr %block_at
  %block = inttoptr i64 %block_is to ptr
  %r = call i64 %block(ptr %context, ptr %scratch, i64 %n)"""
