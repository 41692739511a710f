"""The function that gives threads their turns: what instructions do, from where a thread stands to where its turn ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.machine import hosts
from ptxspec.machine.driver.codes import BROKEN, FAULT
from ptxspec.machine.flow import Block, onward
from ptxspec.machine.native.blocks import BlockText
from ptxspec.machine.native.context import FIELD
from ptxspec.machine.native.narrow import OVER, WIDE
from ptxspec.machine.native.writing import IN_ROWS, WRONG, word_of

if TYPE_CHECKING:
    from ptxspec.machine.native.engine import Compiled

#: what the code of one thread's turn gives, beside OVER and WRONG, or the block of another piece at which it goes on: it failed
FAILED = -2


class Piece(BlockText):
    """The function of one thread's turn, as far as it stays in some blocks of the kernel. A register lies in memory of the
    function, of which LLVM makes registers of the processor; between turns it lies in its row."""

    def __init__(self, compiled: Compiled, number: int, members: range, needs: set[str]):
        super().__init__(compiled, needs)
        self.flow = self.program.flow
        self.piece = number
        #: the blocks it writes; threads gather at narrow loops for turns of their own
        self.members = [block for block in members if block not in self.flow.narrow]
        self.stubs: list[str] = []
        self.leaves: set[int] = set()
        self.crosses: set[int] = set()
        self.changes = self._changes()

    def _changes(self) -> dict[int, set[str]]:
        """For each block the registers that may have changed since the thread's turn began, where it comes to the block."""
        writes = self.compiled.writes
        found: dict[int, set[str]] = {b: set() for b in self.members}
        todo = list(self.members)
        while todo:
            block = todo.pop(0)
            out = found[block] | writes[block]
            for to in onward(self.flow.blocks[block], self.kernel):
                known = found.setdefault(to, set())
                if not out <= known:
                    known |= out
                    if to in self.members and to not in todo:
                        todo.append(to)
        return found

    # edges ----------------------------------------------------------------------------------------------------------

    def go(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def edge(self, target: int | None) -> str:
        """The label at which a thread goes on that comes to a block. If it goes back to it, its turn may be over."""
        if target is None:
            return "ends"
        if target in self.flow.narrow:
            self.leaves.add(target)
            return f"leave{target}"
        inside = target in self.members
        if not inside:
            self.crosses.add(target)
        way = f"block{target}" if inside else f"cross{target}"
        if target > self.number:
            return way
        self.leaves.add(target)
        stub = self.label("back")
        self.stubs.append(
            f"{stub}:\n  %{stub}turn = load i64, ptr %turn\n  %{stub}over = icmp uge i64 %{stub}turn, %turn_length\n"
            f"  br i1 %{stub}over, label %leave{target}, label %{way}"
        )
        return stub

    def follow(self, to: str) -> None:
        """Go on at a block of another function."""
        number, turn = self.number, f"%{self.label('turn')}"
        over, back, both = turn + "over", turn + "back", turn + "both"
        self.lines.append(
            f"  store i64 {to}, ptr %goes\n  {turn} = load i64, ptr %turn\n  {over} = icmp uge i64 {turn}, %turn_length\n"
            f"  {back} = icmp ule i64 {to}, {number}\n  {both} = and i1 {over}, {back}\n"
            f"  br i1 {both}, label %stand, label %dispatch"
        )

    def count_steps(self) -> None:
        length = self.block.end - self.block.start
        if length:
            turn = f"%{self.label('turn')}"
            self.lines.append(
                f"  {turn} = load i64, ptr %turn\n  {turn}x = add i64 {turn}, {length}\n  store i64 {turn}x, ptr %turn"
            )

    def spill(self, names: set[str]) -> None:
        """Store those of some registers in their rows that may have changed in this turn."""
        known = self.changes[self.number] | self.compiled.writes[self.number]
        for name in sorted((names & known) - IN_ROWS):
            self.store_in_row(name, self.register(name))

    def _leaving(self, target: int) -> list[str]:
        """Store what a block reads that a thread leaves for later, or for another piece."""
        begin = len(self.lines)
        self.current = {}
        self.emitter.forget()
        self.block = Block(0, 0, None, None)
        for name in sorted((self.live[target] & self.changes[target]) - IN_ROWS):
            self.store_in_row(name, self.load_register(name))
        found = self.lines[begin:]
        return found

    # the function ---------------------------------------------------------------------------------------------------

    def body(self) -> None:
        """Write the blocks, and what is between them and the outside."""
        for number in self.members:
            self.write_block(number)
        self.lines += self.stubs
        for target in sorted(self.leaves):
            self.lines.append(f"leave{target}:")
            self._leaving(target)
            self.lines.append(f"  store i64 {target}, ptr %goes\n  br label %stand")
        for target in sorted(self.crosses):
            self.lines.append(f"cross{target}:")
            self._leaving(target)
            self.lines.append(f"  ret i64 {target}")
        self._doors()

    def _doors(self) -> None:
        """Where a thread comes in, stands for its next turn, and ends."""
        self.block, self.current = Block(0, 0, None, None), {}
        targets = [b for b in self.members if b in self.compiled.entered]
        for target in targets:
            self.lines.append(f"enter{target}:")
            self.emitter.forget()
            for name in sorted(self.live[target] - IN_ROWS):
                value = self.load_from_row(name)
                self.lines.append(f"  store {word_of(self.kernel.registers[name])} {value}, ptr {self.home(name)}")
            self.go(f"block{target}")
        ways = " ".join(f"i64 {t}, label %enter{t}" for t in targets)
        self.lines += [
            "dispatch:", "  %to = load i64, ptr %goes", f"  switch i64 %to, label %elsewhere [{ways}]",
            "elsewhere:", *self._elsewhere(),
            "stand:", "  %at = load i64, ptr %goes",
        ]  # fmt: skip
        self.emitter.forget()
        self.append("%at")
        self.lines += ["  br label %over", "ends:"]
        self.emitter.forget()
        self.append(str(len(self.flow.blocks)))
        self.lines += ["  br label %over", "over:", f"  ret i64 {OVER}"]

    def _elsewhere(self) -> list[str]:
        """A block that is none of the piece's."""
        if self.compiled.pieces > 1:
            return ["  ret i64 %to"]
        return [hosts.note("the block to return to", "%to", -1), f"  ret i64 {WRONG}"]

    def text(self) -> str:
        self.body()
        registers = [(self.home(n), word_of(t)) for n, t in self.kernel.registers.items()]
        said = "\n".join(self.lines)
        homes = [f"  {home} = alloca {word}" for home, word in registers if home in said]
        failing = [
            f"  %failed_{what}_at = getelementptr i64, ptr %context, i64 {FIELD[f'failed_{what}']}"
            for what in ("address", "op", "why", "lane")
        ]
        linkage = "" if self.compiled.pieces > 1 else "internal "
        ending = " alwaysinline" if self.compiled.pieces == 1 else ""
        return "\n".join(
            [
                f"define {linkage}i64 @piece{self.piece}(ptr noalias %context, i64 %lane, i64 %start, i64 %before, ptr %turn)"
                f"{ending} {{",
                "entry:",
                *homes,
                "  %goes = alloca i64\n  store i64 %start, ptr %goes",
                *self.fields({"turn_length"} | ({"counts_bytes", "lists_bytes"} if self.compiled.checked else set())),
                *failing,
                *self.places(),
                "  br label %dispatch",
                *self.lines,
                *self.faults,
                f"fault:\n  store i64 %lane, ptr %failed_lane_at\n  ret i64 {FAILED}",
                "}",
            ]
        )


def turns_text(compiled: Compiled, call: str) -> str:
    """LLVM text of `turns(context, block, count, limit)`: a turn for each of the threads of `scratch`, until the steps reach the
    limit. `call` gives %r for the thread %lane that stands at block %begin, whose turn began when %steps were done."""
    cell = hosts.pointer(compiled.checked, "scratch", "%scratch", "%k", 4, 4, "%scratch_bytes")
    fields = "".join(
        f"  %{n}_at = getelementptr i64, ptr %context, i64 {FIELD[n]}\n"
        f"  %{n} = load {'i64' if n.endswith('bytes') else 'ptr'}, ptr %{n}_at, !invariant.load !9\n"
        for n in ("scratch", "record", "scratch_bytes")
    )
    return f"""
define i64 @turns(ptr noalias %context, i64 %block, i64 %count, i64 %limit) {{
entry:
  %turn = alloca i64
{fields}  %steps_at = getelementptr i64, ptr %context, i64 {FIELD["steps"]}
  %taken_at = getelementptr i64, ptr %context, i64 {FIELD["taken"]}
  %begun = load i64, ptr %steps_at
  %narrow = call i1 @is_narrow(i64 %block)
  br label %each
each:
  %k = phi i64 [0, %entry], [%k1, %on]
  %steps = phi i64 [%begun, %entry], [%steps1, %on]
  %lane_at = {cell}
  %lane32 = load i32, ptr %lane_at
  %lane = zext i32 %lane32 to i64
  store i64 0, ptr %turn
  br i1 %narrow, label %side_by_side, label %alone
side_by_side:
  %slot = and i64 %k, {WIDE - 1}
  %first = icmp eq i64 %slot, 0
  br i1 %first, label %gather, label %take
gather:
  %left = sub i64 %count, %k
  %few = icmp ult i64 %left, {WIDE}
  %n = select i1 %few, i64 %left, i64 {WIDE}
  call void @go_through(ptr %context, i64 %block, ptr %lane_at, i64 %n)
  br label %take
take:
  %goes_on = call i64 @take(ptr %context, i64 %block, i64 %lane, i64 %slot, ptr %turn)
  %is_over = icmp eq i64 %goes_on, {OVER}
  br i1 %is_over, label %after, label %alone
alone:
  %begin = phi i64 [%block, %each], [%goes_on, %take]
{call}
  br label %after
after:
  %outcome = phi i64 [{OVER}, %take], [%r, %{"alone" if "across" not in call else "back"}]
  %took = load i64, ptr %turn
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
bad:
  store i64 %steps1, ptr %steps_at
  %failed = icmp eq i64 %outcome, {FAILED}
  %code = select i1 %failed, i64 {FAULT}, i64 {BROKEN}
  ret i64 %code
}}"""


#: calls of the piece that has all blocks, and of that one of several which has the block %at
OF_ONE = "  %r = call i64 @piece0(ptr %context, i64 %lane, i64 %begin, i64 %steps, ptr %turn)"


def of_several(count: int) -> str:
    """`count` is that of all blocks."""
    return f"""  br label %across
across:
  %at = phi i64 [%begin, %alone], [%r, %inside]
  %piece_at = getelementptr [{count} x i64], ptr @pieces, i64 0, i64 %at
  %piece_is = load i64, ptr %piece_at
  %piece = inttoptr i64 %piece_is to ptr
  %r = call i64 %piece(ptr %context, i64 %lane, i64 %at, i64 %steps, ptr %turn)
  %inner = icmp ult i64 %r, {count}
  br i1 %inner, label %inside, label %back
inside:
  br label %across
back:"""
